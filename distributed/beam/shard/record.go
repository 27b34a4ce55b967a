package shard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"forage/distributed/beam/files"
)

// Encode returns a record: v as JSON on a line, and its checksum on the next. So a record that was
// cut short is never taken for a whole one, where no rename makes files appear at once.
func Encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(append(b, '\n'), "crc32c %08x\n", Sum(b)), nil
}

// Decode reads a record into v and returns its checksum; what is not whole is an *Error that names
// the file.
func Decode(file string, record []byte, v any) (sum uint32, err error) {
	line, rest, _ := bytes.Cut(record, []byte("\n"))
	sum = Sum(line)
	told, ok := bytes.CutPrefix(rest, []byte("crc32c "))
	want, perr := strconv.ParseUint(string(bytes.TrimSuffix(told, []byte("\n"))), 16, 32)
	if !ok || perr != nil || uint32(want) != sum {
		return 0, &Error{file, "it was cut short or changed: its checksum is wrong"}
	}
	if err := json.Unmarshal(line, v); err != nil {
		return 0, &Error{file, err.Error()}
	}
	return sum, nil
}

// ReadRecord reads the record in a file.
func ReadRecord(ctx context.Context, file string, v any) (sum uint32, err error) {
	b, err := files.Read(ctx, file)
	if err != nil {
		return 0, err
	}
	return Decode(file, b, v)
}
