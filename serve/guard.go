package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// A Token lets who holds it read, or write too.
type Token struct {
	Value string
	Write bool
}

// A guard decides who may ask what, and has each answer carry what keeps a browser from making more of it.
//
// Where there are tokens one is wanted, on whatever address, but for reading where that is public. Where there
// are none only this machine may ask. There the danger is a page of a stranger in a browser of this
// machine: its name for this address is refused, as Host tells it, and so is what it would
// change, as Origin and Sec-Fetch-Site tell. A request that came by the public name, or that a proxy says it has passed on, has come through
// a proxy, from anywhere: without a token it can read where that is public, and change nothing. How webhooks are nobody
// reads without a token: why one failed may tell of what is not public.
type guard struct {
	next      http.Handler
	loopback  bool
	public    bool
	at        string   // path of what is guarded
	publicURL *url.URL // nil: none
	tokens    []tokenSum
	origins   *http.CrossOriginProtection
}

// tokenSum is a token by its hash, so that comparing takes the same time whatever was given.
type tokenSum struct {
	sum   [sha256.Size]byte
	write bool
}

func newGuard(o *Options, next http.Handler) (*guard, error) {
	g := &guard{next: next, loopback: o.Loopback, public: o.Public, at: o.At, origins: http.NewCrossOriginProtection()}
	if o.PublicURL != "" {
		u, err := url.Parse(o.PublicURL)
		if err == nil {
			err = g.origins.AddTrustedOrigin(origin(u))
		}
		if err != nil {
			return nil, fmt.Errorf("public URL %q: %w", o.PublicURL, err)
		}
		g.publicURL = u
	}
	for _, t := range o.Tokens {
		if t.Value == "" {
			return nil, errors.New("a token is empty: who gives none would have it")
		}
		g.tokens = append(g.tokens, tokenSum{sha256.Sum256([]byte(t.Value)), t.Write})
	}
	return g, nil
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // by no-referrer our own forms would come with Origin: null, which is refused where no Sec-Fetch-Site is sent: without TLS
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	who, status, why := g.admits(r)
	if status != 0 {
		if status == http.StatusUnauthorized {
			if isPage(r) {
				http.Redirect(w, r, loginPath(r, g.at), http.StatusSeeOther)
				return
			}
			h.Set("WWW-Authenticate", `Bearer realm="forage"`)
		}
		writeProblem(w, status, why)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 2*maxBody) // an operation answers 413 to more than maxBody; this ends the connection
	c := http.NewResponseController(w)
	c.SetWriteDeadline(time.Now().Add(readTimeout + writeTimeout)) // who writes longer moves it on; no error: there is none in tests without a connection
	g.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitorKey{}, who)))
}

// admits returns who makes a request, or the status with which it is refused, and why; 0: it is not.
func (g *guard) admits(r *http.Request) (who visitor, status int, why string) {
	write := r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
	byPublic := g.publicURL != nil && strings.EqualFold(r.Host, g.publicURL.Host)
	public := g.public && !isPrivate(r.URL.Path)
	if g.loopback && !byPublic && !isLoopback(r.Host) {
		return who, http.StatusForbidden, "the Host of the request is none of this service"
	}
	if g.origins.Check(r) != nil {
		return who, http.StatusForbidden, "a page of another origin may not change anything here"
	}
	if len(g.tokens) == 0 {
		switch {
		case g.loopback && !byPublic && !isForwarded(r):
			return visitor{write: true}, 0, ""
		case write:
			return who, http.StatusForbidden, "nobody may change anything from here: the configuration has no token for writing"
		case public:
			return who, 0, ""
		case g.public:
			return who, http.StatusForbidden, "webhooks are for who has a token, and the configuration has none"
		}
		return who, http.StatusForbidden, "nobody may read from here: the configuration has no tokens, and is not public"
	}
	given, ok := bearer(r)
	if !ok && !write && isFeed(r.URL.Path) {
		given, ok = r.URL.Query().Get("token"), r.URL.Query().Has("token")
	}
	byCookie := false
	if !ok {
		given, ok = cookieToken(r)
		byCookie = ok
	}
	known, mayWrite := g.knows(given)
	who = visitor{write: known && mayWrite, cookie: known && byCookie}
	switch {
	case known && (mayWrite || !write), needsNoToken(r):
		return who, 0, ""
	case known:
		return who, http.StatusForbidden, "this token is for reading"
	case !write && public && (!ok || byCookie): // one that is not valid any more is as none
		return who, 0, ""
	}
	return who, http.StatusUnauthorized, "a token is wanted, as Authorization: Bearer TOKEN"
}

// knows compares a token with all that there are.
func (g *guard) knows(given string) (known, write bool) {
	sum := sha256.Sum256([]byte(given))
	for i := range g.tokens {
		t := &g.tokens[i]
		if subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1 {
			known, write = true, write || t.write
		}
	}
	return known, write
}

// equalToken compares two tokens in a time that does not tell where they differ.
func equalToken(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// bearer returns the token of the header Authorization.
func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return token, true
}

// isFeed reports whether a path is that of a feed, which readers that can send no header get by ?token=.
func isFeed(path string) bool {
	return strings.HasSuffix(path, "/feed.atom") || strings.HasSuffix(path, "/feed.json")
}

// isPrivate reports whether a path is one that not everybody may read where that is public.
func isPrivate(path string) bool { return strings.HasPrefix(path, "/api/v1/webhooks") }

// isForwarded reports whether a proxy says that it has passed a request on: some give a Host of their own making.
func isForwarded(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} {
		if r.Header.Get(name) != "" {
			return true
		}
	}
	return false
}

// isLoopback reports whether a Host names this machine to itself.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
