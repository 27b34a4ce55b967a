package revisit

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
)

// A Prior is the numbers of Best. They are fitted to the histories of sites, by forage lab fit
// revisit. A share is of a site's publications.
type Prior struct {
	// What documents show of what is published, beyond what their links say.
	Home    float64 `json:"home"`    // share, of the home page
	Feed    float64 `json:"feed"`    // share, of main feeds
	Sitemap float64 `json:"sitemap"` // share, of main sitemaps
	Index   float64 `json:"index"`   // share, of pages whose name is one that lists go by
	End     float64 `json:"end"`     // share, added for the last page of a list that goes on over numbered pages
	Page    float64 `json:"page"`    // share, of all others
	Deeper  float64 `json:"deeper"`  // factor for Page in a directory, and once more below that

	Strength  float64 `json:"strength"`  // publications watched that these shares and those of links count as
	Idle      float64 `json:"idle"`      // publications that a day counts as in the time watched
	Forget    float64 `json:"forget"`    // what a day takes from the logarithm of what was seen before
	Adapt     float64 `json:"adapt"`     // what a publication watched takes from it
	Delay     float64 `json:"delay"`     // days after which another day of waiting counts for half
	Left      float64 `json:"left"`      // share that a fetch leaves to others of what its document shows
	Reliable  float64 `json:"reliable"`  // publications watched that one shown makes up for
	Fruitless float64 `json:"fruitless"` // publications watched that a fetch adds which finds a change and nothing new
	Burst     float64 `json:"burst"`     // a cycle that found n pages counts as n^Burst publications
	Trust     float64 `json:"trust"`     // publications expected before guesses are judged by what came of them
	Optimism  float64 `json:"optimism"`  // standard deviations added to what is expected of a fetch
}

// A Number is one of a Prior, which must lie within its limits, above 0.
type Number struct {
	Name        string
	Value       *float64
	Least, Most float64
}

// Numbers returns the numbers of p, in the order of the fields.
func (p *Prior) Numbers() []Number {
	return []Number{
		{"home", &p.Home, 1e-5, 1}, {"feed", &p.Feed, 1e-5, 1}, {"sitemap", &p.Sitemap, 1e-5, 1}, {"index", &p.Index, 1e-5, 1},
		{"end", &p.End, 1e-5, 1}, {"page", &p.Page, 1e-5, 1}, {"deeper", &p.Deeper, .01, 1},
		{"strength", &p.Strength, .01, 100}, {"idle", &p.Idle, .001, 10}, {"forget", &p.Forget, 1e-4, 1},
		{"adapt", &p.Adapt, 1e-4, 1}, {"delay", &p.Delay, .1, 1000}, {"left", &p.Left, .001, .9},
		{"reliable", &p.Reliable, .01, 100}, {"fruitless", &p.Fruitless, .001, 10}, {"burst", &p.Burst, .01, 1}, {"trust", &p.Trust, .1, 1000},
		{"optimism", &p.Optimism, 1e-4, 10},
	}
}

// of returns the share that a document shows beyond what its links say.
func (p *Prior) of(d *Profile) float64 {
	switch {
	case d.Kind == Feed && d.Main:
		return p.Feed
	case d.Kind == Sitemap && d.Main:
		return p.Sitemap
	case d.Home:
		return p.Home
	case d.Kind == HTML && d.Index:
		return p.Index
	}
	return p.Page * math.Pow(p.Deeper, float64(min(d.Depth, 2)))
}

// RoundPrior returns the numbers with which fitting begins, rounded by hand. They came from trials on
// the sites that the shipped prior is fitted to, but for Fruitless: a change that shows nothing new counts as
// one publication that was not shown.
func RoundPrior() Prior {
	return Prior{
		Home: .3, Feed: .3, Sitemap: .3, Index: .05, End: .1, Page: .005, Deeper: .5,
		Strength: 1, Idle: .05, Forget: .02, Adapt: .04, Delay: 5, Left: .15, Reliable: 4, Fruitless: 1, Burst: .15, Trust: 8, Optimism: .02,
	}
}

// A Fit is a Prior with its origin, as it stands in a file.
type Fit struct {
	Origin Origin `json:"origin"`
	Prior  Prior  `json:"prior"`
}

// An Origin says how a Prior came about, so that nobody judges it by what it was fitted to.
type Origin struct {
	Sites []string `json:"sites"`          // fitted to, as their histories name them
	Fold  string   `json:"fold,omitempty"` // i/n: the sites of this fold were left out
	Score float64  `json:"score"`          // reached on Sites, in percent: the mean of varied copies
}

// ParseFit reads a Fit from JSON. Every number must be there and within its limits.
func ParseFit(data []byte) (*Fit, error) {
	var f Fit
	var there struct {
		Prior map[string]float64 `json:"prior"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &there); err != nil {
		return nil, err
	}
	numbers := f.Prior.Numbers()
	for _, n := range numbers {
		if _, ok := there.Prior[n.Name]; !ok {
			return nil, fmt.Errorf("prior has no number %q", n.Name)
		}
		if !(*n.Value >= n.Least && *n.Value <= n.Most) {
			return nil, fmt.Errorf("prior: %s is %g, want %g to %g", n.Name, *n.Value, n.Least, n.Most)
		}
	}
	if len(there.Prior) != len(numbers) {
		return nil, fmt.Errorf("prior has %d numbers, want %d: it is of another version", len(there.Prior), len(numbers))
	}
	return &f, nil
}

// JSON writes f for people and for ParseFit.
func (f *Fit) JSON() []byte {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		panic(err) // of strings and finite numbers
	}
	return append(b, '\n')
}

//go:embed prior.json
var shippedJSON []byte

// shipped is the prior that comes with Best.
var shipped = mustParse(shippedJSON)

func mustParse(data []byte) *Fit {
	f, err := ParseFit(data)
	if err != nil {
		panic("revisit: prior.json: " + err.Error())
	}
	return f
}

// PriorSites names the sites, as their histories do, to which the prior that comes with Best was fitted.
func PriorSites() []string { return append([]string(nil), shipped.Origin.Sites...) }
