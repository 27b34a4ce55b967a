package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// printJSON writes v as one line of JSON.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// size is a flag value in bytes: 1500, 64MiB, 2GiB, 10GB.
type size int64

func (s *size) Type() string { return "size" }

// String gives the largest unit of which it is a whole number.
func (s *size) String() string {
	n, unit := int64(*s), ""
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.FormatInt(n, 10) + unit
}

func (s *size) Set(text string) error {
	num, unit := text, int64(1)
	for _, u := range []struct {
		name  string
		bytes int64
	}{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
	} {
		if t, ok := strings.CutSuffix(text, u.name); ok {
			num, unit = t, u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if err != nil || !(v >= 0) || v*float64(unit) >= 1<<63 {
		return fmt.Errorf("want a size such as 64MiB or 2GiB, got %q", text)
	}
	*s = size(v * float64(unit))
	return nil
}

// amount is a flag value that is a number or a share: 10, 2.5%.
type amount struct {
	n     int     // where percent is not set
	share float64 // 0…1, where percent is set
	set   bool
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
		*a = amount{share: v / 100, set: true, text: text, isPct: true}
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return bad
	}
	*a = amount{n: n, set: true, text: text}
	return nil
}

// of returns the amount out of total; shares are rounded down.
func (a *amount) of(total int) int {
	if a.isPct {
		return int(a.share * float64(total))
	}
	return a.n
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

// binaryBytes is a number of bytes with one digit after the point and a binary unit.
func binaryBytes[T int64 | uint64](b T) string {
	v := float64(b)
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if v < 1024 {
			return strconv.FormatFloat(v, 'f', min(1, len(unit)-1), 64) + " " + unit
		}
		v /= 1024
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " TiB"
}
