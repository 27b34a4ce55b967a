package yield

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestCanonicals tells of pages that name another URL as canonical and has that of one more guessed.
func TestCanonicals(t *testing.T) {
	for _, test := range []struct {
		name, url, canonical string // of pages, with a number for each %d
		guess, want          string
	}{
		{"a product in categories", "/shoes/c%d/p-%d.html", "/p-%d.html", "/bags/red/p-90.html", "/p-90.html"},
		{"below another folder", "/tag/c%d/post-%d/", "/blog/post-%d/", "/tag/x/post-90/", "/blog/post-90/"},
		{"a language", "/en/a%d/b-%d/print", "/a%[1]d/b-%[2]d", "/de/a8/b-90/print", "/a8/b-90"},
		{"a parameter to a path", "/show?cat=c%d&slug=s%d", "/s%[2]d/", "/show?cat=y&slug=s90", "/s90/"},
		{"a path to a parameter", "/c%d/view/%d", "/item?id=%[2]d&v=1", "/c3/view/90", "/item?id=90&v=1"},
		{"a parameter less", "/show?cat=c%d&id=%d", "/show?id=%[2]d", "/show?cat=y&id=90", "/show?id=90"},
		{"hosts of a domain", "m.a.test/c%d/p%d", "www.a.test/c%d/p%d", "m.a.test/c7/p90", "www.a.test/c7/p90"},
		{"their own", "/c%d/p-%d", "", "/c3/p-90", ""},
		{"the home page", "/c%d/p-%d", "/home", "/c3/p-90", ""},
		{"no way from one to the other", "/c%d/p-%d", "/p-1%d0", "/c3/p-90", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c Canonicals
			for n := range enough[0] {
				if got, ok := c.Guess(test.guess); ok {
					t.Fatalf("Guess(%s) = %q after %d pages", test.guess, got, n)
				}
				args := []any{n, n + 20}
				canonical := test.canonical
				switch verbs(canonical) {
				case 1:
					canonical = fmt.Sprintf(canonical, n+20)
				case 2:
					canonical = fmt.Sprintf(canonical, args...)
				}
				c.Fetched(fmt.Sprintf(test.url, args...), canonical)
			}
			if got, ok := c.Guess(test.guess); got != test.want || ok != (test.want != "") {
				t.Errorf("Guess(%s) = %q, %t, want %q", test.guess, got, ok, test.want)
			}
			for range enough[0] {
				c.Missed(test.guess)
			}
			if got, ok := c.Guess(test.guess); ok {
				t.Errorf("Guess(%s) = %q after %d guesses at which there was nothing", test.guess, got, enough[0])
			}
		})
	}
}

// verbs is how many arguments a form of TestCanonicals takes.
func verbs(form string) (n int) {
	for i := range form {
		if form[i] == '%' {
			if n++; form[i+1] == '[' {
				return 2
			}
		}
	}
	return n
}

// TestCanonicalsOrder: pages that name themselves speak against a guess, whatever the order.
func TestCanonicalsOrder(t *testing.T) {
	told := [][2]string{}
	for n := range 16 {
		told = append(told, [2]string{fmt.Sprintf("/c%d/p%d", n, n), fmt.Sprintf("/p%d", n)})
	}
	told = append(told, [2]string{"/c20/p20", ""}, [2]string{"/c21/p21", "/c21/p21"})
	var first Canonicals
	for seed := range uint64(8) {
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
		var c Canonicals
		for _, p := range told {
			c.Fetched(p[0], p[1])
		}
		if got, ok := c.Guess("/x/p99"); !ok || got != "/p99" {
			t.Fatalf("Guess = %q, %t with 2 of 18 pages their own", got, ok)
		}
		c.Fetched("/c22/p22", "")
		if got, ok := c.Guess("/x/p99"); ok {
			t.Fatalf("Guess = %q with 3 of 19 pages their own", got)
		}
		if c.buf = nil; seed == 0 {
			first = c
		} else if !reflect.DeepEqual(c, first) {
			t.Fatalf("told in another order: %v, want %v", c, first)
		}
	}
}

// TestCanonicalsBounds: whatever a site names, what is kept stays bounded.
func TestCanonicalsBounds(t *testing.T) {
	var c Canonicals
	for n := range 10 * maxRoutes {
		c.Fetched(fmt.Sprintf("/a?p%s=1", string(rune('a'+n%26))+string(rune('a'+n/26%26))+string(rune('a'+n/676))), fmt.Sprintf("/a/w%d", n))
		c.Fetched(fmt.Sprintf("/c/x%d", n), fmt.Sprintf("/c/y%d", n))
	}
	if len(c.routes) > maxRoutes {
		t.Errorf("%d templates, want at most %d", len(c.routes), maxRoutes)
	}
	for template, r := range c.routes {
		if len(r.forms) > maxForms {
			t.Errorf("%d forms of %s, want at most %d", len(r.forms), template, maxForms)
		}
	}
}

// FuzzForm: a form filled from the URL that it was read off is the canonical URL.
func FuzzForm(f *testing.F) {
	f.Add("/a/b/p?x=1&y=2", "/p?x=1")
	f.Add("/a//b", "/b/?b=")
	f.Add("/?a=&a=b;c", "/b/c?d=a&a=b")
	f.Add("/\x02", "/\x02")
	f.Fuzz(func(t *testing.T, url, canonical string) {
		form := form(url, canonical)
		if form == "" {
			return
		}
		if got, ok := fill(form, url); !ok || got != canonical {
			t.Errorf("fill(%q, %q) = %q, %t, want %q", form, url, got, ok, canonical)
		}
	})
}
