package fetch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"

	"forage/fetch"
)

// A crawler asks for the rules, then for the page, and checks each redirect as it would check
// any link.
func ExampleClient_Fetch() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /private")
		case "/":
			http.Redirect(w, r, "/home", http.StatusMovedPermanently)
		case "/old":
			http.Redirect(w, r, "/private/old", http.StatusFound)
		default:
			fmt.Fprint(w, "<title>Home</title>")
		}
	}))
	defer site.Close()

	c, err := fetch.New(fetch.Config{
		UserAgent:    fetch.Agent("https://example.org/crawler"),
		AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx := context.Background()
	rules, _, err := c.Robots(ctx, site.URL, new(fetch.Request), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range []string{"/", "/old"} {
		var chain fetch.Chain
		for url := site.URL + path; url != ""; {
			where := strings.TrimPrefix(url, site.URL)
			if !rules.Allowed(url) {
				fmt.Println(where, fetch.Disallowed)
				break
			}
			o, err := c.Fetch(ctx, &fetch.Request{URL: url})
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("%s %v, %d bytes\n", where, o.Class, len(o.Body))
			url = chain.Next(o)
		}
	}
	// Output:
	// / redirect, 0 bytes
	// /home ok, 19 bytes
	// /old redirect, 0 bytes
	// /private/old disallowed
}
