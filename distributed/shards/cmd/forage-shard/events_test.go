package main

import (
	"strconv"
	"testing"
)

// TestRecent remembers the latest IDs, however many there were.
func TestRecent(t *testing.T) {
	var r recent
	for i := range 3 * mostRecent {
		if !r.add(strconv.Itoa(i)) {
			t.Fatalf("%d is not new", i)
		}
		if again := max(0, i-mostRecent+1); i%1000 == 0 && r.add(strconv.Itoa(again)) {
			t.Fatalf("at %d, %d is new", i, again)
		}
	}
	if n := len(r.latest) + len(r.before); n > 2*mostRecent {
		t.Errorf("%d are remembered", n)
	}
}
