package main

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
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"forage/explore"
	"forage/fetch"
	"forage/graph"
	"forage/source"
)

// live are the flags of an exploration of a live source.
type live struct {
	source       string
	dir          string
	requests     int
	time         time.Duration
	pages        int
	raw          bool
	pseudonymize string
	private      []string
	contact      string
}

func (l *live) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.source, "source", "", "explore a live API instead: "+strings.Join(source.Presets(), ", ")+" (with :HOST where it needs one) or a FILE.json that describes it")
	f.StringVarP(&l.dir, "output", "o", "", "folder for the sample: nodes, arcs, steps; live: where it holds some already, the exploration goes on")
	f.IntVar(&l.requests, "budget-requests", 0, "live: requests in all (0: no limit)")
	f.DurationVar(&l.time, "budget-time", 0, "live: time from now (0: no limit)")
	f.IntVar(&l.pages, "max-pages-per-node", 0, "live: requests for one list (0: no limit); a node with more is truncated")
	f.BoolVar(&l.raw, "raw", false, "live: keep the answers as they came")
	f.StringVar(&l.pseudonymize, "pseudonymize", "", "live: replace names and texts by hashes with the key in this file")
	f.StringSliceVar(&l.private, "allow-private", nil, "live: address ranges that a name may lead to although they are not public; addresses that the description names are allowed")
	f.StringVar(&l.contact, "contact", "", "live: URL or mail address where the operator can be reached")
}

// maxFailures is how many queries in a row may fail before an exploration gives up.
const maxFailures = 20

