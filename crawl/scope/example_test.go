package scope_test

import (
	"fmt"
	"log"

	"forage/crawl/scope"
	"forage/store"
)

// A site is the part of a host below /blog/, without what is printed.
func ExampleNew() {
	url, err := scope.Normalise("https://Example.org:443/blog/", nil)
	if err != nil {
		log.Fatal(err)
	}
	within, err := scope.Within("prefix", url)
	if err != nil {
		log.Fatal(err)
	}
	s, err := scope.New(&store.Rules{Scope: "prefix", Within: within, Exclude: []string{`\?print=`}})
	if err != nil {
		log.Fatal(err)
	}
	for _, u := range []string{"https://example.org/blog/1", "https://example.org/shop", "https://example.org/blog/1?print=1"} {
		fmt.Printf("%s: within %t, left out for %q\n", u, s.Contains(u), s.Skip(&store.Doc{URL: u}))
	}
	// Output:
	// https://example.org/blog/1: within true, left out for ""
	// https://example.org/shop: within false, left out for "scope"
	// https://example.org/blog/1?print=1: within true, left out for "exclude"
}
