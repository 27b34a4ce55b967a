package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"forage/fetch/fetchtest"
	"forage/store"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// A base is a store with its one writer.
type base struct {
	t   *testing.T
	dir string
	mu  sync.Mutex
	db  *store.DB
}

func newBase(t *testing.T) *base {
	b := &base{t: t, dir: t.TempDir()}
	b.open()
	t.Cleanup(func() { b.db.Close() })
	return b
}

func (b *base) open() {
	b.t.Helper()
	var err error
	if b.db, err = store.Open(b.dir, store.Options{}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *base) write(f func(*store.DB) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return errors.Join(f(b.db), b.db.Sync())
}

// tell writes events of sites, "TYPE SITE" each.
func (b *base) tell(texts ...string) {
	b.t.Helper()
	if err := b.write(func(db *store.DB) error {
		for _, text := range texts {
			of, site, _ := strings.Cut(text, " ")
			db.PutEvent(&store.Event{Type: store.EventType(of), At: time.Now().Unix(), Site: site})
		}
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *base) sender(o Options, targets ...Target) *Sender {
	b.t.Helper()
	o.DB, o.Write, o.UserAgent = b.db, b.write, "forage/test"
	s, err := New(o, targets)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// running runs a sender until the function that it returns is called.
func running(t *testing.T, s *Sender) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A got is a request that a hook had.
type got struct {
	seq    uint64
	id     string
	body   string
	header http.Header
	at     time.Time
}

// A hook receives events. answer says with which status; nil: 204.
type hook struct {
	mu     sync.Mutex
	all    []got
	answer func(g got, w http.ResponseWriter)
	news   chan struct{}
}

func newHook() *hook { return &hook{news: make(chan struct{}, 1<<16)} }

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	g := got{id: r.Header.Get("webhook-id"), body: string(b), header: r.Header, at: time.Now()}
	n, _, _ := strings.Cut(g.id, "-")
	g.seq, _ = strconv.ParseUint(n, 10, 64)
	h.mu.Lock()
	h.all = append(h.all, g)
	answer := h.answer
	h.mu.Unlock()
	if answer != nil {
		answer(g, w)
	} else {
		w.WriteHeader(http.StatusNoContent)
	}
	h.news <- struct{}{}
}

func (h *hook) seqs() (all []uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.all {
		all = append(all, g.seq)
	}
	return all
}

// wait returns when there have been n more requests.
func (h *hook) wait(n int) {
	for range n {
		<-h.news
	}
}

func (h *hook) says(answer func(g got, w http.ResponseWriter)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

func status(n int) func(got, http.ResponseWriter) {
	return func(_ got, w http.ResponseWriter) { w.WriteHeader(n) }
}

func served(t *testing.T, h http.Handler) string {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestDeliver: events are sent in order to whom they are for, signed, from the adding of a target on, and go on where they were.
func TestDeliver(t *testing.T) {
	b := newBase(t)
	b.tell("site.ready a.test")
	all, some := newHook(), newHook()
	targets := []Target{
		{Name: "all", URL: served(t, all), Allow: loopback, Secrets: []string{"whsec_MDEy", "MzQ1"}, Header: map[string]string{"Authorization": "Bearer x", "Host": "h.test"}},
		{Name: "some", URL: served(t, some) + "/p?q=1", Allow: loopback, Types: []store.EventType{store.SiteTrouble, store.WatchPaused}, Sites: []string{"b.test"}, Template: "{{.site}}"},
	}
	s := b.sender(Options{}, targets...)
	stop := running(t, s)
	b.tell("site.trouble a.test", "site.trouble b.test", "site.fine b.test", "watch.paused ", "watch.resumed ")
	all.wait(5)
	some.wait(2)
	stop()
	if got := all.seqs(); !slices.Equal(got, []uint64{2, 3, 4, 5, 6}) {
		t.Errorf("all got %v", got)
	}
	if got := some.seqs(); !slices.Equal(got, []uint64{3, 5}) {
		t.Errorf("some got %v", got)
	}
	g := all.all[0]
	at, err := strconv.ParseInt(g.header.Get("webhook-timestamp"), 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)).Abs() > time.Hour {
		t.Errorf("webhook-timestamp %q", g.header.Get("webhook-timestamp"))
	}
	if got, want := g.header.Get("webhook-signature"), sign([][]byte{[]byte("012"), []byte("345")}, g.id, at, []byte(g.body)); got != want {
		t.Errorf("webhook-signature %q, want %q", got, want)
	}
	if g.header.Get("Authorization") != "Bearer x" || g.header.Get("User-Agent") != "forage/test" || g.header.Get("Content-Type") != "application/json" {
		t.Errorf("header %v", g.header)
	}
	if g := some.all[0]; g.body != "b.test" || g.header.Get("webhook-signature") != "" {
		t.Errorf("some got %+v", g)
	}

	// Started again it goes on; what is not in the configuration is forgotten, and begins anew when it is back.
	b.tell("site.ready b.test")
	stop = running(t, b.sender(Options{}, targets[0]))
	all.wait(1)
	b.tell("site.trouble b.test")
	all.wait(1)
	stop()
	s = b.sender(Options{}, targets...)
	stop = running(t, s)
	b.tell("site.trouble b.test")
	all.wait(1)
	some.wait(1)
	if err := s.Reload(targets[1:]); err != nil {
		t.Fatal(err)
	}
	b.tell("site.trouble b.test")
	some.wait(1)
	targets[0].Types = []store.EventType{store.SiteFine}
	if err := s.Reload(targets); err != nil {
		t.Fatal(err)
	}
	b.tell("site.trouble b.test", "site.fine b.test")
	all.wait(1)
	some.wait(1)
	stop()
	if got := all.seqs(); !slices.Equal(got, []uint64{2, 3, 4, 5, 6, 7, 8, 9, 12}) {
		t.Errorf("all got %v", got)
	}
	if got := some.seqs(); !slices.Equal(got, []uint64{3, 5, 9, 10, 11}) {
		t.Errorf("some got %v", got)
	}
	if err := b.db.Check(func(p store.Problem) { t.Error(p.Text) }); err != nil {
		t.Error(err)
	}
	if err := s.Reload([]Target{{Name: "x", URL: "http://x.test", Template: "{{"}}); err == nil {
		t.Error("a template that is none is taken")
	}
}

// TestHangs: a target that hangs holds up no other, and is given 15 s.
func TestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := fetchtest.New()
		b := newBase(t)
		slow, good := newHook(), newHook()
		slow.answer = func(got, http.ResponseWriter) { time.Sleep(time.Hour) }
		x, y := lan.Server("127.0.0.1:0", slow), lan.Server("127.0.0.1:0", good)
		s := b.sender(Options{Dial: lan.Dial}, Target{Name: "slow", URL: x.URL}, Target{Name: "good", URL: y.URL})
		stop := running(t, s)
		begin := time.Now()
		for range 20 {
			b.tell("site.ready a.test")
		}
		good.wait(20)
		if d := time.Since(begin); d > time.Second {
			t.Errorf("the good target had its events after %v", d)
		}
		time.Sleep(attemptTime + time.Second)
		synctest.Wait()
		l, err := s.List()
		if err != nil {
			t.Fatal(err)
		}
		if g := l[0]; g.Name != "good" || g.State != "idle" || *g.Backlog != 0 || g.Behind != 0 || g.Delivered != 20 {
			t.Errorf("good is %+v", g)
		}
		if w := l[1]; w.Name != "slow" || w.State != "failing" || *w.Backlog != 20 || w.Behind != 20 || w.Last == nil || w.Last.Error != "no answer within 15s" || w.Last.Millis < 15_000 || w.Last.Millis > 15_100 {
			t.Errorf("slow is %+v, last %+v", w, w.Last)
		}
		begin = time.Now()
		stop()
		if d := time.Since(begin); d > grace+time.Second {
			t.Errorf("it ended after %v", d)
		}
		time.Sleep(2 * time.Hour) // the handlers of slow end
		x.Close()
		y.Close()
	})
}

// TestGivesUp: an event that is refused is sent for 32 hours, across restarts, with one id and one body; then the next
// one is. It is a dead letter, which is sent again when that is asked for.
func TestGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := fetchtest.New()
		b := newBase(t)
		h := newHook()
		h.answer = func(g got, w http.ResponseWriter) {
			if g.seq == 2 {
				http.Error(w, "no 2 here", http.StatusTeapot)
			}
		}
		srv := lan.Server("127.0.0.1:0", h)
		target := Target{Name: "t", URL: srv.URL}
		s := b.sender(Options{Dial: lan.Dial}, target)
		stop := running(t, s)
		begin := time.Now()
		b.tell("site.ready a.test", "site.trouble a.test", "site.fine a.test")
		for day := range 4 { // ended and started again at some time
			time.Sleep(time.Duration(day+1) * time.Hour / 2)
			stop()
			s = b.sender(Options{Dial: lan.Dial}, target)
			stop = running(t, s)
		}
		time.Sleep(giveUp)
		synctest.Wait()
		seqs := h.seqs()
		if n := len(seqs); n < 38 || n > 60 || seqs[0] != 1 || seqs[n-1] != 3 || slices.ContainsFunc(seqs[1:n-1], func(s uint64) bool { return s != 2 }) {
			t.Fatalf("got %v", seqs)
		}
		last := h.all[len(seqs)-2]
		if d := last.at.Sub(begin); d < giveUp || d > giveUp+time.Minute {
			t.Errorf("the last attempt was after %v", d)
		}
		for _, g := range h.all[1 : len(seqs)-1] {
			if g.body != last.body || g.id != last.id {
				t.Errorf("%s %s, then %s %s", g.id, g.body, last.id, last.body)
			}
		}
		st, err := s.Status("t")
		if err != nil || st.Dead != 1 || st.GivenUp != 1 || st.Delivered != 2 || st.Position != 3 || st.State != "idle" || *st.Backlog != 0 {
			t.Errorf("%+v, %v", st, err)
		}

		// It is sent again, before what comes, and is no dead letter any more; nor after a restart.
		h.says(nil)
		if n, err := s.Redeliver("t", Redelivery{Dead: true}); n != 1 || err != nil {
			t.Errorf("Redeliver: %d, %v", n, err)
		}
		synctest.Wait()
		stop()
		s = b.sender(Options{Dial: lan.Dial}, target)
		stop = running(t, s)
		if n, err := s.Redeliver("t", Redelivery{Dead: true}); n != 0 || err != nil {
			t.Errorf("Redeliver: %d, %v", n, err)
		}
		after := uint64(1)
		if _, err := s.Redeliver("t", Redelivery{After: &after, Events: []uint64{3, 1}}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := h.seqs()[len(seqs):]; !slices.Equal(got, []uint64{2, 1, 3, 2, 3}) {
			t.Errorf("again: %v", got)
		}
		if st, err := s.Status("t"); err != nil || st.Dead != 0 || st.GivenUp != 1 || st.Delivered != 7 || st.Position != 3 {
			t.Errorf("%+v, %v", st, err)
		}
		tooFar := uint64(4)
		for _, c := range []Redelivery{{}, {Events: []uint64{4}}, {Events: []uint64{0}}, {After: &tooFar}} {
			if _, err := s.Redeliver("t", c); !errors.Is(err, ErrInvalid) {
				t.Errorf("Redeliver %+v: %v", c, err)
			}
		}
		if _, err := s.Redeliver("u", Redelivery{Dead: true}); !errors.Is(err, ErrNotFound) {
			t.Errorf("Redeliver: %v", err)
		}
		stop()
		srv.Close()
	})
}

