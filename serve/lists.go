package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"forage/fetch/link"
	"forage/report"
	"forage/store"
)

// What one answer looks at of a list that must be searched: then it gives the cursor of what comes next. A document of a
// store of a million takes 2 µs, mostly, and much more where its visits are read or a pattern is slow.
const (
	maxListed = 20_000 // documents, or hosts, and no longer than Options.Listing
	maxVisits = 100    // of a URL, the latest ones
)

// enough returns a function that reports when an answer has looked at so many things, or for so long, that it is given.
func (s *server) enough() func(looked int) bool {
	end := time.Now().Add(s.Listing)
	return func(looked int) bool { return looked >= maxListed || looked%16 == 0 && time.Now().After(end) }
}

type pageList struct {
	Pages []*report.Page `json:"pages" nullable:"false"`
	Next  *string        `json:"next" doc:"as after, it gives what comes then; null: this was all. A part may be empty although there is more"`
}

// since is a cycle or a time.
type since string

// Schema implements huma.SchemaProvider.
func (since) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, AnyOf: []*huma.Schema{
		{Type: huma.TypeString, Pattern: "^[1-9][0-9]{0,8}$"}, {Type: huma.TypeString, Format: "date-time"}, {Type: huma.TypeString, Format: "date"}, {Type: huma.TypeString, MaxLength: new(0)}, // the last: not given
	}}
}

type listPagesIn struct {
	NewSince        since  `query:"new_since" doc:"only pages that are certainly new since a cycle (inclusive) or a time: 3, 2026-01-31T12:00:00Z"`
	ChangedSince    since  `query:"changed_since" doc:"only pages whose content changed since"`
	GoneSince       since  `query:"gone_since" doc:"only pages that have gone since"`
	MovedSince      since  `query:"moved_since" doc:"only pages that were found to be others at a new URL since"`
	Kind            string `query:"kind" enum:"content,list,form,redirect,duplicate" doc:"only pages of this kind"`
	Site            string `query:"site" maxLength:"2048" doc:"only pages of this site"`
	Match           string `query:"match" maxLength:"1000" format:"regex" doc:"only URLs that match this regular expression (RE2)"`
	IncludeUnknown  bool   `query:"include_unknown" doc:"with new_since: also pages that may be new"`
	Duplicates      bool   `query:"duplicates" doc:"also pages that repeat another one, and with new_since those that have moved"`
	IncludeExcluded bool   `query:"include_excluded" doc:"also pages that rules leave out which came after they were fetched"`
	AllDocuments    bool   `query:"all_documents" doc:"also feeds and sitemaps"`
	After           string `query:"after" pattern:"^([0-9a-f]{16})?$" doc:"where the list goes on: next of the part before"`
	Limit           int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

// selection reads what is asked for.
func (in *listPagesIn) selection() (*report.Selection, error) {
	sel := &report.Selection{Site: in.Site, Kind: in.Kind, Unknown: in.IncludeUnknown, Duplicates: in.Duplicates, Excluded: in.IncludeExcluded, All: in.AllDocuments}
	for _, since := range []struct {
		key  string
		text since
		to   **report.Since
	}{
		{"new_since", in.NewSince, &sel.New}, {"changed_since", in.ChangedSince, &sel.Changed}, {"gone_since", in.GoneSince, &sel.Gone}, {"moved_since", in.MovedSince, &sel.Moved},
	} {
		if since.text == "" {
			continue
		}
		var err error
		if *since.to, err = report.ParseSince(string(since.text)); err != nil {
			return nil, huma.Error400BadRequest(fmt.Sprintf("%s: %v", since.key, err))
		}
	}
	if in.Match != "" {
		var err error
		if sel.Match, err = regexp.Compile(in.Match); err != nil {
			return nil, huma.Error400BadRequest(fmt.Sprintf("match: %v", err))
		}
	}
	return sel, nil
}

// pages registers what is told of pages and of URLs.
func (s *server) pages(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "list-pages", Method: http.MethodGet, Path: "/api/v1/pages", Summary: "The pages that are known, or only new, changed, gone or moved ones",
		Description: "By site, and then in the order in which they became known, with the filters and the keys of forage pages. An answer looks at a bounded number of documents: where few of many are selected, a part may be empty though next is given.",
		Tags:        []string{"pages"},
	}, s.listPages)
	huma.Register(api, huma.Operation{
		OperationID: "explain", Method: http.MethodGet, Path: "/api/v1/explain", Summary: "Why a URL was fetched or not, which page led there, when it is due",
		Tags: []string{"pages"},
	}, s.explain)
}

func (s *server) listPages(ctx context.Context, in *listPagesIn) (*struct{ Body *pageList }, error) {
	sel, err := in.selection()
	if err != nil {
		return nil, err
	}
	var from report.Place
	if in.After != "" {
		if from, err = report.ParsePlace(in.After); err != nil {
			return nil, huma.Error400BadRequest(fmt.Sprintf("after: %v", err))
		}
	}
	l := &pageList{Pages: []*report.Page{}}
	err = s.read(func(v *store.View) error {
		pages, next, err := sel.Part(v, from, in.Limit, s.enough())
		l.Pages = append(l.Pages, pages...)
		if next != nil {
			text := next.String()
			l.Next = &text
		}
		return err
	})
	return &struct{ Body *pageList }{l}, err
}

