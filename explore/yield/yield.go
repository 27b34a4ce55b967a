// Package yield learns, for one site, which URLs are worth a fetch before they are fetched: from
// what fetches of URLs that look like them have brought.
//
// Server software makes URLs by templates: the edit form, the history, the feed, the reply link
// of every page, lists in every order. So a URL belongs to several groups that overlap, all read
// off the URL itself (groups.go): its template, the names of its parameters, their values where
// they are few, what stands at its places in the path, prefixes such as "Special:". Begin with
// Site: See counts a URL that became known, Rank says when it is due, Take and Fetched tell of
// its fetch and what that brought (Outcome).
//
// # The model
//
// A fetch brings something when each group of its URL lets it (a noisy AND): group g does with
// probability q(g), and a URL yields with the product of its groups' q. A fetch that brought
// something speaks for each of its groups. One that brought nothing is charged to the worst of
// them with the probability that it was to blame, (1-q) / (1-∏q), but for a half at least, and to
// the others by the square of how bad they are beside it: an edit form speaks against
// "action=edit", hardly against "title=". q(g) is the mean of a Beta distribution with the prior Beta(1.6, 0.4), which
// gives groups that nobody has tried the benefit of the doubt. Successes fade as failures are
// charged, by a sixteenth with each, and failures by a quarter with each success, since a group
// that did bring something may run dry (the facets of a shop, once its products are known).
//
// A group is stopped when its mean is next to nothing on the evidence of some twenty fetches, or
// when forty in a row have brought nothing. A
// URL is due with the rank of its worst group. Groups that have not brought anything yet have few
// fetches under way at a time, so that they are not found out too late. A stopped group is not
// closed for ever: URLs of it that something vouches for (a list of the site that names them, a
// page that newly links to them) get a few chances, and one that brings something opens it.
//
// The package is pure: no clock, no chance, no I/O. The same calls give the same answers. What a
// Site knows follows from the URLs in the order in which they became known and what their
// fetches brought, so that a caller which keeps these can make it anew. See, Rank, Take and
// Fetched take O(length of the URL + 16), about a microsecond; a Site holds at most maxGroups
// groups, about 150 bytes each, whatever the site makes up.
package yield

// An Outcome is what one fetch brought.
type Outcome uint8

// The outcomes of a fetch. Below Duplicate it brought something.
const (
	None      Outcome = iota // not known
	Content                  // a page with something of its own
	Leads                    // first links to URLs that are worth a fetch, and nothing else
	Duplicate                // the body of another page
	Canonical                // a page that names another one as its original
	NoIndex                  // a page that asks not to be listed
	Repeat                   // a page of which other pages have had all the text
	Alike                    // a page whose text differs from another's in numbers alone
	Moved                    // a redirect to what was known
	Missing                  // nothing there: 404, 410 and the like
	Soft404                  // the page that the site gives for what is not there
	Refused                  // 401, 403: not for us
	Other                    // no page, feed or sitemap
	OldList                  // a feed or sitemap that named nothing new
	numOutcomes
)

var outcomeNames = [...]string{
	"", "content", "links to new pages", "duplicates of other pages", "copies of their canonical page",
	"not to be listed (noindex)", "pages with no text of their own", "pages that differ in numbers alone", "redirects to known pages",
	"missing", "pages of what is not there", "refused", "no pages", "feeds with nothing new",
}

// String says for people what fetches of this outcome were.
func (o Outcome) String() string { return outcomeNames[o] }

// Good reports whether the fetch brought something.
func (o Outcome) Good() bool { return o == Content || o == Leads }

// weights tell how strongly an outcome speaks against the groups of its URL. What is no evidence
// of a trap weighs less: some pages that ask not to be listed lead to all others (of MediaWiki's
// special pages one in eighty); dead links come in hundreds on sites without any, and so may pages
// whose titles tell them apart by number only.
var weights = [numOutcomes]float64{
	Duplicate: 1, Canonical: 1, NoIndex: 0.5, Repeat: 1, Alike: 0.03, Moved: 0.5, Missing: 0.02, Soft404: 1, Refused: 0.5, Other: 1, OldList: 1,
}

// A Rank says when a URL is due, from its expected yield.
type Rank uint8

