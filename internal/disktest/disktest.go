//go:build unix

// Package disktest gives tests disks of their own, which can be full, lose power, or be read only.
//
// A disk is an ext4 file system in a file. To mount it takes the rights of root and a loop device;
// where there are none the test is skipped and says so.
package disktest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A Disk is a small disk, mounted until the test ends.
type Disk struct {
	Dir   string
	image string
	cuts  int
}

// New makes and mounts an empty disk of size bytes.
func New(t testing.TB, size int64) *Disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a disk of its own takes the rights of root")
	}
	d := &Disk{image: filepath.Join(t.TempDir(), "image")}
	f, err := os.Create(d.image)
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		t.Skipf("a disk of its own takes mkfs.ext4: %v", err)
	}
	// Without the blocks that are reserved for root, who runs this test.
	if out, err := exec.Command("mkfs.ext4", "-q", "-m", "0", d.image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v: %s", err, out)
	}
	if d.Dir, err = mount(t, d.image); err != nil {
		t.Skipf("a disk of its own takes a loop device: %v", err)
	}
	return d
}

// mount mounts an image until the test ends.
func mount(t testing.TB, image string) (string, error) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("mount: %w: %s", err, bytes.TrimSpace(out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
			exec.Command("umount", "-l", dir).Run()
		}
	})
	return dir, nil
}

// PowerCut returns a folder with the disk as it would be if the machine had lost power now: what
// was not synced is lost. The disk itself goes on.
func (d *Disk) PowerCut(t testing.TB) string {
	t.Helper()
	d.cuts++
	cut := fmt.Sprintf("%s.%d", d.image, d.cuts)
	if out, err := exec.Command("cp", "--sparse=always", d.image, cut).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	dir, err := mount(t, cut)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Fill takes all room on the disk but the last free bytes, in a file that Empty removes.
func (d *Disk) Fill(t testing.TB, free int64) {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.Dir, &s); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(d.fill(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	for left := int64(s.Bavail)*int64(s.Bsize) - free; left > 0; {
		n, err := f.Write(buf[:min(left, int64(len(buf)))])
		left -= int64(n)
		if errors.Is(err, syscall.ENOSPC) {
			if len(buf) == 1 {
				break
			}
			buf = buf[:len(buf)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if free == 0 {
		if _, err := io.Copy(f, zeros{}); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Empty gives back what Fill took.
func (d *Disk) Empty(t testing.TB) {
	t.Helper()
	if err := os.Remove(d.fill()); err != nil {
		t.Fatal(err)
	}
}

func (d *Disk) fill() string { return filepath.Join(d.Dir, "fill") }

// Remount makes the disk read only, or writable again.
func (d *Disk) Remount(t testing.TB, readOnly bool) {
	t.Helper()
	how := "remount,rw"
	if readOnly {
		how = "remount,ro"
	}
	if out, err := exec.Command("mount", "-o", how, d.Dir).CombinedOutput(); err != nil {
		t.Fatalf("mount -o %s: %v: %s", how, err, out)
	}
}