type explanation struct {
	report.Explanation
	VisitsCut bool `json:"visits_cut" doc:"there were more visits: these are the latest, and what is told of refetches is of these"`
}

func (s *server) explain(ctx context.Context, in *struct {
	URL string `query:"url" required:"true" minLength:"1" maxLength:"8192"`
}) (*struct{ Body *explanation }, error) {
	out := new(explanation)
	url, err := link.Parse(in.URL)
	if err != nil {
		out.URL, out.State, out.Reason, out.Path, out.Visits = in.URL, "unknown", fmt.Sprintf("it is no URL that can be fetched: %v", err), []string{}, []*report.Visit{}
		return &struct{ Body *explanation }{out}, nil
	}
	err = s.read(func(v *store.View) error {
		e, more, err := report.Explain(v, url, maxVisits)
		if err == nil {
			*out = explanation{*e, more}
		}
		return err
	})
	return &struct{ Body *explanation }{out}, err
}

// foundAt registers what is told of the cycles of a site and of what they found.
func (s *server) foundAt(api huma.API) {
	op := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodGet, Path: "/api/v1/sites/{site}/" + path, Summary: summary, Tags: []string{"sites"}}
	}
	huma.Register(api, op("list-cycles", "cycles", "The cycles of a site, the latest first; of old ones only the sum is kept"), s.listCycles)
	huma.Register(api, op("list-hubs", "hubs", "The old documents that led to new pages lately: each adds most to those before it"), s.listHubs)
	huma.Register(api, op("get-coverage", "coverage", "Which share of the new pages is known, as estimated from its latest cycles"), s.coverage)
}

// known returns a site of the store; nil: it is watched, but the store does not have it yet.
func (s *server) known(v *store.View, name string) (*store.Site, error) {
	site, err := v.SiteNamed(name)
	if errors.Is(err, store.ErrNotFound) {
		_, err = s.Watch.Site(name)
	}
	return site, err
}

type cycleList struct {
	Cycles []*report.SiteCycle `json:"cycles" nullable:"false"`
	Next   *store.Cycle        `json:"next" doc:"as before, it gives what comes then; null: this was all"`
}

func (s *server) listCycles(ctx context.Context, in *struct {
	SiteIn
	Before int64 `query:"before" minimum:"0" maximum:"4294967295" doc:"only cycles with a lower number; 0: all"`
	Limit  int   `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}) (*struct{ Body *cycleList }, error) {
	l := &cycleList{Cycles: []*report.SiteCycle{}}
	err := s.read(func(v *store.View) error {
		site, err := s.known(v, in.Site)
		if err != nil || site == nil {
			return err
		}
		cycles, more, err := report.Cycles(v, site, store.Cycle(in.Before), in.Limit)
		l.Cycles = append(l.Cycles, cycles...)
		if more {
			l.Next = &cycles[len(cycles)-1].Cycle.Cycle
		}
		return err
	})
	return &struct{ Body *cycleList }{l}, err
}

type hubList struct {
	Cycles   int           `json:"cycles" doc:"looked back at"`
	Found    int           `json:"found" doc:"new pages that they found"`
	HubShare *float64      `json:"hub_share" doc:"of these, those that the hubs led to"`
	Hubs     []*report.Hub `json:"hubs" nullable:"false"`
}

// maxHubs is how many hubs of a site are told of at most.
const maxHubs = 100

// discovery returns how finding new pages went at a site, which is not to be changed. Of a site whose latest cycles fetched
// much it takes 95 ms of CPU to work out.
func (s *server) discovery(name string) (d *report.Discovery, err error) {
	err = s.read(func(v *store.View) error {
		site, err := s.known(v, name)
		if err != nil || site == nil {
			return err
		}
		d, err = s.found.of(site, func() (*report.Discovery, error) { return report.NewDiscovery(v, site.ID, maxHubs) })
		return err
	})
	if d == nil { // no cycle has visited it again
		d = &report.Discovery{}
	}
	return d, err
}

func (s *server) listHubs(ctx context.Context, in *struct {
	SiteIn
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"20"`
}) (*struct{ Body *hubList }, error) {
	d, err := s.discovery(in.Site)
	if err != nil {
		return nil, err
	}
	l := &hubList{Cycles: d.Cycles, Found: d.Found, Hubs: append([]*report.Hub{}, d.Hubs[:min(in.Limit, len(d.Hubs))]...)}
	if d.Found > 0 {
		led := 0
		for _, h := range l.Hubs {
			led += h.Adds
		}
		share := float64(led) / float64(d.Found)
		l.HubShare = &share
	}
	return &struct{ Body *hubList }{l}, nil
}

func (s *server) coverage(ctx context.Context, in *SiteIn) (*struct{ Body *report.Estimate }, error) {
	d, err := s.discovery(in.Site)
	if err != nil {
		return nil, err
	}
	return &struct{ Body *report.Estimate }{&d.Estimate}, nil
}