// The ranks of URLs.
const (
	First   Rank = iota // worth a fetch as far as anybody knows
	Later               // of a group that has brought little
	Last                // of a group that has brought next to nothing
	Stopped             // of a group that is not to be fetched from any more
	NumRanks
)

// Doubt is the probability, about, that a fetch of a URL of this rank brings nothing: between the means
// that bound the rank; where nothing speaks against it, 0, as what then happens by chance happens to all.
func (r Rank) Doubt() float64 {
	switch r {
	case First:
		return 0
	case Later:
		return 1 - (later+last)/2
	case Last:
		return 1 - last/2
	}
	return 1
}

// Doubt is that of the rank, for who has not fetched url and wants to know what to count on. Where nothing speaks against url, but it is
// of the kind of which software makes many for one page, and no other with its template was a page with something of its own, it is
// that of Later.
func (s *Site) Doubt(url string, r Rank) float64 {
	if r == First && Doubts(url) {
		if t := s.find(url); t.n == 0 || s.groups[t.id[0]].by[Content] == 0 {
			return Later.Doubt()
		}
	}
	return r.Doubt()
}

// Parameters of the model. They were chosen on the generated sites in internal/software, of one seed,
// and so that of the recorded histories that we test with feeds of tags are stopped and nothing else.
// Other seeds and real software judge them, see docs/real-sites.md.
const (
	priorGood    = 1.6
	prior        = 2.0     // weight of the prior, in fetches
	fade         = 1. / 16 // of the successes, with each failure charged
	pardon       = 3. / 4  // of the failures, after a success
	later        = 0.35    // a mean below is Later
	last         = 0.15    // a mean below is Last
	stopBad      = 12      // failures charged without which nothing is stopped; of several groups of a URL each bears a part
	stopMean     = 0.05    // successes a failure
	stopDry      = 40      // failures since the last success that stop what brought something once
	trial        = 4       // fetches under way at once of a group that has brought nothing yet
	least        = 0.5     // of a failure is charged to the worst group, however good it is
	maxChances   = 3       // fetches of a stopped group that something vouches for, without success; another one after Renew
	large        = 20      // URLs of a group that is structure, not chance
	untriedBelow = 2       // fetches of such a group that it is due, though another one of its URLs is stopped
	proven       = 8       // fetches of a group that show whether its pages have something of their own,
	contentShare = 4       // if one of so many has
	maxTrials    = 30      // such fetches in a stopped group, without success
	maxGroups    = 4096
	maxOnce      = 8192 // literals seen once
)

// A group is a set of URLs that look alike in one way.
type group struct {
	key       uint64
	name      string  // for people
	good, bad float64 // discounted fetches that brought something, and failures charged
	dry       float64 // failures since it brought something, weighed by how bad it is beside the URL's worst
	seen      uint32  // URLs
	left      uint32  // of them, those that are left out
	fetched   uint32
	out       uint32              // fetches under way
	chances   uint8               // fetches since it was stopped, but for those that Renew forgives
	trials    uint8               // fetches of untried groups, since it was stopped
	by        [numOutcomes]uint32 // fetches
}

// mean is q(g).
func (g *group) mean() float64 { return (g.good + priorGood) / (g.good + g.bad + prior) }

func (g *group) stopped() bool {
	return g.dry >= stopDry || g.bad >= stopBad && g.good+0.5 < stopMean*g.bad
}

// A Site is what is known of the groups of one site's URLs. The zero Site is ready. It is not
// safe for concurrent use.
type Site struct {
	groups []group
	free   []int32
	number map[uint64]int32    // by key
	once   map[uint64]struct{} // keys of literals that were seen once
	under  map[uint32]set      // fetches under way
	latest string              // the URL of which of are the groups; "": none, or groups were made since
	of     set
	buf    []byte
	reader

	reopened bool // see Reopened
}

// A set is the groups of a URL, the template first.
type set struct {
	id [maxSet]int32
	n  int
}

func (t *set) add(id int32) {
	if id >= 0 && t.n < maxSet {
		t.id[t.n] = id
		t.n++
	}
}

// See counts a URL that became known. url is its path and query, for sites of several hosts with
// the host before; each URL is to be given once.
func (s *Site) See(url string) {
	t := s.read(url, true)
	for _, id := range t.id[:t.n] {
		s.groups[id].seen++
	}
}

