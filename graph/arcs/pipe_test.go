//go:build unix

package arcs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestCreateWritesToPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	got := make(chan string)
	go func() {
		text, err := os.ReadFile(path)
		got <- fmt.Sprint(string(text), err)
	}()
	if err := Create(path, func(w io.Writer) error { _, err := io.WriteString(w, "0 1"); return err }); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "0 1<nil>" {
		t.Errorf("the pipe got %s", text)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
		t.Errorf("the pipe is replaced by a file: %v", err)
	}
}