// TestGone: 410 disables a target until it is enabled, or has another URL; what came meanwhile is not lost.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := fetchtest.New()
		b := newBase(t)
		h := newHook()
		h.answer = status(http.StatusGone)
		srv := lan.Server("127.0.0.1:0", h)
		target := Target{Name: "t", URL: srv.URL}
		s := b.sender(Options{Dial: lan.Dial}, target)
		stop := running(t, s)
		b.tell("site.ready a.test", "site.trouble a.test")
		time.Sleep(10 * time.Hour)
		if got := h.seqs(); !slices.Equal(got, []uint64{1}) {
			t.Errorf("got %v", got)
		}
		stop()
		s = b.sender(Options{Dial: lan.Dial}, target)
		stop = running(t, s)
		time.Sleep(10 * time.Hour)
		st, err := s.Status("t")
		if err != nil || st.State != "disabled" || st.Reason == nil || *st.Backlog != 2 || len(h.seqs()) != 1 {
			t.Errorf("%+v, %v", st, err)
		}
		h.says(nil)
		if r, err := s.Test(t.Context(), "t"); err != nil || !r.ok() || r.Status != 200 && r.Status != 204 {
			t.Errorf("Test: %+v, %v", r, err)
		}
		if g := h.all[1]; !strings.HasPrefix(g.id, "test-") || !strings.Contains(g.body, `"type":"webhook.test"`) {
			t.Errorf("a test is %+v", g)
		}
		if err := s.Enable("t"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := h.seqs(); !slices.Equal(got, []uint64{1, 0, 1, 2}) {
			t.Errorf("got %v", got)
		}
		h.says(status(http.StatusGone))
		b.tell("site.fine a.test")
		synctest.Wait()
		h.says(nil)
		target.URL += "/else"
		if err := s.Reload([]Target{target}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := h.seqs(); !slices.Equal(got, []uint64{1, 0, 1, 2, 3, 3}) {
			t.Errorf("got %v", got)
		}
		stop()
		srv.Close()
	})
}

