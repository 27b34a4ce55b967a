package formatcheck

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"forage/internal/shared"
)

// all reports whether the tests may take their time.
func all() bool { return os.Getenv("FORAGE_ACCEPT") == "all" }

// TestOdd crawls a site that answers in each way that HTTP knows, and comes back twice.
func TestOdd(t *testing.T) {
	python(t)
	t.Parallel()
	s, _ := odd(t, false)
	u := newUser(t)
	args := []string{"--max-body", "1MiB", "--header", strings.TrimPrefix(s.URL, "http://") + " Authorization: Bearer hunter2"}
	u.run(u.fetching("crawl", append(args, "--all", strings.Replace(s.URL, "//", "//joe:hunter2@", 1)+"/")...))
	for range 2 {
		u.run(u.fetching("revisit", append(args, "--full")...))
	}
	recs := u.archived(s.noted())
	text := ""
	told := map[string]int{}
	for _, r := range recs {
		told[r.Type]++
		told[r.Profile]++
		told["truncated "+r.Truncated]++
		if (r.Type == "request" || r.Type == "metadata") != (r.To != "") {
			t.Errorf("a %s joined to %q", r.Type, r.To)
		}
		if (r.Type == "response" || r.Type == "revisit") && (r.IP != "127.0.0.1" || r.Protocol != "") {
			t.Errorf("%s: from %q by %q", r.URL, r.IP, r.Protocol)
		}
		text += r.Head + r.Text
		if head, ok := s.heads[r.URL]; ok && (r.Type == "response" || r.Type == "revisit") {
			told["head as it came"]++
			if r.Head != head {
				t.Errorf("%s: the head is %.300q, the server sent %.300q", r.URL, r.Head, head)
			}
		}
	}
	if told["request"] != told["response"]+told["revisit"] || told["metadata"] != told["request"] || told["warcinfo"] != 3 {
		t.Errorf("%d responses, %d revisits, %d requests, %d metadata, %d warcinfo", told["response"], told["revisit"], told["request"], told["metadata"], told["warcinfo"])
	}
	for what, least := range map[string]int{"server-not-modified": 2, "identical-payload-digest": 30, "truncated length": 1, "truncated disconnect": 3, "head as it came": 30} {
		if told[what] < least {
			t.Errorf("%s: %d, want %d at least", what, told[what], least)
		}
	}
	for _, head := range []string{
		"X-Crawler-transfer-encoding:  Chunked", "X-Crawler-Content-Length: 5000", "software: forage/", "robots: obey", "hopsFromSeed: L", "hopsFromSeed: LR", "via: " + s.URL + "/", "cycle: 3", "fetchTimeMs: ",
	} {
		if !strings.Contains(text, head) {
			t.Errorf("the archive has no %.60q", head)
		}
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "Early Hints") || strings.Contains(text, "102 Processing") {
		t.Error("the archive has a secret, or an answer that was not the last")
	}
	u.indexed()
	u.replayed(recs)
	u.tabled()
}

// TestSecure crawls a site by TLS, by either version of HTTP.
func TestSecure(t *testing.T) {
	python(t)
	t.Parallel()
	for _, protocol := range []string{"", "h2"} {
		s, cert := odd(t, true)
		u := newUser(t)
		u.env = []string{"SSL_CERT_FILE=" + cert}
		args := []string{"--max-body", "1MiB"}
		if protocol != "" {
			args = append(args, "--warc-http2")
		}
		u.run(u.fetching("crawl", append(args, "--all", s.URL+"/")...))
		u.run(u.fetching("revisit", append(args, "--full")...))
		recs := u.archived(s.noted())
		for _, r := range recs {
			if (r.Type == "response" || r.Type == "revisit") && (r.Protocol != protocol || !strings.HasPrefix(r.Head, "HTTP/1.1 ") && !strings.HasPrefix(r.Head, "HTTP/1.0 ")) {
				t.Errorf("%s: by %q, want %q: %.60q", r.URL, r.Protocol, protocol, r.Head)
			}
		}
		u.indexed()
		if protocol != "" || all() { // TestOdd has the other replayed, but for TLS
			u.replayed(recs)
		}
	}
}

// TestHistory crawls recorded sites as they were, one week after another: a full crawl, and six cycles.
func TestHistory(t *testing.T) {
	python(t)
	names := []string{"1000ch"}
	if all() {
		names = []string{"1000ch", "rustblog", "ada", "wulc", "weekref", "kudu", "2i2c"}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, at := history(t, shared.Path(t, "data", "sites", name+".snap.gz"))
			s := before(t, base)
			u := newUser(t)
			u.run(u.fetching("crawl", s.URL+"/"))
			for cycle := range 6 {
				at(3 * (cycle + 1))
				budget := []string{"--budget", "20"}
				if cycle == 3 {
					budget = []string{"--full"}
				}
				u.run(u.fetching("revisit", budget...))
			}
			recs := u.archived(s.noted())
			u.indexed()
			u.replayed(recs)
			u.tabled()
		})
	}
}

