package fetch

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"forage/internal/race"
)

func TestBlocked(t *testing.T) {
	for _, c := range []struct {
		name, status, fields, body string
		want                       Class
	}{
		{"challenge by header", "200 OK", "cf-mitigated: challenge\r\n", "<html>", Blocked},
		{"challenge 403", "403 Forbidden", "", "<html><head><title>Just a moment...</title>", Blocked},
		{"challenge 503", "503 Unavailable", "", "<script>window._cf_chl_opt={}</script>", Blocked},
		{"challenge 200", "200 OK", "", "<iframe>Request unsuccessful. Incapsula incident ID: 5-1</iframe>", Blocked},
		{"captcha 405", "405 Human", "x-amzn-waf-action: captcha\r\n", "", Blocked},
		{"akamai", "403 Forbidden", "", "Access Denied https://errors.edgesuite.net/1", Blocked},
		{"plain 403", "403 Forbidden", "", "<h1>Forbidden</h1>", ClientError},
		{"plain 401", "401 Unauthorized", "", "", ClientError},
		{"plain 500", "500 Oops", "", "<h1>Oops</h1>", ServerError},
		{"429", "429 Slow", "", "px-captcha", TooManyRequests},
		{"404", "404 No", "", "window._cf_chl_opt", NotFound},
		{"410", "410 Gone", "", "", Gone},
		{"page about challenges", "200 OK", "", "<title>What is Just a moment...?</title><p>It says errors.edgesuite.net and _Incapsula_Resource", OK},
		{"large page that quotes one", "200 OK", "", strings.Repeat("<p>text</p>", 500) + "window._cf_chl_opt", OK},
		{"no content", "204 No Content", "", "", NoContent},
		{"300", "300 Choices", "Location: /x\r\n", "", ClientError},
		{"302 to nowhere", "302 Found", "", "", ClientError},
		{"302 to a script", "302 Found", "Location: javascript:alert(1)\r\n", "", ClientError},
		{"302 to a file", "302 Found", "Location: file:///etc/passwd\r\n", "", ClientError},
		{"999", "999 Denied", "", "", Malformed},
	} {
		s := serveTCP(t, says("HTTP/1.1 "+c.status+"\r\nContent-Type: text/html\r\n"+c.fields+"\r\n"+c.body))
		o := get(t, newClient(t, Config{}), s.url)
		if o.Class != c.want || c.want != OK && o.Body != nil {
			t.Errorf("%s: %v (%s), want %v", c.name, o.Class, o.Reason, c.want)
		}
		if !o.Class.Answered() && o.Class != Malformed {
			t.Errorf("%s: %v is an answer", c.name, o.Class)
		}
	}
}

func TestClassNames(t *testing.T) {
	seen := map[string]bool{}
	for c := range numClasses {
		name := c.String()
		if name == "" || seen[name] || strings.ToLower(name) != name {
			t.Errorf("class %d is called %q", c, name)
		}
		seen[name] = true
	}
	for _, c := range []Class{Unknown, Disallowed, Malformed, DNS, Refused, Timeout, Broken, TLS, PrivateAddress, BadPort, BadURL, TooLarge} {
		if c.Answered() {
			t.Errorf("%v is no answer", c)
		}
	}
}

// What the standard library knows to be special is never global, mapped or not.
func TestGuardAgainstNetip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	g := guard{}
	for range race.Fewer(200_000) {
		var b [16]byte
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if r.IntN(2) == 0 { // near the special blocks
			b[0] = []byte{0xfc, 0xfd, 0xfe, 0xff, 0x00, 0x20}[r.IntN(6)]
		}
		v4 := netip.AddrFrom4([4]byte(b[12:]))
		for _, a := range []netip.Addr{netip.AddrFrom16(b), v4, netip.AddrFrom16(v4.As16())} {
			u := a.Unmap()
			special := u.IsPrivate() || u.IsLoopback() || u.IsMulticast() || u.IsLinkLocalUnicast() || u.IsUnspecified()
			if special && g.check(a) == nil {
				t.Fatalf("%v passes the guard", a)
			}
			if (g.check(a) == nil) != (g.check(u) == nil) {
				t.Fatalf("%v and %v differ", a, u)
			}
		}
	}
}
