package simhash

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// naive is the fingerprint of a text as it is defined: words one character after another, counters one by one.
func naive(text []byte) uint64 {
	var words [][]byte
	var word []byte
	end := func() {
		if len(word) > 0 {
			words = append(words, word)
		}
		word = nil
	}
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch c := text[0]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			word = append(word, c)
		case 'A' <= c && c <= 'Z':
			word = append(word, c+'a'-'A')
		case c < utf8.RuneSelf:
			end()
		case classOf(r) == letter:
			word = append(word, string(r)...)
		case classOf(r) == alone:
			end()
			word = []byte(string(r))
			end()
		default:
			end()
		}
		text = text[n:]
	}
	end()
	if len(words) < MinWords {
		return 0
	}
	hashes := make([]uint64, len(words))
	for i, w := range words {
		for len(w) > 0 { // by up to eight ASCII bytes, or one other character
			x, n := uint64(0), 0
			for ; n < 8 && n < len(w) && w[n] < utf8.RuneSelf; n++ {
				x |= uint64(w[n]) << (8 * n)
			}
			if n > 0 {
				hashes[i] = mix(hashes[i] ^ (x | spaces))
			} else {
				var r rune
				r, n = utf8.DecodeRune(w)
				hashes[i] = mix(hashes[i] ^ uint64(r))
			}
			w = w[n:]
		}
	}
	var count [64]int
	for i := 2; i < len(hashes); i++ {
		shingle := mix(hashes[i] ^ bits.RotateLeft64(hashes[i-1], 21) ^ bits.RotateLeft64(hashes[i-2], 42))
		for b := range count {
			if shingle>>b&1 == 1 {
				count[b]++
			} else {
				count[b]--
			}
		}
	}
	sum := uint64(0)
	for b, n := range count {
		if n > 0 {
			sum |= 1 << b
		}
	}
	return max(sum, 1)
}

// sum is the fingerprint of a text.
func sum(text []byte) uint64 {
	var s Sketch
	s.Add(text)
	return s.Sum()
}

// prose makes a text of so many words, of which few come often.
func prose(r *rand.Rand, words int) []byte {
	var b bytes.Buffer
	for range words {
		n := 1 + int(float64(3000)*r.Float64()*r.Float64()*r.Float64())
		for k := n*2654435761 + 7; k > 0; k /= 23 * 11 {
			b.WriteByte("bcdfghjklmnpqrstvwxyzBC"[k%23])
			b.WriteByte("aeiouAEIO0y"[k/23%11])
		}
		b.WriteString([]string{" ", " ", " ", ", ", ". ", "\n"}[r.IntN(6)])
	}
	return b.Bytes()
}

// TestSketch compares with the definition, in whatever pieces a text comes.
func TestSketch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	texts := [][]byte{
		nil, []byte("few words"), bytes.Repeat([]byte("word "), MinWords), bytes.Repeat([]byte("word "), MinWords-1),
		bytes.Repeat([]byte("Straße «naïve» Ελλάδα привет мир 漢字かな交じり文 ภาษาไทย 한국어 “quoted”… e\u00a0f "), 10),
		bytes.Repeat([]byte("exactly8 sixteen0sixteen0 seventeen7seventeen7 \xff\xfe \x00 "), 30),
	}
	for range 200 {
		texts = append(texts, prose(r, r.IntN(400)))
	}
	for _, text := range texts {
		want := naive(text)
		if got := sum(text); got != want {
			t.Fatalf("Sum of %q = %x, want %x", text, got, want)
		}
		var s Sketch
		for rest := text; len(rest) > 0; {
			n := bytes.IndexByte(rest[min(len(rest), r.IntN(300)):], ' ') + 1
			if n == 0 {
				n = len(rest)
			} else {
				n = bytes.IndexByte(rest, ' ') + 1
			}
			s.Add(rest[:n:n])
			rest = rest[n:]
		}
		if got := s.Sum(); got != want {
			t.Fatalf("Sum of %q in pieces = %x, want %x", text, got, want)
		}
		if again := s.Sum(); again != want {
			t.Fatalf("Sum a second time = %x, want %x", again, want)
		}
	}
}

func FuzzSketch(f *testing.F) {
	f.Add([]byte(strings.Repeat("a b ", 40)))
	f.Add([]byte(strings.Repeat("漢字 the ¿qué? ", 40)))
	f.Fuzz(func(t *testing.T, text []byte) {
		for i, c := range text {
			if 0x10 <= c && c <= 0x19 { // pass for digits
				text[i] = ' '
			}
		}
		text = bytes.Repeat(append(text, ' '), 1+MinWords/2)
		if got, want := sum(text), naive(text); got != want {
			t.Errorf("Sum of %q = %x, want %x", text, got, want)
		}
	})
}

