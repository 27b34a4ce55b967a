// Package source queries live graphs: social networks, citation indexes, anything with a JSON
// API that lists the neighbours of a node.
//
// A Description says how an API is asked and where its answers hold what; ReadDescription
// reads one from a file, Preset gives those that come with the program. A Client asks for one
// node at a time and returns an Answer with its State. A Collection keeps answers on disk as
// they come, so that an interrupted exploration goes on where it stopped, and writes them as
// tables. Which node to ask for is not decided here.
//
// # Descriptions
//
// A description is a JSON object:
//
//	{
//	  "name": "example",
//	  "url": "https://api.example.org/users/{id}/friends?limit=100&cursor={cursor}",
//	  "neighbours": "/friends",
//	  "id": "/id",
//	  "next": "/paging/cursor",
//	  "degree": "/total",
//	  "attributes": {"name": "/user/name"},
//	  "rate": {"requests": 300, "per": "5m"},
//	  "auth": {"env": "EXAMPLE_TOKEN", "header": "Authorization", "value": "Bearer {token}"}
//	}
//
// Only url is required. Members:
//
//   - url: a template, or a list of templates whose answers are joined (followers and
//     following). {id} is the node, escaped as the place in the URL needs; {host} the host
//     given on the command line; {cursor} what next holds, first_cursor (default: empty, and
//     the query parameter is left out) in the first request; {page} a page number from
//     first_page (default 1); {offset} the number of neighbours listed so far.
//   - neighbours: JSON pointer (RFC 6901) to the neighbours; the segment * stands for every
//     element of an array and every member of an object. It may point at an array, or with *
//     at the ids themselves. Default: the whole answer.
//   - id: pointer from one neighbour to its id. Default: the neighbour itself where it is a
//     string or a number, else its member id.
//   - next: pointer to the next page: an absolute or relative URL, or a cursor or page number,
//     which takes the place of {cursor} or {page}, or is added as the query parameter
//     cursor_parameter (default "cursor") where the template has neither. null, "", false and
//     absence end the list. A Link header with rel="next" is followed where next is not given.
//   - more: pointer to a boolean: false ends the list.
//   - page_size: neighbours on a full page; with {page} or {offset} a shorter page ends the
//     list. Without it the first empty page does, or the first that repeats the one before.
//   - degree: pointer to the number of neighbours that the API declares for the node.
//   - neighbour_degree: pointer from a neighbour to the degree declared for it.
//   - attributes: names and pointers into the first answer, for nodes.csv;
//     neighbour_attributes: the same from a neighbour.
//   - node: an object with url, degree, attributes: a request of its own, made before the
//     list, for what the list does not tell.
//   - headers: sent with every request. auth: the environment variable env gives {token}; where
//     it is not set, requests go without, unless required is true.
//   - rate: at most requests per duration. Rate limit headers, 429 and Retry-After are obeyed
//     in any case.
//   - directed: true where the list is of out-links only, and a link back is not implied.
package source

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// A Description tells how to ask an API for the neighbours of a node; see the package comment.
type Description struct {
	Name                string            `json:"name"`
	URL                 list              `json:"url"`
	Neighbours          string            `json:"neighbours"`
	ID                  *string           `json:"id"`
	Next                string            `json:"next"`
	More                string            `json:"more"`
	FirstCursor         string            `json:"first_cursor"`
	CursorParameter     string            `json:"cursor_parameter"`
	FirstPage           *int              `json:"first_page"`
	PageSize            int               `json:"page_size"`
	Degree              string            `json:"degree"`
	NeighbourDegree     string            `json:"neighbour_degree"`
	Attributes          map[string]string `json:"attributes"`
	NeighbourAttributes map[string]string `json:"neighbour_attributes"`
	Node                *NodeDocument     `json:"node"`
	Headers             map[string]string `json:"headers"`
	Auth                *Auth             `json:"auth"`
	Rate                *Rate             `json:"rate"`
	Directed            bool              `json:"directed"`
}

// NodeDocument is a request for the node itself.
type NodeDocument struct {
	URL        string            `json:"url"`
	Degree     string            `json:"degree"`
	Attributes map[string]string `json:"attributes"`
}

// Auth says where a token comes from and how it is sent.
type Auth struct {
	Env      string `json:"env"`    // environment variable with the token
	Header   string `json:"header"` // default Authorization
	Value    string `json:"value"`  // default "Bearer {token}"
	Required bool   `json:"required"`
}

// Rate is a limit on requests.
type Rate struct {
	Requests int      `json:"requests"`
	Per      Duration `json:"per"`
}

// A Duration is written as "5m" or as a number of seconds.
type Duration time.Duration

