package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"forage/store"
)

// siteRecord is what is told of a site that is watched.
type siteRecord struct {
	Site     string     `json:"site" doc:"its name, which stands in paths, escaped"`
	Settings Settings   `json:"settings"`
	ReadOnly bool       `json:"read_only" doc:"it stands in the configuration file, and is changed there"`
	Paused   bool       `json:"paused"`
	Running  bool       `json:"running" doc:"a cycle, or its first visit, is under way"`
	Due      *time.Time `json:"due" doc:"when the next cycle is to begin; null: it is not known"`
	Late     int64      `json:"late" doc:"cycles that began late, since the service started"`
	Skipped  int64      `json:"skipped" doc:"cycles left out because the one before was still running, since the service started"`

	State   *string `json:"state" doc:"crawling, done, paused or failed; null: it has not begun"`
	Reason  *string `json:"reason"`
	Pages   int64   `json:"pages"`
	New     int64   `json:"new"`
	Gone    int64   `json:"gone"`
	Queued  int64   `json:"queued"`
	Failed  int64   `json:"failed"`
	Fetches int64   `json:"fetches"`
	Errors  int64   `json:"errors"`
	Bytes   int64   `json:"bytes"`
}

type siteList struct {
	Sites []*siteRecord `json:"sites" nullable:"false"`
	Next  *string       `json:"next" doc:"as after, it gives what comes then; null: this was all"`
}

// A SiteIn names a site. It is exported as huma reads no other embedded fields.
type SiteIn struct {
	Site string `path:"site" maxLength:"2048" doc:"its name, escaped: a%2Fb"`
}

type siteOut struct{ Body *siteRecord }

// sites registers what is told of sites that are watched, and what is done with them.
func (s *server) sites(api huma.API) {
	op := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/api/v1/sites" + path, Summary: summary, Tags: []string{"sites"}, MaxBodyBytes: maxBody}
	}
	huma.Register(api, op("list-sites", "GET", "", "The sites that are watched, by name"), s.listSites)
	add := op("add-sites", "POST", "", "Watch a site, or a list of them: all or none")
	add.DefaultStatus, add.SkipValidateBody = http.StatusCreated, true // it may be a list; Watch.Add judges
	settings := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Settings](), true, "Settings")
	add.RequestBody = &huma.RequestBody{Required: true}
	huma.Register(api, add, s.addSites)
	add.RequestBody.Content = map[string]*huma.MediaType{ // in place of bytes of any kind
		"application/json": {Schema: settings},
		"text/uri-list":    {Schema: &huma.Schema{Type: huma.TypeString, MinLength: new(1), Description: "a URL on each line; lines that begin with # do not count"}},
	}
	huma.Register(api, op("get-site", "GET", "/{site}", "A site"), func(ctx context.Context, in *SiteIn) (*siteOut, error) {
		return s.siteOut(s.Watch.Site(in.Site))
	})
	change := op("change-site", "PATCH", "/{site}", "Change settings: those that are given; null stands for the default")
	change.SkipValidateBody = true // Watch.Change judges what the settings are by then
	change.RequestBody = &huma.RequestBody{Required: true}
	huma.Register(api, change, s.changeSite)
	change.RequestBody.Content = map[string]*huma.MediaType{
		"application/json":             {Schema: patchOf(api.OpenAPI().Components.Schemas.SchemaFromRef(settings.Ref))},
		"application/merge-patch+json": {Schema: patchOf(api.OpenAPI().Components.Schemas.SchemaFromRef(settings.Ref))},
	}
	remove := op("remove-site", "DELETE", "/{site}", "Watch a site no more; what is known of it stays")
	huma.Register(api, remove, func(ctx context.Context, in *SiteIn) (*struct{}, error) {
		return nil, problem(s.Watch.Remove(ctx, in.Site))
	})
	cycle := op("start-cycle", "POST", "/{site}/cycles", "Begin a cycle now")
	cycle.DefaultStatus = http.StatusAccepted
	huma.Register(api, cycle, func(ctx context.Context, in *struct {
		SiteIn
		Body *struct {
			Full bool `json:"full,omitempty" nullable:"true" doc:"fetch every document that is known"`
		} `required:"false"`
	}) (*siteOut, error) {
		full := in.Body != nil && in.Body.Full
		if err := s.Watch.Cycle(ctx, in.Site, full); err != nil {
			return nil, problem(err)
		}
		return s.siteOut(s.Watch.Site(in.Site))
	})
	for name, act := range map[string]func(context.Context, string) error{"pause": s.Watch.Pause, "resume": s.Watch.Resume} {
		huma.Register(api, op(name+"-site", "POST", "/{site}/"+name, map[string]string{"pause": "Fetch nothing of a site, until it is resumed", "resume": "End a pause"}[name]),
			func(ctx context.Context, in *SiteIn) (*siteOut, error) {
				if err := act(ctx, in.Site); err != nil {
					return nil, problem(err)
				}
				return s.siteOut(s.Watch.Site(in.Site))
			})
	}
}

// patchOf is the schema of what changes an object of a schema: any of its keys, and null for any.
func patchOf(of *huma.Schema) *huma.Schema {
	p := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Properties: map[string]*huma.Schema{}, Description: "settings as in the site (a merge patch, RFC 7396)"}
	for key, value := range of.Properties {
		nullable := *value
		nullable.Nullable = true
		p.Properties[key] = &nullable
	}
	return p
}

