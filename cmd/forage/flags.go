package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"forage/internal/units"
	"forage/report"
)

// printJSON writes v as one line of JSON, which is safe to be looked at.
func printJSON(w io.Writer, v any) error { return report.WriteJSON(w, v) }

// size is a flag value in bytes: 1500, 64MiB, 2GiB, 10GB.
type size = units.Size

// amount is a flag value that is a number or a share: 10, 2.5%.
type amount struct {
	n     int     // where percent is not set
	share float64 // 0…1, where percent is set
	text  string
	isPct bool
}

func (a *amount) Type() string   { return "N|N%" }
func (a *amount) String() string { return a.text }

func (a *amount) Set(text string) error {
	bad := fmt.Errorf("want a number of at least 0 or a percentage up to 100%%, got %q", text)
	if t, ok := strings.CutSuffix(text, "%"); ok {
		v, err := strconv.ParseFloat(t, 64)
		if err != nil || !(v >= 0 && v <= 100) {
			return bad
		}
		*a = amount{share: v / 100, text: text, isPct: true}
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return bad
	}
	*a = amount{n: n, text: text}
	return nil
}

// of returns the amount out of total; shares are rounded down.
func (a *amount) of(total int) int {
	if a.isPct {
		return int(a.share * float64(total))
	}
	return a.n
}

// named refuses -o - where a command's standard output tells of the run, or a folder is wanted: the name of
// a file that is called so is ./-.
func named(output string) error {
	if output == "-" {
		return usagef("-o -: want the name of a file or folder; this command does not write to the standard output what -o is for")
	}
	return nil
}

// sortedKeys returns the keys of m in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// every returns a function that is true once an interval has passed since it was, or since now.
func every(interval time.Duration) (due func() bool) {
	last := time.Now()
	return func() bool {
		now := time.Now()
		if now.Sub(last) < interval {
			return false
		}
		last = now
		return true
	}
}
