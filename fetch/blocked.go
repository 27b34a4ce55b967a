package fetch

import "bytes"

// blockedBy reports whether the answer, of which b is the start of the body, is a challenge
// or a page that says that we are unwelcome, and notes the mark in Reason. Such a page is no
// page of the site, whatever its status.
func (o *Outcome) blockedBy(b []byte) bool {
	for _, name := range []string{"Cf-Mitigated", "X-Amzn-Waf-Action"} {
		if v := o.Header.Get(name); v != "" {
			o.Reason = name + ": " + v
			return true
		}
	}
	if o.Class == TooManyRequests || o.Class == NotFound || o.Class == Gone {
		return false // told plainly
	}
	if o.Class == OK {
		// A page of content must not be taken for a challenge by chance, nor cost much: 17
		// marks in 10 kB took longer than the whole request.
		if len(b) > smallBody {
			return false
		}
		b = b[:min(len(b), 2<<10)]
	}
	if i := bytes.Index(b, []byte("<title>")); i >= 0 {
		t := b[i+len("<title>"):]
		for _, m := range titles {
			if bytes.HasPrefix(t, []byte(m)) {
				o.Reason = "challenge page: " + m
				return true
			}
		}
	}
	look := sureMarks
	if o.Class != OK {
		look = allMarks
	}
	for _, m := range look {
		if bytes.Contains(b, []byte(m)) {
			o.Reason = "challenge page: it has " + m
			return true
		}
	}
	return false
}

// titles are how the titles of challenge pages start.
var titles = []string{
	"Just a moment...", "Attention Required! | Cloudflare", "Pardon Our Interruption", "DDoS-Guard",
	"Sucuri WebSite Firewall - Access Denied", "Vercel Security Checkpoint", "Making sure you&#39;re not a bot!",
}

// sureMarks are texts of challenge pages that no page of content starts with.
var sureMarks = []string{
	"window._cf_chl_opt", "cf-browser-verification", "geo.captcha-delivery.com", "Incapsula incident ID",
	"window.awsWafCookieDomainList",
}

// allMarks count in answers that claim no success.
var allMarks = append([]string{
	"/cdn-cgi/challenge-platform/", "_Incapsula_Resource", "window._pxAppId", "px-captcha", "errors.edgesuite.net",
}, sureMarks...)
