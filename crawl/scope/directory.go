package scope

import (
	"errors"
	"strings"

	"forage/store"
)

// A Directory tells to which site a URL belongs: one that a store has, else one that it would be with rules that are the same for all.
// It is used by one goroutine.
type Directory struct {
	v        *store.View
	defaults store.Rules
	prefixes map[string][]*placed // sites with the scope prefix, by host
	names    map[string]*placed   // others, by host or domain that was looked up; nil: there is none
}

type placed struct {
	scope *Scope
	rules *store.Rules
}

// mostNames is how many hosts and domains a Directory remembers: each takes some hundred bytes.
const mostNames = 1 << 16

// NewDirectory returns a Directory of the sites of v, and of those that rules, which have no Within, would make.
func NewDirectory(v *store.View, rules store.Rules) (*Directory, error) {
	d := &Directory{v: v, defaults: rules, prefixes: map[string][]*placed{}, names: map[string]*placed{}}
	if _, err := New(&rules); err != nil {
		return nil, err
	}
	var failed error
	err := v.SitesFrom(0, func(s *store.Site) bool {
		if s.Rules.Scope == "prefix" {
			var sc *Scope
			if sc, failed = New(&s.Rules); failed == nil {
				host := store.HostOf(s.Rules.Within)
				d.prefixes[host] = append(d.prefixes[host], &placed{sc, &s.Rules})
			}
		}
		return failed == nil
	})
	return d, errors.Join(err, failed)
}

// Defaults returns the rules of NewDirectory.
func (d *Directory) Defaults() store.Rules { return d.defaults }

// Rules returns the rules of the site of a normalised URL, which must not be changed. as are those that it would have where the store has
// none that it belongs to; nil: those of NewDirectory, with the scope of this URL. O(labels of the host).
func (d *Directory) Rules(url string, as *store.Rules) (*store.Rules, error) {
	host := store.HostOf(url)
	for _, p := range d.prefixes[host] {
		if p.scope.Contains(url) {
			return p.rules, nil
		}
	}
	for name, more := host, true; more; _, name, more = strings.Cut(name, ".") {
		p, err := d.named(name)
		if err != nil {
			return nil, err
		}
		if p != nil && p.scope.Contains(url) {
			return p.rules, nil
		}
	}
	if as != nil {
		return as, nil
	}
	within, err := Within(d.defaults.Scope, url)
	if err != nil {
		return nil, err
	}
	if p := d.names[within]; p != nil {
		return p.rules, nil
	}
	rules := d.defaults
	rules.Within = within
	sc, err := New(&rules)
	if err != nil {
		return nil, err
	}
	p := &placed{sc, &rules}
	d.keep(within, p)
	return p.rules, nil
}

// Named returns the rules of the site of that name, of the store or with those of NewDirectory; nil: it has not met it.
func (d *Directory) Named(within string) (*store.Rules, error) {
	p, err := d.named(within)
	if p == nil {
		return nil, err
	}
	return p.rules, nil
}

// named returns the site of that name, nil if there is none.
func (d *Directory) named(name string) (*placed, error) {
	if p, ok := d.names[name]; ok {
		return p, nil
	}
	s, err := d.v.SiteNamed(name)
	var p *placed
	switch {
	case err == nil:
		var sc *Scope
		if sc, err = New(&s.Rules); err != nil {
			return nil, err
		}
		p = &placed{sc, &s.Rules}
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	d.keep(name, p)
	return p, nil
}

func (d *Directory) keep(name string, p *placed) {
	if len(d.names) >= mostNames {
		clear(d.names)
	}
	d.names[strings.Clone(name)] = p
}
