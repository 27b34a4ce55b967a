// Package use knows what a site says about the use of its documents: by meta robots and X-Robots-Tag
// [https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag], by Content-Usage
// [draft-ietf-aipref-attach], by Content-Signal [https://contentsignals.org], by tdm-reservation
// [https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/], and by links to a license.
//
// Each place that may say something is a Said, all of them together are the Use of a document.
// Respect tells which documents are left out by it. Nothing here fails: what cannot be understood says nothing.
package use

import (
	"slices"
	"strings"
)

// Rules are the directives of meta robots and X-Robots-Tag that are kept, as bits. Where several contradict each
// other all hold, as search engines have it; all, index and follow add nothing. Those on how search engines
// show a page (nosnippet, max-…, unavailable_after) are not kept.
type Rules uint8

// The directives.
const (
	NoIndex   Rules = 1 << iota // not to be listed; none is NoIndex and NoFollow
	NoFollow                    // its links are not to be followed
	NoArchive                   // no copy is to be shown; nocache means the same
)

// Add reads the directives of a list such as "noindex, nofollow".
func (r *Rules) Add(list string) {
	for d := range strings.SplitSeq(list, ",") {
		switch strings.ToLower(strings.TrimSpace(d)) {
		case "noindex":
			*r |= NoIndex
		case "nofollow":
			*r |= NoFollow
		case "noarchive", "nocache":
			*r |= NoArchive
		case "none":
			*r |= NoIndex | NoFollow
		}
	}
}

// AddHeader reads one X-Robots-Tag: directives, after the name of an agent if they are for one. Those for another
// agent than the product token agent do not count; * is each agent. Where fields were joined to one on their way, several agents follow each other.
func (r *Rules) AddHeader(v, agent string) {
	ours := true
	for d := range strings.SplitSeq(v, ",") {
		if name, rest, ok := strings.Cut(d, ":"); ok && !hasValue(name) {
			name = strings.TrimSpace(name)
			ours, d = name == "*" || agent != "" && strings.EqualFold(name, agent), rest
		}
		if ours {
			r.Add(d)
		}
	}
}

// hasValue reports whether what stands before a colon in an X-Robots-Tag is a directive that has a value, or a part of that, such as of a date.
func hasValue(name string) bool {
	name = strings.TrimSpace(name)
	return strings.Contains(name, " ") || strings.EqualFold(name, "unavailable_after") || len(name) >= len("max-") && strings.EqualFold(name[:len("max-")], "max-")
}

// String is the list that Add reads, "" where nothing is said.
func (r Rules) String() string {
	var words []string
	for i, w := range [...]string{"noindex", "nofollow", "noarchive"} {
		if r&(1<<i) != 0 {
			words = append(words, w)
		}
	}
	return strings.Join(words, ",")
}

// A Reservation is what tdm-reservation says of the right to mine text and data.
type Reservation uint8

// The right is not spoken of, not reserved, or reserved.
const (
	Unsaid Reservation = iota
	NotReserved
	Reserved
)

// ParseReservation reads the value of tdm-reservation; Unsaid where it is neither 0 nor 1.
func ParseReservation(v string) Reservation {
	switch strings.TrimSpace(v) {
	case "0":
		return NotReserved
	case "1":
		return Reserved
	}
	return Unsaid
}

// A Said is what one place says: the header of an answer, the page itself, or robots.txt. A place that cannot
// say something has the zero value there. Texts have no line breaks: see Clean.
type Said struct {
	Rules    Rules
	TDM      Reservation
	Policy   string   // the URL of tdm-policy, as it stands there
	Usage    string   // Content-Usage: such as "train-ai=n, search=y"
	Signal   string   // Content-Signal of robots.txt: such as "ai-train=no, search=yes"
	Licenses []string // URLs that rel=license leads to, maxLicenses at most
}

// Limits of what is kept of a Said.
const (
	maxText     = 1024 // bytes of a text; of a list of preferences that is longer, the rest is cut
	maxLicenses = 4
)

// Clean is a text from a stranger as it is kept: valid UTF-8 in one line, white space collapsed, cut at 1,024 bytes. Where
// several texts say something, they are one list.
func Clean(texts ...string) string {
	var all []string
	for _, t := range texts {
		if t = strings.Join(strings.Fields(strings.ToValidUTF8(strings.ReplaceAll(t, "\x00", ""), "\ufffd")), " "); t != "" {
			all = append(all, t)
		}
	}
	s := strings.Join(all, ", ")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
		s = strings.TrimSpace(s)
		if i := strings.LastIndexByte(s, ','); i >= 0 { // half of a preference may say the opposite of all of it
			s = strings.TrimSpace(s[:i])
		}
	}
	return s
}

