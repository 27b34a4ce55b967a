package revisit

import "math"

// A Prior tells what share of a cycle's new pages a document shows of which nothing is known
// but its Profile. The shares of home and of main lists are of all new pages, the others of what
// these do not show.
type Prior struct {
	Home float64
	Main float64 // main feeds and sitemaps
	List float64 // other feeds and sitemaps
	Last float64 // the last page of a list that goes on over numbered pages

	Number float64 // factor for other numbered pages

	Links [4]float64 // other pages, by documents linked to: below 5, 20, 60, more
	Depth [3]float64 // factor by depth: 0, 1, more
	Index [3]float64 // to be added, by depth, where the name is one that lists of pages go by
}

// prior is what Best, Index and History start from. The shares of home and main lists are
// means over the site-weeks of PriorSites; the others were rounded by hand until Best did well
// there: with so few sites a finer table would only learn these sites. With LearnPrior, and each
// site with the prior that other folds taught, Best finds 0.5 percentage points less on them
// (setting B, mean over k = 3, 10, 30 and 100, same cycle and within four, of six runs with
// Config.Perturb).
var prior = Prior{
	Home: .56, Main: .66, List: .001, Last: .06, Number: .3,
	Links: [4]float64{.001, .002, .006, .03}, Depth: [3]float64{1, .6, .2}, Index: [3]float64{.15, .05, 0},
}

// PriorSites names the sites, as their histories do, on which the default prior and the
// constants of Best were chosen.
func PriorSites() []string {
	return []string{"1000ch", "111qqz", "2i2c", "aakinshin", "aboabo", "accumulo", "ada", "adron", "beeware", "crysol",
		"dladblog", "drill", "flink", "guangchuang", "jmmv", "julialang", "kinjouj", "kubaik", "kudu", "lwg", "rustblog",
		"sherlockes", "storm", "weekref", "wulc", "wz2100"}
}

// Of returns the share that a document shows; last says that it is the last page of a list.
func (r *Prior) Of(p *Profile, last bool) float64 {
	switch classOf(p, last) {
	case classHome:
		return r.Home
	case classMain:
		return r.Main
	case classList:
		return r.List
	case classLast:
		return r.Last
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

// Classes of documents.
const (
	classHome = iota
	classMain
	classList
	classLast
	classPage
	classLinks                   // and three more
	classDepth  = classLinks + 4 // and two more
	classIndex  = classDepth + 3
	classNumber = classIndex + 1
	numClasses  = classNumber + 1
)

func classOf(p *Profile, last bool) int {
	switch {
	case p.Kind != HTML && p.Main:
		return classMain
	case p.Kind != HTML:
		return classList
	case p.Home:
		return classHome
	case last:
		return classLast
	}
	return classPage
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

// An Experience is what documents of each class showed at one site, for LearnPrior.
type Experience [numClasses]struct{ documents, share, split float64 }

// Add counts a document in a cycle that had new pages. share is the part of these that it
// showed, split the same with each page divided by the number of old documents that showed it.
func (e *Experience) Add(p *Profile, last bool, share, split float64) {
	class := classOf(p, last)
	in := []int{class}
	if class == classPage {
		in = append(in, classLinks+byLinks(p.Links), classDepth+min(p.Depth, 2))
		if p.Index {
			in = append(in, classIndex)
		}
		if p.List > 0 {
			in = append(in, classNumber)
		}
	}
	for _, c := range in {
		e[c].documents++
		e[c].share += share
		e[c].split += split
	}
}

// LearnPrior returns the prior that other sites teach: the rate of each class, sites weighted
// by the root of the documents that they have of it. Rates of pages are the geometric mean of
// what one shows by itself and of its part if all that show a page share it: with the former,
// a page of a menu that a whole site carries is worth much, with the latter nothing. That of
// last pages is times 4, which serves best. A class that no site has keeps the default.
func LearnPrior(sites []*Experience) Prior {
	rate := func(class int, geometric bool) (float64, bool) {
		var share, split, weight float64
		for _, e := range sites {
			if c := e[class]; c.documents > 0 {
				w := 1 / math.Sqrt(c.documents)
				share, split, weight = share+w*c.share, split+w*c.split, weight+w*c.documents
			}
		}
		switch {
		case weight == 0:
			return 0, false
		case geometric:
			return math.Sqrt(share*split) / weight, true
		}
		return share / weight, true
	}
	out := prior
	set := func(x *float64, factor float64, class int, geometric bool) {
		if r, ok := rate(class, geometric); ok {
			*x = factor * r
		}
	}
	set(&out.Home, 1, classHome, false)
	set(&out.Main, 1, classMain, false)
	set(&out.List, 1, classList, false)
	set(&out.Last, 4, classLast, false)
	for i := range out.Links {
		set(&out.Links[i], 1, classLinks+i, true)
	}
	if all, _ := rate(classPage, true); all > 0 {
		for i := range out.Depth {
			set(&out.Depth[i], 1/all, classDepth+i, true)
		}
		set(&out.Number, 1/all, classNumber, true)
	}
	for i := range out.Index {
		set(&out.Index[i], out.Depth[i], classIndex, false)
	}
	return out
}
