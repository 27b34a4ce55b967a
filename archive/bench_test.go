package archive

import (
	"bytes"
	"crypto/sha1"
	"math/rand/v2"
	"testing"
	"time"

	"forage/warc"
)

// BenchmarkRevisit records a page of 10 kB whose body is in the archive.
func BenchmarkRevisit(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	body := make([]byte, 10_000)
	for i := range body {
		body[i] = byte('a' + rng.IntN(16))
	}
	var at *Place
	a, err := Open(Config{Folder: b.TempDir(), Now: func() time.Time { return day }, Known: func(d warc.Digest) (Place, error) {
		if at == nil || d != sha1.Sum(body) {
			return Place{}, bytes.ErrTooLarge
		}
		return *at, nil
	}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	record := func() *Group {
		g, err := a.Record(&warc.Capture{
			URI: "http://a.test/", Date: day, Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), Body: bytes.NewReader(body), Size: int64(len(body)),
		}, nil)
		if err != nil {
			b.Fatal(err)
		}
		return g
	}
	p, err := a.Append(record())
	if err != nil {
		b.Fatal(err)
	}
	at = &p
	b.ReportAllocs()
	for b.Loop() {
		g := record()
		if g.Original == nil {
			b.Fatal("it is not a revisit")
		}
		g.Drop()
	}
}