// siteOut is a site as an answer.
func (s *server) siteOut(site Site, err error) (*siteOut, error) {
	if err != nil {
		return nil, problem(err)
	}
	var out *siteRecord
	err = s.read(func(v *store.View) (err error) {
		out, err = newSiteRecord(v, &site)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &siteOut{out}, nil
}

// newSiteRecord returns what is told of a site. One that was just added may not be in the store.
func newSiteRecord(v *store.View, site *Site) (*siteRecord, error) {
	r := &siteRecord{
		Site: site.Name, Settings: site.Settings, ReadOnly: site.ReadOnly, Paused: site.Paused, Running: site.Running, Late: site.Late, Skipped: site.Skipped,
	}
	if !site.Due.IsZero() {
		due := site.Due.UTC().Truncate(time.Second)
		r.Due = &due
	}
	known, err := v.SiteNamed(site.Name)
	if errors.Is(err, store.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := v.Counters(known.ID)
	if err != nil {
		return nil, err
	}
	state := string(known.State)
	r.State = &state
	if known.Reason != "" {
		r.Reason = &known.Reason
	}
	r.Pages, r.New, r.Gone, r.Queued, r.Failed = c.Distinct, c.New, c.Gone, c.Queued(), c.State[store.Failed]
	r.Fetches, r.Errors, r.Bytes = c.Fetches, c.Errors, c.Bytes
	return r, nil
}

type listSitesIn struct {
	After string `query:"after" maxLength:"2048" doc:"only sites after this name"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *server) listSites(ctx context.Context, in *listSitesIn) (*struct{ Body *siteList }, error) {
	l := &siteList{Sites: []*siteRecord{}}
	err := s.read(func(v *store.View) error {
		for _, site := range s.Watch.Sites() {
			if site.Name <= in.After {
				continue
			}
			if len(l.Sites) == in.Limit {
				l.Next = &l.Sites[in.Limit-1].Site
				return nil
			}
			r, err := newSiteRecord(v, &site)
			if err != nil {
				return err
			}
			l.Sites = append(l.Sites, r)
		}
		return nil
	})
	return &struct{ Body *siteList }{l}, err
}

func (s *server) addSites(ctx context.Context, in *struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}) (*struct{ Body *siteList }, error) {
	var add []Settings
	switch mediaType(in.ContentType) {
	case "text/uri-list":
		for line := range strings.Lines(string(in.RawBody)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				add = append(add, Settings{URL: line})
			}
		}
		if len(add) == 0 {
			return nil, huma.Error400BadRequest("there is no URL in the list")
		}
	case "application/json", "":
		one, err := decodeSettings(in.RawBody)
		if err != nil {
			return nil, err
		}
		add = []Settings{*one}
	default:
		return nil, huma.Error415UnsupportedMediaType(fmt.Sprintf("Content-Type %q: want application/json or text/uri-list", in.ContentType))
	}
	added, err := s.Watch.Add(ctx, add)
	if err != nil {
		return nil, problem(err)
	}
	l := &siteList{Sites: []*siteRecord{}}
	err = s.read(func(v *store.View) error {
		for _, site := range added {
			r, err := newSiteRecord(v, &site)
			if err != nil {
				return err
			}
			l.Sites = append(l.Sites, r)
		}
		return nil
	})
	return &struct{ Body *siteList }{l}, err
}

// mediaType is a Content-Type without what follows it.
func mediaType(header string) string {
	kind, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// decodeSettings reads the settings of a site.
func decodeSettings(b []byte) (*Settings, error) {
	s := new(Settings)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, huma.Error400BadRequest(fmt.Sprintf("settings of a site: %v", err))
	}
	if d.More() {
		return nil, huma.Error400BadRequest("settings of a site: more than one value")
	}
	return s, nil
}

// settingKeys are the keys of Settings.
var settingKeys = func() map[string]bool {
	keys := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Settings]()) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys[key] = true
	}
	return keys
}()

// changeSite puts what is given in place of what a site has, by RFC 7396: settings hold no objects.
func (s *server) changeSite(ctx context.Context, in *struct {
	SiteIn
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}) (*siteOut, error) {
	if kind := mediaType(in.ContentType); kind != "" && kind != "application/json" && kind != "application/merge-patch+json" {
		return nil, huma.Error415UnsupportedMediaType(fmt.Sprintf("Content-Type %q: want application/json", in.ContentType))
	}
	s.changes.Lock()
	defer s.changes.Unlock()
	site, err := s.Watch.Site(in.Site)
	if err != nil {
		return nil, problem(err)
	}
	var patch map[string]json.RawMessage
	if err := json.Unmarshal(in.RawBody, &patch); err != nil || patch == nil {
		return nil, huma.Error400BadRequest("want a JSON object with the settings to change")
	}
	now, err := json.Marshal(site.Settings)
	if err != nil {
		return nil, err
	}
	var merged map[string]json.RawMessage
	if err := json.Unmarshal(now, &merged); err != nil {
		return nil, err
	}
	for key, value := range patch {
		if !settingKeys[key] { // in other letters it would lose to the one that is there
			return nil, huma.Error400BadRequest(fmt.Sprintf("settings of a site: unknown field %q", key))
		}
		merged[key] = value // null decodes as the zero value, which is the default
	}
	text, err := json.Marshal(merged)
	if err != nil {
		return nil, err
	}
	settings, err := decodeSettings(text)
	if err != nil {
		return nil, err
	}
	return s.siteOut(s.Watch.Change(ctx, in.Site, *settings))
}
