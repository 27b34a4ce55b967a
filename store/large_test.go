//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOpenProcess is not a test but the other process of TestLarge: it opens a large store,
// asks what a crawl asks first, and tells how long that took and how much memory.
func TestOpenProcess(t *testing.T) {
	dir := os.Getenv("FORAGE_TEST_OPEN")
	if dir == "" {
		t.Skip("it is run by TestLarge")
	}
	began := time.Now()
	lap := func(what string, most time.Duration) {
		took := time.Since(began)
		fmt.Printf("%s: %s\n", what, took.Round(10*time.Microsecond))
		if took > most {
			t.Errorf("%s took %s, want at most %s", what, took, most)
		}
		began = time.Now()
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := Open(dir, Options{ReadOnly: os.Getenv("FORAGE_TEST_READ_ONLY") != ""})
	must(err)
	defer db.Close()
	lap("Open", time.Second)
	last, err := db.LastCycle()
	must(err)
	lap(fmt.Sprint("LastCycle, which is ", last), 10*time.Millisecond)
	_, err = db.SiteNamed("site-77777.test")
	must(err)
	lap("SiteNamed", 100*time.Millisecond)
	n := 0
	must(db.CyclesBack(func(c *CycleRecord) bool { n++; return n < 20 }))
	lap("CyclesBack, 20 of them", 100*time.Millisecond)
	n = 0
	must(db.SiteCyclesBack(77777, func(c *CycleRecord) bool { n++; return n < 30 }))
	lap(fmt.Sprint("SiteCyclesBack, ", n, " of them"), 100*time.Millisecond)
	var use unix.Rusage
	must(unix.Getrusage(unix.RUSAGE_SELF, &use))
	if runtime.GOOS == "linux" { // elsewhere it is in bytes
		use.Maxrss <<= 10
	}
	fmt.Printf("memory: %d MB\n", use.Maxrss>>20)
	if use.Maxrss > 150<<20 {
		t.Errorf("%d MB of memory, want at most 150", use.Maxrss>>20)
	}
}

// TestLarge makes a store of 100,000 sites and 1,000,000 cycles, and opens it in a process of
// its own: that must not depend on how many there are.
func TestLarge(t *testing.T) {
	if os.Getenv("FORAGE_LONG") == "" {
		t.Skip("it takes a minute; FORAGE_LONG=1 runs it")
	}
	const sites, rounds = 100_000, 10
	dir := t.TempDir()
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	lap := func(what string) {
		if err := db.Sync(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", what, time.Since(began).Round(time.Millisecond))
		began = time.Now()
	}
	for i := range sites {
		name := fmt.Sprintf("site-%d.test", i)
		err := db.AddSite(&Site{Name: name, Rules: Rules{Scope: "host", Within: name}, Seeds: []string{"https://" + name + "/"}, State: SiteDone})
		if i%100 == 99 {
			err = errors.Join(err, db.Commit())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lap("sites added")
	for round := range rounds {
		for i := range sites {
			c := &CycleRecord{Site: SiteID(i + 1), Kind: Revisit, Policy: "best", Budget: "10%", Limit: 5, At: int64(1_700_000_000 + 60*round), Fetched: 7, Refetched: 5, Pages: 2, New: 2, Bytes: 12_345}
			err := db.OpenCycle(c)
			if err == nil && i < sites-10 { // ten are open when the process ends
				c.Ended, c.Took, c.Done = c.At+30, 1234, true
				err = db.PutCycle(c)
			}
			err = errors.Join(err, db.PutRefetch(c.Site, c.Cycle, &Refetch{Page: 1}), db.PutRefetch(c.Site, c.Cycle, &Refetch{Page: 2}))
			if err = errors.Join(err, db.PutRecord(c.Site, c.Cycle, []byte(strings.Repeat("r", 50)))); err == nil && i%100 == 99 {
				err = db.Commit()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	lap("cycles")
	for i := range sites / 10 {
		err := db.Condense(SiteID(i+1), 4)
		if i%100 == 99 {
			err = errors.Join(err, db.Commit())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lap("a tenth of the sites condensed from 10 to 4")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []string{"", "1"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOpenProcess$", "-test.v")
		cmd.Env = append(os.Environ(), "FORAGE_TEST_OPEN="+dir, "FORAGE_TEST_READ_ONLY="+readOnly)
		out, err := cmd.CombinedOutput()
		t.Logf("read only %q:\n%s", readOnly, out)
		if err != nil {
			t.Error(err)
		}
	}
}
