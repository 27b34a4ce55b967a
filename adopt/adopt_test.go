package adopt

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var seed = flag.Uint64("adopt-seed", 1, "of the random tests")

// TestRules: each rule of Choose, by itself.
func TestRules(t *testing.T) {
	one := func(name string, domain int, links int, voters ...int) Candidate {
		return Candidate{Name: name, Domain: domain, Voters: voters, Links: links}
	}
	for name, c := range map[string]struct {
		candidates []Candidate
		adopted    []Adopted
		n          int
		want       []string
	}{
		"more domains first":             {[]Candidate{one("a", 1, 9, 7), one("b", 2, 2, 7, 8)}, nil, 2, []string{"b", "a"}},
		"then more links":                {[]Candidate{one("a", 1, 1, 7), one("b", 2, 2, 8)}, nil, 2, []string{"b", "a"}},
		"then the name":                  {[]Candidate{one("b", 1, 1, 7), one("a", 2, 1, 8)}, nil, 2, []string{"a", "b"}},
		"at most n":                      {[]Candidate{one("a", 1, 1, 7), one("b", 2, 2, 8)}, nil, 1, []string{"b"}},
		"none":                           {[]Candidate{one("a", 1, 1, 7)}, nil, 0, nil},
		"nobody votes":                   {[]Candidate{one("a", 1, 0)}, nil, 1, nil},
		"one host of a domain":           {[]Candidate{one("a.x", 1, 1, 7), one("b.x", 1, 2, 8), one("c", 2, 1, 7)}, nil, 3, []string{"b.x", "c"}},
		"one host of a domain at a time": {[]Candidate{one("b.x", 1, 2, 8)}, []Adopted{{Domain: 1}}, 1, nil},
		"the next when it is over":       {[]Candidate{one("b.x", 1, 2, 8)}, []Adopted{{Domain: 1, Over: true, Fetches: 9, Pages: 1}}, 1, []string{"b.x"}},
		"one that had no page":           {[]Candidate{one("b.x", 1, 2, 8)}, []Adopted{{Domain: 1, Over: true, Fetches: 9}}, 1, []string{"b.x"}},
		"two that had no page":           {[]Candidate{one("b.x", 1, 2, 8)}, []Adopted{{Domain: 1, Over: true}, {Domain: 1, Over: true}}, 1, nil},
		"whose links led to pages":       {[]Candidate{one("a", 1, 9, 7), one("b", 2, 1, 8)}, []Adopted{{Domain: 3, Voters: []int{8}, Over: true, Fetches: 50, Pages: 50}, {Domain: 4, Voters: []int{7}, Over: true, Fetches: 50, Pages: 1}}, 2, []string{"b", "a"}},
		"a number of votes that did":     {[]Candidate{one("a", 1, 1, 1, 2), one("b", 2, 1, 8)}, []Adopted{{Domain: 3, Voters: []int{5}, Over: true, Fetches: 50, Pages: 50}, {Domain: 4, Voters: []int{6, 7}, Over: true, Fetches: 50, Pages: 1}}, 2, []string{"b", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, i := range Choose(c.candidates, c.adopted, c.n) {
				got = append(got, c.candidates[i].Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("Choose = %q, want %q", got, c.want)
			}
		})
	}
	for adopted, want := range map[int]int{0: 4, 3: 4, 5: 5, 64: 64, 1000: 64} {
		if got := Batch(adopted); got != want {
			t.Errorf("Batch(%d) = %d, want %d", adopted, got, want)
		}
	}
}

// naive is Choose by its definition: the best of those that are allowed, one after another.
func naive(candidates []Candidate, adopted []Adopted, n int) (chosen []int) {
	yield := func(among func(*Adopted) bool) (pages, fetches float64) {
		for i := range adopted {
			if among(&adopted[i]) {
				pages, fetches = pages+float64(adopted[i].Pages), fetches+float64(adopted[i].Fetches)
			}
		}
		return pages, fetches
	}
	pages, fetches := yield(func(*Adopted) bool { return true })
	mean := max(1, pages) / max(1, fetches)
	score := func(c *Candidate) float64 {
		total := 0.
		for _, v := range c.Voters {
			pages, fetches := yield(func(a *Adopted) bool { return slices.Contains(a.Voters, v) })
			total += (pages + 50*mean) / (fetches + 50)
		}
		pages, fetches := yield(func(a *Adopted) bool { // as many voters, up to a factor of 2
			return math.Floor(math.Log2(float64(len(a.Voters)))) == math.Floor(math.Log2(float64(len(c.Voters))))
		})
		return math.Round(1000 * total / float64(len(c.Voters)) * ((pages + 50*mean) / (fetches + 50)) / mean)
	}
	allowed := func(c *Candidate) bool {
		barren := 0
		for _, a := range adopted {
			if a.Domain == c.Domain && !a.Over {
				return false
			}
			if a.Domain == c.Domain && a.Pages == 0 {
				barren++
			}
		}
		for _, i := range chosen {
			if candidates[i].Domain == c.Domain {
				return false
			}
		}
		return barren < 2 && len(c.Voters) > 0
	}
	for len(chosen) < n {
		best := -1
		for i := range candidates {
			c := &candidates[i]
			if !allowed(c) {
				continue
			}
			if best >= 0 {
				b := &candidates[best]
				s, sb := score(c), score(b)
				less := s < sb || s == sb && (len(c.Voters) < len(b.Voters) || len(c.Voters) == len(b.Voters) && (c.Links < b.Links || c.Links == b.Links && c.Name > b.Name))
				if less {
					continue
				}
			}
			best = i
		}
		if best < 0 {
			break
		}
		chosen = append(chosen, best)
	}
	return chosen
}

// TestChoose compares it with the naive version, and its choice with that of the same candidates in another order.
func TestChoose(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 0))
	voters := func() (all []int) {
		for v := range 8 {
			if r.IntN(4) == 0 {
				all = append(all, v)
			}
		}
		return all
	}
	for round := range 2000 {
		var candidates []Candidate
		for i := range r.IntN(12) {
			candidates = append(candidates, Candidate{Name: fmt.Sprintf("%02d", i), Domain: r.IntN(10), Voters: voters(), Links: r.IntN(3)})
		}
		var adopted []Adopted
		for range r.IntN(6) {
			a := Adopted{Domain: r.IntN(10), Voters: voters(), Over: r.IntN(4) > 0, Fetches: r.Int64N(50)}
			if a.Fetches > 0 && r.IntN(3) > 0 {
				a.Pages = r.Int64N(a.Fetches)
			}
			adopted = append(adopted, a)
		}
		n := r.IntN(8)
		got, want := Choose(candidates, adopted, n), naive(candidates, adopted, n)
		if !slices.Equal(got, want) {
			t.Fatalf("-adopt-seed %d, round %d: Choose(%v, %v, %d) = %v, want %v", *seed, round, candidates, adopted, n, got, want)
		}
		mixed := slices.Clone(candidates)
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		for k, i := range Choose(mixed, adopted, n) {
			if mixed[i].Name != candidates[got[k]].Name {
				t.Fatalf("-adopt-seed %d, round %d: in another order %s is chosen, want %s", *seed, round, mixed[i].Name, candidates[got[k]].Name)
			}
		}
	}
}

// A linkWeb is a web of sites, made up, on which adopting pays differently: half of the domains link to sites with pages, the
// others to sites with hardly any, and all to a few that everybody links to.
type linkWeb struct {
	candidates []Candidate
	pages      map[string]int64 // by name: what the first visit finds
}

// newLinkWeb makes one on which what everybody links to has few pages, or, if famous, many.
func newLinkWeb(r *rand.Rand, famous bool) *linkWeb {
	const domains = 40
	w := &linkWeb{pages: map[string]int64{}}
	for i := range 2000 {
		c, good, popular := Candidate{Name: fmt.Sprintf("%04d", i), Domain: domains + i}, r.IntN(4) == 0, r.IntN(20) == 0
		for d := range domains {
			p := .01
			switch {
			case popular:
				p = .3
			case good == (d < domains/2):
				p = .08
			}
			if r.Float64() < p {
				c.Voters = append(c.Voters, d)
				c.Links += 1 + r.IntN(5)
			}
		}
		if popular {
			good = famous
		}
		w.candidates, w.pages[c.Name] = append(w.candidates, c), r.Int64N(5)
		if good {
			w.pages[c.Name] = 20 + r.Int64N(30)
		}
	}
	return w
}

// grow adopts 200 sites, and returns the pages that a fetch found.
func (w *linkWeb) grow(choose func([]Candidate, []Adopted, int) []int) float64 {
	var adopted []Adopted
	left, pages := slices.Clone(w.candidates), int64(0)
	for len(adopted) < 200 {
		taken := map[string]bool{}
		for _, i := range choose(left, adopted, min(Batch(len(adopted)), 200-len(adopted))) {
			c := left[i]
			taken[c.Name] = true
			pages += w.pages[c.Name]
			adopted = append(adopted, Adopted{c.Domain, c.Voters, FirstBudget, w.pages[c.Name], true})
		}
		left = slices.DeleteFunc(left, func(c Candidate) bool { return taken[c.Name] })
	}
	return float64(pages) / float64(len(adopted)*FirstBudget)
}

// TestLearns: on a web where it matters who links, what was adopted tells which sites have pages, whether those that
// everybody links to are among them or not.
func TestLearns(t *testing.T) {
	const webs = 10
	for _, famous := range []bool{false, true} {
		var learned, byLinks, blind float64
		for i := range uint64(webs) {
			r := rand.New(rand.NewPCG(*seed, i))
			w := newLinkWeb(r, famous)
			learned += w.grow(Choose) / webs
			byLinks += w.grow(func(c []Candidate, _ []Adopted, n int) []int { return Choose(c, nil, n) }) / webs
			blind += w.grow(func(c []Candidate, _ []Adopted, n int) []int { return r.Perm(len(c))[:n] }) / webs
		}
		t.Logf("famous sites have pages: %t; pages a fetch: %.3f learned, %.3f by links alone, %.3f at random", famous, learned, byLinks, blind)
		if least := 1.05 * max(byLinks, blind); learned < least {
			t.Errorf("famous sites have pages: %t; %.3f pages a fetch, want %.3f", famous, learned, least)
		}
	}
}
