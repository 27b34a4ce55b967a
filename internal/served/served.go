// Package served is a service of package watch as package serve wants it.
package served

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"forage/report"
	"forage/serve"
	"forage/watch"
)

// A Watch is a service as package serve wants it.
type Watch struct {
	*watch.Service
	Again func() error // reads the configuration file again
}

var _ serve.Watch = Watch{}

func (s Watch) Sites() []serve.Site {
	all := s.Service.Sites()
	out := make([]serve.Site, len(all))
	for i := range all {
		out[i] = servedSite(&all[i])
	}
	return out
}

func (s Watch) Site(name string) (serve.Site, error) {
	st, err := s.Service.Site(name)
	return servedSite(&st), as(err)
}

func (s Watch) Add(_ context.Context, sites []serve.Settings) ([]serve.Site, error) {
	settings := make([]json.RawMessage, len(sites))
	for i := range sites {
		var err error
		if settings[i], err = Settings(sites[i]); err != nil {
			return nil, err
		}
	}
	all, err := s.Service.Add(settings)
	if err != nil {
		return nil, as(err)
	}
	out := make([]serve.Site, len(all))
	for i := range all {
		out[i] = servedSite(&all[i])
	}
	return out, nil
}

func (s Watch) Preview(ctx context.Context, settings serve.Settings) (*serve.Preview, error) {
	text, err := Settings(settings)
	if err != nil {
		return nil, err
	}
	p, err := s.Service.Preview(ctx, text)
	if err != nil {
		return nil, as(err)
	}
	out := &serve.Preview{
		Name: p.Site.Name, Scope: p.Site.Rules.Scope, Robots: p.Robots.URL, RobotsStatus: p.Robots.Status, RobotsProblem: p.Robots.Problem, Allowed: p.Robots.Allowed,
		Delay: p.Delay, Left: p.Left, URLs: p.URLs, Dated: p.Dated, Recent: p.Recent,
	}
	if p.Fetched > 0 {
		out.Usual = p.Bytes / int64(p.Fetched)
	}
	for _, l := range p.Lists {
		out.Lists = append(out.Lists, serve.PreviewList{URL: l.URL, Kind: l.Kind, Entries: l.Entries, Ours: l.Ours, Problem: l.Problem})
	}
	return out, nil
}

func (s Watch) Change(_ context.Context, name string, settings serve.Settings) (serve.Site, error) {
	text, err := Settings(settings)
	if err != nil {
		return serve.Site{}, err
	}
	st, err := s.Service.Change(name, text)
	return servedSite(&st), as(err)
}

func (s Watch) Remove(_ context.Context, name string) error {
	return as(s.Service.Remove(name))
}

func (s Watch) Cycle(_ context.Context, name string, full bool) error {
	return as(s.Service.Cycle(name, full))
}

func (s Watch) Pause(_ context.Context, name string) error {
	return as(s.Service.Pause(name))
}

func (s Watch) Resume(_ context.Context, name string) error {
	return as(s.Service.Resume(name))
}

func (s Watch) Reload(context.Context) error { return s.Again() }

func (s Watch) Hosts(after string, limit int) (all []*report.Asked) {
	for _, h := range s.Crawl.Hosts(after, limit) {
		all = append(all, &report.Asked{Host: h.Name, Next: h.Next, CrawlDelay: h.CrawlDelay, Pending: h.Pending, Failures: h.Failures, LeftAlone: h.LeftAlone})
	}
	return all
}

func (s Watch) State() serve.State {
	paused, wait := s.Service.State()
	return serve.State{Paused: paused, Wait: wait}
}

// Settings writes settings with the keys of the file. There a depth of 0 is that of the start alone, as in the flag.
func Settings(s serve.Settings) (json.RawMessage, error) {
	if s.MaxDepth >= 0 {
		return json.Marshal(&s)
	}
	s.MaxDepth = 0
	return json.Marshal(struct {
		serve.Settings
		Depth int `json:"max_depth"`
	}{s, 0})
}

// servedSite tells how a site is, with its settings as they were given, or as the file has them.
func servedSite(st *watch.Status) serve.Site {
	out := serve.Site{Name: st.Name, ReadOnly: st.Settings == nil, Paused: st.Paused, Running: st.Running, Due: st.Due, Late: st.Late, Skipped: st.Skipped}
	var given struct {
		Depth *int `json:"max_depth"`
	}
	if st.Settings != nil && json.Unmarshal(st.Settings, &out.Settings) == nil && json.Unmarshal(st.Settings, &given) == nil {
		if given.Depth != nil && *given.Depth == 0 {
			out.Settings.MaxDepth = -1
		}
		return out
	}
	r := &st.Rules
	out.Settings = serve.Settings{
		URL: st.URL, Budget: st.When.Budget.String(), Window: st.When.Window.String(), Scope: r.Scope, Include: r.Include, Exclude: r.Exclude,
		MaxPages: r.MaxPages, MaxDepth: r.MaxDepth, Delay: (time.Duration(r.DelayMillis) * time.Millisecond).String(),
	}
	if st.When.Every > 0 {
		out.Settings.Every = st.When.Every.String()
	}
	return out
}

// as is an error of the service as one of package serve.
func as(err error) error {
	for of, as := range map[error]error{
		watch.ErrNotFound: serve.ErrNotFound, watch.ErrExists: serve.ErrExists, watch.ErrReadOnly: serve.ErrReadOnly,
		watch.ErrRunning: serve.ErrRunning, watch.ErrInvalid: serve.ErrInvalid, watch.ErrPaused: serve.ErrPaused,
	} {
		if errors.Is(err, of) {
			return &also{err, as}
		}
	}
	return err
}

// also is an error that is another one, too, without saying so.
type also struct{ err, as error }

func (e *also) Error() string   { return e.err.Error() }
func (e *also) Unwrap() []error { return []error{e.err, e.as} }
