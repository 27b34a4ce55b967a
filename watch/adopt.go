package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"forage/crawl"
	"forage/crawl/scope"
	"forage/store"
)

// adoptEvery is how long it takes at least from one look for sites to adopt to the next: each reads all links of the store.
const adoptEvery = 10 * time.Minute

// grow has the crawl look for sites to adopt, where it may and something was visited since it looked last. mu is held.
func (s *Service) grow(ctx context.Context, now time.Time, visits chan<- error) {
	c := s.config
	if c.Adopt == 0 || !s.visited || s.growing || s.hold != nil || s.ending || s.kept[""].Paused || now.Sub(s.looked) < adoptEvery {
		return
	}
	s.visited, s.growing, s.looked = false, true, now
	s.out++
	go func() { visits <- s.adopt(ctx, c) }()
}

// adopt takes on the next sites, which are watched from now on by the defaults of the file, as those that Add adds. The error is that of a
// store that is broken.
func (s *Service) adopt(ctx context.Context, c *Config) error {
	seeds, refused, err := s.Crawl.Adopt(ctx, crawl.Growth{Most: c.Adopt, Rules: c.adopted, Keep: func(db *store.DB, seed scope.Seed) error {
		settings, err := settingsOf(&seed)
		if err != nil {
			return err
		}
		record, err := json.Marshal(kept{Settings: settings})
		if err != nil {
			return err
		}
		return db.PutWatched(seed.Rules.Within, record)
	}}, crawl.Options{Log: s.Log})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.growing = false
	if ctx.Err() != nil || errors.Is(err, crawl.ErrHandedBack) {
		err = nil
	}
	for _, no := range refused {
		s.Log.Info("not adopted", "host", no.Host, "reason", no.Why, "found on", no.From)
	}
	for i := range seeds {
		seed := &seeds[i]
		settings, e := settingsOf(seed)
		err = errors.Join(err, e)
		s.kept[seed.Rules.Within] = kept{Settings: settings}
		s.Log.Info("adopted", "site", seed.Rules.Within, "found on", seed.Adopted.From)
	}
	if len(seeds) > 0 && err == nil {
		err = s.settle(s.config)
		s.stir()
	}
	return err
}

// adopted returns the rules of a site that is adopted, whoever links to it.
func (c *Config) adopted(url string, _ *store.Site) (store.Rules, error) {
	settings, err := json.Marshal(map[string]string{"url": url})
	if err != nil {
		return store.Rules{}, err
	}
	site, err := c.Site(settings)
	if err != nil {
		return store.Rules{}, fmt.Errorf("%w: %w", crawl.ErrKeptOut, err)
	}
	return site.Rules, nil
}

// settingsOf are the settings, as Add takes them, of a site that was adopted: the defaults with what is different for it.
func settingsOf(seed *scope.Seed) (json.RawMessage, error) {
	return json.Marshal(struct {
		URL         string `json:"url"`
		Scope       string `json:"scope"`
		Robots      string `json:"robots"`
		FirstBudget int    `json:"first_budget"`
	}{seed.URL, seed.Rules.Scope, "obey", seed.Rules.Budget})
}
