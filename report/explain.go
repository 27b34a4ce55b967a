package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forage/graph"
	"forage/store"
)

// An Explanation is what is told of one URL.
type Explanation struct {
	URL     string   `json:"url"`
	State   string   `json:"state" doc:"queued, fetched, skipped, failed or unknown"`
	Reason  string   `json:"reason"`
	FoundOn *string  `json:"found_on"`
	Next    *string  `json:"next" format:"date-time" doc:"when it may be fetched; null: not before the next revisit, or never"`
	Path    []string `json:"path" nullable:"false" doc:"from a seed to it"`
	PathCut bool     `json:"path_cut" doc:"the path is longer: these are the last pages of it"`
	Via     *string  `json:"via" doc:"what kind of link led to it"`
	Kind    *string  `json:"kind" doc:"content, list, feed, sitemap and so on"`
	New     *string  `json:"new" doc:"yes, no or unknown"`
	Visits  []*Visit `json:"visits" nullable:"false" doc:"fetches that were answered, the first one first"`
	Depth   *int     `json:"depth"`

	Changes    int      `json:"changes" doc:"visits that found another body than the one before"`
	ChangeRate *float64 `json:"change_rate" doc:"of the visits after the first"`
	Refetches  int      `json:"refetches" doc:"of the visits listed, those in cycles of discovery"`
	LinkChurn  *float64 `json:"link_churn" doc:"links gained or lost a refetch"`
	Led        int      `json:"led" doc:"new pages that it led to in the cycles that found them"`
	Found      int      `json:"found" doc:"documents that its fetches found first"`
	Use        *Use     `json:"use,omitempty" doc:"what the site says of its use; absent: nothing, or it is not known"`
}

// A Visit is a fetch of a document that was answered.
type Visit struct {
	Cycle   store.Cycle `json:"cycle"`
	At      *string     `json:"at" format:"date-time"`
	Status  int         `json:"status"`
	Bytes   int64       `json:"bytes"`
	Refetch *Refetch    `json:"refetch" doc:"null: it was not in a cycle of discovery, or the first answer"`
}

// A Refetch is what a fetch of an old document showed.
type Refetch struct {
	_           struct{} `nullable:"true"`
	NotModified bool     `json:"not_modified"`
	Changed     bool     `json:"changed"`
	Gained      int      `json:"gained" doc:"links"`
	Lost        int      `json:"lost" doc:"links"`
	Led         int      `json:"led" doc:"pages found in the cycle that it leads to"`
	Found       int      `json:"found" doc:"documents"`
}

// LongestPath bounds the chain of pages that an Explanation shows.
const LongestPath = 100

