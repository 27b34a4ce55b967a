package fetch

import (
	"bytes"
	"strings"
)

// blockedBy reports whether the answer, of which b is the start of the body, is a challenge
// or a page that says that we are unwelcome, and notes the mark in Reason. Such a page is no
// page of the site, whatever its status.
func (o *Outcome) blockedBy(b []byte) bool {
	if v := o.Header.Get("Cf-Mitigated"); v != "" {
		o.Reason = "cf-mitigated: " + v
		return true
	}
	if v := o.Header.Get("X-Amzn-Waf-Action"); v != "" {
		o.Reason = "x-amzn-waf-action: " + v
		return true
	}
	if o.Status == 429 || o.Status == 404 || o.Status == 410 {
		return false // told plainly
	}
	if len(b) > smallBody && o.Class == OK {
		return false // challenge pages are small
	}
	for _, m := range marks {
		if bytes.Contains(b, m.text) && (o.Class != OK || m.sure) {
			o.Reason = "the body has the mark of a challenge page: " + strings.TrimSpace(string(m.text))
			return true
		}
	}
	return false
}

// marks are texts of challenge pages. Only those that no page of content has by chance count
// in an answer that claims success.
var marks = []struct {
	text []byte
	sure bool
}{
	{[]byte("/cdn-cgi/challenge-platform/h/"), false},
	{[]byte("window._cf_chl_opt"), true},
	{[]byte("cf-browser-verification"), true},
	{[]byte("<title>Just a moment...</title>"), true},
	{[]byte("<title>Attention Required! | Cloudflare</title>"), true},
	{[]byte("geo.captcha-delivery.com"), true},
	{[]byte("_Incapsula_Resource"), false},
	{[]byte("Incapsula incident ID"), true},
	{[]byte("<title>Pardon Our Interruption</title>"), true},
	{[]byte("window._pxAppId"), false},
	{[]byte("px-captcha"), false},
	{[]byte("<title>DDoS-Guard</title>"), true},
	{[]byte("<title>Sucuri WebSite Firewall - Access Denied</title>"), true},
	{[]byte("errors.edgesuite.net"), false},
	{[]byte("window.awsWafCookieDomainList"), true},
	{[]byte("<title>Vercel Security Checkpoint</title>"), true},
	{[]byte("Making sure you&#39;re not a bot!"), true},
}
