package warc

import (
	"bytes"
	stdgzip "compress/gzip"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// TestHeadCode: whatever its bytes are, a text is read again from its member, by two readers.
func TestHeadCode(t *testing.T) {
	c := theHeadCode()
	for _, c := range []code{c.symbols, c.distances} {
		for s, n := range c.size {
			if n < 1 || n > 14 { // 15 may be, but for a further bit in 16
				t.Errorf("symbol %d takes %d bits", s, n)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	texts := [][]byte{nil, []byte("a"), []byte(typical[:mostSmall]), make([]byte, 256), bytes.Repeat([]byte("ab"), mostSmall/2), make([]byte, mostSmall)}
	for i := range texts[3] {
		texts[3][i] = byte(i)
	}
	for n := range 1000 {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(rng.Uint32() >> rng.IntN(25))
		}
		texts = append(texts, text)
	}
	var members []byte
	for _, text := range texts {
		member := c.appendMember(nil, text)
		for _, open := range []func(io.Reader) (io.Reader, error){
			func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
			func(r io.Reader) (io.Reader, error) { return stdgzip.NewReader(r) },
		} {
			r, err := open(bytes.NewReader(member))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%q is read as %q, %v", text, got, err)
			}
		}
		members = append(members, member...)
	}
	r, err := stdgzip.NewReader(bytes.NewReader(members))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, bytes.Join(texts, nil)) {
		t.Errorf("one member after the other: %v, %d bytes", err, len(got))
	}
}

func FuzzHeadCode(f *testing.F) {
	f.Add([]byte(typical[:mostSmall]))
	f.Fuzz(func(t *testing.T, text []byte) {
		text = text[:min(len(text), mostSmall)]
		r, err := stdgzip.NewReader(bytes.NewReader(theHeadCode().appendMember(nil, text)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%q is read as %q, %v", text, got, err)
		}
	})
}

func BenchmarkSmall(b *testing.B) {
	text := []byte(typical[:583])
	b.Run("headcode", func(b *testing.B) {
		var to []byte
		for b.Loop() {
			to = theHeadCode().appendMember(to[:0], text)
		}
		b.ReportMetric(float64(len(to)), "bytes")
	})
	b.Run("gzip", func(b *testing.B) {
		w := counted{w: io.Discard}
		z, err := gzip.NewWriterLevel(io.Discard, level)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			w.n = 0
			z.Reset(&w)
			z.Write(text)
			z.Close()
		}
		b.ReportMetric(float64(w.n), "bytes")
	})
}
