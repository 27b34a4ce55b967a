package gen

import (
	"math/big"
	"os"
	"slices"
	"testing"
)

// naiveWeblike follows the specification word by word, with big integers for the products.
func naiveWeblike(n, dmin uint64, seed uint64) [][]uint64 {
	rng := func(state uint64) func() uint64 {
		return func() uint64 {
			state += 0x9E3779B97F4A7C15
			z := state
			z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
			z = (z ^ (z >> 27)) * 0x94D049BB133111EB
			return z ^ (z >> 31)
		}
	}
	mix1 := func(z uint64) uint64 {
		z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
		z = (z ^ (z >> 27)) * 0x94D049BB133111EB
		return z ^ (z >> 31)
	}
	below := func(next func() uint64, n uint64) uint64 {
		p := new(big.Int).Mul(new(big.Int).SetUint64(next()), new(big.Int).SetUint64(n))
		return p.Rsh(p, 64).Uint64()
	}
	pareto := func(next func() uint64, least, most uint64) uint64 {
		q := new(big.Int).SetUint64((least * least << 32) / ((next() >> 32) + 1))
		return min(most, q.Sqrt(q).Uint64())
	}
	hr := rng(mix1(seed ^ 0xABCDEF))
	out := make([][]uint64, n)
	var hs, he uint64
	for x := range n {
		if x == he {
			hs = x
			he = min(n, x+pareto(hr, 32, 65536))
		}
		r := rng(mix1(seed + x*0xD1342543DE82EF95))
		if below(r, 8) == 0 {
			continue
		}
		d := pareto(r, dmin, 5000)
		var t []uint64
		if x > hs && below(r, 4) != 0 {
			y := x - 1 - below(r, min(7, x-hs))
			for _, e := range out[y] {
				if uint64(len(t)) < d && below(r, 4) != 0 {
					t = append(t, e)
				}
			}
		}
		for uint64(len(t)) < d {
			k := below(r, 16)
			if k < 10 {
				a := below(r, he-hs)
				b := below(r, he-hs)
				t = append(t, hs+a*b/(he-hs))
			} else if k < 15 && x > 0 {
				z := below(r, x)
				if len(out[z]) > 0 {
					z = out[z][below(r, uint64(len(out[z])))]
				}
				t = append(t, z)
			} else {
				t = append(t, below(r, n))
			}
		}
		slices.Sort(t)
		out[x] = slices.Compact(t)
	}
	return out
}

func TestWeblikeAgainstSpecification(t *testing.T) {
	for _, tt := range []struct{ n, dmin, seed uint64 }{{0, 1, 1}, {1, 1, 1}, {40, 3, 2}, {3000, 2, 7}, {20000, 21, 42}} {
		g, err := Weblike(int(tt.n), int(tt.dmin), tt.seed)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		h := uint64(0)
		m := 0
		for _, out := range naiveWeblike(tt.n, tt.dmin, tt.seed) {
			for _, e := range out {
				h = h*0x100000001B3 + e
				m++
			}
		}
		if got := Checksum(g); got != h || int(g.NumArcs()) != m {
			t.Errorf("Weblike(%d, %d, %d): %d arcs, checksum %016x, want %d, %016x", tt.n, tt.dmin, tt.seed, g.NumArcs(), got, m, h)
		}
	}
}

// The whole of web2m takes seconds and 0.3 GB: 'make web2m' sets FORAGE_LONG.
func TestWeblikeWeb2m(t *testing.T) {
	if os.Getenv("FORAGE_LONG") == "" {
		t.Skip("set FORAGE_LONG=1 to generate web2m")
	}
	g, err := Weblike(2e6, 21, 42)
	if err != nil {
		t.Fatal(err)
	}
	if got := Checksum(g); got != 0xb91395d8c11126b1 || g.NumArcs() != 59865234 {
		t.Errorf("web2m has %d arcs, checksum %016x, want 59865234, b91395d8c11126b1", g.NumArcs(), got)
	}
}

func TestIsqrt(t *testing.T) {
	for _, v := range []uint64{0, 1, 2, 3, 4, 24, 25, 1<<52 + 1, 1<<62 - 1, 1 << 62, 1<<63 + 12345} {
		want := new(big.Int).Sqrt(new(big.Int).SetUint64(v)).Uint64()
		if got := isqrt(v); got != want {
			t.Errorf("isqrt(%d) = %d, want %d", v, got, want)
		}
	}
}
