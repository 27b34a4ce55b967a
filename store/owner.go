package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

// An InUseError tells that another process has the store open.
type InUseError struct {
	Dir string
	PID int // 0: not known
}

func (e *InUseError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("in use by %s; 'forage status' and 'forage pages' work beside a running crawl, a second writer has to wait", who)
}

// An owner is the lock on a store: shared among readers, exclusive for the writer, given
// up by the system when its process dies.
type owner struct{ f *os.File }

// patience is how long a reader that holds the lock for a moment is waited for.
const patience = 2 * time.Second

func acquire(dir string, shared bool) (*owner, error) {
	f, err := os.OpenFile(filepath.Join(dir, "owner"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			break
		}
		pid := readPID(f)
		if pid != 0 || time.Now().After(end) {
			f.Close()
			return nil, &InUseError{Dir: dir, PID: pid}
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock: %w", err)
	}
	if !shared {
		if err := errors.Join(f.Truncate(0), writePID(f)); err != nil {
			f.Close()
			return nil, fmt.Errorf("lock: %w", err)
		}
	}
	return &owner{f}, nil
}

func writePID(f *os.File) error {
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// readPID returns the process of the writer, 0 where readers hold the lock.
func readPID(f *os.File) int {
	b, _ := io.ReadAll(io.NewSectionReader(f, 0, 32))
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || unix.Kill(pid, 0) != nil && !errors.Is(unix.Kill(pid, 0), unix.EPERM) {
		return 0
	}
	return pid
}

// Owner returns the process that has the store of dir open for writing, 0 for none.
func Owner(dir string) int {
	f, err := os.Open(filepath.Join(dir, "owner"))
	if err != nil {
		return 0
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		return 0
	}
	return readPID(f)
}

func (o *owner) release() {
	if o != nil {
		o.f.Truncate(0)
		o.f.Close()
	}
}

// unlocked is a file system whose locks always succeed: the owner file keeps writers apart
// and, unlike the database's own lock, lets readers share.
type unlocked struct{ vfs.FS }

func (u unlocked) Unwrap() vfs.FS { return u.FS }

func (unlocked) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }
