package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"forage/graph"
	"forage/revisit"
	"forage/revisit/paper"
)

// A hostWeb is a generated web of many hosts in three monthly snapshots, in place of the
// Chilean web of [DGKOPT07, §3]. A host has a tree of pages below its home, with links back
// to it; some pages link to homes of other hosts, popular ones more often. Each month hosts
// grow, and new hosts appear, each linked to by a few old pages: by directories, which
// list many, by popular pages and by any.
type hostWeb struct {
	host  []int32 // by page
	born  []int32 // by page: its snapshot
	links [][]graph.Node
	hosts []hostOf
}

type hostOf struct {
	home  graph.Node
	born  int
	pages []graph.Node
}

// Sizes of the generated web; new hosts are chosen so that the shares of new pages on new sites
// and the pages of a new site come out near the Chilean web's.
const (
	webHosts     = 1500
	webMeanPages = 60
	webNewHosts  = 140
	webNewPages  = 18.1
	webGrowth    = 0.22 // new pages a month, as a share of a host's
)

func newHostWeb(r *rand.Rand) *hostWeb {
	w := &hostWeb{}
	for range webHosts {
		w.addHost(r, 0, webMeanPages)
	}
	for h := range w.hosts {
		for range 1 + r.IntN(4) {
			w.connect(r, w.any(r, h), 0)
		}
	}
	for month := 1; month <= 2; month++ {
		n := len(w.hosts)
		for h := range n { // growth
			for range poisson(r, webGrowth*float64(len(w.hosts[h].pages))) {
				w.addPage(r, h, month)
			}
		}
		for range poisson(r, webNewHosts*math.Pow(.42, float64(month-1))*float64(webHosts)/1000) {
			h := w.addHost(r, month, webNewPages)
			for range 1 + r.IntN(2) { // links from old pages
				from := r.IntN(n)
				if r.Float64() < .8 { // a directory: one of few hosts, and there its home or a list
					from = int(math.Pow(r.Float64(), 1.2) * 90)
				}
				page := w.hosts[from].home
				if r.Float64() < .3 {
					page = w.any(r, from)
				}
				w.link(page, w.hosts[h].home)
			}
		}
	}
	return w
}

func poisson(r *rand.Rand, mean float64) int {
	n := 0
	for x := r.ExpFloat64(); x < mean; x += r.ExpFloat64() {
		n++
	}
	return n
}

func (w *hostWeb) addHost(r *rand.Rand, born int, mean float64) int {
	h := len(w.hosts)
	w.hosts = append(w.hosts, hostOf{born: born})
	w.addPage(r, h, born)
	for range int(r.ExpFloat64() * (mean - 1)) {
		w.addPage(r, h, born)
	}
	return h
}

// addPage adds a page to a host, below a page that many are below already more likely.
func (w *hostWeb) addPage(r *rand.Rand, h, born int) {
	v := graph.Node(len(w.host))
	w.host, w.born, w.links = append(w.host, int32(h)), append(w.born, int32(born)), append(w.links, nil)
	host := &w.hosts[h]
	if len(host.pages) == 0 {
		host.home = v
	} else {
		up := host.home
		if r.IntN(3) == 0 {
			up = host.pages[r.IntN(len(host.pages))]
		}
		w.link(up, v)
		w.link(v, host.home)
	}
	host.pages = append(host.pages, v)
}

func (w *hostWeb) any(r *rand.Rand, h int) graph.Node {
	return w.hosts[h].pages[r.IntN(len(w.hosts[h].pages))]
}

func (w *hostWeb) link(u, v graph.Node) { w.links[u] = append(w.links[u], v) }

// connect links a page to the home of a popular host.
func (w *hostWeb) connect(r *rand.Rand, from graph.Node, _ int) {
	w.link(from, w.hosts[int(math.Pow(r.Float64(), 3)*float64(len(w.hosts)))].home)
}

// A growth is what a later snapshot of a web adds to the one before.
type growth struct {
	onNew, onOld int                 // new pages on new sites, and on old ones
	sizes        []int               // pages, by new site
	h            *revisit.CoverGraph // the new sites, numbered as in sizes, and the old pages that lead to them
}

// covered returns how many pages the new sites have that old pages lead to.
func (g *growth) covered() (pages int) {
	for _, column := range g.h.New {
		for _, i := range column {
			pages += g.sizes[i]
		}
	}
	return pages
}

// month returns what a month added. A page leads to a site when it links to any page of it,
// and to the new sites that this one links to.
func (w *hostWeb) month(month int) growth {
	var g growth
	site := make([]int32, len(w.hosts)) // its number among the new ones; -1
	var fresh, old []graph.Node
	var homes []int
	for i, h := range w.hosts {
		site[i] = -1
		if h.born == month {
			site[i] = int32(len(fresh))
			fresh, homes = append(fresh, graph.Node(site[i])), append(homes, i)
		}
	}
	n := graph.Node(len(fresh)) // pages are numbered behind the sites
	g.sizes = make([]int, n)
	for v, born := range w.born {
		switch at := site[w.host[v]]; {
		case int(born) < month:
			old = append(old, n+graph.Node(v))
		case int(born) > month:
		case at >= 0:
			g.onNew++
			g.sizes[at]++
		default:
			g.onOld++
		}
	}
	g.h = revisit.NewCoverGraph(fresh, nil, old, func(v graph.Node) (out []graph.Node) {
		from := []graph.Node{v - n}
		if v < n {
			from = w.hosts[homes[v]].pages
		}
		for _, page := range from {
			for _, u := range w.links[page] {
				if at := site[w.host[u]]; at >= 0 {
					out = append(out, graph.Node(at))
				}
			}
		}
		return out
	})
	return g
}

