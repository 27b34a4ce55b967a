// Package units reads and writes quantities as people do.
package units

import (
	"fmt"
	"strconv"
	"strings"
)

// A Size is a number of bytes, as people write it: 1500, 64MiB, 2GiB, 10GB. It is a value of the
// flag packages.
type Size int64

// Type names the kind of value.
func (s *Size) Type() string { return "size" }

// String gives the largest unit of which it is a whole number.
func (s *Size) String() string {
	n, unit := int64(*s), ""
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.FormatInt(n, 10) + unit
}

// Set reads a number with a binary or decimal unit, or without one.
func (s *Size) Set(text string) error {
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
	*s = Size(v * float64(unit))
	return nil
}

// Binary is a number of bytes with one digit after the point and a binary unit.
func Binary[T int64 | uint64](b T) string {
	v := float64(b)
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if v < 1024 {
			return strconv.FormatFloat(v, 'f', min(1, len(unit)-1), 64) + " " + unit
		}
		v /= 1024
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " TiB"
}
