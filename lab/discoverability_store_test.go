package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/store"
)

// A hostsWeb serves pages of many hosts, the addresses 127.0.x.y, by the request's Host.
type hostsWeb struct {
	port  string
	mu    sync.Mutex
	links map[string][]string // by page, host number and path as "3/a": what it links to
}

func newHostsWeb(t *testing.T) *hostsWeb {
	w := &hostsWeb{links: map[string][]string{}}
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_, w.port, _ = net.SplitHostPort(l.Addr().String())
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.Host)
		var h, i int
		fmt.Sscanf(host, "127.0.%d.%d", &h, &i)
		w.mu.Lock()
		links, ok := w.links[fmt.Sprint(256*h+i, r.URL.Path)]
		w.mu.Unlock()
		if !ok {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<!doctype html><title>%s%s</title>", host, r.URL.Path)
		for _, l := range links {
			fmt.Fprintf(rw, "<a href=%q>x</a>", w.url(l))
		}
	}))
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return w
}

// url returns the URL of a page such as "3/a".
func (w *hostsWeb) url(page string) string {
	var h int
	fmt.Sscan(page[:strings.IndexByte(page, '/')], &h)
	return fmt.Sprintf("http://127.0.%d.%d:%s%s", h/256, h%256, w.port, page[strings.IndexByte(page, '/'):])
}