// TestAhead: while nothing can be written, a target gets only as many events as may come again after a kill.
func TestAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := fetchtest.New()
		b := newBase(t)
		h := newHook()
		srv := lan.Server("127.0.0.1:0", h)
		s := b.sender(Options{Dial: lan.Dial}, Target{Name: "t", URL: srv.URL})
		full := make(chan struct{}) // closed when the disk has room
		s.Write = func(f func(*store.DB) error) error { <-full; return b.write(f) }
		for range 100 {
			b.tell("site.ready a.test")
		}
		stop := running(t, s)
		time.Sleep(time.Hour)
		if n := len(h.seqs()); n < maxAhead || n > 2*maxAhead {
			t.Errorf("%d events were sent, want from %d to %d", n, maxAhead, 2*maxAhead)
		}
		close(full)
		synctest.Wait()
		time.Sleep(time.Minute)
		if n := len(h.seqs()); n != 100 {
			t.Errorf("%d events were sent, want 100", n)
		}
		stop()
		srv.Close()
	})
}

// TestFullDisk: on a full disk events are sent, few of them, as how far a target is gets written once a minute.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := fetchtest.New()
		b := newBase(t)
		h := newHook()
		srv := lan.Server("127.0.0.1:0", h)
		var full atomic.Bool
		full.Store(true)
		s := b.sender(Options{Dial: lan.Dial, Full: func() error {
			if full.Load() {
				return syscall.ENOSPC
			}
			return nil
		}}, Target{Name: "t", URL: srv.URL})
		writes := 0
		s.Write = func(f func(*store.DB) error) error { writes++; return b.write(f) }
		for range 300 {
			b.tell("site.ready a.test")
		}
		stop := running(t, s)
		time.Sleep(10*time.Minute + 10*time.Second)
		synctest.Wait()
		if n := len(h.seqs()); writes > 11 || n < 10*maxAhead || n > 12*maxAhead {
			t.Errorf("%d events were sent in 10 minutes, by %d writes", n, writes)
		}
		full.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(h.seqs()); n != 300 {
			t.Errorf("%d events were sent once there was room, want 300", n)
		}
		stop()
		srv.Close()
	})
}

