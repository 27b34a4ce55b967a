package use

import "strings"

// The names of what is said, in the text of a Use.
const (
	rulesWord   = "robots"
	tdmWord     = "tdm"
	policyWord  = "policy"
	usageWord   = "usage"
	signalWord  = "signal"
	licenseWord = "license"
)

// String is u as Parse reads it: a line "place what value" for each thing that is said, place being header, page or robots.txt;
// "" where nothing is.
func (u *Use) String() string {
	var b strings.Builder
	for _, p := range u.places() {
		line := func(what, value string) {
			if value != "" {
				b.WriteString(p.name + " " + what + " " + value + "\n")
			}
		}
		s := p.said
		line(rulesWord, s.Rules.String())
		switch s.TDM {
		case NotReserved:
			line(tdmWord, "0")
		case Reserved:
			line(tdmWord, "1")
		}
		line(policyWord, s.Policy)
		line(usageWord, s.Usage)
		line(signalWord, s.Signal)
		for _, l := range s.Licenses {
			line(licenseWord, l)
		}
	}
	return b.String()
}

type place struct {
	name string
	said *Said
}

func (u *Use) places() [3]place {
	return [...]place{{"header", &u.Header}, {"page", &u.Page}, {"robots.txt", &u.Robots}}
}

// Parse reads what Use.String returns. Lines that it does not know say nothing.
func Parse(text string) *Use {
	u := new(Use)
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		name, rest, _ := strings.Cut(line, " ")
		what, value, _ := strings.Cut(rest, " ")
		for _, p := range u.places() {
			if p.name != name {
				continue
			}
			switch s := p.said; what {
			case rulesWord:
				s.Rules.Add(value)
			case tdmWord:
				s.TDM = ParseReservation(value)
			case policyWord:
				s.Policy = CleanURL(value)
			case usageWord:
				s.Usage = Clean(value)
			case signalWord:
				s.Signal = Clean(value)
			case licenseWord:
				s.AddLicense(value)
			}
		}
	}
	return u
}
