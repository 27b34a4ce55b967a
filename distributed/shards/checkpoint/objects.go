package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

const (
	openTime    = 10 * time.Second // for a store to answer at the start
	requestTime = time.Minute      // for one request, with all tries of the store's client
	tries       = 5                // of a request, where the service's client has no number of its own; of a download that makes no progress, and a file that is being made
	uploads     = 2                // of a process at once, of larger files: each has a part in memory
	smallFile   = 256 << 10        // bytes: of such as many at once as there are, so that all partitions that a process gives up are copied in time
)

// A service keeps objects by keys, as Amazon's S3 and Google Cloud Storage do, or who speaks their protocols. Errors say in a line what the answer says; that of
// an object which is not there wraps fs.ErrNotExist.
type service interface {
	// create makes a small object. The error wraps fs.ErrExist where there is one, errConflict where another one is just being made.
	create(ctx context.Context, key string, content []byte) error
	put(ctx context.Context, key string, size int64, r io.Reader) error
	// open reads an object from byte at on; version: that one, as open has returned it, "": any.
	open(ctx context.Context, key string, at int64, version string) (object, error)
	// list lists keys that begin with prefix, mostly some at a time: 1 for one that wants no more, 0: as the service does.
	list(ctx context.Context, prefix string, some int, yield func(key string) bool) error
	remove(ctx context.Context, key string) error
}

// An object is one that is being read.
type object struct {
	io.ReadCloser
	version string
	size    int64  // of all of it
	sum     string // its CRC-32C, as checksum writes it; "": the service does not say
}

var (
	errConflict = errors.New("it is being made by somebody else")
	errReplaced = errors.New("it was replaced while it was read")
	errNoBucket = errors.New("there is no such bucket")
)

// wholeOf returns the size of an object of which the bytes from at on were asked for, by the Content-Range of the answer: bytes 10-99/100.
func wholeOf(contentRange string, at int64) (size int64, err error) {
	begins, whole, ok := strings.Cut(contentRange, "/")
	if size, err = strconv.ParseInt(whole, 10, 64); !ok || err != nil || !strings.HasPrefix(begins, fmt.Sprintf("bytes %d-", at)) {
		return 0, fmt.Errorf("asked for the bytes from %d on, the server sent %q", at, contentRange)
	}
	return size, nil
}

// objects is a Bucket of those objects of a service whose keys begin with a prefix.
type objects struct {
	service
	prefix   string // "", or it ends in a slash
	slots    chan struct{}
	patience time.Duration // with a download that brings nothing
}

// openObjects opens what a place says, SCHEME://BUCKET/PREFIX, in a service that begin connects to, and sees whether it may be read.
func openObjects(ctx context.Context, where string, begin func(ctx context.Context, bucket string) (service, error)) (Bucket, error) {
	unusable := func(what string) error { return &UnusableError{where, strings.Join(strings.Fields(what), " ")} }
	scheme, rest, _ := strings.Cut(where, "://")
	bucket, prefix, _ := strings.Cut(rest, "/")
	if bucket == "" {
		return nil, unusable(fmt.Sprintf("want %s://BUCKET or %s://BUCKET/PREFIX", scheme, scheme))
	}
	if prefix = strings.TrimPrefix(path.Clean("/"+prefix), "/"); prefix != "" {
		prefix += "/"
	}
	o := &objects{prefix: prefix, slots: make(chan struct{}, uploads), patience: requestTime}
	in, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	var err error
	if o.service, err = begin(in, bucket); err == nil {
		err = o.list(in, prefix, 1, func(string) bool { return false })
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(in.Err(), context.DeadlineExceeded):
		return nil, unusable(fmt.Sprintf("no answer within %v; the last: %v", openTime, err))
	case err != nil:
		return nil, unusable(err.Error())
	}
	return o, nil
}

// key returns the key of a file.
func (o *objects) key(name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("%q is no name of a file in a bucket", name)
	}
	return o.prefix + name, nil
}

// Create implements Bucket. A request whose answer is lost is made again, and then finds the object of its first try: it is known by its content.
func (o *objects) Create(ctx context.Context, name string, content []byte) error {
	key, err := o.key(name)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		in, cancel := context.WithTimeout(ctx, requestTime)
		err := o.create(in, key, content)
		cancel()
		if errors.Is(err, errConflict) && try < tries && wait(ctx, try) == nil {
			continue
		}
		if errors.Is(err, fs.ErrExist) {
			if there, e := Load(ctx, o, name); e == nil && bytes.Equal(there, content) {
				return nil
			}
		}
		return named(name, err)
	}
}

