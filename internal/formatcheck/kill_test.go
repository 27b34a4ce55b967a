package formatcheck

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forage/internal/shared"
)

// TestKills kills crawls that keep an archive with SIGKILL, after so many requests, until they get to their end: the archive has what its store
// says was fetched, each answer as the server gave it, and from the next start on no file has a broken end.
func TestKills(t *testing.T) {
	python(t)
	t.Parallel()
	base, at := history(t, shared.Path(t, "data", "sites", "1000ch.snap.gz"))
	s := before(t, base)
	u := newUser(t)
	r := rand.New(rand.NewPCG(uint64(kills()), 16))
	whole := map[string]bool{} // files that were seen to be
	// run starts a process, and kills it at a random moment of its first requests. The first of them comes when the archive is open.
	run := func(cmd *exec.Cmd, most int) (killed bool) {
		t.Helper()
		var msg bytes.Buffer
		cmd.Stderr = &msg
		begun, from := time.Duration(r.IntN(60))*time.Millisecond, 0
		after := 1 + r.IntN(most)
		dies := make(chan bool)
		s.mu.Lock()
		from = s.asked
		s.each = func(n int) {
			if n == from+1 {
				open, _ := filepath.Glob(filepath.Join(u.folder, "*.open"))
				for _, f := range open {
					t.Errorf("%s is open when the next crawl has begun", f)
				}
				files, _ := filepath.Glob(filepath.Join(u.folder, "*.warc.gz"))
				for _, f := range files {
					if whole[f] {
						continue
					}
					whole[f] = true
					if out, err := exec.Command("gzip", "-t", f).CombinedOutput(); err != nil {
						t.Errorf("after a kill: %s: %v %s", f, err, out)
					}
				}
			}
			if n == from+after {
				go func() {
					select {
					case <-time.After(begun): // the answers before are at different stages of their way to the disk
						cmd.Process.Kill()
					case <-dies:
					}
				}()
			}
		}
		s.mu.Unlock()
		err := cmd.Run()
		close(dies)
		s.mu.Lock()
		s.each = nil
		s.mu.Unlock()
		if err != nil && err.Error() != "signal: killed" {
			t.Fatalf("%v: %s", err, &msg)
		}
		return err != nil
	}
	done := 0
	for run(u.fetching("crawl", "--parallel", "8", s.URL+"/"), 300) {
		done++
	}
	for cycle := 1; done < kills() || cycle == 1; cycle++ {
		at(3 * (cycle % 15))
		for run(u.fetching("revisit", "--parallel", "8", "--full"), 300) {
			done++
		}
	}
	t.Logf("%d kills", done)
	log := s.noted()
	recs := u.records()
	more := map[said]int{}
	for _, a := range answers(t, recs) {
		more[a]++
	}
	for _, a := range log {
		more[a]--
	}
	for a, n := range more {
		if n > 0 {
			t.Errorf("the archive has %v %d times more than the server gave it", a, n)
		}
	}
	if got := len(answers(t, recs)); got < 500 || got > len(log) {
		t.Errorf("%d answers in the archive, the server gave %d", got, len(log))
	}
	u.indexed()
	u.replayed(recs)
	u.tabled() // visits and captures of each document are as many
	if out := u.run(u.command("check")); !strings.Contains(out, "ok") && !strings.Contains(out, "sound") {
		t.Errorf("check: %s", out)
	}
}
