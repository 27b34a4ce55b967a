package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"forage/internal/software"
)

var update = flag.Bool("update", false, "raise the bounds of testdata/least.txt to what is reached")

// A figure is a column of testdata/least.txt.
type figure struct {
	name string
	of   func(*report) int64
	most bool   // the bound is what it may be at most, else at least
	pays string // figures for which this one may grow: where one of them is better, the bound does not hold
}

var figures = []figure{
	{"failed", func(r *report) int64 { return one(r.Failed) }, true, ""},
	{"ended", func(r *report) int64 { return one(r.Ended) }, false, ""},
	{"requests", func(r *report) int64 { return r.Requests }, true, "failed found"},
	{"found", func(r *report) int64 { return int64(r.Found) }, false, ""},
	{"told_new", func(r *report) int64 { return int64(r.ToldNew) }, false, ""},
	{"false_new", func(r *report) int64 { return int64(r.FalseNew) }, true, "failed found"},
	{"told_away", func(r *report) int64 { return int64(r.ToldAway) }, false, ""},
	{"moved_new", func(r *report) int64 { return int64(r.MovedNew) }, true, "failed found"},
	{"false_gone", func(r *report) int64 { return int64(r.FalseGone) }, true, "failed found"},
	{"revisit", func(r *report) int64 { return r.Revisit }, true, "failed found told_new told_away"},
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// A named trial is a line of testdata/least.txt.
type named struct {
	name  string
	trial trial
}

// trials are a small site of each kind, and the same with a first visit that is cut early.
func trials() []named {
	var out []named
	for i := range software.Kinds {
		k := &software.Kinds[i]
		t := small(k, 1)
		out = append(out, named{k.Name, t})
		if t.config.Pages > 0 {
			t.first = cutEarly
			out = append(out, named{k.Name + "-cut", t})
		}
	}
	return out
}

const leastFile = "testdata/least.txt"

// TestLeast crawls small sites and compares with testdata/least.txt, which holds what
// was reached before: at most so many requests, at least so many pages, as report says; requests may
// grow where more comes of them. What comes out better is logged, and with -update becomes the bound;
// to give up what was reached takes an editor. A trial without a line gets one. It takes every other kind of site,
// with -update and with FORAGE_SITES=all each.
func TestLeast(t *testing.T) {
	bounds := readLeast(t)
	reached := map[string][]int64{}
	t.Run("kinds", func(t *testing.T) {
		for _, c := range trials() {
			if !taken(c.trial.kind) && !*update {
				continue
			}
			bound := bounds[c.name]
			got := make([]int64, len(figures))
			reached[c.name] = got
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				r, err := judge(context.Background(), c.trial)
				if err != nil {
					t.Fatal(err)
				}
				better := map[string]bool{}
				for i, f := range figures {
					got[i] = f.of(r)
					better[f.name] = bound != nil && (f.most && got[i] < bound[i] || !f.most && got[i] > bound[i])
				}
				if bound == nil {
					if !*update {
						t.Errorf("no line in %s; -update writes one", leastFile)
					}
					return
				}
				for i, f := range figures {
					paid := slices.ContainsFunc(strings.Fields(f.pays), func(name string) bool { return better[name] })
					switch {
					case f.most && paid:
					case f.most && got[i] > bound[i]:
						t.Errorf("%s = %d, want at most %d", f.name, got[i], bound[i])
					case !f.most && got[i] < bound[i]:
						t.Errorf("%s = %d, want at least %d", f.name, got[i], bound[i])
					case got[i] != bound[i]:
						t.Logf("%s = %d, better than %d: -update makes that the bound", f.name, got[i], bound[i])
					}
				}
			})
		}
	})
	if *update && !t.Failed() {
		var b bytes.Buffer
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(w, "trial\t")
		for _, f := range figures {
			fmt.Fprint(w, f.name, "\t")
		}
		for _, c := range trials() {
			fmt.Fprintf(w, "\n%s\t", c.name)
			for _, n := range reached[c.name] {
				fmt.Fprint(w, n, "\t")
			}
		}
		fmt.Fprintln(w)
		w.Flush()
		if err := os.WriteFile(leastFile, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// taken reports whether the tests take a kind of site: every other one, with FORAGE_SITES=all each.
func taken(kind string) bool {
	i := slices.IndexFunc(software.Kinds, func(k software.Kind) bool { return k.Name == kind })
	return i%2 == 0 || os.Getenv("FORAGE_SITES") == "all"
}

// readLeast returns the bounds of each trial, in the order of figures.
func readLeast(t *testing.T) map[string][]int64 {
	t.Helper()
	text, err := os.ReadFile(leastFile)
	if os.IsNotExist(err) && *update {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	columns := strings.Fields(lines[0])
	out := map[string][]int64{}
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		if len(cells) != len(columns) || len(columns) != len(figures)+1 {
			t.Fatalf("%s: %q has %d columns, want a trial and %d figures", leastFile, line, len(cells), len(figures))
		}
		bound := make([]int64, len(figures))
		for i, f := range figures {
			n, err := strconv.ParseInt(cells[i+1], 10, 64)
			if err != nil || columns[i+1] != f.name {
				t.Fatalf("%s: column %s of %s: %q, %v; want the number of %s", leastFile, columns[i+1], cells[0], cells[i+1], err, f.name)
			}
			bound[i] = n
		}
		out[cells[0]] = bound
	}
	return out
}

// TestSameSeed: a trial comes out the same twice.
func TestSameSeed(t *testing.T) {
	tr := small(&software.Kinds[0], 3)
	tr.first = 60 // cut, where the order counts
	a, err := judge(context.Background(), tr)
	if err != nil {
		t.Fatal(err)
	}
	b, err := judge(context.Background(), tr)
	if err != nil || *a != *b {
		t.Errorf("%+v and then %+v, %v", a, b, err)
	}
}
