package bv

import (
	"encoding/binary"
	"io"
	"math/bits"
)

// A code is an instantaneous code for natural numbers, written most significant bit first.
type code uint8

const (
	unary code = iota
	gamma
	delta
	zeta // ζ_k of [BV04]; k is a property of the graph
	golomb
	nibble
)

var codeNames = []string{"UNARY", "GAMMA", "DELTA", "ZETA", "GOLOMB", "NIBBLE"}

// A reader reads codes from a bit stream. Past the end it sees zeros and goes on counting, so
// that one comparison of pos with the end, after each node, finds truncation.
type reader struct {
	data []byte
	pos  uint64 // in bits
}

// peek returns the bits from pos on, left-aligned; at least the first 57 are true.
func (r *reader) peek() uint64 {
	if i := r.pos >> 3; i+8 <= uint64(len(r.data)) {
		return binary.BigEndian.Uint64(r.data[i:]) << (r.pos & 7)
	}
	return r.tail()
}

// tail is peek where fewer than eight bytes are left.
func (r *reader) tail() uint64 {
	var last [8]byte
	if i := r.pos >> 3; i < uint64(len(r.data)) {
		copy(last[:], r.data[i:])
	}
	return binary.BigEndian.Uint64(last[:]) << (r.pos & 7)
}

// fixed returns the next n bits, n at most 64, as a number.
func (r *reader) fixed(n uint) uint64 {
	if n > 57 {
		hi := r.fixed(n - 32)
		return hi<<32 | r.fixed(32)
	}
	v := r.peek() >> (64 - n)
	r.pos += uint64(n)
	return v
}

func (r *reader) unary() uint64 {
	if w := r.peek(); w>>7 != 0 {
		z := uint64(bits.LeadingZeros64(w))
		r.pos += z + 1
		return z
	}
	n := uint64(0)
	for end := 8 * uint64(len(r.data)); r.pos <= end; {
		w := r.peek() >> 7 // the 57 bits that are true
		if w != 0 {
			z := uint64(bits.LeadingZeros64(w)) - 7
			r.pos += z + 1
			return n + z
		}
		n += 57
		r.pos += 57
	}
	return n
}

func (r *reader) gamma() uint64 {
	w := r.peek()
	if z := bits.LeadingZeros64(w); z <= 28 {
		r.pos += uint64(2*z + 1)
		return w<<(z&63)>>((63-z)&63) - 1
	}
	z := r.unary()
	if z > 63 {
		return r.broken()
	}
	return 1<<z + r.fixed(uint(z)) - 1
}

func (r *reader) delta() uint64 {
	z := r.gamma()
	if z > 63 {
		return r.broken()
	}
	return 1<<z + r.fixed(uint(z)) - 1
}

func (r *reader) zeta(k uint) uint64 {
	w := r.peek()
	h := uint(bits.LeadingZeros64(w))
	if n := h*k + k; h+1+n <= 57 {
		w <<= (h + 1) & 63
		left := uint64(1) << ((n - k) & 63)
		if m := w >> (65 - n); m < left {
			r.pos += uint64(h + n)
			return m + left - 1
		}
		r.pos += uint64(h + 1 + n)
		return w>>((64-n)&63) - 1
	}
	h = uint(r.unary())
	n := h*k + k
	if h > 63 || n > 64 {
		return r.broken()
	}
	left := uint64(1) << (n - k)
	m := r.fixed(n - 1)
	if m < left {
		return m + left - 1
	}
	return m<<1 + r.fixed(1) - 1
}

// golomb reads a number with modulus b: the quotient in unary, the rest in minimal binary.
func (r *reader) golomb(b uint64) uint64 {
	if b == 0 {
		return 0
	}
	q := r.unary()
	l := uint(bits.Len64(b)) - 1
	m := r.fixed(l)
	if short := 1<<(l+1) - b; m >= short {
		m = m<<1 + r.fixed(1) - short
	}
	if hi, lo := bits.Mul64(q, b); hi == 0 && lo+m >= lo {
		return lo + m
	}
	return r.broken()
}

// nibble reads groups of three bits; a set bit stands before the last.
func (r *reader) nibble() uint64 {
	v := uint64(0)
	for range 22 {
		g := r.fixed(4)
		v = v<<3 | g&7
		if g&8 != 0 {
			return v
		}
	}
	return r.broken()
}