// LeaveOut notes that url, which See counted, is not fetched as a group of it is stopped.
func (s *Site) LeaveOut(url string) {
	t := s.find(url)
	for _, id := range t.id[:t.n] {
		s.groups[id].left++
	}
}

// Readmit takes LeaveOut back: url is to be fetched after all.
func (s *Site) Readmit(url string) {
	t := s.find(url)
	for _, id := range t.id[:t.n] {
		if g := &s.groups[id]; g.left > 0 {
			g.left--
		}
	}
}

// Reopened reports whether a group that was stopped has brought something since it was asked last.
func (s *Site) Reopened() bool {
	was := s.reopened
	s.reopened = false
	return was
}

// Renew gives each stopped group that has had its chances another one.
func (s *Site) Renew() {
	for i := range s.groups {
		g := &s.groups[i]
		g.chances = min(g.chances, maxChances-1)
	}
}

// Partial reports whether url belongs to a group that has brought little and of which some URLs are
// left out, or are to be: so that url may be one that nobody has seen for that.
func (s *Site) Partial(url string) bool {
	t := s.find(url)
	for _, id := range t.id[:t.n] {
		if g := &s.groups[id]; g.stopped() || g.left > 0 && g.mean() < later {
			return true
		}
	}
	return false
}

// Rank says when url is due. vouched: something speaks for it, so that it may be fetched though
// its group is stopped.
func (s *Site) Rank(url string, vouched bool) Rank {
	t := s.find(url)
	return s.rank(&t, vouched)
}

func (s *Site) rank(t *set, vouched bool) Rank {
	worst, untried := 1., s.untried(t, true)
	for _, id := range t.id[:t.n] {
		g := &s.groups[id]
		if g.stopped() && !(vouched && g.chances+uint8(min(g.out, maxChances)) < maxChances) && !(untried && g.trials < maxTrials) {
			return Stopped
		}
		worst = min(worst, g.mean())
	}
	switch {
	case worst < last:
		return Last
	case worst < later:
		return Later
	}
	return First
}

// untried reports whether a large group of the set has had no chance yet. To Fetched, which is to
// follow from what was seen and fetched alone, a fetch under way is none.
func (s *Site) untried(t *set, out bool) bool {
	for _, id := range t.id[:t.n] {
		g := &s.groups[id]
		n := g.fetched
		if out {
			n += g.out
		}
		if g.seen >= large && n < untriedBelow {
			return true
		}
	}
	return false
}

func (s *Site) expect(t *set) float64 {
	p := 1.
	for _, id := range t.id[:t.n] {
		p *= s.groups[id].mean()
	}
	return p
}

// Crowded reports whether url should wait for answers: so many fetches are under way of one of
// its groups, of which nobody knows yet whether it brings anything, and there is a doubt: its kind
// invites it, or one brought nothing already.
func (s *Site) Crowded(url string) bool {
	t, invites := s.find(url), Doubts(url)
	for _, id := range t.id[:t.n] {
		if g := &s.groups[id]; g.out >= trial && g.good < 1 && (g.bad > 0 || invites) {
			return true
		}
	}
	return false
}

// Take notes that a fetch of url, which See counted, begins. key is any number that no other fetch under way has.
func (s *Site) Take(key uint32, url string) {
	if _, ok := s.under[key]; ok {
		return
	}
	t := s.find(url)
	for _, id := range t.id[:t.n] {
		s.groups[id].out++
	}
	if s.under == nil {
		s.under = map[uint32]set{}
	}
	s.under[key] = t
}

// UnderWay reports whether Take has told of the fetch, and Drop has not.
func (s *Site) UnderWay(key uint32) bool {
	_, ok := s.under[key]
	return ok
}

// Drop notes that the fetch that Take told of is over, or is not to be made.
func (s *Site) Drop(key uint32) {
	t, ok := s.under[key]
	if !ok {
		return
	}
	delete(s.under, key)
	for _, id := range t.id[:t.n] {
		s.groups[id].out--
	}
}

