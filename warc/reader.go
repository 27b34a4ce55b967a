package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// maxHeader is how many bytes the header of a record may have.
const maxHeader = 1 << 20

// A Reader reads the records of a file, one after another. Files of strangers are expected: of version 0.17 to 1.1, compressed
// by member or not at all, with line ends of either kind, members of several records, and damage.
// It holds 128 KiB and the header of a record, at most 1 MiB, however long that is.
type Reader struct {
	file   counter
	in     *bufio.Reader // the file
	z      *gzip.Reader
	member *bufio.Reader // what the present member unpacks to
	within bool          // the member may have more records
	start  int64         // of the member
	index  int           // of the next record in it
	again  int64         // bytes that were read once more, see nextMember
	last   *Record
	err    error // no record comes after it
}

// NewReader returns a reader of a file.
func NewReader(r io.Reader) *Reader {
	rd := &Reader{file: counter{r: r}}
	rd.in = bufio.NewReaderSize(&rd.file, 64<<10)
	return rd
}

// Reset has the reader read another file, or another part of one, in the same memory. Records that it returned before are not to be
// used any more.
func (rd *Reader) Reset(r io.Reader) {
	rd.file = counter{r: r}
	rd.in.Reset(&rd.file)
	rd.within, rd.start, rd.index, rd.again, rd.last, rd.err = false, 0, 0, 0, nil, nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// at is how far the file was read.
func (rd *Reader) at() int64 { return rd.file.n - int64(rd.in.Buffered()) }

// A Record is one record: its header, and its block as what Read returns.
type Record struct {
	Version string // such as WARC/1.1
	Fields  Fields // lines that are continued are joined
	Type    string // WARC-Type in lower case
	Offset  int64  // in the file: of the record, or of the member that it is in
	Index   int    // of the record in its member: 0 unless members have several

	rd      *Reader
	block   io.LimitedReader
	at      int64 // of its end, once it is closed
	closed  bool
	failure error
}

// URI returns WARC-Target-URI, without the angle brackets that some writers put around it. What is in it is as it was written.
func (r *Record) URI() string {
	return strings.TrimSuffix(strings.TrimPrefix(r.Fields.Get("WARC-Target-URI"), "<"), ">")
}

// Date returns WARC-Date, in UTC.
func (r *Record) Date() (time.Time, error) { return parseDate(r.Fields.Get("WARC-Date")) }

// Left returns how many bytes of the block were not read yet.
func (r *Record) Left() int64 { return r.block.N }

// Read reads the block. A block that is shorter than announced ends with a *FormatError.
func (r *Record) Read(p []byte) (int, error) {
	if r.failure != nil {
		return 0, r.failure
	}
	n, err := r.block.Read(p)
	if err == io.EOF && r.block.N > 0 || err != nil && err != io.EOF {
		if err == io.EOF {
			err = fmt.Errorf("it ends %d bytes before its Content-Length says", r.block.N)
		}
		r.failure = r.rd.broken(r.Offset, err)
		return n, r.failure
	}
	return n, err
}

// Close reads what is left of the record, and returns a *FormatError if it does not end where it says, unless Read or Close did before.
// It is called by Next, too.
func (r *Record) Close() error {
	if r.closed || r.failure != nil {
		return nil
	}
	r.closed = true
	_, err := io.Copy(io.Discard, r)
	if err == nil {
		err = r.rd.end(r)
	}
	r.at = r.rd.at()
	return err
}

// Stored returns how many bytes of the file the record takes, or its member as far as it was read. It is known after Close.
func (r *Record) Stored() int64 { return r.at - r.Offset }

// broken makes a *FormatError of err, and goes to where reading may go on: to the next member. Where the compressed data itself is
// damaged that is looked for, which only a file that can seek permits; where nothing is compressed there is no such place.
func (rd *Reader) broken(offset int64, err error) error {
	damaged, packed := !rd.within, rd.within
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || isCorrupt(err) {
		damaged, packed = true, true
		err = fmt.Errorf("the compressed data is damaged or cut: %w", err)
	}
	if !damaged {
		_, rest := io.Copy(io.Discard, rd.member)
		damaged = rest != nil
	}
	reason := err.Error()
	if rd.within = false; !damaged {
		return &FormatError{offset, reason}
	}
	if packed {
		switch next, err := rd.nextMember(offset + 1); err {
		case nil:
			return &FormatError{offset, fmt.Sprintf("%s; it goes on at byte %d", reason, next)}
		case io.EOF, errNoSeek:
		default:
			rd.err = err
			return err
		}
	}
	if _, end := rd.in.Peek(1); end == nil {
		reason += "; what follows is not read"
	}
	rd.err = io.EOF
	return &FormatError{offset, reason}
}

// errNoSeek says that a file can only be read from its beginning on.
var errNoSeek = errors.New("the file cannot seek")

// nextMember goes to the first place, from one on, where a member begins that unpacks to a record: a member that was cut may have taken others for
// its own, and these are read again. Errors: io.EOF if there is none; errNoSeek; of the file. O(bytes), where a file does not have it read the same over and over: then the error is
// errNoSeek, too.
func (rd *Reader) nextMember(from int64) (at int64, err error) {
	file, ok := rd.file.r.(io.Seeker)
	rd.again += rd.file.n - from
	if !ok || rd.again > 4*max(from, 64<<20) {
		return 0, errNoSeek
	}
	if _, err := file.Seek(from-rd.file.n, io.SeekCurrent); err != nil {
		return 0, errNoSeek // a pipe
	}
	rd.file.n = from
	rd.in.Reset(&rd.file)
	for {
		switch _, err := rd.in.ReadSlice(0x1f); err {
		case nil:
			rd.in.UnreadByte()
		case bufio.ErrBufferFull:
			continue
		default:
			return 0, err
		}
		if b, _ := rd.in.Peek(4096); isRecord(b) {
			return rd.at(), nil
		}
		rd.in.Discard(1)
	}
}

// isRecord reports whether a file that begins so begins with a member of a record.
func isRecord(b []byte) bool {
	if len(b) < 4 || b[0] != 0x1f || b[1] != 0x8b || b[2] != 8 || b[3]&0xe0 != 0 {
		return false
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return false
	}
	var begins [5]byte
	_, err = io.ReadFull(z, begins[:])
	return err == nil && string(begins[:]) == "WARC/"
}

// isCorrupt reports whether compressed data makes no sense.
func isCorrupt(err error) bool { return strings.HasPrefix(err.Error(), "flate: corrupt") }

// content is where records are read from.
func (rd *Reader) content() *bufio.Reader {
	if rd.within {
		return rd.member
	}
	return rd.in
}

// end reads the two line ends after a block, and in a member of this record alone its end. Writers that have fewer or more are forgiven.
func (rd *Reader) end(r *Record) error {
	c := rd.content()
	for {
		b, err := c.Peek(1)
		if err == io.EOF {
			break
		}
		if err != nil {
			return rd.broken(r.Offset, err)
		}
		if b[0] != '\r' && b[0] != '\n' {
			break
		}
		c.Discard(1)
	}
	b, err := c.Peek(5)
	if err != nil && err != io.EOF {
		return rd.broken(r.Offset, err)
	}
	if len(b) == 0 {
		rd.within = false
		return nil
	}
	if !rd.within && len(b) >= 2 && b[0] == 0x1f && b[1] == 0x8b || bytes.HasPrefix([]byte("WARC/"), b) {
		return nil
	}
	return rd.broken(r.Offset, errors.New("the record goes on after its Content-Length"))
}

// Next returns the next record; the one before is closed. At the end of the file the error is io.EOF, and where it is no WARC file at
// all, or the format is broken, a *FormatError or ErrARC: then Next goes on with what can be read after it, if anything, until io.EOF.
func (rd *Reader) Next() (*Record, error) {
	if r := rd.last; r != nil {
		rd.last = nil
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	if rd.err != nil {
		return nil, rd.err
	}
	if !rd.within {
		if err := rd.begin(); err != nil {
			return nil, err
		}
	}
	r := &Record{rd: rd, Offset: rd.start, Index: rd.index}
	rd.index++
	if err := rd.header(r); err == ErrARC {
		rd.err = io.EOF
		return nil, err
	} else if err != nil {
		return nil, rd.broken(r.Offset, err)
	}
	rd.last = r
	return r, nil
}

// begin goes to the next member, or to the next record of a file that is not compressed.
func (rd *Reader) begin() error {
	rd.index = 0
	for {
		b, err := rd.in.Peek(2)
		if len(b) == 0 {
			if err == io.EOF {
				rd.err = io.EOF
				return io.EOF
			}
			rd.err = err // of the file itself
			return err
		}
		rd.start = rd.at()
		if len(b) == 2 && b[0] == 0x1f && b[1] == 0x8b {
			break
		}
		if b[0] != '\r' && b[0] != '\n' {
			return nil
		}
		rd.in.Discard(1)
	}
	if rd.z == nil {
		rd.z, rd.member = new(gzip.Reader), bufio.NewReaderSize(nil, 64<<10)
	}
	if err := rd.z.Reset(rd.in); err != nil {
		return rd.broken(rd.start, err)
	}
	rd.z.Multistream(false)
	rd.member.Reset(rd.z)
	rd.within = true
	return nil
}

// header reads the header of a record.
func (rd *Reader) header(r *Record) error {
	c, left := rd.content(), maxHeader
	cut := func(err error) error {
		if err == io.EOF {
			err = errors.New("the header is cut")
		}
		return err
	}
	line, err := readLine(c, &left)
	for err == nil && line == "" && r.Index > 0 {
		line, err = readLine(c, &left)
	}
	if err != nil {
		return cut(err)
	}
	if strings.HasPrefix(line, "filedesc:") {
		return ErrARC
	}
	if r.Version = line; !strings.HasPrefix(line, "WARC/") {
		return fmt.Errorf("want a record of WARC, have %q", line[:min(len(line), 40)])
	}
	for {
		line, err := readLine(c, &left)
		if err != nil {
			return cut(err)
		}
		if line == "" {
			break
		}
		if n := len(r.Fields); (line[0] == ' ' || line[0] == '\t') && n > 0 {
			r.Fields[n-1].Value += " " + strings.Trim(line, " \t")
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return fmt.Errorf("want NAME: VALUE in a header, have %q", line[:min(len(line), 40)])
		}
		r.Fields = append(r.Fields, Field{strings.TrimRight(name, " \t"), strings.Trim(value, " \t")})
	}
	r.Type = strings.ToLower(r.Fields.Get("WARC-Type"))
	length := r.Fields.Get("Content-Length")
	n, err := strconv.ParseInt(length, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("Content-Length %q is no number of bytes", length)
	}
	r.block = io.LimitedReader{R: c, N: n}
	return nil
}

// readLine reads a line without its end. left is how many bytes the header may still have.
func readLine(c *bufio.Reader, left *int) (string, error) {
	var long []byte
	for {
		part, err := c.ReadSlice('\n')
		if *left -= len(part); *left < 0 {
			return "", fmt.Errorf("the header has more than %d bytes", maxHeader)
		}
		if err == bufio.ErrBufferFull {
			long = append(long, part...)
			continue
		}
		if err != nil {
			return "", err
		}
		if long != nil {
			part = append(long, part...)
		}
		return string(bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r"))), nil
	}
}
