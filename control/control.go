// Package control is how a process has its commands run by the one that owns a store: over a
// Unix socket in the store's folder, so that the owner's permissions are those of the folder.
//
// Serve answers for the owner; Call asks. The caller sends its arguments, and the command runs
// inside the owner, with what it prints copied back as it comes: so its output is that of the
// same command anywhere, and there is no second protocol to keep. When the caller is
// interrupted, so is the command, which goes on to say what came of it; when the caller is
// gone, the command is interrupted too. An owner that ends hands back what it has not finished:
// the caller then runs it itself.
//
// Both sides send one JSON object a line: the caller first {"args": […], "input": …}, with what the command
// reads from stdin, and {"interrupt": true} when it is interrupted; the owner frames with a piece of stdout or stderr, and at the end the
// exit code or {"again": true}.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
)

var (
	// ErrNobody says that no process listens on a store's socket.
	ErrNobody = errors.New("no crawl is running there")
	// ErrForbidden says that the owner of a store runs for another user.
	ErrForbidden = errors.New("the crawl there runs for another user, who alone may ask it")
	// ErrAgain says that the owner has ended, or is about to, and has handed the command back.
	ErrAgain = errors.New("the owner of the store has ended")
)

// A Command runs in the owner for another process, with what that has read from stdin for it, and returns its
// exit code. ErrAgain hands it
// back, unless it has written to stdout already. ctx ends when the caller is interrupted or gone.
type Command func(ctx context.Context, stdout, stderr io.Writer, args []string, input []byte) (code int, err error)

type request struct {
	Args      []string `json:"args,omitempty"`
	Input     []byte   `json:"input,omitempty"`
	Interrupt bool     `json:"interrupt,omitempty"`
}

// A frame is a piece of what a command prints, or its end.
type frame struct {
	Out   []byte `json:"out,omitempty"`
	Err   []byte `json:"err,omitempty"`
	Exit  *int   `json:"exit,omitempty"`
	Again bool   `json:"again,omitempty"`
}

// Path returns where the owner of the store in dir listens: in dir, or, where that path is too
// long for a socket (108 bytes on Linux, 104 elsewhere), in the temporary folder.
func Path(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if path := filepath.Join(abs, "forage.sock"); len(path) < 100 {
		return path, nil
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("forage-%016x.sock", xxhash.Sum64String(abs))), nil
}

// A Server answers for the owner of a store.
type Server struct {
	path    string
	command Command
	listen  net.Listener
	calls   sync.WaitGroup

	mu      sync.Mutex
	open    map[net.Conn]bool
	closing bool
}

// Serve runs commands for other processes until Close. Whoever calls it holds the store's lock,
// so a socket that is there already is a dead process's.
func Serve(dir string, command Command) (*Server, error) {
	path, err := Path(dir)
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
	s := &Server{path: path, command: command, listen: l, open: map[net.Conn]bool{}}
	s.calls.Go(s.accept)
	return s, nil
}

func (s *Server) accept() {
	for {
		conn, err := s.listen.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closing {
			s.mu.Unlock()
			conn.Close()
			return
		}
		s.open[conn] = true
		s.calls.Go(func() { s.serve(conn) })
		s.mu.Unlock()
	}
}

// serve runs the command of one caller.
func (s *Server) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.open, conn)
		s.mu.Unlock()
	}()
	in := json.NewDecoder(conn)
	var first request
	conn.SetReadDeadline(time.Now().Add(5 * time.Second)) // a caller sends it at once
	if err := in.Decode(&first); err != nil {
		return
	}
	conn.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends when the caller is interrupted, gone, or served
		var next request
		in.Decode(&next)
		cancel()
	}()
	w := &framer{w: conn}
	code, err := s.command(ctx, pipe{w, false}, pipe{w, true}, first.Args, first.Input)
	last := frame{Exit: &code}
	switch {
	case !errors.Is(err, ErrAgain):
	case w.printed: // the caller would print it twice
		code = 1
		w.write(frame{Err: []byte("forage: the command that had the store has ended in the middle of this; run it once more\n")})
	default:
		last = frame{Again: true}
	}
	w.write(last)
}

// grace is how long callers that only read are waited for when the owner ends.
const grace = 2 * time.Second

// Close takes no more calls, waits for those that are under way, and, after a while, cuts off
// the rest: what they print goes nowhere from then on, and cut, if it is not nil, is called to end
// what they do. It returns when all have ended.
func (s *Server) Close(cut func()) {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.listen.Close()
	late := time.AfterFunc(grace, func() {
		s.mu.Lock()
		for conn := range s.open {
			conn.Close()
		}
		s.mu.Unlock()
		if cut != nil {
			cut()
		}
	})
	s.calls.Wait()
	late.Stop()
	os.Remove(s.path)
}

// framer writes frames one at a time.
type framer struct {
	mu      sync.Mutex
	w       net.Conn
	printed bool // something of stdout
}

func (f *framer) write(x frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.printed = f.printed || len(x.Out) > 0
	// Progress and warnings are written by who works for all: a caller that has been stopped, and
	// reads nothing for so long that the socket is full, is taken for gone.
	limit := time.Time{}
	if len(x.Err) > 0 {
		limit = time.Now().Add(time.Second)
	}
	f.w.SetWriteDeadline(limit)
	if err := json.NewEncoder(f.w).Encode(x); err != nil {
		f.w.Close()
		return err
	}
	return nil
}

// A pipe sends what is written to it, as the command's stdout or stderr.
type pipe struct {
	to     *framer
	stderr bool
}

func (p pipe) Write(b []byte) (int, error) {
	x := frame{Out: b}
	if p.stderr {
		x = frame{Err: b}
	}
	if err := p.to.write(x); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Call runs a command in the process that owns the store in dir and returns its exit code. input is what
// the command reads from stdin, nil for most.
// Errors: ErrNobody where no process listens, ErrForbidden where one of another user does, ErrAgain
// where the owner hands the command back, what writing to stdout says, and that the owner died before it had answered. When ctx ends the
// command is interrupted, and Call returns what it comes to.
func Call(ctx context.Context, dir string, args []string, input []byte, stdout, stderr io.Writer) (int, error) {
	path, err := Path(dir)
	if err != nil {
		return 0, err
	}
	conn, err := net.Dial("unix", path)
	if errors.Is(err, os.ErrPermission) {
		return 0, ErrForbidden
	}
	if err != nil {
		return 0, ErrNobody
	}
	defer conn.Close()
	out := json.NewEncoder(conn)
	if err := out.Encode(request{Args: args, Input: input}); err != nil {
		return 0, ErrAgain // it stopped listening meanwhile
	}
	stop := context.AfterFunc(ctx, func() { out.Encode(request{Interrupt: true}) })
	defer stop()
	printed := false
	for in := json.NewDecoder(conn); ; {
		var x frame
		if err := in.Decode(&x); err != nil {
			if !printed {
				return 0, ErrAgain
			}
			return 0, fmt.Errorf("the crawl in %s ended before it had answered: %w", dir, err)
		}
		switch {
		case x.Exit != nil:
			return *x.Exit, nil
		case x.Again:
			return 0, ErrAgain
		}
		printed = printed || len(x.Out) > 0
		if _, err := stdout.Write(x.Out); err != nil {
			return 0, err
		}
		stderr.Write(x.Err)
	}
}
