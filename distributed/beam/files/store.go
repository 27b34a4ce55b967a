package files

import (
	"context"
	"io"
)

// A ranger reads a part of a file into b, as much of it as there is, and tells how long the file is.
type ranger interface {
	readAt(ctx context.Context, path string, b []byte, at int64) (n int, size int64, err error)
}

// Bytes that are asked for at once: a reader has chunk of them in memory. No answer stays open while
// its bytes are not wanted, which stores would end: files that are merged are read at their own paces.
const chunk = 1 << 20

// openRange opens a file of a store, and reads the first chunk.
func openRange(ctx context.Context, s ranger, path string, at, n int64) (io.ReadCloser, int64, error) {
	r := &chunks{ctx: ctx, from: s, path: path, at: at, left: n, buffer: make([]byte, min(n, chunk))}
	if err := r.fill(); err != nil {
		return nil, 0, err
	}
	return r, r.size, nil
}

// chunks reads a range of a file chunk by chunk.
type chunks struct {
	ctx    context.Context // of Open: the reader is part of that call
	from   ranger
	path   string
	at     int64
	left   int64
	size   int64
	buffer []byte
	unread []byte
}

func (r *chunks) fill() error {
	ctx, cancel := context.WithTimeout(r.ctx, requestTime)
	defer cancel()
	want := r.buffer[:min(r.left, int64(len(r.buffer)))]
	n, size, err := r.from.readAt(ctx, r.path, want, r.at)
	if err != nil {
		return err
	}
	r.size = size
	r.at += int64(n)
	r.left -= int64(n)
	if n < len(want) {
		r.left = 0 // the file ends here
	}
	r.unread = want[:n]
	return nil
}

func (r *chunks) Read(b []byte) (int, error) {
	if len(r.unread) == 0 && r.left > 0 {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	if len(r.unread) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}

func (r *chunks) Close() error { return nil }

// bucketAndKey splits a path below a scheme.
func bucketAndKey(path string) (bucket, key string) {
	_, rest := split(path)
	for i := range rest {
		if rest[i] == '/' {
			return rest[:i], rest[i+1:]
		}
	}
	return rest, ""
}

// below returns the key that begins the keys of the files of a folder whose names begin with prefix,
// and how much of it is the folder.
func below(dir, prefix string) (bucket, key string, folder int) {
	bucket, key = bucketAndKey(dir)
	if key != "" {
		key += "/"
	}
	return bucket, key + prefix, len(key)
}
