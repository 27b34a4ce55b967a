package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// epoch is the moment of the first visit; week n begins n times seven days later. It lies in the
// past of any machine that runs this, so that no software holds an article back for later.
var epoch = time.Date(2024, time.March, 4, 12, 0, 0, 0, time.UTC)

func at(week int) time.Time { return epoch.Add(time.Duration(week) * 7 * 24 * time.Hour) }

// An article is what a site is there for: a post, a page of a wiki, a ticket, a product. Each
// software makes of it what it has.
type article struct {
	ID         int       `json:"id"` // from 0, in the order of publication
	Title      string    `json:"title"`
	Slug       string    `json:"slug"` // the title in lower case, words joined by hyphens
	Date       time.Time `json:"date"`
	Author     string    `json:"author"`
	Category   string    `json:"category"`
	Tags       []string  `json:"tags"`
	Paragraphs []string  `json:"paragraphs"`
	Links      []int     `json:"links"` // other articles that it links to, there when this one was published
	Comments   []comment `json:"comments"`
	Price      int       `json:"price"` // of a product, in cents
}

type comment struct {
	Author string    `json:"author"`
	Text   string    `json:"text"`
	Date   time.Time `json:"date"`
	Reply  bool      `json:"reply"` // to the comment before it
}

// A change is what happens to the articles of a site at a time.
type change struct {
	Now     time.Time `json:"now"`
	Publish []article `json:"publish"`
	Edit    []article `json:"edit"`   // with the text that they have now
	Rename  []article `json:"rename"` // with the title and slug that they have now
	Delete  []int     `json:"delete"`
}

// A rate tells how many articles there are and how many change in each week with changes.
type rate struct {
	articles                      int
	publish, edit, rename, delete int
}

// weeks is how many weeks bring changes. As many without follow, in which what was missed can
// still be found: what is deleted or renamed is to be told within two weeks.
const weeks = 2

// history makes the articles of a site and what happens to them: element 0 is how the site
// begins, element n what happens in the week before at(n). The same rate gives the same history.
func history(rate rate) []change {
	r := rand.New(rand.NewPCG(1, uint64(rate.articles)))
	w := &writer{r: r, titles: map[string]bool{}}
	first := change{Now: at(0)}
	for i := range rate.articles {
		// Evenly over the year before, so that archives by month are what they are elsewhere.
		age := time.Duration(rate.articles-i) * 365 * 24 * time.Hour / time.Duration(rate.articles)
		first.Publish = append(first.Publish, w.article(at(0).Add(-age)))
	}
	changes := []change{first}
	for week := 1; week <= weeks; week++ {
		c := change{Now: at(week)}
		for range rate.edit {
			a := w.pick()
			a.Paragraphs = append([]string{w.paragraph()}, a.Paragraphs[1:]...) // the published article keeps its own
			c.Edit = append(c.Edit, *a)
		}
		for range rate.rename {
			a := w.pick()
			a.Title, a.Slug = w.title()
			c.Rename = append(c.Rename, *a)
		}
		for range rate.delete {
			c.Delete = append(c.Delete, w.pick().ID)
		}
		// Last, so that they link to none that goes.
		for i := range rate.publish {
			c.Publish = append(c.Publish, w.article(at(week-1).Add(time.Duration(i+1)*23*time.Hour)))
		}
		w.old = len(w.all)
		changes = append(changes, c)
	}
	return changes
}

type writer struct {
	r       *rand.Rand
	all     []*article
	old     int          // how many of all were there when the week began
	touched map[int]bool // changed once, and left alone from then on
	titles  map[string]bool
}

// pick returns an article that was there when the week began, each at most once.
func (w *writer) pick() *article {
	if w.old == 0 {
		w.old, w.touched = len(w.all), map[int]bool{}
	}
	for {
		if id := w.r.IntN(w.old); !w.touched[id] {
			w.touched[id] = true
			return w.all[id]
		}
	}
}

func (w *writer) article(date time.Time) article {
	r := w.r
	a := article{ID: len(w.all), Date: date, Author: authors[r.IntN(len(authors))], Category: categories[r.IntN(len(categories))], Price: 500 + 50*r.IntN(190)}
	a.Title, a.Slug = w.title()
	for range 3 + r.IntN(4) {
		a.Paragraphs = append(a.Paragraphs, w.paragraph())
	}
	for _, i := range r.Perm(len(words))[:1+r.IntN(3)] {
		a.Tags = append(a.Tags, words[i%tags])
	}
	slices.Sort(a.Tags)
	a.Tags = slices.Compact(a.Tags)
	if n := len(w.all); n > 0 {
		for range 2 + r.IntN(4) {
			if id := r.IntN(n); !w.touched[id] && !slices.Contains(a.Links, id) {
				a.Links = append(a.Links, id)
			}
		}
	}
	for i := range r.IntN(6) {
		a.Comments = append(a.Comments, comment{readers[r.IntN(len(readers))], w.sentence(), date.Add(time.Duration(i+1) * time.Hour), i > 0 && r.IntN(2) == 0})
	}
	kept := a
	w.all = append(w.all, &kept)
	return a
}

// title returns a title that no article has, and its slug.
func (w *writer) title() (title, slug string) {
	for {
		slug = strings.Join([]string{w.word(), w.word(), w.word()}, "-")
		if !w.titles[slug] {
			w.titles[slug] = true
			title = strings.ReplaceAll(slug, "-", " ")
			return strings.ToUpper(title[:1]) + title[1:], slug
		}
	}
}

func (w *writer) word() string { return words[w.r.IntN(len(words))] }

func (w *writer) sentence() string {
	s := w.word()
	for range 6 + w.r.IntN(10) {
		s += " " + w.word()
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

func (w *writer) paragraph() string {
	s := w.sentence()
	for range 2 + w.r.IntN(4) {
		s += " " + w.sentence()
	}
	return s
}

// tags is how many of words serve as tags.
const tags = 24

var (
	categories = []string{"Archives", "Gardens", "Machines", "Rivers", "Travels", "Workshops"}
	authors    = []string{"anna", "boris", "clara"}
	readers    = []string{"Dora", "Emil", "Frieda", "Gustav", "Hanna"}
	words      = strings.Fields(`amber anchor apple atlas autumn basin beacon birch bridge bronze cabin canal candle canyon cedar
		cellar chalk clover cobalt comet copper coral cotton crane crystal delta desert dune eagle ember falcon fern field
		flint forest fossil garden glacier granite harbor hazel heron hill hollow honey horizon island ivory jasper kettle
		lagoon lantern lark ledger lemon lichen linen lizard lunar maple marble marsh meadow mercury mill mirror moss
		mountain nectar needle night oak ocean olive onyx orchard otter oyster paper pearl pebble pepper pine planet plum
		pollen prairie quarry quartz quill rain raven reed reef resin river robin saddle saffron salmon salt sand sapphire
		shadow shell silver slate smoke snow spruce star stone storm summer swallow tarn thistle thunder tide timber topaz
		valley velvet violet walnut water wheat willow wind winter wool yarrow`)
)

// String tells how much a change is, for a log.
func (c change) String() string {
	return fmt.Sprintf("%d published, %d edited, %d renamed, %d deleted", len(c.Publish), len(c.Edit), len(c.Rename), len(c.Delete))
}