// broken makes the reader stand beyond its end: no number as large as this was ever written.
func (r *reader) broken() uint64 {
	r.pos = 8*uint64(len(r.data)) + 1
	return 0
}

func (r *reader) read(c code, k uint) uint64 {
	switch c {
	case unary:
		return r.unary()
	case gamma:
		return r.gamma()
	case delta:
		return r.delta()
	case zeta:
		return r.zeta(k)
	case golomb:
		return r.golomb(uint64(k))
	}
	return r.nibble()
}

// length returns the number of bits of v in code c.
func (c code) length(v uint64, k uint) uint64 {
	switch c {
	case unary:
		return v + 1
	case gamma:
		return 2*uint64(bits.Len64(v+1)) - 1
	case delta:
		msb := uint64(bits.Len64(v+1)) - 1
		return gamma.length(msb, 0) + msb
	case zeta:
		h := (uint(bits.Len64(v+1)) - 1) / k
		if left := uint64(1) << (h * k); v+1 < 2*left {
			return uint64(h + 1 + h*k + k - 1)
		}
		return uint64(h + 1 + h*k + k)
	case golomb:
		if k == 0 {
			return 0
		}
		b := uint64(k)
		n := v/b + 1 + uint64(bits.Len64(b)) - 1
		if l := uint(bits.Len64(b)) - 1; v%b >= 1<<(l+1)-b {
			n++
		}
		return n
	}
	return 4 * max(1, uint64(bits.Len64(v)+2)/3)
}

// A writer writes codes to a bit stream.
type writer struct {
	out  io.Writer // buffered; its first error is kept
	word uint64    // the last n bits, not yet written
	n    uint
	pos  uint64 // bits in all
	err  error
}

// fixed writes the n lowest bits of v; n is at most 64.
func (w *writer) fixed(v uint64, n uint) {
	if n > 32 {
		w.fixed(v>>32, n-32)
		n = 32
	}
	w.word = w.word<<n | v&(1<<n-1)
	w.n += n
	w.pos += uint64(n)
	if w.n >= 32 {
		var b [4]byte
		w.n -= 32
		binary.BigEndian.PutUint32(b[:], uint32(w.word>>w.n))
		w.bytes(b[:])
	}
}

func (w *writer) bytes(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
}

// flush fills the last byte with zeros and returns the first error.
func (w *writer) flush() error {
	for w.n > 0 {
		k := min(w.n, 8)
		w.n -= k
		w.bytes([]byte{byte(w.word >> w.n << (8 - k))})
	}
	return w.err
}

func (w *writer) write(c code, v uint64, k uint) {
	switch c {
	case unary:
		for ; v >= 32; v -= 32 {
			w.fixed(0, 32)
		}
		w.fixed(1, uint(v)+1)
	case gamma:
		msb := uint(bits.Len64(v+1)) - 1
		w.write(unary, uint64(msb), 0)
		w.fixed(v+1, msb)
	case delta:
		msb := uint(bits.Len64(v+1)) - 1
		w.write(gamma, uint64(msb), 0)
		w.fixed(v+1, msb)
	case zeta:
		h := (uint(bits.Len64(v+1)) - 1) / k
		left := uint64(1) << (h * k)
		w.write(unary, uint64(h), 0)
		if v+1 < 2*left {
			w.fixed(v+1-left, h*k+k-1)
		} else {
			w.fixed(v+1, h*k+k)
		}
	case golomb:
		if k == 0 {
			return
		}
		b := uint64(k)
		l := uint(bits.Len64(b)) - 1
		short := uint64(1)<<(l+1) - b
		w.write(unary, v/b, 0)
		if m := v % b; m < short {
			w.fixed(m, l)
		} else {
			w.fixed(m+short, l+1)
		}
	case nibble:
		for h := max(1, uint(bits.Len64(v)+2)/3); h > 0; h-- {
			last := uint64(0)
			if h == 1 {
				last = 8
			}
			w.fixed(last|v>>(3*(h-1))&7, 4)
		}
	}
}

// natural maps integers to natural numbers: 0, −1, 1, −2, … become 0, 1, 2, 3, …
func natural(v int64) uint64 { return uint64(v<<1 ^ v>>63) }

// integer undoes natural.
func integer(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
