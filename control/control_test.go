package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCall(t *testing.T) {
	for name, dir := range map[string]string{
		"short": t.TempDir(),
		"long":  filepath.Join(t.TempDir(), strings.Repeat("long", 30)),
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			var out, msg bytes.Buffer
			if _, err := Call(t.Context(), dir, nil, nil, &out, &msg); !errors.Is(err, ErrNobody) {
				t.Fatalf("without a server: %v, want %v", err, ErrNobody)
			}
			path, _ := Path(dir)
			if err := os.WriteFile(path, nil, 0o600); err != nil { // what a killed process leaves
				t.Fatal(err)
			}
			server, err := Serve(dir, func(ctx context.Context, stdout, stderr io.Writer, args []string, input []byte) (int, error) {
				fmt.Fprintf(stderr, "%d arguments, %q\n", len(args), input)
				for _, a := range args {
					fmt.Fprintf(stdout, "%s\xff\n", a)
				}
				return 40 + len(args), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			code, err := Call(t.Context(), dir, []string{"a", "ü\n"}, []byte("in\xff"), &out, &msg)
			if err != nil || code != 42 || out.String() != "a\xff\nü\n\xff\n" || msg.String() != "2 arguments, \"in\\xff\"\n" {
				t.Errorf("Call = %d, %v; stdout %q, stderr %q", code, err, &out, &msg)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("socket: %v, %v, want mode 0600", info, err)
			}
			server.Close(nil)
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket stays: %v", err)
			}
			if _, err := Call(t.Context(), dir, nil, nil, &out, &msg); !errors.Is(err, ErrNobody) {
				t.Errorf("after close: %v, want %v", err, ErrNobody)
			}
		})
	}
}

// TestInterrupted: a caller that is interrupted hears what the command came to, a caller that is
// gone interrupts it, and an owner that ends hands it back.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	began, ended := make(chan bool), make(chan bool, 3)
	again := make(chan bool)
	server, err := Serve(dir, func(ctx context.Context, stdout, stderr io.Writer, args []string, input []byte) (int, error) {
		began <- true
		select {
		case <-ctx.Done():
			fmt.Fprint(stdout, "interrupted")
			ended <- true
			return 130, nil
		case <-again:
			return 0, ErrAgain
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	call := func(ctx context.Context) (out *bytes.Buffer, wait func() (int, error)) {
		out = new(bytes.Buffer)
		var code int
		var err error
		done := make(chan bool)
		go func() {
			code, err = Call(ctx, dir, []string{"wait"}, nil, out, io.Discard)
			close(done)
		}()
		<-began
		return out, func() (int, error) { <-done; return code, err }
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, wait := call(ctx)
	cancel()
	if code, err := wait(); code != 130 || err != nil || out.String() != "interrupted" {
		t.Errorf("interrupted: Call = %d, %v, %q", code, err, out)
	}
	<-ended

	path, err := Path(dir)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(conn, `{"args":["wait"]}`)
	<-began
	conn.Close()
	<-ended

	_, wait = call(t.Context())
	close(again)
	if _, err := wait(); !errors.Is(err, ErrAgain) {
		t.Errorf("handed back: Call = %v", err)
	}
	server.Close(nil)
}