// TestTestHurries: where a test is accepted what failed before is sent at once.
func TestTestHurries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := fetchtest.New()
		b := newBase(t)
		h := newHook()
		h.answer = status(http.StatusBadGateway)
		srv := lan.Server("127.0.0.1:0", h)
		s := b.sender(Options{Dial: lan.Dial}, Target{Name: "t", URL: srv.URL})
		stop := running(t, s)
		b.tell("site.ready a.test")
		time.Sleep(5 * time.Hour)
		h.says(nil)
		before := len(h.seqs())
		if _, err := s.Test(t.Context(), "t"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := h.seqs()[before:]; !slices.Equal(got, []uint64{0, 1}) {
			t.Errorf("got %v", got)
		}
		stop()
		srv.Close()
	})
}

// TestKeptNoMore: events that were dropped before a target had them are counted as lost, and others are sent.
func TestKeptNoMore(t *testing.T) {
	b := newBase(t)
	h := newHook()
	target := Target{Name: "t", URL: served(t, h), Allow: loopback}
	s := b.sender(Options{}, target)
	b.tell("site.ready a.test", "site.ready b.test", "site.ready c.test")
	if err := b.write(func(db *store.DB) error { _, err := db.DropEvents(time.Now().Unix()+1, 2); return err }); err != nil {
		t.Fatal(err)
	}
	stop := running(t, s)
	h.wait(1)
	stop()
	if st, err := s.Status("t"); err != nil || st.Lost != 2 || st.Position != 3 || !slices.Equal(h.seqs(), []uint64{3}) {
		t.Errorf("%+v, %v; got %v", st, err, h.seqs())
	}
	v := b.db.Snapshot()
	defer v.Close()
	all, err := Stored(v)
	if err != nil || len(all) != 1 || all[0].Lost != 2 || all[0].State != "stopped" || all[0].Position != 3 || all[0].URL != nil {
		t.Errorf("Stored: %+v, %v", all, err)
	}
}

