package store

import (
	"fmt"
	"testing"

	"forage/graph"
)

// typical is a page as a crawl leaves it, of 230 bytes encoded.
var typical = Doc{
	ID: 4711, URL: "https://www.example.org/news/2024/05/an-article-about-something.html", Site: 12,
	State: Fetched, Kind: Page, Status: 200, Discovered: 1_715_000_000, FirstSeen: 1_715_000_100, Cycle: 3,
	FoundOn: 17, Via: ViaAnchor, Depth: 2, New: IsNew, Title: "An article about something - Example News",
	ContentType: "text/html; charset=utf-8", Digest: 0x9e3779b97f4a7c15, Bytes: 48_213, Published: 1_714_999_000,
	LastFetched: 1_716_000_000, Changed: 1_715_900_000, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None,
	ETag: `"5f3a-61a0b1c2d3e4f"`, LastModified: "Mon, 06 May 2024 12:00:00 GMT",
	Visits: 14, Changes: 2, FetchedIn: 30, LinksOf: 28, NumLinks: 87,
}

func BenchmarkDoc(b *testing.B) {
	bytes := typical.encode()
	b.Run("op=encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			typical.encode()
		}
	})
	b.Run("op=decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeDoc(4711, bytes); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCommit commits windows of ten documents to a store on the disk, as a crawl does,
// without waiting for the disk, and in the end waits for it.
func BenchmarkCommit(b *testing.B) {
	db, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		for i := range 10 {
			d := typical
			d.URL, d.stored = fmt.Sprintf("https://www.example.org/%d/%d", n, i), false
			if _, err := db.Add(&d); err != nil {
				b.Fatal(err)
			}
		}
		if err := db.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}
