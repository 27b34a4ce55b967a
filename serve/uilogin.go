package serve

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Where there are tokens, a browser has one in a cookie: it comes from a form, is sent with requests of the service's own
// pages only, and no script reads it. The cookie is the token itself, so that a token which is taken out of the
// file is worth nothing from then on.

const (
	tokenCookie = "forage_token"
	cookieAge   = 90 * 24 * time.Hour
)

// A visitor is who makes a request, as the guard found.
type visitor struct {
	write  bool // may change something
	cookie bool // has the token in a cookie
}

type visitorKey struct{}

// visitorOf returns who the guard let pass.
func visitorOf(ctx context.Context) visitor {
	v, _ := ctx.Value(visitorKey{}).(visitor)
	return v
}

// cookieToken returns the token of the cookie.
func cookieToken(r *http.Request) (token string, ok bool) {
	c, err := r.Cookie(tokenCookie)
	if err != nil {
		return "", false
	}
	b, err := base64.RawURLEncoding.DecodeString(c.Value)
	return string(b), err == nil
}

// needsNoToken reports whether a request is one for what leads to a token.
func needsNoToken(r *http.Request) bool {
	return r.URL.Path == "/login" || r.URL.Path == "/logout" || r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/ui/")
}

// isPage reports whether a request is that of a browser for a page, which is to be led to the form.
func isPage(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(r.URL.Path, "/api/") && !isFeed(r.URL.Path)
}

// loginPath is where the form is that leads back to what was asked for.
func loginPath(r *http.Request, at string) string {
	return "/login?" + url.Values{"next": {at + r.URL.RequestURI()}}.Encode()
}

// localPath is a path of this service, "/" for whatever leads elsewhere.
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

// A loginPage is the form.
type loginPage struct {
	Next  string
	Wrong bool
	None  bool // there are no tokens
}

func (s *server) uiLogin(r *http.Request, f *uiFrame) (string, error) {
	f.Title = "Log in"
	f.Page = &loginPage{Next: localPath(r.URL.Query().Get("next")), None: len(s.Tokens) == 0}
	return "login", nil
}

// login gives a browser the cookie for the token of the form.
func (s *server) login(w http.ResponseWriter, r *http.Request) {
	token, next := strings.TrimSpace(r.PostFormValue("token")), localPath(r.PostFormValue("next"))
	known := false
	for _, t := range s.Tokens {
		known = known || equalToken(t.Value, token)
	}
	if !known {
		f := s.frame(r)
		f.Title, f.Page = "Log in", &loginPage{Next: next, Wrong: true, None: len(s.Tokens) == 0}
		s.write(w, f, "login", http.StatusUnauthorized)
		return
	}
	s.setCookie(w, r, base64.RawURLEncoding.EncodeToString([]byte(token)), int(cookieAge/time.Second))
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// logout takes the cookie back.
func (s *server) logout(w http.ResponseWriter, r *http.Request) {
	s.setCookie(w, r, "", -1)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

func (s *server) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	secure := r.TLS != nil
	if u, err := url.Parse(s.PublicURL); err == nil && u.Scheme == "https" && strings.EqualFold(r.Host, u.Host) {
		secure = true // a proxy has the certificate
	}
	http.SetCookie(w, &http.Cookie{Name: tokenCookie, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure})
}