// UnmarshalJSON reads "5m" or 300.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		v, err := time.ParseDuration(text)
		*d = Duration(v)
		return err
	}
	var seconds float64
	if err := json.Unmarshal(b, &seconds); err != nil {
		return fmt.Errorf("want a duration such as \"5m\" or a number of seconds, got %s", b)
	}
	*d = Duration(seconds * float64(time.Second))
	return nil
}

// list is one string or several.
type list []string

func (l *list) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = list{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

//go:embed presets
var presets embed.FS

// Presets returns the names of the descriptions that come with the program.
func Presets() []string {
	entries, err := fs.ReadDir(presets, "presets")
	if err != nil {
		panic(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

// Describe returns the description called name: a file, or NAME or NAME:HOST of a preset. An error
// names the file, and the place in it where there is one.
func Describe(name string) (*Description, error) {
	preset, host, _ := strings.Cut(name, ":")
	if slices.Contains(Presets(), preset) {
		text, err := presets.ReadFile("presets/" + preset + ".json")
		if err != nil {
			return nil, err
		}
		d, err := ReadDescription(text, host)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return d, nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w; the presets are %s", name, fs.ErrNotExist, strings.Join(Presets(), " "))
	} else if err != nil {
		return nil, err
	}
	d, err := ReadDescription(text, "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// ReadDescription reads and checks a description; host takes the place of {host} in it.
func ReadDescription(text []byte, host string) (*Description, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var d Description
	if err := dec.Decode(&d); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(text[:syntax.Offset], []byte("\n")), err)
		}
		return nil, err
	}
	if len(d.URL) == 0 {
		return nil, errors.New("url is missing: want a template with {id}")
	}
	needHost := false
	fill := func(member string, t *string) error {
		if strings.Contains(*t, "{host}") {
			needHost = true
			*t = strings.ReplaceAll(*t, "{host}", host)
		}
		if !strings.Contains(*t, "{id}") {
			return fmt.Errorf("%s: %q holds no {id}", member, *t)
		}
		probe := *t
		for _, place := range []string{"{id}", "{cursor}", "{page}", "{offset}"} {
			probe = strings.ReplaceAll(probe, place, "0")
		}
		if i := strings.IndexByte(probe, '{'); i >= 0 {
			return fmt.Errorf("%s: %q: the places are {id} {cursor} {page} {offset} {host}", member, *t)
		}
		u, err := url.Parse(probe)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			if needHost && host == "" {
				return errors.New("needs a host: NAME:HOST")
			}
			return fmt.Errorf("%s: want an http or https URL, got %q", member, *t)
		}
		return nil
	}
	for i := range d.URL {
		if err := fill("url", &d.URL[i]); err != nil {
			return nil, err
		}
	}
	if d.Node != nil {
		if err := fill("node.url", &d.Node.URL); err != nil {
			return nil, err
		}
	}
	if host != "" && !needHost {
		return nil, fmt.Errorf("takes no host, got %q", host)
	}
	pointers := map[string]string{"neighbours": d.Neighbours, "next": d.Next, "more": d.More, "degree": d.Degree, "neighbour_degree": d.NeighbourDegree}
	if d.ID != nil {
		pointers["id"] = *d.ID
	}
	for k, p := range d.Attributes {
		pointers["attributes."+k] = p
	}
	for k, p := range d.NeighbourAttributes {
		pointers["neighbour_attributes."+k] = p
	}
	if d.Node != nil {
		pointers["node.degree"] = d.Node.Degree
		for k, p := range d.Node.Attributes {
			pointers["node.attributes."+k] = p
		}
	}
	for member, p := range pointers {
		if p != "" && p[0] != '/' {
			return nil, fmt.Errorf("%s: %q is no JSON pointer: it begins with /", member, p)
		}
	}
	if r := d.Rate; r != nil && (r.Requests < 1 || r.Per <= 0) {
		return nil, errors.New("rate: want requests of at least 1 and per above 0")
	}
	if d.Auth != nil && d.Auth.Env == "" {
		return nil, errors.New("auth: env, the environment variable with the token, is missing")
	}
	if d.PageSize < 0 {
		return nil, errors.New("page_size: want at least 0")
	}
	if d.CursorParameter == "" {
		d.CursorParameter = "cursor"
	}
	return &d, nil
}

// Hosts returns the hosts that the description names, with their ports.
func (d *Description) Hosts() []string {
	var hosts []string
	all := slices.Clone(d.URL)
	if d.Node != nil {
		all = append(all, d.Node.URL)
	}
	for _, t := range all {
		if u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(t)); err == nil && !slices.Contains(hosts, u.Host) {
			hosts = append(hosts, u.Host)
		}
	}
	return hosts
}
