package revisit

// shares tells what share of a cycle's new pages a document shows of which nothing is known but its
// Profile. Index and History start from it.
type shares struct {
	Home, Main, List float64    // of the home page, of main feeds and sitemaps, of others
	Number           float64    // factor for numbered pages of a list
	Links            [4]float64 // other pages, by documents linked to: below 5, 20, 60, more
	Depth            [3]float64 // factor by depth: 0, 1, more
	Index            [3]float64 // to be added, by depth, where the name is one that lists of pages go by
}

// usual are means over the weeks of 26 sites, those of pages rounded by hand.
var usual = shares{
	Home: .56, Main: .66, List: .001, Number: .3,
	Links: [4]float64{.001, .002, .006, .03}, Depth: [3]float64{1, .6, .2}, Index: [3]float64{.15, .05, 0},
}

// UsualShare returns the share of a week's new pages that a document shows of which nothing is known
// but its Profile: the mean over the weeks of 26 sites, above 0. Index and History begin with it.
func UsualShare(p *Profile) float64 { return usual.of(p) }

// of returns the share that a document shows.
func (r *shares) of(p *Profile) float64 {
	switch {
	case p.Kind != HTML && p.Main:
		return r.Main
	case p.Kind != HTML:
		return r.List
	case p.Home:
		return r.Home
	}
	depth := min(p.Depth, 2)
	x := r.Links[byLinks(p.Links)] * r.Depth[depth]
	if p.List > 0 {
		x *= r.Number
	}
	if p.Index {
		x += r.Index[depth]
	}
	return x
}

func byLinks(n int) int {
	switch {
	case n < 5:
		return 0
	case n < 20:
		return 1
	case n < 60:
		return 2
	}
	return 3
}