// CleanURL is a URL from a stranger as it is kept; "" where that is too long to be one.
func CleanURL(u string) string {
	if len(u) <= 2*maxText { // before it is copied; escapes add to it
		u = strings.Join(strings.Fields(strings.ToValidUTF8(strings.ReplaceAll(u, "\x00", ""), "\ufffd")), "%20")
	}
	if len(u) > 2*maxText {
		return ""
	}
	return u
}

// AddLicense adds a URL, once.
func (s *Said) AddLicense(url string) {
	if url = CleanURL(url); url != "" && len(s.Licenses) < maxLicenses && !slices.Contains(s.Licenses, url) {
		s.Licenses = append(s.Licenses, url)
	}
}

// ReadHeader reads a header block, lines "Name: value\r\n". agent is the product token that rules may be for.
// O(len(head)); nothing is allocated where it says nothing.
func ReadHeader(head, agent string) (s Said) {
	var usage []string
	for head != "" {
		line, rest, _ := strings.Cut(head, "\n")
		head = rest
		// The four names begin with one of three letters: others are most of a head.
		if len(line) < len("tdm-policy") || strings.IndexByte("xXcCtT", line[0]) < 0 {
			continue
		}
		name, v, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		v = strings.Trim(v, " \t\r")
		switch {
		case strings.EqualFold(name, "X-Robots-Tag"):
			s.Rules.AddHeader(v, agent)
		case strings.EqualFold(name, "Content-Usage"):
			usage = append(usage, v)
		case strings.EqualFold(name, "tdm-reservation"):
			s.TDM = max(s.TDM, ParseReservation(v))
		case strings.EqualFold(name, "tdm-policy"):
			if s.Policy == "" {
				s.Policy = CleanURL(v)
			}
		}
	}
	if usage != nil {
		s.Usage = Clean(usage...)
	}
	return s
}

// A Use is all that is said of one document. The zero Use: nothing is.
type Use struct {
	Header Said // of the answer
	Page   Said // elements meta and link, and links of the page
	Robots Said // robots.txt: Usage and Signal
}

// NotModified takes in the header of a 304: as of any field of such an answer, what it says replaces what was
// said, and what it leaves out stays [RFC 9111, 3.2].
func (u *Use) NotModified(header Said) {
	if header.Rules != 0 {
		u.Header.Rules = header.Rules
	}
	if header.TDM != Unsaid {
		u.Header.TDM, u.Header.Policy = header.TDM, header.Policy
	}
	if header.Usage != "" {
		u.Header.Usage = header.Usage
	}
}

// Rules are those of page and header together.
func (u *Use) Rules() Rules { return u.Header.Rules | u.Page.Rules }

// TDM is the reservation and the URL of its policy, "" for none: of the page, where it says something, which
// takes precedence over the header.
func (u *Use) TDM() (r Reservation, policy string) {
	if u.Page.TDM != Unsaid {
		return u.Page.TDM, u.Page.Policy
	}
	if u.Page.Policy != "" {
		return u.Header.TDM, u.Page.Policy
	}
	return u.Header.TDM, u.Header.Policy
}

// mining are the preferences of Content-Usage and Content-Signal, of any draft, that are about mining and training.
// Content-Signal's terms declare each refusal a reservation of the right to mine.
var mining = []string{"tdm", "bots", "ai", "genai", "train-ai", "train-genai", "ai-train", "ai-input"}

// refuses reports whether a list of preferences refuses one of mining.
func refuses(list string) bool {
	for p := range strings.SplitSeq(list, ",") {
		p, _, _ = strings.Cut(p, ";") // parameters mean nothing so far
		key, v, _ := strings.Cut(strings.TrimSpace(p), "=")
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "n", "no":
			if slices.Contains(mining, strings.ToLower(strings.TrimSpace(key))) {
				return true
			}
		}
	}
	return false
}

// Reserves reports whether mining of text and data is reserved: by tdm-reservation, or because one of the lists of
// preferences refuses mining or training.
func (u *Use) Reserves() bool {
	r, _ := u.TDM()
	return r == Reserved || refuses(u.Header.Usage) || refuses(u.Robots.Usage) || refuses(u.Robots.Signal)
}
