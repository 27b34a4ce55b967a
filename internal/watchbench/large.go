package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"forage/internal/atomicfile"
)

// large is how long pages and metrics take to be made where there is much to tell: a million pages at a thousand sites, all
// but the first of each told as new.
func (b *bench) large() error {
	sites, pages := 1000, b.Size(1000)
	w, err := newWeb(sites, 1)
	if err != nil {
		return err
	}
	defer w.stop()
	store, seeds := filepath.Join(b.tmp, "large"), filepath.Join(b.tmp, "seeds")
	var list strings.Builder
	for i := range sites {
		fmt.Fprintln(&list, w.home(i))
	}
	if err := atomicfile.Write(seeds, []byte(list.String())); err != nil {
		return err
	}
	run := func(args ...string) error {
		out, err := exec.Command(b.forage, append(args, "--dir", store, "--delay", "0", "--allow-private", "127.0.0.0/8")...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", args[0], err, tail(string(out)))
		}
		return nil
	}
	if err := run("crawl", "--seeds", seeds); err != nil {
		return err
	}
	for i := range sites {
		w.publish(i, pages-1)
	}
	if err := run("revisit", "--full", "--max-new", fmt.Sprint(pages)); err != nil {
		return err
	}
	s, err := b.start(store, config(w, "every: 8760h, budget: 10"))
	if err != nil {
		return err
	}
	defer s.cmd.Process.Kill()
	text, err := s.get("/api/v1/status")
	var there struct{ Pages int64 }
	if err := errors.Join(err, json.Unmarshal(text, &there)); err != nil {
		return err
	}
	b.Tell(fmt.Sprintf("pages at %d sites", sites), float64(there.Pages), "", 0)
	news := sites * (pages - 1) // as many are told, at least
	if text, err = s.get(fmt.Sprintf("/api/v1/events?after=%d&limit=1", news-1)); err != nil || !strings.Contains(string(text), fmt.Sprintf(`"seq":%d,`, news)) {
		return errors.Join(err, fmt.Errorf("there are no %d events: %s", news, tail(string(text))))
	}
	// What pages tell by days is counted after a start, a part with each page that asks.
	var counting []time.Duration
	for range 150 {
		began := time.Now()
		if _, err := s.get("/"); err != nil {
			return err
		}
		counting = append(counting, time.Since(began))
	}
	b.Tell("p95 of / after a start, 150 times", 1000*quantile(counting, .95), "ms", 100)
	site := strings.TrimSuffix(strings.TrimPrefix(w.home(sites/2), "http://"), "/")
	page := url.QueryEscape(w.home(sites/2) + "page-7")
	for _, p := range []struct {
		path      string
		most      float64 // milliseconds, p95
		mostBytes float64
	}{
		{"/", 100, 100e3}, {"/sites", 100, 100e3}, {"/sites/" + site, 100, 100e3}, {"/pages", 100, 100e3}, {"/pages?q=page-77", 100, 100e3},
		{"/hosts", 100, 100e3}, {"/url?url=" + page, 100, 100e3}, {"/add", 100, 100e3}, {"/api/v1/pages?limit=100", 0, 0}, {"/api/v1/status", 0, 0}, {"/metrics", 50, 1e6},
	} {
		var each []time.Duration
		size := 0
		for i := range 40 {
			began := time.Now()
			text, err := s.get(p.path)
			if err != nil {
				return err
			}
			if i > 0 { // the first may read what is kept then
				each = append(each, time.Since(began))
			}
			size = max(size, len(text))
		}
		b.Tell("p95 of "+p.path, 1000*quantile(each, .95), "ms", p.most)
		if p.mostBytes > 0 {
			b.Tell("bytes of "+p.path, float64(size), "", p.mostBytes)
		}
	}
	u, err1 := s.use()
	b.Tell("memory then", float64(u.resident)/1e6, "MB", 0)
	took, err2 := s.stop()
	b.Tell("start, stop", max(s.took.Seconds(), took.Seconds()), "s", 2)
	return errors.Join(err1, err2)
}
