package use

import (
	"fmt"
	"strings"
)

// A Respect tells for which reasons a document is left out of what is passed on, as bits. 0: for none.
type Respect uint8

// The reasons.
const (
	RespectNoIndex   Respect = 1 << iota // Rules has NoIndex
	RespectNoArchive                     // Rules has NoArchive
	RespectTDM                           // Use.Reserves
)

// respects are the words for the reasons, in the order of their bits.
var respects = [...]string{"noindex", "noarchive", "tdm"}

// ParseRespect reads a list of noindex, noarchive and tdm, separated by commas; "" is none of them.
func ParseRespect(list string) (r Respect, err error) {
	if list == "" {
		return 0, nil
	}
	for word := range strings.SplitSeq(list, ",") {
		bit := Respect(0)
		for i, w := range respects {
			if strings.TrimSpace(word) == w {
				bit = 1 << i
			}
		}
		if bit == 0 {
			return 0, fmt.Errorf("want a list of %s, got %q", strings.Join(respects[:], ", "), word)
		}
		r |= bit
	}
	return r, nil
}

// String is the list that ParseRespect reads.
func (r Respect) String() string {
	var words []string
	for i, w := range respects {
		if r&(1<<i) != 0 {
			words = append(words, w)
		}
	}
	return strings.Join(words, ",")
}

// LeavesOut reports whether a document of which u is said is left out.
func (r Respect) LeavesOut(u *Use) bool {
	rules := u.Rules()
	return r&RespectNoIndex != 0 && rules&NoIndex != 0 ||
		r&RespectNoArchive != 0 && rules&NoArchive != 0 ||
		r&RespectTDM != 0 && u.Reserves()
}
