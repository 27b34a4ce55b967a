package text

import "bytes"

// A region is what of a page is around its text: a set of bits.
type region uint8

const (
	inForm region = 1 << iota
	inHeader
	inOther // nav, footer, aside

	everything region = 0 // nothing is left out
)

// regionOf is the region that an element begins. A header of an article is part of it: it has its heading.
func regionOf(id id, inLandmark bool) region {
	switch id {
	case navID, footerID, asideID:
		return inOther
	case formID:
		return inForm
	case headerID:
		if !inLandmark {
			return inHeader
		}
	}
	return 0
}

// A census counts the letters of a page by the regions that they are in.
type census struct {
	letters [inForm | inHeader | inOther + 1]int
}

func (c *census) text(s *scan, b []byte) { c.letters[s.region] += len(b) - bytes.Count(b, []byte(" ")) }
func (c *census) space(*scan)            {}
func (c *census) line(*scan)             {}
func (c *census) end(*scan)              {}
func (c *census) rule(*scan)             {}
func (c *census) closed(*scan, *open)    {}
func (c *census) picture(*scan, string, string) {
}

// keep says which regions are left out: all, but where nothing were left then. A form that has more text than what is around it is no form but the
// page, as in applications of ASP.NET. Where a page is nothing but a header that is the text; else it is all that there is.
func (c *census) keep() region {
	out := inForm | inHeader | inOther
	left := c.letters[0]
	if c.letters[inForm] > left {
		out &^= inForm
		left += c.letters[inForm]
	}
	if left > 0 {
		return out
	}
	if c.letters[inHeader]+c.letters[inHeader|inForm] > 0 {
		return inOther
	}
	return everything
}
