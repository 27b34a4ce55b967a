package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestAsked compares what a kill at any moment leaves of when hosts were asked with all that was
// written: each host that was not given up, or whose time had not come then, is known.
func TestAsked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	files := vfs.NewMem()
	now := int64(1_700_000_000_000)
	want := map[string]int64{} // of hosts that are to be known
	until := map[string]int64{}
	for process := range 40 {
		a, err := openAsked(files, "asked")
		if err != nil {
			t.Fatal(err)
		}
		for host, at := range want {
			if got := (&DB{asked: a}).Asked(host); got < at {
				t.Fatalf("process %d: %s was asked at %d, known is %d", process, host, at, got)
			}
		}
		for range r.IntN(200) {
			now += r.Int64N(2000)
			host := fmt.Sprintf("h%d.example", r.IntN(30))
			if r.IntN(3) > 0 {
				if err := a.put(host, now); err != nil {
					t.Fatal(err)
				}
				want[host] = now
				delete(until, host)
			} else if at, ok := want[host]; ok && until[host] == 0 {
				a.forget(host, at+5000)
				until[host] = at + 5000
			}
			for host, end := range until {
				if now >= end {
					delete(want, host)
					delete(until, host)
				}
			}
		}
		clear(until)        // no record of another process is used again
		if process%4 == 3 { // a clean end: of the hosts of this process the database knows
			if err := a.close(true); err != nil {
				t.Fatal(err)
			}
			want = map[string]int64{}
		}
	}
}

// TestAskedEnds leaves no file behind where all is in the database, and keeps the hosts that a
// process before was killed at and this one has not asked.
func TestAskedEnds(t *testing.T) {
	files := vfs.NewMem()
	reopen := func() *asked {
		t.Helper()
		a, err := openAsked(files, "asked")
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	put := func(a *asked, host string, at int64) {
		t.Helper()
		if err := a.put(host, at); err != nil {
			t.Fatal(err)
		}
	}
	known := func(host string) int64 { return (&DB{asked: reopen()}).Asked(host) }
	killed := reopen()
	put(killed, "one", 1000)
	put(killed, "two", 2000)
	a := reopen()
	put(a, "two", 3000)
	if err := a.close(true); err != nil {
		t.Fatal(err)
	}
	if one, two := known("one"), known("two"); one != 1000 || two != 0 {
		t.Errorf("after a clean end: one %d, two %d", one, two)
	}
	a = reopen()
	put(a, "one", 4000)
	if err := a.close(false); err != nil { // the database is not whole
		t.Fatal(err)
	}
	if one := known("one"); one != 4000 {
		t.Errorf("after a failure: one %d", one)
	}
	put(reopen(), "three", 4000+maxAskedAge.Milliseconds()+1)
	if one, three := known("one"), known("three"); one != 0 || three == 0 {
		t.Errorf("a day later: one %d, three %d", one, three)
	}
	a = reopen()
	put(a, "three", 5000)
	if err := a.close(true); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Stat("asked"); err == nil {
		t.Error("a file is left of a store that was closed")
	}
}

// TestAskedDamage reads files with any bit flipped, and of any length: the other records hold.
func TestAskedDamage(t *testing.T) {
	var whole []byte
	for i := range uint64(3) {
		whole = appendAsked(whole, i, 1000)
	}
	read := func(b []byte) int {
		t.Helper()
		files := vfs.NewMem()
		f, err := files.Create("asked", vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(append([]byte(nil), b...)); err != nil { // which the file may change
			t.Fatal(err)
		}
		f.Close()
		a, err := openAsked(files, "asked")
		if err != nil {
			t.Fatal(err)
		}
		return len(a.left)
	}
	for bit := range 8 * len(whole) {
		b := append([]byte(nil), whole...)
		b[bit/8] ^= 1 << (bit % 8)
		if n := read(b); n != 2 {
			t.Errorf("bit %d flipped: %d records, want 2", bit, n)
		}
	}
	for n := range whole {
		if got := read(whole[:n]); got != n/askedSize {
			t.Errorf("%d bytes: %d records", n, got)
		}
	}
}
