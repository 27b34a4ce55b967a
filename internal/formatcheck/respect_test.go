package formatcheck

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reservations are pages that say something of their use: head is what stands in the page, header the fields of the answer; out are the words
// of --respect that leave it out.
var reservations = map[string]struct{ header, head, out, use string }{
	"/plain":             {"", "", "", ""},
	"/meta-noindex":      {"", "<meta name=robots content=noindex>", "noindex", "page robots noindex"},
	"/meta-noarchive":    {"", `<META CONTENT="follow, NoArchive" NAME="Robots">`, "noarchive", "page robots noarchive"},
	"/meta-none":         {"", "<meta name=robots content=none>", "noindex", "page robots noindex,nofollow"},
	"/meta-nofollow":     {"", "<meta name=robots content=nofollow>", "", "page robots nofollow"},
	"/meta-forage":       {"", "<meta name=forage content=noarchive>", "noarchive", "page robots noarchive"},
	"/meta-other":        {"", "<meta name=googlebot content=noarchive>", "", ""},
	"/header-noindex":    {"X-Robots-Tag: noindex", "", "noindex", "header robots noindex"},
	"/header-both":       {"X-Robots-Tag: noindex, noarchive", "", "noindex,noarchive", "header robots noindex,noarchive"},
	"/header-forage":     {"x-robots-tag: forage: noarchive", "", "noarchive", "header robots noarchive"},
	"/header-other":      {"X-Robots-Tag: otherbot: noarchive", "", "", ""},
	"/header-usage":      {"Content-Usage: search=y, train-ai=n", "", "tdm", "header usage search=y, train-ai=n"},
	"/header-usage-free": {"Content-Usage: train-ai=y", "", "", "header usage train-ai=y"},
	"/header-tdm":        {"tdm-reservation: 1\ntdm-policy: https://ex.test/policy", "", "tdm", "header tdm 1|header policy https://ex.test/policy"},
	"/meta-tdm":          {"", "<meta name=tdm-reservation content=1>", "tdm", "page tdm 1"},
	"/meta-tdm-free":     {"tdm-reservation: 1", "<meta name=tdm-reservation content=0>", "", "header tdm 1|page tdm 0"},
	"/robots-usage":      {"", "", "tdm", "robots.txt usage train-ai=n"},
	"/robots-signal":     {"", "", "tdm", "robots.txt signal search=yes,ai-train=no"},
	"/license":           {"", "<a rel=license href=https://ex.test/license>l</a>", "", "page license https://ex.test/license"},
	"/file.pdf":          {"X-Robots-Tag: noarchive", "", "noarchive", ""},
}

// TestRespect: pages with each reservation are recorded as such, and left out exactly where --respect says so.
func TestRespect(t *testing.T) {
	python(t)
	t.Parallel()
	late := false
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		a, ok := reservations[r.URL.Path]
		switch {
		case r.URL.Path == "/robots.txt":
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "User-agent: *\nAllow: /\nContent-Usage: /robots-usage train-ai=n\nContent-Signal: /robots-signal search=yes,ai-train=no\n")
		case r.URL.Path == "/":
			io.WriteString(w, "<title>home</title>")
			for path := range reservations {
				fmt.Fprintf(w, "<a href=%s>%s</a>", path, path)
			}
			if late {
				io.WriteString(w, "<a href=/late>late</a>")
			}
		case r.URL.Path == "/late":
			io.WriteString(w, "<title>late</title><meta name=robots content=noarchive><p>A page that comes later, with words of its own.")
		case !ok:
			w.WriteHeader(404)
		default:
			for line := range strings.SplitSeq(a.header, "\n") {
				if name, value, ok := strings.Cut(line, ": "); ok {
					w.Header().Add(name, value)
				}
			}
			if strings.HasSuffix(r.URL.Path, ".pdf") {
				w.Header().Set("Content-Type", "application/pdf")
				io.WriteString(w, "%PDF-1.7")
				return
			}
			fmt.Fprintf(w, "<!doctype html><title>%s</title>%s<p>Some words about %s, and %s again.", r.URL.Path, a.head, r.URL.Path, r.URL.Path)
		}
	})
	s := new(site)
	s.Server = httptest.NewServer(s.logging(h))
	t.Cleanup(s.Close)
	left := func(list, path string) bool {
		return slices.ContainsFunc(strings.Split(reservations[path].out, ","), func(w string) bool { return w != "" && slices.Contains(strings.Split(list, ","), w) })
	}
	const byDefault = "noarchive"
	lists := []string{byDefault, "", "noindex,noarchive,tdm"}
	if all() {
		lists = append(lists, "noindex", "tdm", "noindex,tdm")
	}
	for _, list := range lists {
		u := newUser(t)
		args := []string{s.URL + "/"}
		if list != byDefault {
			args = append(args, "--respect", list)
		}
		s.mu.Lock()
		s.log = nil
		s.mu.Unlock()
		u.run(u.fetching("crawl", args...))
		recs := u.archived(slices.DeleteFunc(s.noted(), func(a said) bool { return left(list, strings.TrimPrefix(a.url, s.URL)) }))
		for path, a := range reservations {
			i := slices.IndexFunc(recs, func(r record) bool { return r.Type == "metadata" && r.URL == s.URL+path })
			if left(list, path) {
				if slices.ContainsFunc(recs, func(r record) bool { return r.URL == s.URL+path }) {
					t.Errorf("--respect %q: something of %s is in the archive", list, path)
				}
				continue
			}
			var use []string
			for line := range strings.Lines(recs[i].Text) {
				if what, ok := strings.CutPrefix(line, "use: "); ok {
					use = append(use, strings.TrimSpace(what))
				}
			}
			if got := strings.Join(use, "|"); got != a.use && path != "/file.pdf" {
				t.Errorf("the metadata of %s says %q, want %q", path, got, a.use)
			}
		}
		if list == "" {
			late = true
			u.run(u.fetching("revisit", "--full"))
			u.left(s.URL, left)
			late = false
		}
	}
}