// cycle visits hosts for the first time, or without any recrawls all that is known.
func (w *hostsWeb) cycle(t *testing.T, dir string, at int, hosts ...int) {
	t.Helper()
	c, err := crawl.Open(crawl.Config{Dir: dir, Parallel: 16, Delay: -1, At: time.Unix(1e9+int64(at)*1e6, 0),
		Fetch: fetch.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(hosts) == 0 {
		_, err = c.Revisit(context.Background(), plan.Plan{Full: true}, crawl.Options{})
	} else {
		var seeds []scope.Seed
		for _, h := range hosts {
			seeds = append(seeds, scope.Seed{URL: w.url(fmt.Sprint(h, "/"))})
		}
		_, err = c.Run(context.Background(), seeds, crawl.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// add makes a page with a link from another; every page links to its home.
func (w *hostsWeb) add(from, page string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links[page] = []string{page[:strings.IndexByte(page, '/')+1]}
	if from != "" {
		w.links[from] = append(w.links[from], page)
	}
}

// onStore runs an experiment on the store in dir.
func onStore(t *testing.T, dir string, run func(context.Context, *Env) (*Result, error)) (*Result, error) {
	t.Helper()
	db, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return run(context.Background(), &Env{Store: &db.View})
}

// TestCrawledWeb crawls a made-up web of 114 hosts in three snapshots and compares both
// experiments with counts taken while the web was made. In each month a few old pages lead to
// new hosts, no two to the same: to the home or to another page, or through a new page, or
// through another new host.
func TestCrawledWeb(t *testing.T) {
	const hosts = 50
	r := rand.New(rand.NewPCG(3, 4))
	w, dir := newHostsWeb(t), t.TempDir()
	pages := map[int][]string{} // by host
	grow := func(h, n int) {
		for range n {
			page := fmt.Sprint(h, "/", len(pages[h]))
			from := ""
			if len(pages[h]) == 0 {
				page = fmt.Sprint(h, "/")
			} else {
				from = pages[h][r.IntN(len(pages[h]))]
			}
			w.add(from, page)
			pages[h] = append(pages[h], page)
		}
	}
	var all []int
	for h := 1; h <= hosts; h++ {
		grow(h, 1+r.IntN(5))
		all = append(all, h)
	}
	const late, stranger = 200, 201 // known from the start: visited later, never
	grow(late, 3)
	grow(stranger, 1)
	w.links["1/"] = append(w.links["1/"], "200/", "201/")
	w.cycle(t, dir, 0, all...)

	type row struct{ onNew, onOld, sites int }
	var want []row
	var gains []int
	linked, behind := 0, 0
	next := hosts + 1
	for month := 1; month <= 2; month++ {
		var now row
		old := append([]int(nil), all...)
		var fresh []int
		appear := func(from string, deep bool) {
			h := next
			next++
			n := 1 + r.IntN(6)
			grow(h, n)
			to := pages[h][0]
			if deep {
				to = pages[h][n-1]
			}
			if from != "" {
				w.links[from] = append(w.links[from], to)
				linked++
				behind += n
			}
			fresh = append(fresh, h)
			now.onNew += n
			now.sites++
		}
		for i, h := range old[:12] {
			from := pages[h][r.IntN(len(pages[h]))]
			if i%3 == 1 { // through a new page
				news := fmt.Sprint(from, "news", month)
				w.add(from, news)
				from = news
				now.onOld++
			}
			n := 1 + i%4
			for j := range n {
				if j == 2 { // through another new host
					last := pages[fresh[len(fresh)-1]]
					appear(last[len(last)-1], false)
					continue
				}
				appear(from, j%2 == 1)
			}
			gains = append(gains, n)
		}
		appear("", false) // given by hand, nobody links to it
		for _, h := range old {
			n := r.IntN(3)
			grow(h, n)
			now.onOld += n
		}
		w.cycle(t, dir, 2*month)
		all = append(all, fresh...)
		if month == 1 {
			fresh = append(fresh, late)
		}
		w.cycle(t, dir, 2*month+1, fresh...)
		want = append(want, now)
	}

	res, err := onStore(t, dir, table1)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range want {
		got := row{res.Rows[i][1].(int), res.Rows[i][2].(int), res.Rows[i][4].(int)}
		if got != n || res.Rows[i][3] != float64(n.onNew)/float64(n.onNew+n.onOld) {
			t.Errorf("snapshot %v: %+v, share %v, want %+v", res.Rows[i][0], got, res.Rows[i][3], n)
		}
	}
	for _, want := range []string{"in 3 snapshots", "1 hosts were linked to before they were visited", "1 hosts are only linked to"} {
		if !strings.Contains(res.Notes[0], want) {
			t.Errorf("note %q, want %q in it", res.Notes[0], want)
		}
	}
	if res, err = onStore(t, dir, fig7); err != nil {
		t.Fatal(err)
	}
	last := res.Rows[len(res.Rows)-1]
	if last[1] != len(gains) || last[2] != linked {
		t.Errorf("%v fetches find %v sites, want %d and %d", last[1], last[2], len(gains), linked)
	}
	if want := fmt.Sprintf("an overhead of %.1f%%; %d of %d new sites", 100*float64(len(gains))/float64(behind), linked, want[0].sites+want[1].sites); !strings.Contains(res.Notes[0], want) {
		t.Errorf("note %q, want %q in it", res.Notes[0], want)
	}
}

// TestUnfitStore has both experiments say what a store lacks.
func TestUnfitStore(t *testing.T) {
	w := newHostsWeb(t)
	w.add("", "1/")
	w.add("", "2/")
	dir := t.TempDir()
	for i, step := range []struct {
		hosts []int
		link  bool
		want  string
	}{
		{hosts: []int{1}, want: "pages of 1 host"},
		{hosts: []int{2}, want: "no link from one to another"},
		{hosts: []int{3}, link: true, want: "no cycle of discovery"},
	} {
		if step.link {
			w.add("", "3/")
			w.links["3/"] = append(w.links["3/"], "1/")
		}
		w.cycle(t, dir, i, step.hosts...)
		for _, run := range []func(context.Context, *Env) (*Result, error){table1, fig7} {
			_, err := onStore(t, dir, run)
			var unfit *DataError
			if !errors.As(err, &unfit) || !strings.Contains(err.Error(), step.want) {
				t.Errorf("after the visit of %v: %v, want %q", step.hosts, err, step.want)
			}
		}
	}
	w.cycle(t, dir, 3)
	if r, err := onStore(t, dir, table1); err != nil || r.Rows[0][4] != 0 {
		t.Errorf("nothing new: %v, %v", r, err)
	}
	if _, err := onStore(t, dir, fig7); err == nil || !strings.Contains(err.Error(), "of 0 new sites none") {
		t.Errorf("nothing new: %v", err)
	}
}
