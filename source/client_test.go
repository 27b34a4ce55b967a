package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clock stands still but for the waits that a client asks for.
type clock struct {
	now   time.Time
	waits []time.Duration
}

func (k *clock) Now() time.Time { return k.now }

func (k *clock) Sleep(_ context.Context, d time.Duration) error {
	k.now = k.now.Add(d)
	k.waits = append(k.waits, d)
	return nil
}

// serve returns a client of a server on loopback; BASE in the description is its URL.
func serve(t *testing.T, description string, h http.HandlerFunc) (*Client, *clock) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	d, err := ReadDescription([]byte(strings.ReplaceAll(description, "BASE", s.URL)), "")
	if err != nil {
		t.Fatal(err)
	}
	k := &clock{now: time.Unix(1_700_000_000, 0)}
	return &Client{Description: d, HTTP: s.Client(), Now: k.Now, Sleep: k.Sleep}, k
}

func ids(a Answer) string {
	var s []string
	for _, n := range a.Neighbours {
		s = append(s, n.ID)
	}
	return strings.Join(s, " ")
}

func TestLists(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e"}
	part := func(from, n int) []string { return all[min(from, len(all)):min(from+n, len(all))] }
	number := func(r *http.Request, name string) int {
		n, _ := strconv.Atoi(r.URL.Query().Get(name))
		return n
	}
	for _, tt := range []struct {
		name, description string
		answer            func(w http.ResponseWriter, r *http.Request)
		requests          int
	}{
		{"bare array", `{"url": "BASE/{id}"}`, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `["a","b","c","d","e"]`) }, 1},
		{"objects", `{"url": "BASE/{id}", "neighbours": "/data/items", "id": "/user/key"}`, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"data":{"items":[{"user":{"key":"a"}},{"user":{"key":"b"}},{"user":{"key":"c"}},{"user":{"key":"d"}},{"user":{"key":"e"}}]}}`)
		}, 1},
		{"star", `{"url": "BASE/{id}", "neighbours": "/pages/*/links/*/title"}`, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"pages":{"1":{"links":[{"title":"a"},{"title":"b"}]},"2":{},"3":{"links":[{"title":"c"},{"title":"d"},{"title":"e"}]}}}`)
		}, 1},
		{"pages until one is short", `{"url": "BASE/{id}?p={page}", "page_size": 2}`, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `[%s]`, quoted(part(2*(number(r, "p")-1), 2)))
		}, 3},
		{"pages until one is empty, from 0", `{"url": "BASE/{id}?p={page}", "first_page": 0}`, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `[%s]`, quoted(part(2*number(r, "p"), 2)))
		}, 4},
		{"offset", `{"url": "BASE/{id}?from={offset}", "page_size": 3}`, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `[%s]`, quoted(part(number(r, "from"), 3)))
		}, 2},
		{"last page again and again", `{"url": "BASE/{id}?p={page}"}`, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `[%s]`, quoted(part(min(2, number(r, "p")-1)*2, 2)))
		}, 4},
		{"cursor", `{"url": "BASE/{id}?limit=2&c={cursor}", "neighbours": "/l", "next": "/n"}`, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("c") == (r.URL.Query().Get("c") == "") {
				t.Errorf("an empty cursor was sent: %s", r.URL)
			}
			at, next := number(r, "c"), `null`
			if at+2 < len(all) {
				next = strconv.Itoa(at + 2)
			}
			fmt.Fprintf(w, `{"l":[%s],"n":%s}`, quoted(part(at, 2)), next)
		}, 3},
		{"cursor parameter", `{"url": "BASE/{id}", "neighbours": "/l", "next": "/meta/n", "cursor_parameter": "after"}`, func(w http.ResponseWriter, r *http.Request) {
			at, next := number(r, "after"), ""
			if at+2 < len(all) {
				next = strconv.Itoa(at + 2)
			}
			fmt.Fprintf(w, `{"l":[%s],"meta":{"n":%q}}`, quoted(part(at, 2)), next)
		}, 3},
		{"next is a URL", `{"url": "BASE/{id}", "neighbours": "/l", "next": "/n"}`, func(w http.ResponseWriter, r *http.Request) {
			at := number(r, "at")
			if at+2 < len(all) {
				fmt.Fprintf(w, `{"l":[%s],"n":"?at=%d"}`, quoted(part(at, 2)), at+2)
			} else {
				fmt.Fprintf(w, `{"l":[%s]}`, quoted(part(at, 2)))
			}
		}, 3},
		{"Link header", `{"url": "BASE/{id}"}`, func(w http.ResponseWriter, r *http.Request) {
			at := number(r, "at")
			w.Header().Add("Link", `<http://elsewhere.example/>; rel="prev"`)
			if at+2 < len(all) {
				w.Header().Add("Link", fmt.Sprintf(`</x>; rel="first", <http://%s%s?at=%d>; rel="next"`, r.Host, r.URL.Path, at+2))
			}
			fmt.Fprintf(w, `[%s]`, quoted(part(at, 2)))
		}, 3},
		{"more", `{"url": "BASE/{id}?p={page}", "neighbours": "/l", "more": "/more"}`, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"l":[%s],"more":%v}`, quoted(part(2*(number(r, "p")-1), 2)), number(r, "p") < 3)
		}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := serve(t, tt.description, tt.answer)
			a, err := c.Ask(t.Context(), "x/y")
			if err != nil || ids(a) != "a b c d e" || a.State != Complete || a.Requests != tt.requests {
				t.Errorf("Ask = %s, %s, %d requests, %v; want a b c d e, complete, %d", ids(a), a.State, a.Requests, err, tt.requests)
			}
		})
	}
}

func quoted(s []string) string {
	var q []string
	for _, x := range s {
		q = append(q, strconv.Quote(x))
	}
	return strings.Join(q, ",")
}

func TestTwoListsDegreesAttributes(t *testing.T) {
	c, _ := serve(t, `{"url": ["BASE/{id}/out", "BASE/{id}/in"], "degree": "/total", "neighbours": "/l", "neighbour_degree": "/d",
		"neighbour_attributes": {"name": "/n"}, "node": {"url": "BASE/{id}", "attributes": {"born": "/born"}}}`,
		func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/7":
				fmt.Fprint(w, `{"born": 1999}`)
			case "/7/out":
				fmt.Fprint(w, `{"total": 2, "l": [{"id": 1, "d": 5, "n": "one"}, {"id": 2}]}`)
			case "/7/in":
				fmt.Fprint(w, `{"total": 2, "l": [{"id": 2}, {"id": 7}, {"id": 3}]}`)
			}
		})
	a, err := c.Ask(t.Context(), "7")
	if err != nil || ids(a) != "1 2 3" || a.Declared != 4 || a.Attributes["born"] != "1999" || a.Neighbours[0].Degree != 5 || a.Neighbours[0].Attributes["name"] != "one" || a.Neighbours[1].Degree != -1 {
		t.Errorf("Ask = %+v, %v", a, err)
	}
}

func TestStates(t *testing.T) {
	c, k := serve(t, `{"url": "BASE/{id}?c={cursor}", "neighbours": "/l", "next": "/n", "degree": "/d"}`, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			fmt.Fprint(w, `{"l":["a"]}`)
		case "/gone":
			http.NotFound(w, r)
		case "/private":
			w.WriteHeader(http.StatusForbidden)
		case "/hidden":
			fmt.Fprint(w, `{"l":[],"d":12}`)
		case "/lonely":
			fmt.Fprint(w, `{"l":[],"d":0}`)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "/html":
			fmt.Fprint(w, `<html>`)
		case "/loop":
			fmt.Fprint(w, `{"l":["a"],"n":"same"}`)
		case "/circle":
			fmt.Fprintf(w, `{"l":["a%s"],"n":"%s"}`, r.URL.Query().Get("c"), map[string]string{"": "1", "1": "2", "2": "1"}[r.URL.Query().Get("c")])
		case "/away":
			fmt.Fprint(w, `{"l":["a"],"n":"http://elsewhere.example/"}`)
		}
	})
	var warned []string
	c.Warn = func(text string) { warned = append(warned, text) }
	for _, tt := range []struct {
		id    string
		state State
		ids   string
	}{
		{"good", Complete, "a"}, {"gone", Vanished, ""}, {"private", Hidden, ""}, {"hidden", Hidden, ""}, {"lonely", Complete, ""},
		{"broken", Failed, ""}, {"html", Failed, ""}, {"loop", Truncated, "a"}, {"circle", Truncated, "a a1 a2"},
	} {
		a, err := c.Ask(t.Context(), tt.id)
		if err != nil || a.State != tt.state || ids(a) != tt.ids || (a.Warning == "") != (a.State == Complete) {
			t.Errorf("Ask(%s) = %s [%s] %q, %v; want %s [%s]", tt.id, a.State, ids(a), a.Warning, err, tt.state, tt.ids)
		}
	}
	if len(warned) != 2 {
		t.Errorf("warnings %q, want two of lists that do not advance", warned)
	}
	if !slices.Equal(k.waits, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}) {
		t.Errorf("waits after server errors: %v", k.waits)
	}
	if _, err := c.Ask(t.Context(), "away"); err == nil || !strings.Contains(err.Error(), "elsewhere.example, which is not followed") {
		t.Errorf("a list that leads away: %v", err)
	}
	c.MaxPages = 1
	if a, _ := c.Ask(t.Context(), "circle"); a.State != Truncated || len(a.Neighbours) != 1 {
		t.Errorf("with one page a node: %+v", a)
	}
}

func TestRateLimits(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	for _, tt := range []struct {
		name   string
		rate   string
		limits func(w http.ResponseWriter)
		wait   time.Duration
	}{
		{"seconds", "", func(w http.ResponseWriter) { w.Header().Set("Retry-After", "30"); w.WriteHeader(429) }, 30 * time.Second},
		{"date", "", func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", start.Add(90*time.Second).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		}, 90 * time.Second},
		{"reset in epoch seconds", "", func(w http.ResponseWriter) {
			w.Header().Set("X-RateLimit-Remaining", "0")
			w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(start.Unix()+60, 10))
			w.WriteHeader(403)
		}, time.Minute},
		{"reset as a time", "", func(w http.ResponseWriter) {
			w.Header().Set("X-RateLimit-Remaining", "0")
			w.Header().Set("X-RateLimit-Reset", start.Add(45*time.Second).Format(time.RFC3339))
			w.WriteHeader(429)
		}, 45 * time.Second},
		{"nothing said", "", func(w http.ResponseWriter) { w.WriteHeader(429) }, 2 * time.Second},
		{"rate of the description", `, "rate": {"requests": 6, "per": "1m"}`, func(w http.ResponseWriter) { w.WriteHeader(500) }, 11 * time.Second},
	} {
		n := 0
		c, k := serve(t, `{"url": "BASE/{id}"`+tt.rate+`}`, func(w http.ResponseWriter, r *http.Request) {
			if n++; n == 1 {
				tt.limits(w)
				return
			}
			fmt.Fprint(w, `["a"]`)
		})
		a, err := c.Ask(t.Context(), "x")
		if err != nil || ids(a) != "a" || a.Requests != 2 {
			t.Errorf("%s: Ask = %+v, %v", tt.name, a, err)
		}
		if waited := k.now.Sub(start); waited < tt.wait-time.Second || waited > tt.wait {
			t.Errorf("%s: waited %v, want %v", tt.name, waited, tt.wait)
		}
	}
}

func TestFatal(t *testing.T) {
	c, _ := serve(t, `{"url": "BASE/{id}", "auth": {"env": "SOME_TOKEN"}}`, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer old" {
			t.Errorf("Authorization: %q", r.Header.Get("Authorization"))
		}
		w.WriteHeader(401)
	})
	c.Token = "old"
	var access *AccessError
	if _, err := c.Ask(t.Context(), "x"); !errors.As(err, &access) || !strings.Contains(err.Error(), "SOME_TOKEN") || strings.Contains(err.Error(), "old") {
		t.Errorf("expired token: %v", err)
	}
	for name, tt := range map[string]struct{ description, answer, want string }{
		"wrong pointer":       {`{"url": "BASE/{id}", "neighbours": "/data/friends"}`, `{"data": {"users": []}}`, `neighbours: "/data/friends" points at nothing: the object there has users`},
		"wrong id":            {`{"url": "BASE/{id}", "id": "/uid"}`, `[{"name": "a"}]`, `id: "/uid" points at nothing: the object there has name`},
		"no JSON":             {`{"url": "BASE/{id}"}`, `<html>`, "is no JSON: it is text/html"},
		"nothing":             {`{"url": "BASE/{id}"}`, " ", "is no JSON: it is empty"},
		"not an id":           {`{"url": "BASE/{id}", "id": "/a"}`, `[{"a": [1]}]`, "want the id of a neighbour"},
		"pointer to a number": {`{"url": "BASE/{id}", "neighbours": "/a/b"}`, `{"a": 3}`, "there is 3 there"},
	} {
		c, _ := serve(t, tt.description, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, tt.answer) })
		var d *DescriptionError
		if _, err := c.Ask(t.Context(), "x"); !errors.As(err, &d) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestBudgets(t *testing.T) {
	c, k := serve(t, `{"url": "BASE/{id}?p={page}"}`, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `[%q]`, r.URL.Query().Get("p")) })
	c.MaxRequests = 3
	if a, err := c.Ask(t.Context(), "x"); !errors.Is(err, ErrBudget) || ids(a) != "1 2 3" || a.State != Truncated {
		t.Errorf("with 3 requests: %+v, %v", a, err)
	}
	c.MaxRequests, c.Deadline = 0, k.now.Add(5*time.Second)
	c.Description.Rate = &Rate{1, Duration(2 * time.Second)}
	if a, err := c.Ask(t.Context(), "y"); !errors.Is(err, ErrBudget) || ids(a) != "1 2 3" {
		t.Errorf("with 5 seconds at 2 a request: %+v, %v", a, err)
	}
}

func TestDescriptionErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                               "unexpected EOF",
		"{\n\"url\": 3,\n]":               "line 3",
		`{"url": "https://x.example/"}`:   "holds no {id}",
		`{"url": "ftp://x.example/{id}"}`: "want an http or https URL",
		`{"url": "https://x.example/{id}/{node}"}`:                                "the places are",
		`{"url": "https://{host}/{id}"}`:                                          "needs a host",
		`{"url": "https://x.example/{id}", "next": "cursor"}`:                     `next: "cursor" is no JSON pointer`,
		`{"url": "https://x.example/{id}", "nieghbours": "/a"}`:                   "nieghbours",
		`{"url": "https://x.example/{id}", "rate": {"requests": 0, "per": "1s"}}`: "rate",
		`{"url": "https://x.example/{id}", "auth": {}}`:                           "auth: env",
		`{}`: "url is missing",
	} {
		if _, err := ReadDescription([]byte(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadDescription(%s): %v, want %q", text, err, want)
		}
	}
	for _, name := range Presets() {
		if name == "mastodon" || name == "wikipedia" {
			name += ":host.example"
		}
		if _, err := Describe(name); err != nil {
			t.Errorf("preset %s: %v", name, err)
		}
	}
}

func FuzzReadDescription(f *testing.F) {
	f.Add([]byte(`{"url": "https://x.example/{id}", "neighbours": "/a/*/b", "next": "/n"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ReadDescription(text, "h")
		if err == nil {
			expand(d.URL[0], "a b", "", 1, 0)
			d.Hosts()
		}
	})
}

func FuzzFind(f *testing.F) {
	f.Add("/a/*/0", "b")
	f.Fuzz(func(t *testing.T, pointer, name string) {
		if pointer != "" && pointer[0] != '/' {
			return
		}
		doc := map[string]any{name: []any{map[string]any{"x": "y"}, "z"}}
		if values, found := find(doc, pointer); found != "" && values != nil {
			t.Errorf("find(%q) = %v and %q", pointer, values, found)
		}
	})
}

func FuzzNextLink(f *testing.F) {
	f.Add(`<a>; rel="next", <b>; rel=prev`)
	f.Fuzz(func(t *testing.T, line string) { nextLink(http.Header{"Link": {line}}) })
}