// growths returns what each later snapshot of the web added, and what web that is: the one
// that env's store crawled, or a generated one.
func growths(env *Env) (all []growth, about string, err error) {
	if env.Store != nil {
		return crawledGrowths(env.Store)
	}
	w := newHostWeb(rand.New(rand.NewPCG(env.Seed, 1)))
	return []growth{w.month(1), w.month(2)}, fmt.Sprintf("A generated web of %d hosts and %d pages in three snapshots stands in for the Chilean web: our histories have on-site links only. "+
		"Its parameters were chosen to resemble the paper's numbers, so that agreement says nothing of the real web; what it tests is the code. --dir takes a store in its place.",
		len(w.hosts), len(w.host)), nil
}

// table1 counts new pages on new and on old sites [DGKOPT07, Table 1].
func table1(_ context.Context, env *Env) (*Result, error) {
	all, about, err := growths(env)
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"snapshot", "new_on_new_sites", "new_on_old_sites", "share_new_site", "new_sites", "pages_a_new_site", "paper_share"}}
	paper := []any{.16, .07}
	pages, sites := 0, 0
	var shares []float64
	for i, g := range all {
		var printed any
		if i < len(paper) {
			printed = paper[i]
		}
		pages, sites = pages+g.onNew, sites+len(g.sizes)
		if g.onNew+g.onOld > 0 {
			shares = append(shares, float64(g.onNew)/float64(g.onNew+g.onOld))
		}
		r.Add(fmt.Sprintf("%d-%d", i+1, i+2), g.onNew, g.onOld, float64(g.onNew)/float64(g.onNew+g.onOld), len(g.sizes), float64(g.onNew)/float64(len(g.sizes)), printed)
	}
	r.Notef("%s", about)
	newSitesNote(r, shares, pages, sites)
	return r, nil
}

// newSitesNote stands the shares of new pages on new sites, by snapshot, and the pages of a new site beside the paper's.
func newSitesNote(r *Result, shares []float64, pages, sites int) {
	var parts []string
	for _, x := range shares {
		parts = append(parts, fmt.Sprintf("%.1f%%", 100*x))
	}
	here := strings.Join(parts, ", ") + " of them are"
	if sites == 0 {
		here += ": no site is new"
	} else {
		here += fmt.Sprintf(", with %.1f pages a site", float64(pages)/float64(sites))
	}
	r.Notef("The paper: 16%% and 7%% of new pages are on new sites, which have 18.1 pages on average. Here %s.", here)
}

// fig7 covers new sites by old pages greedily [DGKOPT07, Fig. 7].
func fig7(_ context.Context, env *Env) (*Result, error) {
	all, about, err := growths(env)
	if err != nil {
		return nil, err
	}
	var gains []int
	total, pages, newSites := 0, 0, 0
	for _, g := range all {
		newSites += len(g.sizes)
		_, gain := paper.Cover(g.h, -1, 1)
		gains = append(gains, gain...)
		total += g.h.NumNew()
		pages += g.covered()
	}
	if total == 0 {
		return nil, &DataError{fmt.Sprintf("of %d new sites none is linked to from an old page, so that no page can be fetched to find one", newSites)}
	}
	slices.SortFunc(gains, func(a, b int) int { return b - a })
	r := &Result{Columns: []string{"coverage", "fetches", "new_sites", "sites_a_fetch"}}
	line := Series{Name: "new sites"}
	covered, next := 0, 1
	var first, last float64
	for i, g := range gains {
		covered += g
		for next <= 20 && 20*covered >= next*total {
			rate := float64(covered) / float64(i+1)
			r.Add(float64(next)/20, i+1, covered, rate)
			line.X, line.Y = append(line.X, float64(i+1)), append(line.Y, float64(covered))
			if next == 1 {
				first = rate
			}
			last = rate
			next++
		}
	}
	r.Figure = &Figure{Panels: []Panel{{Title: "new sites", X: "old pages fetched", Y: "new sites found", Series: []Series{line}}}}
	newSiteCostNote(r, first, last, float64(len(gains))/float64(pages), total, newSites)
	r.Notef("%s", about)
	return r, nil
}

// newSiteCostNote stands what fetches for new sites find beside the paper's: sites a fetch for the first 5% and for all, and the overhead by the
// pages of these sites.
func newSiteCostNote(r *Result, first, last, overhead float64, linked, sites int) {
	r.Notef("The paper: a fetch finds 1.5 to 3 new sites, each with 18.1 pages, which is an overhead of 3.7%% for all of them. Here %.1f to %.1f sites a fetch (the first 5%% of sites, all), "+
		"and an overhead of %.1f%%; %d of %d new sites are linked to from old pages.", first, last, 100*overhead, linked, sites)
}
