package report

import (
	"fmt"
	"strconv"

	"forage/fetch/use"
	"forage/internal/printable"
)

// A Use is what a site says of the use of a document.
type Use struct {
	_              struct{} `nullable:"true"`
	NoIndex        bool     `json:"noindex,omitempty" doc:"it asks not to be listed, by meta robots or X-Robots-Tag"`
	NoFollow       bool     `json:"nofollow,omitempty" doc:"it asks that its links are not followed"`
	NoArchive      bool     `json:"noarchive,omitempty" doc:"it asks that no copy is kept"`
	TDMReservation *int     `json:"tdm_reservation,omitempty" doc:"1: the right to mine text and data is reserved; 0: it is not"`
	TDMPolicy      *string  `json:"tdm_policy,omitempty" doc:"the URL of the policy for that"`
	Usage          *string  `json:"content_usage,omitempty" doc:"of the header Content-Usage"`
	RobotsUsage    *string  `json:"robots_content_usage,omitempty" doc:"of robots.txt, for its path"`
	RobotsSignal   *string  `json:"robots_content_signal,omitempty" doc:"the same of Content-Signal"`
	Licenses       []string `json:"license,omitempty" doc:"URLs that rel=license leads to"`
}

// NewUse returns the record of store.Doc.Use, nil where nothing is said.
func NewUse(text string) *Use {
	if text == "" {
		return nil
	}
	u := use.Parse(text)
	rules := u.Rules()
	out := &Use{
		NoIndex: rules&use.NoIndex != 0, NoFollow: rules&use.NoFollow != 0, NoArchive: rules&use.NoArchive != 0,
		Usage: null(u.Header.Usage), RobotsUsage: null(u.Robots.Usage), RobotsSignal: null(u.Robots.Signal), Licenses: u.Page.Licenses,
	}
	reservation, policy := u.TDM()
	if out.TDMPolicy = null(policy); reservation != use.Unsaid {
		reserved := 0
		if reservation == use.Reserved {
			reserved = 1
		}
		out.TDMReservation = &reserved
	}
	return out
}

// Lines is u for people, a thing that is said a line; none for nil.
func (u *Use) Lines() (lines []string) {
	if u == nil {
		return nil
	}
	for _, is := range []struct {
		word string
		said bool
	}{{"noindex", u.NoIndex}, {"nofollow", u.NoFollow}, {"noarchive", u.NoArchive}} {
		if is.said {
			lines = append(lines, is.word)
		}
	}
	if u.TDMReservation != nil {
		lines = append(lines, fmt.Sprintf("tdm-reservation: %d", *u.TDMReservation))
	}
	for _, is := range []struct {
		word string
		said *string
	}{{"tdm-policy: ", u.TDMPolicy}, {"Content-Usage: ", u.Usage}, {"robots.txt: Content-Usage: ", u.RobotsUsage}, {"robots.txt: Content-Signal: ", u.RobotsSignal}} {
		if is.said != nil {
			lines = append(lines, is.word+*is.said)
		}
	}
	for _, l := range u.Licenses {
		lines = append(lines, "license: "+l)
	}
	return lines
}

// appendJSON appends u as Page.AppendJSON does.
func (u *Use) appendJSON(b []byte) []byte {
	first := true
	key := func(key string) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(append(b, '"'), key...), "\":"...)
	}
	is := func(name string, v bool) {
		if v {
			key(name)
			b = append(b, "true"...)
		}
	}
	text := func(name string, s *string) {
		if s != nil {
			key(name)
			b = printable.AppendString(b, *s)
		}
	}
	b = append(b, '{')
	is("noindex", u.NoIndex)
	is("nofollow", u.NoFollow)
	is("noarchive", u.NoArchive)
	if u.TDMReservation != nil {
		key("tdm_reservation")
		b = strconv.AppendInt(b, int64(*u.TDMReservation), 10)
	}
	text("tdm_policy", u.TDMPolicy)
	text("content_usage", u.Usage)
	text("robots_content_usage", u.RobotsUsage)
	text("robots_content_signal", u.RobotsSignal)
	if len(u.Licenses) > 0 {
		key("license")
		for i, l := range u.Licenses {
			b = append(b, "[,"[min(i, 1)])
			b = printable.AppendString(b, l)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}