// left checks what is told and exported of the reservations.
func (u *user) left(base string, left func(list, path string) bool) {
	t := u.t
	told := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(u.run(u.command("pages", "--json"))), "\n") {
		p := tell[struct{ URL string }](t, line)[0]
		told[strings.TrimPrefix(p.URL, base)] = line
	}
	for path, a := range reservations {
		line, ok := told[path]
		if path == "/file.pdf" {
			continue
		}
		if !ok {
			t.Errorf("pages does not list %s", path)
		}
		for _, part := range strings.Split(a.use, "|") {
			if part == "" {
				if strings.Contains(line, `"use"`) {
					t.Errorf("%s: nothing is said, and pages tells %s", path, line)
				}
				continue
			}
			words := strings.SplitN(part, " ", 3)
			value := words[2]
			for one := range strings.SplitSeq(value, ",") {
				if !strings.Contains(line, strings.TrimSpace(one)) {
					t.Errorf("%s says %q, and pages tells %s", path, part, line)
				}
			}
		}
	}
	if line := u.run(u.command("events", "--type", "page.new")); !strings.Contains(line, "/late") || !strings.Contains(line, "noarchive") {
		t.Errorf("the event of a page that asks not to be kept is %q", line)
	}
	lists := []string{"", "noindex", "noarchive", "tdm", "noindex,noarchive,tdm"}
	var names, queries []string
	tables := t.TempDir()
	for i, list := range lists {
		u.run(u.command("export", "parquet", "-o", filepath.Join(tables, strconv.Itoa(i)), "--respect", list))
		names = append(names, fmt.Sprintf("%d/pages,%[1]d/captures,%[1]d/links", i))
		queries = append(queries, fmt.Sprintf(`select url from "%d/pages"`, i), fmt.Sprintf(`select distinct url from "%d/captures"`, i),
			fmt.Sprintf(`select distinct p.url from "%d/links" join "%[1]d/pages" p on p.page = to_page`, i))
	}
	rows := tell[[][]string](t, ask(t, "", "query.py", slices.Concat([]string{tables, strings.Join(names, ",")}, queries)...))
	for k, list := range lists {
		urls := filepath.Join(t.TempDir(), "urls")
		args := []string{"--respect", list}
		u.run(u.command("export", append([]string{"urls", "-o", urls}, args...)...))
		text, err := os.ReadFile(urls)
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{"pages": u.run(u.command("pages", append([]string{"--format", "txt"}, args...)...)), "export urls": string(text)}
		for i, name := range []string{"the table pages", "the table captures", "the table links"} {
			for _, r := range rows[3*k+i] {
				texts[name] += r[0] + "\n"
			}
		}
		for name, text := range texts {
			has := map[string]bool{}
			for sc := bufio.NewScanner(strings.NewReader(text)); sc.Scan(); {
				has[strings.TrimPrefix(sc.Text(), base)] = true
			}
			for path := range reservations {
				if path == "/file.pdf" && !strings.HasPrefix(name, "the table") {
					continue
				}
				if has[path] == left(list, path) {
					t.Errorf("--respect %q: %s is in %s: %v", list, path, name, has[path])
				}
			}
		}
	}
}