// history serves a recorded site by forage replay, and returns where, and what switches it to another week.
func history(t *testing.T, path string) (base string, at func(k int)) {
	t.Helper()
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "replay", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	var line []byte
	for b := make([]byte, 1); len(line) == 0 || line[len(line)-1] != '\n'; line = append(line, b...) {
		if _, err := out.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	base = strings.TrimSpace(string(line))
	base = strings.TrimSuffix(base, "/")
	return base, func(k int) {
		t.Helper()
		r, err := http.Post(fmt.Sprintf("%s/-/replay?at=%d", base, k), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode/100 != 2 {
			t.Fatal(r.Status)
		}
	}
}

// archived compares an archive with what the server said: the same answers, the same bytes.
func (u *user) archived(want []said) []record {
	u.t.Helper()
	recs := u.records()
	got := answers(u.t, recs)
	if lines(got) != lines(want) {
		u.t.Errorf("the archive has %d answers, the server gave %d; the archive's more (+) and less (-):\n%s", len(got), len(want), difference(lines(got), lines(want)))
	}
	return recs
}

// digestPrefix is what some indexers write before a digest.
var digestPrefix = regexp.MustCompile(`"digest": "sha1:`)

// indexed compares the index with that of pywb's indexer.
func (u *user) indexed() (index string) {
	u.t.Helper()
	index = filepath.Join(filepath.Dir(u.dir), "all.cdxj")
	u.run(u.command("export", "cdxj", "-o", index))
	got, err := os.ReadFile(index)
	if err != nil {
		u.t.Fatal(err)
	}
	cmd := exec.Command(python(u.t), append([]string{"-c", "from pywb.indexer.cdxindexer import main; main()", "-j", "-s"}, u.files()...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	want, err := cmd.Output()
	if err != nil {
		u.t.Fatal(err)
	}
	want = digestPrefix.ReplaceAll(want, []byte(`"digest": "`))
	if !bytes.Equal(got, want) {
		u.t.Errorf("pywb's index is another: ours more (+) and less (-):\n%s", difference(string(got), string(want)))
		return index
	}
	if n := bytes.Count(got, []byte("\n")); n < 20 {
		u.t.Errorf("%d lines are hardly an index", n)
	}
	return index
}

// replayed has pywb replay captures, and compares what it gives with what the server gave: each of a small archive, of a larger one every
// fourth, with FORAGE_ACCEPT=all each.
func (u *user) replayed(recs []record) {
	u.t.Helper()
	type want struct{ status, sha1 string }
	bodies := map[string]record{}
	for _, r := range recs {
		if r.Type == "response" {
			bodies[r.URL+" "+r.Date] = r
		}
	}
	// pywb tells captures of a URL in one second apart no better than an index does.
	asked, wants := []string{}, map[string][]want{}
	for _, r := range recs {
		w := want{r.Status, r.SHA1}
		switch r.Type {
		case "response":
		case "revisit":
			w.sha1 = bodies[r.Refers].SHA1
			if r.Profile == "server-not-modified" {
				w.status = bodies[r.Refers].Status
			}
		default:
			continue
		}
		at := strings.NewReplacer("-", "", ":", "", "T", "").Replace(r.Date[:19]) + " " + r.URL
		if wants[at] == nil {
			asked = append(asked, at)
		}
		wants[at] = append(wants[at], w)
	}
	if len(asked) > 250 && !all() {
		few := asked[:0]
		for i := 0; i < len(asked); i += 4 {
			few = append(few, asked[i])
		}
		asked = few
	}
	type answer struct {
		Status, Location, At, SHA1, Begins string
		Length                             int
	}
	got := tell[answer](u.t, ask(u.t, strings.Join(asked, "\n")+"\n", "replay.py", filepath.Join(filepath.Dir(u.dir), "all.cdxj"), u.folder))
	if len(got) != len(asked) {
		u.t.Fatalf("pywb gave %d answers to %d requests", len(got), len(asked))
	}
	bad := 0
	for i, a := range got {
		ok := false
		for _, w := range wants[asked[i]] {
			ok = ok || w == want{a.Status, a.SHA1}
		}
		if !ok {
			if bad++; bad < 10 {
				u.t.Errorf("pywb replays %s with %s, %d bytes (%.100q), want one of %v", asked[i], a.Status, a.Length, a.Begins, wants[asked[i]])
			}
		}
	}
	if bad > 0 {
		u.t.Errorf("of %d captures %d are replayed otherwise than they were", len(asked), bad)
	}
}

// tabled compares tables with what forage tells itself, and with the archive.
func (u *user) tabled() {
	u.t.Helper()
	one, two := filepath.Join(filepath.Dir(u.dir), "one"), filepath.Join(filepath.Dir(u.dir), "two")
	for _, dir := range []string{one, two} {
		u.run(u.command("export", "parquet", "-o", dir))
	}
	files, err := os.ReadDir(one)
	if err != nil {
		u.t.Fatal(err)
	}
	for _, f := range files {
		a, err := os.ReadFile(filepath.Join(one, f.Name()))
		if err != nil {
			u.t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(two, f.Name())); err != nil || !bytes.Equal(a, b) {
			u.t.Errorf("%s: two exports of one store differ, %v", f.Name(), err)
		}
	}
	status := tell[struct {
		Pages  int
		Queued int
		Cycles int
		Sites  int
	}](u.t, u.run(u.command("status", "--json")))[0]
	count := func(args ...string) int {
		return strings.Count(u.run(u.command("pages", append([]string{"--format", "txt"}, args...)...)), "\n")
	}
	index, err := os.ReadFile(filepath.Join(filepath.Dir(u.dir), "all.cdxj"))
	if err != nil {
		u.t.Fatal(err)
	}
	queries := []struct {
		query string
		want  any // of its first row, joined by blanks
	}{
		{"select count(*) from pages where type = 'page' and state <> 'skipped'", count("--duplicates")},
		{"select count(*) from pages where listed", count()},
		{"select count(*) from pages where listed", status.Pages},
		{"select count(*) from pages where state = 'queued'", status.Queued},
		{"select count(distinct cycle) from cycles", status.Cycles},
		{"select count(*) from sites", status.Sites},
		{"select count(*) from pages where listed and new and cycle >= 2", count("--new-since", "2")},
		{"select sum(pages), sum(listed), sum(documents) from sites", nil},
		{"select count(*) - (select count(*) from links l join pages f on f.page = l.from_page join pages t on t.page = l.to_page) from links", 0},
		{"select count(*) - (select count(*) from visits join pages using (page)) from visits", 0},
		{"select count(*) - (select count(*) from refetches r join cycles c using (site, cycle) join pages p on p.page = r.page) from refetches", 0},
		{"select count(*) from pages p left join pages f on f.page = p.found_on where p.found_on is not null and f.page is null", 0},
		{"select count(*) from pages p join (select page, count(*) n from visits group by page) v using (page) where v.n > p.visits", 0},
		{"select sum(fetched) - (select count(*) from visits) from cycles", 0},
		{"select count(*) from captures", bytes.Count(index, []byte("\n"))},
		// each answer to a request for a document is a visit and a capture
		{"select count(*) from pages p where p.visits <> (select count(*) from captures c where c.url = p.url) and (p.reason is null or p.state = 'fetched') and status < 500", 0},
		// what the examples of https://github.com/commoncrawl/cc-index-table ask
		{"select count(*) as n_pages, url_host_tld, count(distinct url_host_name), count(distinct url_host_registered_domain) from captures where crawl like 'forage-%' and subset = 'warc' group by url_host_tld order by n_pages desc", nil},
		{"select count(*), fetch_status from captures where subset = 'crawldiagnostics' group by fetch_status order by 1 desc", nil},
		{"select count(*), avg(warc_record_length), sum(warc_record_length) * 100.0 / sum(sum(warc_record_length)) over (), content_mime_detected from captures where subset = 'warc' group by content_mime_detected order by 1 desc", nil},
		{"select url, fetch_time, warc_filename, warc_record_offset, warc_record_length, fetch_redirect from captures where subset = 'warc' and regexp_matches(url_path, '^/?(?:index\\.(?:html?|php))?$') and url_query is null", nil},
		{"select url_path, count(*) from captures where subset = 'robotstxt' group by url_path order by 2 desc", nil},
		{"select length(url_host_name), count(*) from captures group by 1 order by 1", nil},
		{"select content_mime_type, content_mime_detected, count(*) from captures where content_mime_type <> content_mime_detected group by all union all select '', '', 0", "  0"},
		{"select count(*) from captures where content_languages = 'isl' or content_charset = 'UTF-8' or content_truncated is not null or url_host_private_domain like '%x%'", 0},
		{"select url, warc_filename, warc_record_offset, warc_record_length from captures where url_host_name = '127.0.0.1' and url_surtkey like '1,0,0,127%' limit 1", nil},
		{"select count(*) from captures where content_digest is null or warc_record_length <= 0 or warc_record_offset < 0 or warc_filename not like crawl || '-%.warc.gz'", 0},
		{"select date_trunc('day', fetch_time), count(*) from captures group by 1", nil},
	}
	args := []string{one, "sites,pages,links,visits,cycles,refetches,events,captures"}
	for _, q := range queries {
		args = append(args, q.query)
	}
	for i, rows := range tell[[][]any](u.t, ask(u.t, "", "query.py", args...)) {
		got := ""
		if len(rows) > 0 {
			got = strings.TrimSuffix(fmt.Sprintln(rows[0]...), "\n")
		}
		if want := queries[i].want; want == nil && got == "" || want != nil && got != fmt.Sprint(want) {
			u.t.Errorf("%s\n%s, want %v", queries[i].query, got, want)
		}
	}
}

// kills is how many processes are killed.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("FORAGE_KILLS")); err == nil {
		return n
	}
	return 4
}
