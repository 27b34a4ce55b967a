package asked

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// TestTell: a figure is ok or short by what is asked of it.
func TestTell(t *testing.T) {
	var out strings.Builder
	b := &Table{Out: &out}
	for _, c := range []struct {
		measured, asked float64
		want            string
	}{
		{1.2, 1.25, "<= 1.25 ok"}, {1.3, 1.25, "<= 1.25 short"}, {1.8, -1.7, ">= 1.70 ok"}, {1.6, -1.7, ">= 1.70 short"}, {123.4, 0, "123 x            -"}, {math.NaN(), 5, "<= 5 short"},
	} {
		out.Reset()
		b.Tell("it", c.measured, "x", c.asked)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("Tell(%v, %v): %q, want %q in it", c.measured, c.asked, out.String(), c.want)
		}
	}
	if b.Short != 3 {
		t.Errorf("%d short, want 3", b.Short)
	}
	if b.Quick = true; b.Size(600) != 60 || b.Size(5) != 1 {
		t.Errorf("sizes %d, %d", b.Size(600), b.Size(5))
	}
}

// TestRun: all rows are measured in their order, or the one that is named, up to the first that fails.
func TestRun(t *testing.T) {
	var out, ran strings.Builder
	broken := errors.New("broken")
	b := &Table{Out: &out}
	rows := []Row{{"a", func() error { ran.WriteString("a"); b.Tell("it", 2, "", 1); return nil }}, {"b", func() error { ran.WriteString("b"); return broken }}, {"c", func() error { ran.WriteString("c"); return nil }}}
	for only, want := range map[string]string{"": "ab", "a": "a", "c": "c", "d": ""} {
		ran.Reset()
		if err := b.Run(rows, only); ran.String() != want || (only == "") != errors.Is(err, broken) || (only == "d") != (err != nil && strings.Contains(err.Error(), "a, b, c")) {
			t.Errorf("-only %q: ran %q, %v", only, ran.String(), err)
		}
	}
	if !strings.Contains(out.String(), "1 short") {
		t.Errorf("what is short is not counted: %s", out.String())
	}
}
