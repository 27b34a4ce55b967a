package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"forage/archive"
	"forage/graph"
	"forage/internal/asked"
	"forage/store"
	"forage/text"
)

// pageBytes is how long a page is, markup and all.
const pageBytes = 10_000

// page makes a page of a site: a menu, a header and a footer around an article with headings, links, a list and a table.
func page(r *rand.Rand, number int) []byte {
	var b bytes.Buffer
	words := func(n int) {
		for range n {
			b.WriteString("word"[:1+r.IntN(4)])
			b.WriteString(strconv.FormatUint(uint64(r.Uint32N(5000)), 36))
			b.WriteByte(' ')
		}
	}
	fmt.Fprintf(&b, "<!doctype html><html lang=en><head><meta charset=utf-8><title>Page %d</title><style>p { margin: 0 }</style></head><body><nav><ul>", number)
	for i := range 20 {
		fmt.Fprintf(&b, `<li class="menu-item"><a href="/section-%d/">`, i)
		words(2)
		b.WriteString("</a></li>")
	}
	b.WriteString("</ul></nav><main><article><h1>")
	words(6)
	b.WriteString("</h1>")
	for i := 0; b.Len() < pageBytes-1200; i++ {
		b.WriteString(`<p class="text">`)
		words(30)
		fmt.Fprintf(&b, `<a href="/page-%d" class="link">`, r.IntN(1000))
		words(3)
		b.WriteString("</a> <b>")
		words(2)
		b.WriteString("</b> ")
		words(30)
		b.WriteString("</p>")
		if i%4 == 3 {
			b.WriteString("<h2>")
			words(4)
			b.WriteString("</h2><ul><li>")
			words(8)
			b.WriteString("</li><li>")
			words(8)
			b.WriteString("</li></ul>")
		}
	}
	b.WriteString("<table><tr><th>one<th>two</tr><tr><td>1<td>2</tr></table></article></main><footer><p>")
	for b.Len() < pageBytes-40 {
		words(1)
	}
	b.WriteString("</p></footer></body></html>")
	return b.Bytes()
}

// makeTexts keeps a text of each page of a store in a folder, as a crawl does, and prints how many microseconds of CPU that took for each.
func makeTexts(dir, folder string) (err error) {
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	n, err := db.NumURLs()
	if err != nil {
		return err
	}
	a, err := archive.Open(archive.Config{Folder: folder, Texts: true}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	db.KeepArchive(store.Texts, a.Flush, a.Committed)
	r := rand.New(rand.NewPCG(uint64(n), 7))
	var reader text.Reader
	var took time.Duration
	const batch = 256
	for first := 0; first < n; first += batch {
		var pages [][]byte
		var docs []*store.Doc
		for i := first; i < min(n, first+batch); i++ {
			d, err := db.Doc(graph.Node(i))
			if err != nil {
				return err
			}
			pages, docs = append(pages, page(r, i)), append(docs, d)
		}
		before := used()
		for i, d := range docs {
			p := reader.Read(pages[i], text.Options{URL: d.URL, ContentType: "text/html; charset=utf-8"})
			g, err := a.Convert(&archive.Text{URL: d.URL, Date: time.Unix(d.LastFetched, 0), Format: text.Markdown.MediaType(), Lang: p.Lang, Body: d.Digest, Text: p.Text})
			if err != nil {
				return err
			}
			at, err := a.Append(g)
			if err == nil {
				err = db.PutText(d.ID, store.Capture(at))
			}
			if err != nil {
				return err
			}
		}
		if err := db.Commit(); err != nil {
			return err
		}
		took += used() - before
	}
	fmt.Printf("%.1f\n", float64(took.Microseconds())/float64(n))
	return nil
}

// used is the CPU time that the process has taken.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// text keeps the texts of a store's pages, and writes them.
func (b *bench) text() error {
	n := b.Size(50_000)
	dir, err := b.store(n)
	if err != nil {
		return err
	}
	self, err := b.self("-store", dir, "-texts", filepath.Join(b.tmp, "texts"))
	if err != nil {
		return err
	}
	var printed strings.Builder
	self.Stdout = &printed
	if _, err := asked.Measure(self); err != nil {
		return err
	}
	cost, err := strconv.ParseFloat(strings.TrimSpace(printed.String()), 64)
	if err != nil {
		return err
	}
	b.Tell("--text: CPU for a page of 10 kB", cost, "µs", 3000)
	for _, name := range []string{"text.jsonl", "text.jsonl.zst", "text.parquet"} {
		u, err := asked.Measure(b.one("export", "text", "--dir", dir, "-o", filepath.Join(b.tmp, name)))
		if err != nil {
			return err
		}
		b.Tell(fmt.Sprintf("export text of %d of these, %s: a second of CPU", n, name), float64(n)/u.CPU.Seconds(), "pages", 0)
		b.Tell("  memory", float64(u.Memory)/1e6, "MB", 0)
	}
	return nil
}
