package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/colinmarc/hdfs/v2/hadoopconf"
)

// hdfsSystem is an HDFS.
type hdfsSystem struct{ client *hdfs.Client }

// newHDFS connects to a name node; "": those that the configuration names.
func newHDFS(host string) (system, error) {
	conf, err := hadoopconf.LoadFromEnvironment()
	if err != nil {
		return nil, fmt.Errorf("hdfs://%s: %w", host, err)
	}
	o := hdfs.ClientOptionsFromConf(conf)
	if host != "" && !slices.Contains(o.Addresses, host) && conf["dfs.nameservices"] != host {
		o.Addresses = []string{host}
	}
	switch {
	case len(o.Addresses) == 0:
		return nil, errors.New("hdfs:///: want hdfs://HOST:PORT, or HADOOP_CONF_DIR with a core-site.xml that names them")
	case o.KerberosClient != nil:
		return nil, fmt.Errorf("hdfs://%s: this cluster asks for Kerberos, which is not supported", host)
	}
	if o.User = os.Getenv("HADOOP_USER_NAME"); o.User == "" {
		u, err := user.Current()
		if err != nil {
			return nil, err
		}
		o.User = u.Username
	}
	dial := (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	o.NamenodeDialFunc, o.DatanodeDialFunc = dial, dial
	client, err := hdfs.NewClient(o)
	if err != nil {
		return nil, fmt.Errorf("hdfs://%s: %w", host, err)
	}
	return &hdfsSystem{client}, nil
}

// inHDFS returns a path as the name node knows it.
func inHDFS(path string) string {
	_, key := bucketAndKey(path)
	return "/" + key
}

// hdfsError says in one line what an answer says; those of a name node have the calls of its program
// below them.
func hdfsError(p string, err error) error {
	var in *fs.PathError
	if errors.As(err, &in) {
		err = in.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return missing(p)
	}
	var remote hdfs.Error
	if errors.As(err, &remote) {
		line, _, _ := strings.Cut(remote.Message(), "\n")
		return asked(p, errors.New(line))
	}
	return asked(p, err)
}

func (s *hdfsSystem) open(ctx context.Context, path string, at, n int64) (io.ReadCloser, int64, error) {
	return openRange(ctx, s, path, at, n)
}

func (s *hdfsSystem) readAt(ctx context.Context, path string, b []byte, at int64) (n int, size int64, err error) {
	f, err := s.client.Open(inHDFS(path))
	if err != nil {
		return 0, 0, hdfsError(path, err)
	}
	defer f.Close()
	size = f.Stat().Size()
	if at >= size {
		return 0, size, nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := f.SetDeadline(deadline); err != nil {
			return 0, 0, hdfsError(path, err)
		}
	}
	n, err = f.ReadAt(b[:min(int64(len(b)), size-at)], at)
	if err != nil && err != io.EOF {
		return 0, 0, hdfsError(path, err)
	}
	return n, size, nil
}

// commit gives a file that is whole its name, which takes the place of another: who looks first and
// finds none has a moment in which another may do the same.
func (s *hdfsSystem) commit(ctx context.Context, p string, b []byte) error {
	switch _, err := s.client.Stat(inHDFS(p)); {
	case err == nil:
		return exists(p)
	case !os.IsNotExist(err):
		return hdfsError(p, err)
	}
	name := inHDFS(p)
	part := path.Join(path.Dir(name), "."+path.Base(name)+"."+Unique()+".part")
	partPath := strings.TrimSuffix(p, name) + part
	if err := Write(ctx, partPath, b); err != nil {
		return err
	}
	if err := s.client.Rename(part, name); err != nil {
		s.client.Remove(part)
		return hdfsError(p, err)
	}
	return nil
}

func (s *hdfsSystem) list(ctx context.Context, dir, prefix string) (found []Info, err error) {
	entries, err := s.client.ReadDir(inHDFS(dir))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, hdfsError(dir, err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case !strings.HasPrefix(name, prefix):
		case e.IsDir():
			below, err := s.list(ctx, Join(dir, name), "")
			if err != nil {
				return nil, err
			}
			for _, f := range below {
				found = append(found, Info{name + "/" + f.Name, f.Size})
			}
		default:
			found = append(found, Info{name, e.Size()})
		}
	}
	sortByName(found)
	return found, nil
}

func (s *hdfsSystem) remove(_ context.Context, path string) error {
	if err := s.client.Remove(inHDFS(path)); err != nil && !os.IsNotExist(err) {
		return hdfsError(path, err)
	}
	return nil
}

func (s *hdfsSystem) mkdir(_ context.Context, dir string) error {
	if err := s.client.MkdirAll(inHDFS(dir), 0o755); err != nil {
		return hdfsError(dir, err)
	}
	return nil
}

func (s *hdfsSystem) create(_ context.Context, path string) (Writer, error) {
	f, err := s.client.Create(inHDFS(path))
	if err != nil {
		return nil, hdfsError(path, err)
	}
	return &hdfsWriter{f, s, path, false}, nil
}

type hdfsWriter struct {
	f      *hdfs.FileWriter
	s      *hdfsSystem
	path   string
	closed bool
}

func (w *hdfsWriter) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil // the client would begin a block, and no block is empty
	}
	if err := w.f.SetDeadline(time.Now().Add(requestTime)); err != nil {
		return 0, hdfsError(w.path, err)
	}
	n, err := w.f.Write(b)
	if err != nil {
		err = hdfsError(w.path, err)
	}
	return n, err
}

// Close returns when the file has been closed; that it has fewer copies than it should have is the
// name node's to mend.
func (w *hdfsWriter) Close() error {
	w.closed = true
	for end := time.Now().Add(requestTime); ; time.Sleep(100 * time.Millisecond) {
		err := w.f.Close()
		if err == nil {
			return nil
		}
		if !hdfs.IsErrReplicating(err) || time.Now().After(end) {
			return hdfsError(w.path, err)
		}
	}
}

func (w *hdfsWriter) Sync() error { return nil }

func (w *hdfsWriter) Discard() {
	if !w.closed {
		w.closed = true
		w.f.Close()
		w.s.client.Remove(inHDFS(w.path))
	}
}