// wait waits before what failed try times is tried again.
func wait(ctx context.Context, try int) error {
	select {
	case <-time.After(time.Duration(try*try) * 100 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Put implements Bucket. Memory: a part of an upload, for some larger files at once; others wait.
func (o *objects) Put(ctx context.Context, name string, size int64, r io.Reader) error {
	key, err := o.key(name)
	if err != nil {
		return err
	}
	if size > smallFile {
		select {
		case o.slots <- struct{}{}:
			defer func() { <-o.slots }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return named(name, o.put(ctx, key, size, &exactly{r: &reader{ctx, r}, left: size}))
}

// exactly reads so many bytes, and fails where there are others.
type exactly struct {
	r    io.Reader
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left > 0 {
		n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
		if e.left -= int64(n); err == io.EOF && e.left > 0 {
			err = fmt.Errorf("%d bytes less than were to be written", e.left)
		}
		return n, err
	}
	var more [1]byte
	if n, err := io.ReadFull(e.r, more[:]); n > 0 || err != io.EOF {
		if n > 0 {
			err = errors.New("there are more bytes than were to be written")
		}
		return 0, err
	}
	return 0, io.EOF
}

// ended returns an error unless r ends here.
func ended(r io.Reader) error {
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		return err
	}
	return nil
}

// Get implements Bucket. Where a connection is cut, or brings nothing for long, what is left of the same object is asked for.
func (o *objects) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	key, err := o.key(name)
	if err != nil {
		return nil, err
	}
	d := &download{ctx: ctx, from: o.service, key: key, patience: o.patience}
	if err := d.open(); err != nil {
		return nil, named(name, err)
	}
	return d, nil
}

// A download reads an object, by several requests if need be.
type download struct {
	ctx      context.Context // of Get: the reader is part of that call
	from     service
	key      string
	at       int64
	object   object
	sum      uint32 // of what was read
	patience time.Duration
	silent   *time.Timer // ends the request when it brings nothing for so long
	cancel   context.CancelFunc
	failed   int // tries since bytes came
}

func (d *download) open() error {
	ctx, cancel := context.WithCancel(d.ctx)
	silent := time.AfterFunc(d.patience, cancel)
	o, err := d.from.open(ctx, d.key, d.at, d.object.version)
	if err != nil {
		silent.Stop()
		cancel()
		return d.failure(err)
	}
	if d.object.version != "" && o.version != d.object.version { // a server may not know of conditions
		silent.Stop()
		cancel()
		o.Close()
		return errReplaced
	}
	d.object, d.silent, d.cancel = o, silent, cancel
	return nil
}

// failure returns the error of a request: if the timer has ended that, the caller's context has not.
func (d *download) failure(err error) error {
	if errors.Is(err, context.Canceled) && d.ctx.Err() == nil {
		return fmt.Errorf("nothing came for %v", d.patience)
	}
	return err
}

func (d *download) Read(p []byte) (int, error) {
	for {
		if d.at >= d.object.size {
			if want := d.object.sum; want != "" && want != checksum(d.sum) {
				return 0, fmt.Errorf("the server says that its checksum is %s, and that of what it sent is %s", want, checksum(d.sum))
			}
			return 0, io.EOF
		}
		var n int
		var err error
		if d.cancel == nil {
			err = d.open()
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errReplaced) {
				return 0, err
			}
		}
		if err == nil {
			d.silent.Reset(d.patience)
			n, err = d.object.Read(p[:min(int64(len(p)), d.object.size-d.at)])
		}
		if n > 0 {
			d.at += int64(n)
			d.sum = crc32.Update(d.sum, castagnoli, p[:n])
			d.failed = 0
			return n, nil // what failed fails again
		}
		if err == nil {
			continue
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		d.Close()
		if d.failed++; d.failed >= tries || d.ctx.Err() != nil {
			return 0, fmt.Errorf("after %d of %d bytes: %w", d.at, d.object.size, d.failure(err))
		}
		if e := wait(d.ctx, d.failed); e != nil {
			return 0, e
		}
	}
}

func (d *download) Close() error {
	if d.cancel == nil {
		return nil
	}
	d.silent.Stop()
	d.cancel()
	d.cancel = nil
	d.object.Close() // of a request that was ended: that is no error
	return nil
}

// List implements Bucket.
func (o *objects) List(ctx context.Context, prefix string, yield func(name string) bool) error {
	return o.list(ctx, o.prefix+prefix, 0, func(key string) bool { return yield(key[len(o.prefix):]) })
}

// Delete implements Bucket.
func (o *objects) Delete(ctx context.Context, name string) error {
	key, err := o.key(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if err := o.remove(ctx, key); !errors.Is(err, fs.ErrNotExist) {
		return named(name, err)
	}
	return nil
}
