package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"forage/report"
)

// watched is a Watch of sites that are only written down.
type watched struct {
	mu    sync.Mutex
	sites []Site
	state State
	full  []bool // of the cycles that were begun

	reload  error           // what Reload says
	asked   []*report.Asked // by name
	preview *Preview        // of any site
	looking chan chan bool  // Preview says that it has begun, and waits for what it says there; nil: it does neither
}

func (w *watched) set(s State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = s
}

func (w *watched) Sites() []Site {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sites)
}

// on runs f on a site. w.mu is held by no one.
func (w *watched) on(name string, write bool, f func(*Site) error) (Site, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.sites, func(s Site) bool { return s.Name == name })
	if i < 0 {
		return Site{}, fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	if write && w.sites[i].ReadOnly {
		return Site{}, fmt.Errorf("%s: %w", name, ErrReadOnly)
	}
	if err := f(&w.sites[i]); err != nil {
		return Site{}, err
	}
	return w.sites[i], nil
}

func (w *watched) Site(name string) (Site, error) {
	return w.on(name, false, func(*Site) error { return nil })
}

func named(s Settings) (string, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%w: %q is no URL", ErrInvalid, s.URL)
	}
	return u.Host, nil
}

func (w *watched) Add(ctx context.Context, add []Settings) (added []Site, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range add {
		name, err := named(s)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(w.sites, func(s Site) bool { return s.Name == name }) {
			return nil, fmt.Errorf("%s: %w", name, ErrExists)
		}
		added = append(added, Site{Name: name, Settings: s})
	}
	w.sites = append(w.sites, added...)
	slices.SortFunc(w.sites, func(a, b Site) int { return cmp.Compare(a.Name, b.Name) })
	return added, nil
}

func (w *watched) Preview(ctx context.Context, s Settings) (*Preview, error) {
	name, err := named(s)
	if err != nil {
		return nil, err
	}
	if _, err := w.Site(name); err == nil {
		return nil, fmt.Errorf("%s: %w", name, ErrExists)
	}
	if w.looking != nil {
		goOn := make(chan bool)
		w.looking <- goOn
		<-goOn
	}
	if w.preview == nil {
		return &Preview{Name: name, Scope: "host", Robots: "http://" + name + "/robots.txt"}, nil
	}
	return w.preview, nil
}

func (w *watched) Change(ctx context.Context, name string, s Settings) (Site, error) {
	return w.on(name, true, func(site *Site) error {
		if _, err := named(s); err != nil {
			return err
		}
		site.Settings = s
		return nil
	})
}

func (w *watched) Remove(ctx context.Context, name string) error {
	_, err := w.on(name, true, func(*Site) error { return nil })
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sites = slices.DeleteFunc(w.sites, func(s Site) bool { return s.Name == name })
	}
	return err
}

func (w *watched) Cycle(ctx context.Context, name string, full bool) error {
	_, err := w.on(name, false, func(s *Site) error {
		if s.Running || s.Paused {
			return fmt.Errorf("%s: %w", name, ErrRunning)
		}
		s.Running = true
		w.full = append(w.full, full)
		return nil
	})
	return err
}

func (w *watched) pause(name string, paused bool) error {
	if name == "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.state.Paused = paused
		return nil
	}
	_, err := w.on(name, false, func(s *Site) error { s.Paused = paused; return nil })
	return err
}

func (w *watched) Pause(ctx context.Context, name string) error  { return w.pause(name, true) }
func (w *watched) Resume(ctx context.Context, name string) error { return w.pause(name, false) }

func (w *watched) Reload(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reload
}

func (w *watched) Hosts(after string, limit int) (all []*report.Asked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.asked {
		if a.Host > after && len(all) < limit {
			all = append(all, a)
		}
	}
	return all
}

func (w *watched) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}