// Explain returns what is known of a normalised URL. visits bounds how many of its latest visits are listed, and what is
// summed up of them; 0: all. It reports whether there are more of them. O(LongestPath + visits).
func Explain(v *store.View, url string, visits int) (e *Explanation, more bool, err error) {
	e = &Explanation{URL: url, State: "unknown", Reason: "no page, feed or sitemap fetched so far leads to it", Path: []string{}, Visits: []*Visit{}}
	id, err := v.Find(url)
	if errors.Is(err, store.ErrNotFound) {
		return e, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	d, err := v.Doc(id)
	if err != nil {
		return nil, false, err
	}
	site, err := v.Site(d.Site)
	if err != nil {
		return nil, false, err
	}
	e.State, e.Depth, e.Use = d.State.String(), &d.Depth, NewUse(d.Use)
	if d.Kind != store.Unseen {
		e.Kind = null(d.KindText())
	}
	if d.IsPage() {
		e.New = null(d.New.String())
	}
	c := v.Cursor()
	defer c.Close()
	if e.FoundOn, err = urlOf(c, d.FoundOn); err != nil {
		return nil, false, err
	}
	via := d.Via.String()
	e.Via = &via
	for at := d; at.FoundOn != graph.None; {
		if e.PathCut = len(e.Path) == LongestPath; e.PathCut {
			break
		}
		if at, err = v.Doc(at.FoundOn); err != nil {
			return nil, false, err
		}
		e.Path = append(e.Path, at.URL)
	}
	slices.Reverse(e.Path)
	if more, err = e.readVisits(v, d, visits); err != nil {
		return nil, false, err
	}
	e.Reason = reason(d, site)
	for _, r := range []struct {
		id   graph.Node
		text string
	}{
		{d.DuplicateOf, "it repeats %v"}, {d.StandIn, "%v names it canonical and stands for it until it is fetched"}, {d.MovedFrom, "it is %v at a new URL"},
	} {
		if r.id == graph.None {
			continue
		}
		other, err := urlOf(c, r.id)
		if err != nil {
			return nil, false, err
		}
		if r.id == d.MovedFrom && d.Moved == 0 {
			r.text = "it may be %v at a new URL: that has not been looked at since"
		}
		e.Reason += "; " + fmt.Sprintf(r.text, *other)
	}
	if d.State == store.Queued {
		h, err := v.Host(store.HostOf(url))
		if err != nil {
			return nil, false, err
		}
		at := h.NotBefore
		if h.LastRequest > 0 {
			at = max(at, h.LastRequest+site.Rules.DelayMillis)
		}
		if at > 0 {
			e.Next = null(time.UnixMilli(at).UTC().Format(time.RFC3339))
		}
	}
	return e, more, nil
}

// readVisits reads up to limit of the latest visits of d, or all for 0, and what they showed. It reports whether there are more.
func (e *Explanation) readVisits(v *store.View, d *store.Doc, limit int) (more bool, err error) {
	if err := v.VisitsBack(d, func(x store.Visit) bool {
		if more = limit > 0 && len(e.Visits) == limit; more {
			return false
		}
		e.Visits = append(e.Visits, &Visit{x.Cycle, stamp(x.At), x.Status, x.Bytes, nil})
		return true
	}); err != nil {
		return false, err
	}
	slices.Reverse(e.Visits)
	churn := 0
	for _, x := range e.Visits {
		r, err := v.Refetch(d, x.Cycle)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		x.Refetch = &Refetch{NotModified: r.NotModified, Changed: r.Changed, Gained: len(r.Gained), Lost: r.Lost, Led: len(r.Led), Found: len(r.Found)}
		e.Refetches++
		e.Led, e.Found, churn = e.Led+len(r.Led), e.Found+len(r.Found), churn+len(r.Gained)+r.Lost
	}
	e.Changes = d.Changes
	if d.Visits > 1 {
		rate := float64(d.Changes) / float64(d.Visits-1)
		e.ChangeRate = &rate
	}
	if e.Refetches > 0 {
		churned := float64(churn) / float64(e.Refetches)
		e.LinkChurn = &churned
	}
	return more, nil
}

// reason says in a sentence why d is in its state.
func reason(d *store.Doc, site *store.Site) string {
	why := d.Reason
	switch d.State {
	case store.Queued:
		switch {
		case site.State == store.SitePaused:
			return "waits: the site is paused: " + site.Reason
		case why != "":
			return "waits: " + why
		case site.State == store.SiteDone:
			return "waits for the next 'forage crawl' or 'forage revisit'"
		}
		return "waits for its turn"
	case store.Skipped:
		if d.LeftOut() {
			return "left out since it was fetched: " + why + skips[why]
		}
		if group, ok := strings.CutPrefix(why, store.StoppedReason); ok {
			why = "left out: URLs like it brought nothing"
			for _, g := range site.LeftOut {
				switch {
				case g.Group != group:
				case g.Fetched == 0:
					why = fmt.Sprintf("left out: of %s, %s", g.Group, g.Why)
				default:
					why = fmt.Sprintf("left out: of %s %s fetched, %s", g.Group, were(g.Fetched), g.Why)
				}
			}
			return why + "; 'forage crawl --all' fetches it, or give it as a URL"
		}
		return "not fetched: " + why + skips[why]
	case store.Failed:
		return fmt.Sprintf("could not be fetched (%d tries): %s", d.Attempts, why)
	}
	s := fmt.Sprintf("fetched, the latest answer was %d", d.Status)
	switch {
	case d.Gone != 0:
		s += ", it is gone"
	case d.Dropped > 0:
		s += fmt.Sprintf(", but %s dropped it since: it is looked at as --check-gone allows", documents(d.Dropped))
	case d.Kind == store.Soft404:
		s += " with the body that the site gives for what is not there"
	case d.Hollow:
		s += " with the body that the site gives for every path"
	case d.Stub:
		s += ", a redirect by meta refresh: it is told as new when it is a page of its own"
	case d.Truncated:
		s += ", cut: its body was too long or did not come in time, or it has more links, or longer ones, than are taken"
	}
	if d.Seed {
		s += "; it was given by hand"
	}
	return s
}

// documents is a number of documents.
func documents(n int) string {
	if n == 1 {
		return "1 document"
	}
	return fmt.Sprintf("%d documents", n)
}

// were is how many documents something happened to.
func were(n int64) string {
	if n == 1 {
		return "1 was"
	}
	return fmt.Sprintf("%d were", n)
}

// skips tells what the short reasons mean, of which a rule of the site is one.
var skips = map[string]string{
	"scope":               " (outside of the site whose link led there; 'forage crawl URL' makes it a site of its own)",
	"include":             " (no --include of the site fits)",
	"exclude":             " (an --exclude of the site fits)",
	"depth":               " (beyond --max-depth of the site)",
	store.ReasonElsewhere: " (its host belongs to another store, which is told of it)",

	"action": " (it looks like something that is done, such as to log out or to delete, and --cookies or --header log in there; give it as a URL to fetch it)",
}