// TestDistance: of texts that have nothing in common half of the bits differ, and the more words of a text change the more
// bits do.
func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	const n, words = 300, 400
	var strange [65]int
	sumOf := make([]uint64, n)
	var set [64]int
	for i := range sumOf {
		sumOf[i] = sum(prose(r, words))
		for b := range set {
			set[b] += int(sumOf[i] >> b & 1)
		}
		for _, other := range sumOf[:i] {
			strange[bits.OnesCount64(sumOf[i]^other)]++
		}
	}
	for b, k := range set {
		if k < n*3/10 || k > n*7/10 {
			t.Errorf("bit %d is set in %d of %d fingerprints", b, k, n)
		}
	}
	for d := range 8 {
		if strange[d] > 0 {
			t.Errorf("%d pairs of texts with nothing in common differ in %d bits", strange[d], d)
		}
	}
	last := -1.0
	for _, changed := range []int{0, 1, 2, 4, 8, 32, 128} {
		total, near := 0, 0
		for range n {
			text := bytes.Fields(prose(r, words))
			other := slices.Clone(text)
			for _, i := range r.Perm(words)[:changed] {
				other[i] = fmt.Appendf(nil, "changed%d", i)
			}
			a, b := sum(bytes.Join(text, []byte(" "))), sum(bytes.Join(other, []byte(" ")))
			total += bits.OnesCount64(a ^ b)
			if Near(a, b) {
				near++
			}
		}
		mean := float64(total) / n
		t.Logf("%3d of %d words changed: %.1f bits differ, %d of %d are near", changed, words, mean, near, n)
		if mean <= last {
			t.Errorf("%d words changed: %.1f bits differ, %.1f where fewer words did", changed, mean, last)
		}
		last = mean
		if changed <= 1 && near < n*2/3 || changed >= 32 && near > 0 {
			t.Errorf("%d of %d words changed: %d of %d are near", changed, words, near, n)
		}
	}
}

// clusters makes fingerprints some of which are near each other, or equal, or have nothing in common.
func clusters(r *rand.Rand, n int, flip float64) []uint64 {
	prints := make([]uint64, n)
	for i := range prints {
		switch {
		case i == 0 || r.IntN(8) == 0:
			prints[i] = r.Uint64()
		case r.IntN(50) == 0: // none
		default:
			prints[i] = prints[r.IntN(i)]
			for b := range 64 {
				if r.Float64() < flip {
					prints[i] ^= 1 << b
				}
			}
		}
	}
	return prints
}

// TestFirst compares all pairs.
func TestFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	many := manyEqual
	defer func() { manyEqual = many }()
	for n := range 300 {
		if n == 150 {
			manyEqual = 3
		}
		prints := clusters(r, r.IntN(400), []float64{0, 0.01, 0.03, 0.05, 0.2}[r.IntN(5)])
		want := make([]uint32, len(prints))
		for i, p := range prints {
			want[i] = None
			for j, q := range prints[:i] {
				if p != 0 && q != 0 && Near(p, q) {
					want[i] = uint32(j)
					break
				}
			}
		}
		if got := First(prints); !slices.Equal(got, want) {
			t.Fatalf("First(%x) = %d, want %d", prints, got, want)
		}
	}
	if n := slices.IndexFunc(First(clusters(r, 1000, 0.02)), func(j uint32) bool { return j != None }); n < 0 {
		t.Error("none of 1000 is near another")
	}
	if got := First(nil); len(got) != 0 {
		t.Errorf("First(nil) = %v", got)
	}
}

func BenchmarkSketch(b *testing.B) {
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		b.Fatal(err)
	}
	text = text[:10_000]
	b.SetBytes(int64(len(text)))
	b.ReportMetric(float64(len(text)), "B/text")
	for b.Loop() {
		sum(text)
	}
}

func BenchmarkFirst(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		for _, kind := range []struct {
			name string
			flip float64
		}{{"random", 0.5}, {"clusters", 0.03}, {"apart", 0.08}} {
			r := rand.New(rand.NewPCG(5, 7))
			prints := make([]uint64, n)
			for i := range prints {
				if i < 20 {
					prints[i] = r.Uint64()
					continue
				}
				prints[i] = prints[r.IntN(20)]
				for k := range 64 {
					if r.Float64() < kind.flip {
						prints[i] ^= 1 << k
					}
				}
			}
			b.Run(fmt.Sprintf("n=%d/kind=%s", n, kind.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					First(prints)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/print")
			})
		}
	}
}
