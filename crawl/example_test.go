package crawl_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http/httptest"
	"net/netip"
	"os"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/replay"
	"forage/snap"
)

// A site is visited for the first time, and a week later within a budget of five fetches.
func Example() {
	site, err := replay.New(snap.Blog(rand.New(rand.NewPCG(1, 0)), 1), 0, false)
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(site)
	defer server.Close()
	dir, err := os.MkdirTemp("", "crawl")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	c, err := crawl.Open(crawl.Config{Dir: dir, Delay: -1, Fetch: fetch.Config{
		UserAgent:    fetch.Agent("https://example.org/bot"),
		AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, // the site is on loopback
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	first, err := c.Run(ctx, []scope.Seed{{URL: server.URL + "/"}}, crawl.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("cycle %d: %d pages\n", first.Cycle, first.Pages)

	if err := site.Switch(1); err != nil {
		log.Fatal(err)
	}
	five := func(int) int { return 5 }
	later, err := c.Revisit(ctx, plan.Plan{Budget: five, Text: "5"}, crawl.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("cycle %d: %d new pages by fetching %d old documents\n", later.Cycle, later.NewPages, later.Refetched)
	// Output:
	// cycle 1: 226 pages
	// cycle 2: 5 new pages by fetching 5 old documents
}