// Fetched takes in what the fetch of url brought. Drop tells that it is over.
func (s *Site) Fetched(url string, o Outcome) {
	t := s.find(url)
	if o == None {
		return
	}
	product, worst := s.expect(&t), 1.
	for _, id := range t.id[:t.n] {
		worst = min(worst, s.groups[id].mean())
	}
	w, untried := weights[o], s.untried(&t, false)
	for _, id := range t.id[:t.n] {
		g := &s.groups[id]
		g.fetched++
		g.by[o]++
		if o.Good() {
			was := g.stopped()
			g.good++
			g.bad *= pardon
			g.dry, g.chances, g.trials = 0, 0, 0
			s.reopened = s.reopened || was && !g.stopped()
			continue
		}
		switch {
		case !g.stopped():
		case untried:
			g.trials = min(g.trials, maxTrials-1) + 1
		default:
			g.chances = min(g.chances, maxChances-1) + 1
		}
		ill := (1 - g.mean()) / max(1-worst, 1e-9)
		share := float64(w * ill * ill)
		g.dry += share
		blame := share * max(least, (1-worst)/max(1-product, 1e-9))
		g.bad += blame
		g.good *= 1 - min(1, float64(fade*blame))
	}
}

// A Stop tells of a stopped group.
type Stop struct {
	Group   string  // for people: "?replytocom=", "/*/feed/"
	Seen    int     // URLs of it that are known
	Fetched int     // of them
	Mostly  Outcome // what most fetches were
	All     bool    // and so were all others
}

// Why says for people what the fetches of a stopped group brought.
func (s *Stop) Why() string {
	if s.All {
		return "all " + s.Mostly.String()
	}
	return "mostly " + s.Mostly.String()
}

// Told returns the largest stopped group of that name. O(groups).
func (s *Site) Told(name string) (stop Stop, ok bool) {
	var largest *group
	for i := range s.groups {
		if g := &s.groups[i]; g.name == name && g.stopped() && (largest == nil || g.seen > largest.seen) {
			largest = g
		}
	}
	if largest == nil {
		return Stop{}, false
	}
	return largest.tell(), true
}

// Stopped returns the stopped group that url belongs to, the largest if there are several;
// ok=false: to none.
func (s *Site) Stopped(url string) (stop Stop, ok bool) {
	t := s.find(url)
	var largest *group
	for _, id := range t.id[:t.n] {
		if g := &s.groups[id]; g.stopped() && (largest == nil || g.seen > largest.seen) {
			largest = g
		}
	}
	if largest == nil {
		return Stop{}, false
	}
	return largest.tell(), true
}

func (g *group) tell() Stop {
	stop := Stop{Group: g.name, Seen: int(g.seen), Fetched: int(g.fetched)}
	for o, n := range g.by {
		if !Outcome(o).Good() && n > 0 && (stop.Mostly == None || n > g.by[stop.Mostly]) {
			stop.Mostly = Outcome(o)
		}
	}
	stop.All = g.by[stop.Mostly] == g.fetched
	return stop
}

// Count returns how many fetches there were of the largest group of that name. O(groups).
func (s *Site) Count(name string) (fetched int) {
	for i := range s.groups {
		if g := &s.groups[i]; g.name == name {
			fetched = max(fetched, int(g.fetched))
		}
	}
	return fetched
}

// Promises reports whether url, which a page newly leads to, speaks for that page: it is worth a
// fetch, and may well be a page with something of its own. What is only known to lead on may lead in
// a circle, as the facets of a shop do.
func (s *Site) Promises(url string) bool {
	t := s.find(url)
	for _, id := range t.id[:t.n] {
		if g := &s.groups[id]; g.fetched >= proven && g.by[Content]*contentShare < g.fetched {
			return false
		}
	}
	return s.rank(&t, false) == First
}

// Expect is the expected yield of a fetch: the probability that it brings something.
func (s *Site) Expect(url string) float64 {
	t := s.find(url)
	return s.expect(&t)
}

// Template is what URLs like this one have in common, for people.
func (s *Site) Template(url string) string {
	if t := s.find(url); t.n > 0 {
		return s.groups[t.id[0]].name
	}
	return url
}

// Kin reports whether two URLs have the same template.
func (s *Site) Kin(a, b string) bool {
	x, y := s.find(a), s.find(b)
	return x.n > 0 && y.n > 0 && x.id[0] == y.id[0]
}
