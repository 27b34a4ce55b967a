package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A State is what became of a queried node.
type State string

// The states. Only the degree of a complete node is known.
const (
	Complete  State = "complete"
	Truncated State = "truncated" // the list goes on: too many pages, or it does not advance
	Hidden    State = "hidden"    // not allowed, or neighbours declared and none listed
	Vanished  State = "vanished"  // 404 or 410
	Failed    State = "error"
	Open      State = "open" // observed, not queried
)

// A Neighbour is one entry of a list.
type Neighbour struct {
	ID         string            `json:"id"`
	Degree     int               `json:"degree"` // declared; -1: not told
	Attributes map[string]string `json:"attributes,omitempty"`
}

// An Answer is all that was found out about one node.
type Answer struct {
	State      State             `json:"state"`
	Declared   int               `json:"declared"` // degree that the API states; -1: none
	Neighbours []Neighbour       `json:"neighbours"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Requests   int               `json:"requests"`
	Warning    string            `json:"warning,omitempty"` // why it is not complete
	Raw        [][]byte          `json:"-"`                 // bodies, where Client.KeepRaw is set
}

// ErrBudget means that the requests or the time given are spent.
var ErrBudget = errors.New("the budget is spent")

// An AccessError means that the API lets nobody in with these credentials: 401.
type AccessError struct{ URL, Status, Env string }

func (e *AccessError) Error() string {
	hint := "the description names no auth"
	if e.Env != "" {
		hint = "is the token in " + e.Env + " valid?"
	}
	return fmt.Sprintf("%s: %s: %s", e.URL, e.Status, hint)
}

// A DescriptionError means that the answers are not as the description says.
type DescriptionError struct {
	URL string
	Err error
}

func (e *DescriptionError) Error() string { return fmt.Sprintf("%s: %v", e.URL, e.Err) }
func (e *DescriptionError) Unwrap() error { return e.Err }

// A Client asks an API as its description says. The zero values of the optional fields work.
// A Client is not safe for concurrent use.
type Client struct {
	Description *Description
	HTTP        *http.Client // its transport decides what may be connected to
	Agent       string       // User-Agent
	Token       string       // for Description.Auth; "": none
	MaxPages    int          // requests for one node's list; 0: no limit
	MaxRequests int          // in all; 0: no limit
	Deadline    time.Time    // zero: none
	KeepRaw     bool
	MaxBody     int64                                            // bytes of an answer; 0: 32 MiB
	Now         func() time.Time                                 // nil: time.Now
	Sleep       func(ctx context.Context, d time.Duration) error // nil: sleeps
	Warn        func(text string)                                // nil: nobody is told

	Requests int       // made so far; set it to go on with a budget
	free     time.Time // no request before
	proven   bool      // an answer was as described
}

func (c *Client) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

func (c *Client) warn(format string, args ...any) {
	if c.Warn != nil {
		c.Warn(fmt.Sprintf(format, args...))
	}
}

func (c *Client) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	if !c.Deadline.IsZero() && c.now().Add(d).After(c.Deadline) {
		return ErrBudget
	}
	if c.Sleep != nil {
		return c.Sleep(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Ask returns what the API tells of the node id. A node that cannot be had is an Answer with
// its State; an error means that no node can: the context's end, ErrBudget, *AccessError,
// *DescriptionError when the first answer is not as described. When the budget ends in the
// middle of a list, what is there comes with ErrBudget as a truncated answer.
func (c *Client) Ask(ctx context.Context, id string) (Answer, error) {
	a := Answer{State: Complete, Declared: -1}
	d := c.Description
	before := c.Requests
	finish := func(state State, warning string) Answer {
		a.State, a.Warning, a.Requests = state, warning, c.Requests-before
		return a
	}
	if d.Node != nil {
		r, err := c.get(ctx, expand(d.Node.URL, id, "", 0, 0))
		if err != nil {
			return finish(Truncated, err.Error()), err
		}
		if state, why, err := c.classify(r); err != nil || state != Complete {
			return finish(state, why), err
		}
		a.keep(c, r)
		a.Declared = count(r.doc, d.Node.Degree)
		a.attributes(r.doc, d.Node.Attributes)
	}
	seen := map[string]bool{id: true}
	for _, template := range d.URL {
		state, why, err := c.list(ctx, id, template, &a, seen)
		if err != nil || state != Complete {
			return finish(state, why), err
		}
	}
	if a.Declared > 0 && len(a.Neighbours) == 0 {
		return finish(Hidden, fmt.Sprintf("%d neighbours are declared, none is listed", a.Declared)), nil
	}
	return finish(Complete, ""), nil
}

// list adds the neighbours on all pages of one list to a.
func (c *Client) list(ctx context.Context, id, template string, a *Answer, seen map[string]bool) (State, string, error) {
	d := c.Description
	page, offset := 1, 0
	if d.FirstPage != nil {
		page = *d.FirstPage
	}
	numbered := strings.Contains(template, "{page}") || strings.Contains(template, "{offset}")
	at := expand(template, id, d.FirstCursor, page, offset)
	asked := map[string]bool{}
	last := ""
	for pages := 0; ; pages++ {
		if c.MaxPages > 0 && pages >= c.MaxPages {
			return Truncated, fmt.Sprintf("the list goes on after %d pages", pages), nil
		}
		if asked[at] {
			c.warn("node %s: the list does not advance: %s was asked before", id, at)
			return Truncated, "the list does not advance", nil
		}
		asked[at] = true
		r, err := c.get(ctx, at)
		if err != nil {
			return Truncated, err.Error(), err
		}
		if state, why, err := c.classify(r); err != nil || state != Complete {
			if pages > 0 && state != Failed {
				state = Truncated
			}
			return state, why, err
		}
		a.keep(c, r)
		if pages == 0 {
			if n := count(r.doc, d.Degree); n >= 0 {
				a.Declared = max(a.Declared, 0) + n
			}
			a.attributes(r.doc, d.Attributes)
		}
		listed, err := c.neighbours(r.doc)
		if err != nil {
			if !c.proven {
				return Failed, err.Error(), &DescriptionError{at, err}
			}
			return Failed, err.Error(), nil
		}
		c.proven = true
		fresh := 0
		var ids strings.Builder
		for _, u := range listed {
			ids.WriteString(u.ID)
			ids.WriteByte(0)
			if !seen[u.ID] {
				seen[u.ID] = true
				fresh++
				a.Neighbours = append(a.Neighbours, u)
			}
		}
		offset += len(listed)
		page++
		next, err := c.next(r, template, id, page, offset)
		if err != nil {
			return Failed, err.Error(), &DescriptionError{at, err}
		}
		if next == "" && numbered && d.Next == "" && r.link == "" && len(listed) > 0 && len(listed) >= d.PageSize {
			next = expand(template, id, d.FirstCursor, page, offset)
		}
		if d.More != "" && one(r.doc, d.More) == "false" {
			next = ""
		}
		if next != "" && len(listed) > 0 && fresh == 0 && ids.String() == last {
			if numbered && d.Next == "" {
				return Complete, "", nil // past its end the API repeats its last page
			}
			c.warn("node %s: the list does not advance: page %d repeats the one before", id, pages+1)
			return Truncated, "the list does not advance", nil
		}
		if next == "" {
			return Complete, "", nil
		}
		last, at = ids.String(), next
	}
}

// neighbours returns the entries on one page.
func (c *Client) neighbours(doc any) ([]Neighbour, error) {
	d := c.Description
	values, found := find(doc, d.Neighbours)
	if found != "" {
		return nil, &pointerError{"neighbours", d.Neighbours, found}
	}
	var entries []any
	for _, v := range values {
		switch v := v.(type) {
		case []any:
			entries = append(entries, v...)
		case nil:
		default:
			entries = append(entries, v)
		}
	}
	var listed []Neighbour
	for _, v := range entries {
		at := v
		if d.ID != nil {
			values, found := find(v, *d.ID)
			if len(values) == 0 {
				return nil, &pointerError{"id", *d.ID, found}
			}
			at = values[0]
		} else if m, ok := v.(map[string]any); ok {
			if at, ok = m["id"]; !ok {
				return nil, &pointerError{"id", "/id", "the object there has " + strings.Join(sortedNames(m), ", ")}
			}
		}
		id, ok := scalar(at)
		if !ok {
			return nil, fmt.Errorf("neighbours: want the id of a neighbour, a string or a number, got %s", show(at))
		}
		n := Neighbour{ID: id, Degree: count(v, d.NeighbourDegree)}
		for name, pointer := range d.NeighbourAttributes {
			if text := one(v, pointer); text != "" {
				if n.Attributes == nil {
					n.Attributes = map[string]string{}
				}
				n.Attributes[name] = text
			}
		}
		listed = append(listed, n)
	}
	return listed, nil
}

// next returns the URL of the page after r, "" where r is the last.
func (c *Client) next(r *reply, template, id string, page, offset int) (string, error) {
	d := c.Description
	cursor := r.link
	isURL := r.link != ""
	if d.Next != "" {
		cursor = one(r.doc, d.Next)
		if cursor == "" || cursor == "false" {
			return "", nil
		}
		isURL = strings.HasPrefix(cursor, "http://") || strings.HasPrefix(cursor, "https://") || cursor[0] == '/' || cursor[0] == '?'
	}
	if cursor == "" {
		return "", nil
	}
	if !isURL {
		if strings.Contains(template, "{cursor}") {
			return expand(template, id, cursor, page, offset), nil
		}
		if n, err := strconv.Atoi(cursor); err == nil && strings.Contains(template, "{page}") {
			return expand(template, id, "", n, offset), nil
		} else if err == nil && strings.Contains(template, "{offset}") {
			return expand(template, id, "", page, n), nil
		}
		u, err := url.Parse(expand(template, id, "", page, offset))
		if err != nil {
			return "", err
		}
		q := u.Query()
		q.Set(d.CursorParameter, cursor)
		u.RawQuery = q.Encode()
		return u.String(), nil
	}
	u, err := r.url.Parse(cursor)
	if err != nil {
		return "", fmt.Errorf("next: %q is no URL: %w", cursor, err)
	}
	if u.Host != r.url.Host || u.Scheme != r.url.Scheme {
		return "", fmt.Errorf("next: the answer leads from %s to %s, which is not followed", r.url.Host, u.Host)
	}
	return u.String(), nil
}

// expand fills a template. A query parameter that consists of an empty cursor is left out.
func expand(template, id, cursor string, page, offset int) string {
	path, query, hasQuery := strings.Cut(template, "?")
	fill := func(s string, escape func(string) string) string {
		return strings.NewReplacer("{id}", escape(id), "{cursor}", escape(cursor), "{page}", strconv.Itoa(page), "{offset}", strconv.Itoa(offset)).Replace(s)
	}
	out := fill(path, url.PathEscape)
	if !hasQuery {
		return out
	}
	var parts []string
	for part := range strings.SplitSeq(query, "&") {
		if cursor == "" && strings.HasSuffix(part, "={cursor}") {
			continue
		}
		parts = append(parts, fill(part, url.QueryEscape))
	}
	if len(parts) == 0 {
		return out
	}
	return out + "?" + strings.Join(parts, "&")
}

func (a *Answer) keep(c *Client, r *reply) {
	if c.KeepRaw {
		a.Raw = append(a.Raw, r.body)
	}
}

func (a *Answer) attributes(doc any, pointers map[string]string) {
	for name, pointer := range pointers {
		if text := one(doc, pointer); text != "" {
			if a.Attributes == nil {
				a.Attributes = map[string]string{}
			}
			a.Attributes[name] = text
		}
	}
}

// reply is one HTTP answer.
type reply struct {
	url    *url.URL
	status int
	text   string // of the status
	body   []byte
	doc    any
	link   string // rel=next
	err    error  // of the connection or the JSON
}

// classify tells what a reply says of the node. An error concerns all nodes.
func (c *Client) classify(r *reply) (State, string, error) {
	switch {
	case r.status == http.StatusUnauthorized:
		env := ""
		if c.Description.Auth != nil {
			env = c.Description.Auth.Env
		}
		return Failed, r.text, &AccessError{r.url.String(), r.text, env}
	case r.status == http.StatusNotFound, r.status == http.StatusGone:
		return Vanished, r.text, nil
	case r.status == http.StatusForbidden, r.status == http.StatusUnavailableForLegalReasons:
		return Hidden, r.text, nil
	case r.err != nil:
		if !c.proven && r.status == http.StatusOK {
			return Failed, r.err.Error(), &DescriptionError{r.url.String(), r.err}
		}
		return Failed, r.err.Error(), nil
	case r.status != http.StatusOK:
		return Failed, r.text, nil
	}
	return Complete, "", nil
}

// attempts is how often a request is made when the server has trouble; waits between them
// grow from one second. A rate limit is waited for as often.
const attempts = 4

// get makes a request, waiting as the description and the server ask for.
func (c *Client) get(ctx context.Context, address string) (*reply, error) {
	for try, limited := 0, 0; ; {
		if err := c.sleep(ctx, c.free.Sub(c.now())); err != nil {
			return nil, err
		}
		if c.MaxRequests > 0 && c.Requests >= c.MaxRequests || !c.Deadline.IsZero() && !c.now().Before(c.Deadline) {
			return nil, ErrBudget
		}
		c.Requests++
		r, header, err := c.once(ctx, address)
		if err != nil {
			return nil, err
		}
		now := c.now()
		if rate := c.Description.Rate; rate != nil {
			c.free = now.Add(time.Duration(rate.Per) / time.Duration(rate.Requests))
		}
		reset, spent := limit(header, now)
		if spent && reset.After(c.free) {
			c.free = reset
		}
		switch {
		case r.status == http.StatusTooManyRequests || r.status == http.StatusForbidden && spent || r.status == http.StatusServiceUnavailable && header.Get("Retry-After") != "":
			if limited++; limited > 2*attempts {
				r.err = fmt.Errorf("still %s after %d waits", r.text, limited-1)
				return r, nil
			}
			wait := retryAfter(header, now)
			if wait == 0 && !reset.After(now) {
				wait = time.Second << min(limited, 6)
			}
			if at := now.Add(wait); at.After(c.free) {
				c.free = at
			}
			if left := c.free.Sub(now); left >= 10*time.Second {
				c.warn("%s: waiting %s for the rate limit", r.url.Host, left.Round(time.Second))
			}
			continue
		case r.status == 0 || r.status >= 500:
			if try++; try < attempts {
				if err := c.sleep(ctx, time.Second<<(try-1)); err != nil {
					return nil, err
				}
				continue
			}
		}
		return r, nil
	}
}

// once makes one request; an error is the end of the context or a template that makes no URL.
func (c *Client) once(ctx context.Context, address string) (*reply, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", "application/json")
	if c.Agent != "" {
		req.Header.Set("User-Agent", c.Agent)
	}
	for name, value := range c.Description.Headers {
		req.Header.Set(name, value)
	}
	if auth := c.Description.Auth; auth != nil && c.Token != "" {
		name, value := auth.Header, auth.Value
		if name == "" {
			name = "Authorization"
		}
		if value == "" {
			value = "Bearer {token}"
		}
		req.Header.Set(name, strings.ReplaceAll(value, "{token}", c.Token))
	}
	r := &reply{url: req.URL}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		r.err, r.text = err, err.Error()
		return r, http.Header{}, nil
	}
	defer resp.Body.Close()
	size := c.MaxBody
	if size == 0 {
		size = 32 << 20
	}
	r.status, r.text, r.link = resp.StatusCode, resp.Status, nextLink(resp.Header)
	r.body, err = io.ReadAll(io.LimitReader(resp.Body, size+1))
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err != nil:
		r.status, r.err, r.text = 0, err, err.Error()
	case int64(len(r.body)) > size:
		r.err = fmt.Errorf("the answer is longer than %d bytes", size)
	case r.status == http.StatusOK:
		dec := json.NewDecoder(bytes.NewReader(r.body))
		dec.UseNumber()
		if err := dec.Decode(&r.doc); err != nil {
			kind := resp.Header.Get("Content-Type")
			switch {
			case len(bytes.TrimSpace(r.body)) == 0:
				err = errors.New("it is empty")
			case kind != "":
				err = fmt.Errorf("it is %s: %w", kind, err)
			}
			r.err = fmt.Errorf("the answer is no JSON: %w", err)
		}
	}
	return r, resp.Header, nil
}

// retryAfter returns the wait that the server asks for, 0 where it asks for none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 86400)) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(0, min(t.Sub(now), 24*time.Hour))
	}
	return 0
}

// limit reads the usual rate limit headers: whether nothing is left, and until when.
func limit(h http.Header, now time.Time) (reset time.Time, spent bool) {
	for _, prefix := range []string{"X-RateLimit-", "RateLimit-", "X-Rate-Limit-"} {
		left, err := strconv.Atoi(h.Get(prefix + "Remaining"))
		if err != nil || left > 0 {
			continue
		}
		text := h.Get(prefix + "Reset")
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			reset = at
		} else if n, err := strconv.ParseFloat(text, 64); err == nil && n > 1e9 {
			reset = time.Unix(int64(n), 0)
		} else if err == nil && n > 0 {
			reset = now.Add(time.Duration(n * float64(time.Second)))
		} else {
			continue
		}
		if reset.Sub(now) > 24*time.Hour {
			reset = now.Add(24 * time.Hour)
		}
		return reset, true
	}
	return time.Time{}, false
}

// nextLink returns the target with rel=next of the Link headers (RFC 8288).
func nextLink(h http.Header) string {
	for _, line := range h.Values("Link") {
		for rest := line; ; {
			i := strings.IndexByte(rest, '<')
			if i < 0 {
				break
			}
			j := strings.IndexByte(rest[i:], '>')
			if j < 0 {
				break
			}
			target := rest[i+1 : i+j]
			rest = rest[i+j+1:]
			parameters := rest
			if k := strings.IndexByte(rest, '<'); k >= 0 {
				parameters = rest[:k]
			}
			for p := range strings.SplitSeq(parameters, ";") {
				name, value, _ := strings.Cut(strings.Trim(p, " \t,"), "=")
				if strings.EqualFold(strings.TrimSpace(name), "rel") {
					for rel := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(value), `"`)) {
						if strings.EqualFold(rel, "next") {
							return target
						}
					}
				}
			}
		}
	}
	return ""
}
