package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"
)

// gcsSystem is Google Cloud Storage.
type gcsSystem struct{ client *storage.Client }

// newGCS finds credentials as Google's own programs do.
func newGCS() (system, error) {
	client, err := storage.NewClient(context.Background())
	if err != nil {
		return nil, fmt.Errorf("gs://: %w", err)
	}
	client.SetRetry(storage.WithMaxRetryDuration(20 * time.Second)) // else a store that cannot be reached is asked without end
	return &gcsSystem{client}, nil
}

func (s *gcsSystem) object(path string) *storage.ObjectHandle {
	bucket, key := bucketAndKey(path)
	return s.client.Bucket(bucket).Object(key)
}

// gcsError says in one line what an answer says.
func gcsError(path string, err error) error {
	var api *googleapi.Error
	switch {
	case errors.Is(err, storage.ErrObjectNotExist):
		return missing(path)
	case errors.Is(err, storage.ErrBucketNotExist):
		return asked(path, noBucket{})
	case errors.As(err, &api) && api.Code == http.StatusPreconditionFailed:
		return exists(path)
	}
	return asked(path, err)
}

func (s *gcsSystem) open(ctx context.Context, path string, at, n int64) (io.ReadCloser, int64, error) {
	return openRange(ctx, s, path, at, n)
}

func (s *gcsSystem) readAt(ctx context.Context, path string, b []byte, at int64) (n int, size int64, err error) {
	r, err := s.object(path).NewRangeReader(ctx, at, int64(len(b)))
	var api *googleapi.Error
	if errors.As(err, &api) && api.Code == http.StatusRequestedRangeNotSatisfiable { // the file ends before
		attrs, err := s.object(path).Attrs(ctx)
		if err != nil {
			return 0, 0, gcsError(path, err)
		}
		return 0, attrs.Size, nil
	}
	if err != nil {
		return 0, 0, gcsError(path, err)
	}
	defer r.Close()
	n, err = io.ReadFull(r, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF { // the client sees to it that this is the end of the file
		err = nil
	}
	if err != nil {
		return 0, 0, gcsError(path, err)
	}
	return n, r.Attrs.Size, nil
}

func (s *gcsSystem) commit(ctx context.Context, path string, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	w := s.object(path).If(storage.Conditions{DoesNotExist: true}).NewWriter(ctx)
	_, err := w.Write(b)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return gcsError(path, err)
	}
	return nil
}

func (s *gcsSystem) list(ctx context.Context, dir, prefix string) (found []Info, err error) {
	bucket, begin, folder := below(dir, prefix)
	query := &storage.Query{Prefix: begin}
	if err := query.SetAttrSelection([]string{"Name", "Size"}); err != nil {
		return nil, err
	}
	for objects := s.client.Bucket(bucket).Objects(ctx, query); ; {
		o, err := objects.Next()
		if err == iterator.Done {
			break
		}
		if err != nil {
			return nil, gcsError(dir, err)
		}
		found = append(found, Info{o.Name[folder:], o.Size})
	}
	sortByName(found)
	return found, nil
}

func (s *gcsSystem) remove(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if err := s.object(path).Delete(ctx); err != nil && !errors.Is(err, storage.ErrObjectNotExist) {
		return gcsError(path, err)
	}
	return nil
}

func (s *gcsSystem) mkdir(context.Context, string) error { return nil }

func (s *gcsSystem) create(ctx context.Context, path string) (Writer, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := s.object(path).NewWriter(ctx)
	w.ChunkSize = 4 << 20
	w.ChunkTransferTimeout = requestTime
	return &gcsWriter{w, path, cancel, false}, nil
}

type gcsWriter struct {
	w      *storage.Writer
	path   string
	cancel context.CancelFunc // ends without a file
	ended  bool
}

func (w *gcsWriter) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	if err != nil {
		err = gcsError(w.path, err)
	}
	return n, err
}

func (w *gcsWriter) Close() error {
	w.ended = true
	defer w.cancel()
	if err := w.w.Close(); err != nil {
		return gcsError(w.path, err)
	}
	return nil
}

func (w *gcsWriter) Sync() error { return nil }

func (w *gcsWriter) Discard() {
	if w.ended {
		return
	}
	w.ended = true
	w.cancel()
	w.w.Close() // ends what runs beside it
}
