// Package grouptest is for tests that wait for what processes of a group do, and for what they say of it.
package grouptest

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// Await returns when ok does, and fails the test after half a minute. what: as in "still not …".
func Await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("still not %s", what)
		}
	}
}

// A Journal is what a log is written to, and read from meanwhile. The zero value is empty.
type Journal struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (j *Journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// Count returns how often the log has a text.
func (j *Journal) Count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), text)
}
