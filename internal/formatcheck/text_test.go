package formatcheck

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// TestText: what pages say is the same for DuckDB and in lines, whether it was kept while crawling or made of an archive, of answers that were compressed, in another
// encoding, not modified, or repeated; and so is what is told of it later.
func TestText(t *testing.T) {
	python(t)
	var week atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			io.WriteString(w, "<html lang=en><title>Home</title><p><a href=/zip>z</a> <a href=/latin>l</a> <a href=/same>s</a> <a href=/goes>g</a>")
		case "/zip":
			h.Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			io.WriteString(z, "<title>Zip</title><p>It came <b>compressed</b> in week "+string(rune('0'+week.Load())))
		case "/latin":
			h.Set("Content-Type", "text/html; charset=iso-8859-1")
			io.WriteString(w, "<html lang=fr><title>\xc9t\xe9</title><table><tr><th>caf\xe9<th>th\xe9</tr><tr><td>1<td>2</tr></table>")
		case "/same":
			h.Set("ETag", `"same"`)
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			io.WriteString(w, "<title>Same</title><p>It is \"the same\" \U0001f4da.")
		case "/goes":
			if week.Load() > 0 {
				w.WriteHeader(http.StatusGone)
				return
			}
			io.WriteString(w, "<title>Goes</title><p>It goes.")
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	kept, made := newUser(t), newUser(t) // texts, and an archive to make them of
	texts := filepath.Join(kept.dir, "..", "texts")
	visit := func(name string, args ...string) {
		t.Helper()
		flags := []string{"--allow-private", "127.0.0.0/8", "--delay", "0", "--parallel", "1"}
		kept.run(kept.command(name, append(append(flags, "--text", texts), args...)...))
		made.run(made.command(name, append(append(flags, "--warc", made.folder), args...)...))
	}
	type page struct {
		URL, Change, Title, Lang, Text, Digest, Why string
		Gone                                        bool
	}
	said := func(u *user, args ...string) []page {
		t.Helper()
		dir := t.TempDir()
		lines, table := filepath.Join(dir, "text.jsonl"), filepath.Join(dir, "text.parquet")
		for _, path := range []string{lines, table} {
			u.run(u.command("export", append([]string{"text", "-o", path}, args...)...))
		}
		b, err := os.ReadFile(lines)
		if err != nil {
			t.Fatal(err)
		}
		pages := tell[page](t, string(b))
		told := tell[[][]string](t, ask(t, "", "query.py", table, "text",
			"select coalesce(url, ''), coalesce(change, ''), coalesce(title, ''), coalesce(lang, ''), coalesce(text, ''), coalesce(digest, ''), coalesce(why, '') from text"))[0]
		for i, p := range pages {
			if i >= len(told) || !slices.Equal(told[i], []string{p.URL, p.Change, p.Title, p.Lang, p.Text, p.Digest, p.Why}) {
				t.Errorf("DuckDB reads %q, a line has %+v", told, p)
			}
		}
		if len(told) != len(pages) {
			t.Errorf("%d rows, %d lines", len(told), len(pages))
		}
		return pages
	}
	visit("crawl", web.URL+"/")
	week.Add(1)
	visit("revisit", "--full")
	for _, since := range [][]string{nil, {"--since", "2"}} {
		pages := said(kept, since...)
		if again := said(made, since...); !slices.Equal(pages, again) {
			t.Errorf("kept: %+v\nmade: %+v", pages, again)
		}
		want := map[string]page{
			"/":      {Title: "Home", Lang: "en", Text: "[z](" + web.URL + "/zip) [l](" + web.URL + "/latin) [s](" + web.URL + "/same) [g](" + web.URL + "/goes)"},
			"/zip":   {Title: "Zip", Text: "It came **compressed** in week 1"},
			"/latin": {Title: "Été", Lang: "fr", Text: "| café | thé |\n|---|---|\n| 1 | 2 |"},
			"/same":  {Title: "Same", Text: "It is \"the same\" \U0001f4da."},
		}
		if since != nil {
			want = map[string]page{"/zip": {Title: "Zip", Text: "It came **compressed** in week 1", Change: "changed"}, "/goes": {Gone: true, Why: "gone"}}
		}
		for _, p := range pages {
			path := strings.TrimPrefix(p.URL, web.URL)
			p.URL, p.Digest = "", ""
			if p != want[path] {
				t.Errorf("%s: %+v, want %+v", path, p, want[path])
			}
			delete(want, path)
		}
		if len(want) > 0 {
			t.Errorf("nothing is told of %v", want)
		}
	}
}
