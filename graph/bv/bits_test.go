package bv

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// written returns the code words of the numbers as text of zeros and ones.
func written(t *testing.T, c code, k uint, vs ...uint64) string {
	t.Helper()
	var b bytes.Buffer
	w := writer{out: &b}
	for _, v := range vs {
		at := w.pos
		w.write(c, v, k)
		if want := c.length(v, k); w.pos-at != want {
			t.Errorf("%s of %d has %d bits, length says %d", codeNames[c], v, w.pos-at, want)
		}
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	var s strings.Builder
	for _, x := range b.Bytes() {
		fmt.Fprintf(&s, "%08b", x)
	}
	return s.String()[:w.pos]
}

// The words of γ, δ and ζ are those of table 1 of [BV04] and of the paper on ζ codes by the
// same authors, which count from 1; nibbles and Golomb follow WebGraph's documentation.
func TestCodeWords(t *testing.T) {
	for _, tt := range []struct {
		c    code
		k    uint
		want string // of 0, 1, 2, …
	}{
		{unary, 0, "1 01 001 0001"},
		{gamma, 0, "1 010 011 00100 00101 00110 00111 0001000"},
		{delta, 0, "1 0100 0101 01100 01101 01110 01111 00100000"},
		{zeta, 1, "1 010 011 00100 00101 00110 00111 0001000"},
		{zeta, 2, "10 110 111 01000 01001 01010 01011 011000"},
		{zeta, 3, "100 1010 1011 1100 1101 1110 1111 0100000"},
		{zeta, 4, "1000 10010 10011 10100 10101 10110 10111 11000"},
		{golomb, 3, "10 110 111 010 0110 0111 0010"},
		{golomb, 4, "100 101 110 111 0100 0101"},
		{golomb, 1, "1 01 001"},
		{nibble, 0, "1000 1001 1010 1011 1100 1101 1110 1111 00011000"},
	} {
		for v, want := range strings.Fields(tt.want) {
			if got := written(t, tt.c, tt.k, uint64(v)); got != want {
				t.Errorf("%s(%d) of %d = %s, want %s", codeNames[tt.c], tt.k, v, got, want)
			}
		}
	}
}

func TestCodesReadBack(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		c := code(r.IntN(6))
		k := uint(1 + r.IntN(7))
		vs := make([]uint64, 1+r.IntN(200))
		for i := range vs {
			vs[i] = r.Uint64() >> (8 + r.IntN(56))
			if c == unary || c == golomb {
				vs[i] >>= 46 - 8*(seed%7/6)
			}
		}
		var b bytes.Buffer
		w := writer{out: &b}
		for _, v := range vs {
			w.write(c, v, k)
		}
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		in := reader{data: b.Bytes()}
		for i, v := range vs {
			if got := in.read(c, k); got != v {
				t.Fatalf("seed %d: %s(%d): number %d reads as %d, want %d", seed, codeNames[c], k, i, got, v)
			}
		}
		if in.pos != w.pos {
			t.Fatalf("seed %d: %s: read %d bits of %d", seed, codeNames[c], in.pos, w.pos)
		}
	}
}

func TestReadBeyondTheEnd(t *testing.T) {
	for c := range code(6) {
		in := reader{data: []byte{0, 0, 0}}
		for range 30 {
			in.read(c, 3)
		}
		if in.pos <= 24 {
			t.Errorf("%s: 30 numbers out of three empty bytes", codeNames[c])
		}
	}
}

func TestIntegers(t *testing.T) {
	for v, want := range []int64{0, -1, 1, -2, 2, -3} {
		if got := integer(uint64(v)); got != want || natural(want) != uint64(v) {
			t.Errorf("integer(%d) = %d, want %d; natural(%d) = %d", v, got, want, want, natural(want))
		}
	}
}
