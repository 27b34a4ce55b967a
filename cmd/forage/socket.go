package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
)

// A running crawl owns its store. Other processes have their commands run inside it: they
// send the arguments over a Unix socket in the store's folder and copy what comes back. The
// answer is a row of frames, one JSON object a line.

// A frame is a piece of what a command running elsewhere prints, or its exit code.
type frame struct {
	Out  []byte `json:"out,omitempty"`
	Err  []byte `json:"err,omitempty"`
	Exit *int   `json:"exit,omitempty"`
}

// socketPath returns where the owner of the store in dir listens: in dir, or, where that
// path is too long for a socket (108 bytes on Linux, 104 elsewhere), in the temporary folder.
func socketPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if path := filepath.Join(abs, "forage.sock"); len(path) < 100 {
		return path, nil
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("forage-%016x.sock", xxhash.Sum64String(abs))), nil
}

// serveSocket runs commands for other processes until ctx ends or close is called. Whoever
// calls it holds the store's lock, so a socket that is there already is a dead process's.
func serveSocket(ctx context.Context, dir string, command func(ctx context.Context, stdout, stderr io.Writer, args []string) int) (closeSocket func(), err error) {
	path, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	srv := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var args []string
			if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			f := &framer{w: w}
			code := command(r.Context(), frameWriter{f, false}, frameWriter{f, true}, args)
			f.write(frame{Exit: &code})
		}),
	}
	var ended sync.WaitGroup
	ended.Go(func() { srv.Serve(l) })
	return func() {
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if srv.Shutdown(grace) != nil {
			srv.Close()
		}
		ended.Wait()
		os.Remove(path)
	}, nil
}

// framer writes frames one at a time.
type framer struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

func (f *framer) write(x frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := printJSON(f.w, x); err != nil {
		return err
	}
	return http.NewResponseController(f.w).Flush()
}

// A frameWriter sends what is written to it, as the command's stdout or stderr.
type frameWriter struct {
	to     *framer
	stderr bool
}

func (w frameWriter) Write(p []byte) (int, error) {
	x := frame{Out: p}
	if w.stderr {
		x = frame{Err: p}
	}
	if err := w.to.write(x); err != nil {
		return 0, err
	}
	return len(p), nil
}

// errNobody says that no process listens on a store's socket.
var errNobody = errors.New("no crawl is running there")

// callSocket runs a command in the process that owns the store in dir and returns its exit
// code; errNobody where there is none.
func callSocket(ctx context.Context, dir string, args []string, stdout, stderr io.Writer) (int, error) {
	path, err := socketPath(dir)
	if err != nil {
		return 0, err
	}
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	defer c.CloseIdleConnections()
	body, err := json.Marshal(args)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://store/command", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	resp, err := c.Do(r)
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return 0, errNobody
	}
	if err != nil {
		return 0, fmt.Errorf("the crawl in %s: %w", dir, err)
	}
	defer resp.Body.Close()
	for in := json.NewDecoder(bufio.NewReader(resp.Body)); ; {
		var x frame
		if err := in.Decode(&x); err != nil {
			return 0, fmt.Errorf("the crawl in %s ended before it had answered: %w", dir, err)
		}
		if x.Exit != nil {
			return *x.Exit, nil
		}
		if _, err := stdout.Write(x.Out); err != nil {
			return 0, err
		}
		stderr.Write(x.Err)
	}
}