// live explores an API.
func (f *exploreFlags) live(cmd *cobra.Command) error {
	l := &f.of
	switch {
	case f.start == "":
		return usagef("--source wants --start ID, the node to begin with")
	case l.dir == "":
		return usagef("--source wants -o DIR, a folder for what is collected")
	case cmd.Flags().Changed("budget") && f.budget.isPct:
		return usagef("--budget %s: nobody knows how many nodes there are; want a number", f.budget.text)
	case !cmd.Flags().Changed("budget") && l.requests == 0 && l.time == 0:
		return usagef("--source wants a budget: --budget, --budget-requests or --budget-time")
	case cmd.Flags().Changed("budget") && f.budget.n < 1:
		return usagef("--budget 0: want at least 1 query")
	case l.requests < 0 || l.time < 0 || l.pages < 0:
		return usagef("--budget-requests, --budget-time and --max-pages-per-node want at least 0")
	case f.runs != 1:
		return usagef("--runs %d: a live source is explored once", f.runs)
	case f.policy == "med":
		return usagef("--policy med: the oracle knows the true degrees, which a live source does not tell")
	case l.raw && l.pseudonymize != "":
		return usagef("--raw keeps names that --pseudonymize hides: want one of them")
	}
	d, err := source.Describe(l.source)
	if err != nil {
		return badInput(err)
	}
	var key []byte
	if l.pseudonymize != "" {
		if key, err = os.ReadFile(l.pseudonymize); err != nil {
			return badInput(fmt.Errorf("--pseudonymize: %w", err))
		}
		if len(key) < 16 {
			return usagef("--pseudonymize %s: want a key of at least 16 bytes, such as from 'head -c 32 /dev/urandom'", l.pseudonymize)
		}
	}
	token := ""
	if d.Auth != nil {
		if token = os.Getenv(d.Auth.Env); token == "" && d.Auth.Required {
			return usagef("%s: the environment variable %s with the token is not set", l.source, d.Auth.Env)
		}
	}
	client, err := l.client(d)
	if err != nil {
		return err
	}
	budget := 0
	if cmd.Flags().Changed("budget") {
		budget = f.budget.n
	}
	directed := f.directed || d.Directed
	p, err := explore.New(f.policy, explore.Config{Rand: rand.New(rand.NewPCG(f.seed, 1)), Budget: budget, Directed: directed, MaxCost: l.pages})
	if err != nil {
		return badInput(err)
	}
	settings := source.Settings{"source": l.source, "start": f.start, "policy": f.policy, "seed": f.seed, "directed": directed}
	_, statErr := os.Stat(l.dir)
	c, records, err := source.OpenCollection(l.dir, key, settings)
	if err != nil {
		return badInput(err)
	}
	defer c.Close()

	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	began := time.Now()
	warn := func(text string) { fmt.Fprintf(cmd.ErrOrStderr(), "forage: %s\n", text) }
	client.HTTP.Timeout = 2 * time.Minute
	asked := &source.Client{
		Description: d, HTTP: client.HTTP, Agent: fetch.Agent(l.contact), Token: token,
		MaxPages: l.pages, MaxRequests: l.requests, KeepRaw: l.raw, Warn: warn,
	}
	if l.time > 0 {
		asked.Deadline = began.Add(l.time)
	}
	e := &liveRun{policy: p, costs: l.requests > 0 || l.time > 0, collection: c, client: asked, warn: warn}
	p.Observe(graph.None, []graph.Node{c.Number(f.start)})
	for i := range records {
		e.replay(&records[i])
	}
	if len(records) > 0 {
		warn(fmt.Sprintf("%s holds %d queries already: going on", l.dir, len(records)))
	}
	runErr := e.run(ctx, budget)
	if len(records) == 0 && c.Queries() == 0 && runErr != nil {
		c.Close()
		if errors.Is(statErr, fs.ErrNotExist) {
			os.RemoveAll(l.dir) // made by this command: leave nothing half-written
		} else {
			os.Remove(l.dir + "/journal.jsonl")
		}
		return e.classify(runErr)
	}

	start := c.Pseudonym(f.start)
	states := c.States()
	manifest := map[string]any{
		"version": 1, "source": l.source, "description": d.Name, "policy": f.policy, "seed": f.seed, "start": start, "directed": directed,
		"budget":   map[string]any{"nodes": budget, "requests": l.requests, "time": l.time.String(), "max_pages_per_node": l.pages},
		"queries":  c.Queries(),
		"requests": e.requests(), "observed": c.Observed(), "states": states,
		"pseudonymized": key != nil, "first_query": e.first, "last_query": e.last, "warnings": e.warnings,
		"complete": runErr == nil,
	}
	if err := c.Write(manifest, walkSteps(p)); err != nil {
		return err
	}
	if runErr != nil {
		if errors.Is(runErr, context.Canceled) {
			return &exitError{exitInterrupted, fmt.Errorf("interrupted after %d queries, all kept; the same command goes on", c.Queries())}
		}
		return fmt.Errorf("%w (%d queries are kept in %s; the same command goes on)", e.classify(runErr), c.Queries(), l.dir)
	}
	o := exploreRun{Policy: f.policy, Run: 1, Start: start, Budget: budget, Queries: c.Queries(), Observed: c.Observed(), Seconds: time.Since(began).Seconds()}
	if f.json {
		return printJSON(cmd.OutOrStdout(), struct {
			exploreRun
			Requests int                  `json:"requests"`
			States   map[source.State]int `json:"states"`
		}{o, e.requests(), states})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d queries (%d requests), %d nodes observed, in %s\n", o.Queries, e.requests(), o.Observed, l.dir)
	return err
}

// client returns an HTTP client that connects to public addresses, and to others where the
// description names them or the user allows them; it stays on the hosts of the description.
func (l *live) client(d *source.Description) (*source.Client, error) {
	allow, err := addressRanges(l.private)
	if err != nil {
		return nil, err
	}
	hosts := d.Hosts()
	for _, h := range hosts {
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
	return &source.Client{HTTP: &http.Client{Transport: t, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != via[0].URL.Host {
			return fmt.Errorf("redirected from %s to %s, which is not followed", via[0].URL.Host, r.URL.Host)
		}
		if len(via) >= 5 {
			return errors.New("redirected more than 5 times")
		}
		return nil
	}}}, nil
}

// addressRanges reads the values of --allow-private.
func addressRanges(texts []string) ([]netip.Prefix, error) {
	var ps []netip.Prefix
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, e := netip.ParseAddr(text)
			if e != nil {
				return nil, usagef("--allow-private %q: want a range of addresses such as 10.0.0.0/8", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		ps = append(ps, p)
	}
	return ps, nil
}

// liveRun is an exploration under way.
type liveRun struct {
	policy     explore.Policy
	collection *source.Collection
	client     *source.Client
	warn       func(string)

	costs       bool         // the budget is in requests or time
	held        []graph.Node // handed out by the policy, not asked for yet
	earlier     int          // requests of earlier sessions
	first, last time.Time
	warnings    []string
}

func (e *liveRun) requests() int { return e.earlier + e.client.Requests }

// replay takes a record of an earlier session into the policy, which makes the same choices
// again: it goes on as if it had never stopped.
func (e *liveRun) replay(r *source.Record) {
	v := e.collection.Number(r.ID)
	if u, ok := e.policy.Next(); ok && u != v {
		e.held = append(e.held, u)
	}
	for i, u := range e.held {
		if u == v {
			e.held = append(e.held[:i], e.held[i+1:]...)
			break
		}
	}
	e.earlier += r.Answer.Requests
	e.client.MaxRequests = e.left(r.Answer.Requests)
	e.observe(v, r, e.collection.Enter(r))
}

// left is the budget of requests after more were spent; a budget that is spent stays one.
func (e *liveRun) left(spent int) int {
	if e.client.MaxRequests == 0 {
		return 0
	}
	if left := e.client.MaxRequests - spent; left > 0 {
		return left
	}
	return -1
}

func (e *liveRun) observe(v graph.Node, r *source.Record, out []graph.Node) {
	e.policy.Observe(v, out)
	if o, ok := e.policy.(explore.DegreeObserver); ok {
		for i, u := range r.Answer.Neighbours {
			if u.Degree >= 0 {
				o.ObserveDegree(out[i], u.Degree)
			}
		}
	}
	if o, ok := e.policy.(explore.CostObserver); ok && e.costs {
		o.ObserveCost(v, len(out), r.Answer.Requests)
	}
	if e.first.IsZero() {
		e.first = r.Time
	}
	e.last = r.Time
	if r.Answer.Warning != "" && len(e.warnings) < 100 {
		e.warnings = append(e.warnings, e.collection.Pseudonym(r.ID)+": "+string(r.Answer.State)+": "+r.Answer.Warning)
	}
}

func (e *liveRun) run(ctx context.Context, budget int) error {
	failures := 0
	told := time.Now()
	for budget == 0 || e.collection.Queries() < budget {
		if e.client.MaxRequests < 0 {
			return nil
		}
		var v graph.Node
		if len(e.held) > 0 {
			v, e.held = e.held[0], e.held[1:]
		} else {
			var ok bool
			if v, ok = e.policy.Next(); !ok {
				e.warn(fmt.Sprintf("all %d nodes that can be reached are queried", e.collection.Observed()))
				return nil
			}
		}
		r := source.Record{ID: e.collection.Name(v)}
		var err error
		r.Answer, err = e.client.Ask(ctx, r.ID)
		r.Time = time.Now().UTC().Truncate(time.Second)
		if err != nil && !(errors.Is(err, source.ErrBudget) && len(r.Answer.Neighbours) > 0) {
			if errors.Is(err, source.ErrBudget) {
				return nil
			}
			return err
		}
		out, werr := e.collection.Append(&r)
		if werr != nil {
			return werr
		}
		e.observe(v, &r, out)
		if err != nil {
			return nil // the budget
		}
		if failures++; r.Answer.State != source.Failed {
			failures = 0
		}
		switch {
		case failures >= maxFailures:
			return fmt.Errorf("%d queries in a row failed, the last: %s", failures, r.Answer.Warning)
		case e.collection.Queries() == 1 && len(out) == 0:
			e.warn(fmt.Sprintf("the start node is %s and lists no neighbours: %s", r.Answer.State, r.Answer.Warning))
			if r.Answer.State == source.Failed {
				return errors.New(r.Answer.Warning)
			}
		case time.Since(told) >= 10*time.Second:
			told = time.Now()
			e.warn(fmt.Sprintf("%d queries, %d requests, %d nodes observed", e.collection.Queries(), e.requests(), e.collection.Observed()))
		}
	}
	return nil
}

// classify tells bad input from failure.
func (e *liveRun) classify(err error) error {
	var d *source.DescriptionError
	if errors.As(err, &d) {
		return badInput(fmt.Errorf("the answers are not as the description says: %w", err))
	}
	if errors.Is(err, context.Canceled) {
		return &exitError{exitInterrupted, errors.New("interrupted before the first answer")}
	}
	return err
}
