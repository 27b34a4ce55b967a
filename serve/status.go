package serve

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"forage/report"
	"forage/store"
)

type status struct {
	report.Totals
	Paused bool                 `json:"paused" doc:"nothing is fetched of any site, by hand"`
	Growth *report.Growth       `json:"growth" doc:"null: no site was adopted, or asked whether it may be"`
	BySite []*report.SiteCounts `json:"by_site" nullable:"false" doc:"sites of the store, also those that are not watched, in the order in which they came"`
	Next   *store.SiteID        `json:"next" doc:"as after, it gives the sites that come then; null: these were all"`
}

// status registers what is told of the whole service, and what is done with it.
func (s *server) status(api huma.API) {
	op := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/api/v1/" + path, Summary: summary, Tags: []string{"service"}}
	}
	huma.Register(api, op("get-status", http.MethodGet, "status", "How the service is, and what its store holds"), s.getStatus)
	huma.Register(api, op("list-hosts", http.MethodGet, "hosts", "The hosts that were asked: why and until when each waits"), s.listHosts)
	reload := op("reload", http.MethodPost, "reload", "Read the configuration file again")
	reload.Description = "One that is wrong leaves the one before in force: 422, with each mistake among the errors."
	reload.Errors = []int{http.StatusUnprocessableEntity}
	huma.Register(api, reload, s.reload)
	huma.Register(api, op("pause", http.MethodPost, "pause", "Fetch nothing of any site, until it is resumed"), func(ctx context.Context, _ *struct{}) (*paused, error) {
		return s.paused(s.Watch.Pause(ctx, ""))
	})
	huma.Register(api, op("resume", http.MethodPost, "resume", "End that pause"), func(ctx context.Context, _ *struct{}) (*paused, error) {
		return s.paused(s.Watch.Resume(ctx, ""))
	})
}

type paused struct {
	Body struct {
		Paused bool `json:"paused"`
	}
}

func (s *server) paused(err error) (*paused, error) {
	out := new(paused)
	out.Body.Paused = s.Watch.State().Paused
	return out, problem(err)
}

func (s *server) getStatus(ctx context.Context, in *struct {
	After int64 `query:"after" minimum:"0" maximum:"4294967294" doc:"of sites, only those after this number: next of the part before"`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"of sites"`
}) (*struct{ Body *status }, error) {
	st := &status{BySite: []*report.SiteCounts{}}
	err := s.read(func(v *store.View) error {
		totals, err := report.NewTotals(v)
		if err != nil {
			return err
		}
		st.Totals = *totals
		if st.Growth, err = report.NewGrowth(v); err != nil {
			return err
		}
		var failed error
		last := store.SiteID(in.After)
		err = v.SitesFrom(last+1, func(site *store.Site) bool {
			if len(st.BySite) == in.Limit {
				st.Next = &last
				return false
			}
			last = site.ID
			var row *report.SiteCounts
			if row, failed = report.NewSiteCounts(v, site); failed == nil {
				st.BySite = append(st.BySite, row)
			}
			return failed == nil
		})
		return errors.Join(err, failed)
	})
	state := s.Watch.State()
	st.Running, st.Paused = true, state.Paused
	if state.Wait != nil {
		why := state.Wait.Error()
		st.Waits = &why
	}
	return &struct{ Body *status }{st}, err
}

type hostList struct {
	Hosts []*report.Host `json:"hosts" nullable:"false"`
	Next  *string        `json:"next" doc:"as after, it gives what comes then; null: this was all. A part may be empty although there is more"`
}

func (s *server) listHosts(ctx context.Context, in *struct {
	After   string `query:"after" maxLength:"2048" doc:"only hosts after this name"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Waiting bool   `query:"waiting" doc:"only those that wait"`
}) (*struct{ Body *hostList }, error) {
	l, err := s.someHosts(in.After, in.Limit, in.Waiting)
	return &struct{ Body *hostList }{l}, err
}

// someHosts returns up to limit hosts after a name, those that wait alone if waiting is set.
func (s *server) someHosts(after string, limit int, waiting bool) (*hostList, error) {
	most := limit
	if waiting {
		most = maxHosts
	}
	l := &hostList{Hosts: []*report.Host{}}
	err := s.read(func(v *store.View) error {
		asked := s.Watch.Hosts(after, most)
		hosts, more, err := report.Hosts(v, after, asked, most, s.enough(), s.Now())
		for i, h := range hosts {
			if len(l.Hosts) == limit {
				hosts, more = hosts[:i], true
				break
			}
			if !waiting || h.Waits() {
				l.Hosts = append(l.Hosts, h)
			}
		}
		if more {
			l.Next = &hosts[len(hosts)-1].Host
		}
		return err
	})
	return l, err
}

// maxHosts is how many hosts one answer looks at for those that wait.
const maxHosts = 5000

type reloaded struct {
	Body struct {
		Sites int `json:"sites" doc:"that are watched now"`
	}
}

func (s *server) reload(ctx context.Context, _ *struct{}) (*reloaded, error) {
	out := new(reloaded)
	err := s.Watch.Reload(ctx)
	var wrong *FileError
	if errors.As(err, &wrong) {
		said := huma.Error422UnprocessableEntity("the configuration is as it was: the file is wrong").(*huma.ErrorModel)
		for _, m := range wrong.Mistakes {
			said.Errors = append(said.Errors, &huma.ErrorDetail{Message: m})
		}
		return nil, said
	}
	if err != nil {
		return nil, problem(err)
	}
	out.Body.Sites = len(s.Watch.Sites())
	return out, nil
}
