package sample

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"forage/explore"
	"forage/fetch"
	"forage/graph"
	"forage/source"
)

// maxFailures is how many queries in a row may fail before an exploration gives up.
const maxFailures = 20

// A Config tells what a live exploration explores, and what it may spend.
type Config struct {
	Dir      string        // the folder for what is collected
	Key      []byte        // names and texts are replaced by hashes with it; nil: kept
	Source   string        // as the user names it: part of the settings of the folder
	Client   source.Client // Description, HTTP, Agent, Token, MaxPages, MaxRequests and KeepRaw are the caller's to set
	Start    string        // id of the node to begin with
	Policy   string        // of explore.New
	Seed     uint64        // of all chance
	Directed bool          // answers list out-links only
	Budget   int           // queries, those of earlier sessions included; 0: no limit
	Time     time.Duration // from now on; 0: no limit
	Warn     func(string)  // told what a person should know; not nil
}

// A Live is an exploration of a live source. It is not safe for concurrent use.
type Live struct {
	c          Config
	fresh      bool // the folder was not there
	policy     explore.Policy
	collection *source.Collection
	budget     int // of requests, as the manifest tells it

	held        []graph.Node // handed out by the policy, not asked for yet
	earlier     int          // requests of earlier sessions
	first, last time.Time
	warnings    []string
}

// Open opens an exploration: a new one, or, where the folder holds one with the same settings, that
// one after its last query. The caller must close it.
func Open(c Config) (*Live, error) {
	p, err := explore.New(c.Policy, explore.Config{Rand: rand.New(rand.NewPCG(c.Seed, 1)), Budget: c.Budget, Directed: c.Directed, MaxCost: c.Client.MaxPages})
	if err != nil {
		return nil, err
	}
	_, missing := os.Stat(c.Dir)
	settings := source.Settings{"source": c.Source, "start": c.Start, "policy": c.Policy, "seed": c.Seed, "directed": c.Directed}
	collection, records, err := source.OpenCollection(c.Dir, c.Key, settings)
	if err != nil {
		return nil, err
	}
	l := &Live{c: c, fresh: errors.Is(missing, fs.ErrNotExist), policy: p, collection: collection, budget: c.Client.MaxRequests}
	l.c.Client.Warn = c.Warn
	if c.Time > 0 {
		l.c.Client.Deadline = time.Now().Add(c.Time)
	}
	p.Observe(graph.None, []graph.Node{collection.Number(c.Start)})
	for i := range records {
		l.replay(&records[i])
	}
	if len(records) > 0 {
		c.Warn(fmt.Sprintf("%s holds %d queries already: going on", c.Dir, len(records)))
	}
	return l, nil
}

// Close ends the use of the folder.
func (l *Live) Close() error { return l.collection.Close() }

// Discard closes an exploration that has no answer yet, and leaves the folder as it was found.
func (l *Live) Discard() {
	l.Close()
	if l.fresh {
		os.RemoveAll(l.c.Dir)
	} else {
		os.Remove(filepath.Join(l.c.Dir, "journal.jsonl"))
	}
}

// Start returns the name of the start node as the tables show it.
func (l *Live) Start() string { return l.collection.Pseudonym(l.c.Start) }

// Queries returns how many nodes were queried, in earlier sessions too.
func (l *Live) Queries() int { return l.collection.Queries() }

// Observed returns how many nodes are observed.
func (l *Live) Observed() int { return l.collection.Observed() }

// Requests returns how many requests the queries took, in earlier sessions too.
func (l *Live) Requests() int { return l.earlier + l.c.Client.Requests }

// States counts the nodes by state.
func (l *Live) States() map[source.State]int { return l.collection.States() }

// Run queries nodes until the budget is spent, no node is left, ctx ends or the source fails. Every
// answer is in the journal before the next query. A *source.DescriptionError says that the answers
// are not as the description says.
func (l *Live) Run(ctx context.Context) error {
	failures := 0
	told := time.Now()
	for l.c.Budget == 0 || l.Queries() < l.c.Budget {
		if l.c.Client.MaxRequests < 0 {
			return nil
		}
		v, ok := l.next()
		if !ok {
			l.c.Warn(fmt.Sprintf("all %d nodes that can be reached are queried", l.Observed()))
			return nil
		}
		r := source.Record{ID: l.collection.Name(v)}
		var err error
		r.Answer, err = l.c.Client.Ask(ctx, r.ID)
		r.Time = time.Now().UTC().Truncate(time.Second)
		spent := errors.Is(err, source.ErrBudget)
		switch {
		case spent && len(r.Answer.Neighbours) == 0:
			return nil
		case err != nil && !spent:
			return err
		}
		out, err := l.collection.Append(&r)
		if err != nil {
			return err
		}
		l.observe(v, &r, out)
		if spent {
			return nil
		}
		if failures++; r.Answer.State != source.Failed {
			failures = 0
		}
		switch {
		case failures >= maxFailures:
			return fmt.Errorf("%d queries in a row failed, the last: %s", failures, r.Answer.Warning)
		case l.Queries() == 1 && len(out) == 0:
			l.c.Warn(fmt.Sprintf("the start node is %s and lists no neighbours: %s", r.Answer.State, r.Answer.Warning))
			if r.Answer.State == source.Failed {
				return errors.New(r.Answer.Warning)
			}
		case time.Since(told) >= 10*time.Second:
			told = time.Now()
			l.c.Warn(fmt.Sprintf("%d queries, %d requests, %d nodes observed", l.Queries(), l.Requests(), l.Observed()))
		}
	}
	return nil
}