// TestAddresses: nothing is sent to an address that is not public, by whatever name, nor where a redirect leads.
func TestAddresses(t *testing.T) {
	var inside int
	private := served(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside++ }))
	port := private[strings.LastIndex(private, ":"):]
	away := newHook()
	away.answer = func(_ got, w http.ResponseWriter) {
		w.Header().Set("Location", private)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	b := newBase(t)
	s := b.sender(Options{},
		Target{Name: "address", URL: private},
		Target{Name: "name", URL: "http://localhost" + port},
		Target{Name: "mapped", URL: "http://[::ffff:127.0.0.1]" + port},
		Target{Name: "redirect", URL: served(t, away), Allow: loopback},
		Target{Name: "other", URL: private, Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	t.Setenv("HTTP_PROXY", private) // nobody asks it
	for _, name := range []string{"address", "name", "mapped", "redirect", "other"} {
		r, err := s.Test(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		want := "is not a public address"
		if name == "redirect" {
			want = "redirects are not followed"
		}
		if r.ok() || !strings.Contains(r.Error, want) || strings.Contains(r.Error, private) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if inside != 0 {
		t.Errorf("%d requests came to the private server", inside)
	}
	if len(away.seqs()) != 1 {
		t.Errorf("the one that redirects had %v", away.seqs())
	}
}

// TestAnswers: what a target says is told in short, with nothing hidden; an answer without end ends.
func TestAnswers(t *testing.T) {
	h := newHook()
	b := newBase(t)
	s := b.sender(Options{}, Target{Name: "t", URL: served(t, h), Allow: loopback})
	for _, c := range []struct {
		answer func(got, http.ResponseWriter)
		want   string
	}{
		{status(500), "it answered 500 Internal Server Error"},
		{func(_ got, w http.ResponseWriter) {
			http.Error(w, "bad \x1b[31m"+strings.Repeat("x", 300)+"\nmore", 400)
		}, `it answered 400 Bad Request: bad \u001b[31m` + strings.Repeat("x", 191)},
		{func(_ got, w http.ResponseWriter) {
			for range 100 {
				fmt.Fprint(w, strings.Repeat("x", 10_000))
			}
		}, ""},
		{status(301), "it answered 301 Moved Permanently, and redirects are not followed"},
		{func(_ got, w http.ResponseWriter) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		h.says(c.answer)
		r, err := s.Test(t.Context(), "t")
		if err != nil || r.Error != c.want {
			t.Errorf("%q, %v, want %q", r.Error, err, c.want)
		}
	}
}
