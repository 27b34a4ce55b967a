package main

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestWeb: each site has its own pages, as many as were published, and tells when one was answered first.
func TestWeb(t *testing.T) {
	w, err := newWeb(300, 2)
	if err != nil {
		t.Skip(err) // not every system has all of 127.0.0.0/8
	}
	defer w.stop()
	get := func(url string) (int, string) {
		t.Helper()
		r, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(b)
	}
	home := w.home(299)
	if code, text := get(home); code != 200 || strings.Count(text, "<a href=/page-") != 2 {
		t.Errorf("home: %d, %s", code, text)
	}
	if code, _ := get(home + "page-2"); code != 404 {
		t.Errorf("a page that is not published yet: %d", code)
	}
	if _, ok := w.since(home + "page-1"); ok {
		t.Error("a page was answered that nobody asked for")
	}
	w.publish(299, 1)
	_, other := get(w.home(0) + "page-1")
	code, text := get(home + "page-2")
	if d, ok := w.since(home + "page-2"); code != 200 || text == other || !ok || d < 0 || d > time.Minute {
		t.Errorf("a page just published: %d, answered %s ago, %v", code, d, ok)
	}
	if code, text := get(w.home(1)); code != 200 || strings.Count(text, "<a href=/page-") != 2 {
		t.Errorf("another home: %d, %s", code, text)
	}
	if code, _ := get(fmt.Sprintf("http://127.0.0.1:%d/", w.port)); code != 404 {
		t.Errorf("what is no site: %d", code)
	}
}

func TestQuantile(t *testing.T) {
	all := make([]time.Duration, 200)
	for i := range all {
		all[i] = time.Duration(200-i) * time.Second
	}
	if got := quantile(all, .99); got != 199 {
		t.Errorf("p99 of 1 to 200 is %v", got)
	}
	if got := quantile(all[:1], .99); got != 200 {
		t.Errorf("p99 of one is %v", got)
	}
	if got := quantile(nil, .99); !math.IsNaN(got) {
		t.Errorf("p99 of none is %v", got)
	}
}
