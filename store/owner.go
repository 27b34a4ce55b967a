package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/internal/filelock"
)

// An InUseError tells that another process has the store open.
type InUseError struct {
	Dir string
	PID int // of the process that writes; 0: one that reads, or not known
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("in use by another process that reads it, and still so after %s; it can be written to when that one ends", patience)
	}
	return fmt.Sprintf("in use by process %d; one process at a time may write to it", e.PID)
}

// An owner is the lock on a store: shared among readers, exclusive for the writer, given
// up by the system when its process dies.
type owner struct{ f *os.File }

// patience is how long others that hold the lock for a moment are waited for. Readers hold it
// while they copy the store's log, of up to 2 MemTables, 5 ms each; a reader that cannot have
// a copy holds it until it closes.
const patience = 10 * time.Second

// acquire locks the store in dir. It returns nil for a reader where there is no lock and none can
// be made: nobody is writing there, as that takes one.
func acquire(dir string, shared bool, patience time.Duration) (*owner, error) {
	path := filepath.Join(dir, "owner")
	// What it holds is replaced, so that it must not be a link to a file of somebody else.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o644)
	if shared && (isReadOnly(err) || errors.Is(err, fs.ErrPermission)) {
		f, err = os.OpenFile(path, os.O_RDONLY|noFollow, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	if isLink(err) {
		return nil, fmt.Errorf("%s is a symbolic link, which no lock of a store is: remove it", path)
	}
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if err = filelock.Try(f, !shared); err != filelock.ErrLocked {
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
	// What a writer that was killed left there may by now be the number of any process.
	err = f.Truncate(0)
	if !shared {
		if err := errors.Join(err, writePID(f)); err != nil {
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
	if err != nil || !lives(pid) {
		return 0
	}
	return pid
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

// LastWritten returns when the store in dir was last written to, to be compared with what it returns at another
// time: the zero time where that cannot be told.
func LastWritten(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "documents", commitsName))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
