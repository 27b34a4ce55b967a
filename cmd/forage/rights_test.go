//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"forage/internal/disktest"
	"forage/replay"
	"forage/snap"
)

// crawled makes a store of a small site in dir.
func crawled(t *testing.T, dir string) {
	t.Helper()
	s, err := replay.New(snap.Blog(rand.New(rand.NewPCG(1, 0)), 3), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	var stderr bytes.Buffer
	if code := run(context.Background(), io.Discard, &stderr, strings.Fields("crawl "+srv.URL+" --dir "+dir+" --delay 0 --allow-private 127.0.0.0/8")); code != 0 {
		t.Fatalf("crawl: exit %d: %s", code, &stderr)
	}
}

// readings are what those can do who may not write to a store. OUT is a file to write.
var readings = []string{"status", "status --json", "pages", "pages --format csv", "export urls -o OUT", "export graph -o OUT", "export snap -o OUT.snap.gz", "check"}

// read runs all readings of the store in dir by forage, a function that runs the program.
func read(t *testing.T, dir, what string, forage func(args ...string) (string, int)) {
	t.Helper()
	for _, c := range readings {
		args := strings.Fields(strings.ReplaceAll(c, "OUT", filepath.Join(filepath.Dir(dir), "out"))) // beside the store or, where that is read only, not
		if text, code := forage(append(args, "--dir", dir)...); code != 0 {
			t.Errorf("%s: forage %s: exit %d: %s", what, c, code, text)
		}
	}
}

// TestReadOnly reads a store on a file system that cannot be written to, with its lock and after
// a copy that left it out.
func TestReadOnly(t *testing.T) {
	disk := disktest.New(t, 128<<20)
	dir, out := filepath.Join(disk.Dir, "store"), filepath.Join(t.TempDir(), "out")
	crawled(t, dir)
	forage := func(args ...string) (string, int) {
		for i := range args {
			args[i] = strings.Replace(args[i], filepath.Join(disk.Dir, "out"), out, 1)
		}
		var text bytes.Buffer
		code := run(context.Background(), &text, &text, args)
		return text.String(), code
	}
	for _, what := range []string{"a read-only file system", "the same without the lock's file"} {
		disk.Remount(t, true)
		read(t, dir, what, forage)
		if text, code := forage("crawl", "--dir", dir, "http://127.0.0.1:1/"); code != 1 || !strings.Contains(text, "read-only file system") {
			t.Errorf("%s: forage crawl: exit %d: %s", what, code, text)
		}
		disk.Remount(t, false)
		if err := os.Remove(filepath.Join(dir, "owner")); what == "a read-only file system" && err != nil {
			t.Fatal(err)
		}
	}
}

// TestOtherUser reads a store as a user who may not write to it, also while its owner crawls.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("to be another user takes the rights of root")
	}
	tmp := t.TempDir()
	for _, dir := range []string{filepath.Dir(tmp), tmp} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program, dir := filepath.Join(tmp, "forage"), filepath.Join(tmp, "a", "store")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", self, program).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	crawled(t, dir)
	if err := os.Chmod(filepath.Dir(dir), 0o777); err != nil { // where it writes what it exports
		t.Fatal(err)
	}
	forage := func(args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}}
		text, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(text), cmd.ProcessState.ExitCode()
	}
	for _, mode := range []os.FileMode{0o755, 0o777} { // the second lets it make a folder beside files it may not link
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		read(t, dir, mode.String(), forage)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Remove(filepath.Join(dir, "owner"))); err != nil {
		t.Fatal(err)
	}
	read(t, dir, "without the lock's file", forage)

	asked, free := make(chan bool, 1), make(chan bool)
	srv := httptest.NewServer(holding{asked, free})
	defer srv.Close()
	ended := make(chan int)
	go func() {
		ended <- run(context.Background(), io.Discard, io.Discard, strings.Fields("crawl "+srv.URL+" --dir "+dir+" --delay 0 --allow-private 127.0.0.0/8"))
	}()
	<-asked
	if text, code := forage("status", "--dir", dir); code != 1 || !strings.Contains(text, "in use by process") || !strings.Contains(text, "runs for another user") {
		t.Errorf("status beside a crawl: exit %d: %s", code, text)
	}
	close(free)
	<-ended
}

// holding answers when free is closed, and says that it was asked.
type holding struct{ asked, free chan bool }

func (h holding) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	select {
	case h.asked <- true:
	default:
	}
	select {
	case <-h.free:
	case <-r.Context().Done():
	}
	http.NotFound(rw, r)
}
