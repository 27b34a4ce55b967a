package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"

	"forage/crawl"
	"forage/replay"
	"forage/snap"
)

// TestSeedsOfStdinElsewhere: what a command reads from stdin goes along to the process that has the store.
func TestSeedsOfStdinElsewhere(t *testing.T) {
	site, err := replay.New(snap.Blog(rand.New(rand.NewPCG(1, 0)), 2), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(site)
	defer web.Close()
	dir := t.TempDir()
	c, err := crawl.Open(crawl.Config{Dir: dir, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server, err := serveStore(dir, &ownStore{crawl: c, ending: make(chan struct{})})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close(nil)
	args := []string{"crawl", "--dir", dir, "--seeds", "-", "--delay", "0", "--allow-private", "127.0.0.0/8", "--json"}
	for _, tt := range []struct {
		list string
		code int
		want string
	}{
		{"", exitUsage, "stdin: no URL in it"},
		{"url\tnode\tgain\n" + web.URL + "/\t0\t1\n", 0, `"pages":226,`},
	} {
		var out, errs bytes.Buffer
		ctx := context.WithValue(t.Context(), callKey{}, &call{args: args, input: []byte(tt.list)})
		if code := run(ctx, &out, &errs, args); code != tt.code || !strings.Contains(out.String()+errs.String(), tt.want) {
			t.Errorf("list %q: exit %d, want %d; stdout %s, stderr %s", tt.list, code, tt.code, &out, &errs)
		}
	}
	if n, err := c.View().Sites(); err != nil || len(n) != 1 {
		t.Errorf("the store of the owner has %d sites, %v; want 1", len(n), err)
	}
}