// Write makes the tables and the manifest of the folder from the journal; complete tells whether
// Run ended without an error.
func (l *Live) Write(complete bool) error {
	return l.collection.Write(map[string]any{
		"version": 1, "source": l.c.Source, "description": l.c.Client.Description.Name, "policy": l.c.Policy, "seed": l.c.Seed, "start": l.Start(), "directed": l.c.Directed,
		"budget":   map[string]any{"nodes": l.c.Budget, "requests": l.budget, "time": l.c.Time.String(), "max_pages_per_node": l.c.Client.MaxPages},
		"queries":  l.Queries(),
		"requests": l.Requests(), "observed": l.Observed(), "states": l.States(),
		"pseudonymized": l.c.Key != nil, "first_query": l.first, "last_query": l.last, "warnings": l.warnings,
		"complete": complete,
	}, steps(l.policy))
}

// next returns the node to query: one that the policy handed out before the interruption, or its
// next.
func (l *Live) next() (v graph.Node, ok bool) {
	if len(l.held) > 0 {
		v, l.held = l.held[0], l.held[1:]
		return v, true
	}
	return l.policy.Next()
}

// replay takes a record of an earlier session into the policy, which makes the same choices
// again: it goes on as if it had never stopped.
func (l *Live) replay(r *source.Record) {
	v := l.collection.Number(r.ID)
	if u, ok := l.policy.Next(); ok && u != v {
		l.held = append(l.held, u)
	}
	for i, u := range l.held {
		if u == v {
			l.held = append(l.held[:i], l.held[i+1:]...)
			break
		}
	}
	l.earlier += r.Answer.Requests
	l.c.Client.MaxRequests = l.left(r.Answer.Requests)
	l.observe(v, r, l.collection.Enter(r))
}

// left is the budget of requests after more were spent; a budget that is spent stays one.
func (l *Live) left(spent int) int {
	if l.c.Client.MaxRequests == 0 {
		return 0
	}
	if left := l.c.Client.MaxRequests - spent; left > 0 {
		return left
	}
	return -1
}

// observe tells the policy of an answer. What queries cost is told only where requests or time are
// what is spent.
func (l *Live) observe(v graph.Node, r *source.Record, out []graph.Node) {
	l.policy.Observe(v, out)
	if o, ok := l.policy.(explore.DegreeObserver); ok {
		for i, u := range r.Answer.Neighbours {
			if u.Degree >= 0 {
				o.ObserveDegree(out[i], u.Degree)
			}
		}
	}
	if o, ok := l.policy.(explore.CostObserver); ok && (l.budget > 0 || l.c.Time > 0) {
		o.ObserveCost(v, len(out), r.Answer.Requests)
	}
	if l.first.IsZero() {
		l.first = r.Time
	}
	l.last = r.Time
	if r.Answer.Warning != "" && len(l.warnings) < 100 {
		l.warnings = append(l.warnings, l.collection.Pseudonym(r.ID)+": "+string(r.Answer.State)+": "+r.Answer.Warning)
	}
}

// HTTPClient returns a client that connects to public addresses, and to others where the
// description names them or allow does; it stays on the hosts of the description. An answer may
// take two minutes.
func HTTPClient(d *source.Description, allow []netip.Prefix) *http.Client {
	for _, h := range d.Hosts() {
		name, _, err := net.SplitHostPort(h)
		if err != nil {
			name = strings.Trim(h, "[]")
		}
		if name == "localhost" {
			allow = append(allow, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
		} else if a, err := netip.ParseAddr(name); err == nil {
			allow = append(allow, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	t := &http.Transport{
		DialContext:           fetch.Dialer(allow).DialContext,
		TLSHandshakeTimeout:   30 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		ForceAttemptHTTP2:     true,
		IdleConnTimeout:       time.Minute,
	}
	return &http.Client{Transport: t, Timeout: 2 * time.Minute, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != via[0].URL.Host {
			return fmt.Errorf("redirected from %s to %s, which is not followed", via[0].URL.Host, r.URL.Host)
		}
		if len(via) >= 5 {
			return errors.New("redirected more than 5 times")
		}
		return nil
	}}
}
