package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"forage/distributed/shards/topics"
	"forage/fetch"
	"forage/internal/served"
	"forage/metrics"
	"forage/serve"
	"forage/watch"
)

// The partitions that the process has are served over HTTP, each as 'forage watch' serves its store.

// serving says to whom what is served.
func (n *Node) serving() serve.Options {
	c := n.Watch
	o := serve.Options{Version: fetch.Version, PublicURL: c.PublicURL, Public: c.Public, Log: n.Log}
	if a, ok := n.Listener.Addr().(*net.TCPAddr); ok {
		o.Loopback = a.IP.IsLoopback()
	}
	for _, t := range c.Tokens.Read {
		o.Tokens = append(o.Tokens, serve.Token{Value: t})
	}
	for _, t := range c.Tokens.Write {
		o.Tokens = append(o.Tokens, serve.Token{Value: t, Write: true})
	}
	return o
}

// listen begins to serve; end ends it. Where nothing is to be served it does nothing.
func (n *Node) listen() (end func(), err error) {
	if n.Listener == nil {
		return func() {}, nil
	}
	if n.shown, err = metrics.NewSeveral(n.loop.Counts, n.Log); err != nil {
		return nil, err
	}
	ending := make(chan struct{})
	o := n.serving()
	o.Metrics, o.Ending = n.shown, ending
	handler, err := serve.NewPartitions(o, n)
	if err != nil {
		return nil, err
	}
	web := serve.Server(handler)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := web.Serve(n.Listener); !errors.Is(err, http.ErrServerClosed) {
			n.Log.Warn("nothing is served any more", "error", err)
		}
	}()
	return func() {
		close(ending)
		web.Close()
		<-ended
	}, nil
}

// serve has the partition be served until hide is called, which returns when nobody looks at a site any more, as that asks its host. Who is being answered else reads
// on until the store ends that. hide is called when ctx has ended.
func (o *owner) serve(ctx context.Context) (hide func(), err error) {
	n := o.node
	if n.Listener == nil {
		return func() {}, nil
	}
	own := &site{Watch: served.Watch{Service: o.service, Again: func() error {
		return &serve.FileError{Mistakes: []string{"the configuration is read by all processes when they start, and not again"}}
	}}, owner: o, running: ctx}
	with := n.serving()
	with.DB, with.Watch, with.At, with.Ending, with.Log = o.crawl.DB(), own, serve.PartitionPath(o.p), ctx.Done(), o.log
	handler, err := serve.New(with)
	if err != nil {
		return nil, err
	}
	shown, err := metrics.New(metrics.Options{Crawl: o.crawl, Log: o.log, Visits: func(yield func(string, int64, int64)) {
		for _, st := range o.service.Sites() {
			yield(st.Name, st.Late, st.Skipped)
		}
	}})
	if err != nil {
		return nil, err
	}
	remove, err := n.shown.Add(shown, strconv.Itoa(int(o.p)))
	if err != nil {
		return nil, err
	}
	covering, end := context.WithCancel(ctx)
	covered := make(chan struct{})
	go func() { shown.Run(covering); close(covered) }()
	o.front.Store(&front{handler, o.service})
	return sync.OnceFunc(func() {
		o.front.Store(nil)
		remove()
		end()
		<-covered
		o.looks.Lock() // which those have who look
		defer o.looks.Unlock()
	}), nil
}

// A front is what is served of a partition.
type front struct {
	store   *serve.Store
	service *watch.Service
}

// A site is the service of a partition, as it is served: sites are added through the log, wherever they belong.
type site struct {
	served.Watch
	owner   *owner
	running context.Context // that of the owner's work
}

// Add implements serve.Watch.
func (s *site) Add(ctx context.Context, sites []serve.Settings) ([]serve.Site, error) {
	n := s.owner.node
	seeds, out := make([]topics.URL, len(sites)), make([]serve.Site, len(sites))
	names := map[string]bool{}
	for i := range sites {
		text, conf, err := s.read(sites[i])
		if err != nil {
			return nil, err
		}
		if _, err := s.Site(conf.Name); err == nil || names[conf.Name] {
			return nil, fmt.Errorf("%s: %w", conf.Name, serve.ErrExists)
		}
		names[conf.Name] = true
		seeds[i] = topics.URL{URL: conf.URL, Settings: text}
		out[i] = serve.Site{Name: conf.Name, Settings: sites[i]}
	}
	late, cancel := context.WithTimeout(ctx, greetFor)
	defer cancel()
	if err := topics.Seed(late, n.client, n.topics, n.Partitions, seeds); err != nil {
		return nil, fmt.Errorf("not all sites are in the log; add them once more: %w", err)
	}
	soon, enough := context.WithTimeout(ctx, 2*time.Second)
	defer enough()
	s.await(soon, out)
	return out, nil
}

// await returns when those of the sites are watched that are of partitions of this process: who added them looks at them next. It waits no longer than ctx.
func (s *site) await(ctx context.Context, sites []serve.Site) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := range sites {
		for {
			f := s.owner.node.front(s.owner.node.Of(sites[i].Name))
			if f == nil {
				break
			}
			if _, err := f.service.Site(sites[i].Name); err == nil {
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Preview implements serve.Watch: only the owner of a host contacts it.
func (s *site) Preview(ctx context.Context, settings serve.Settings) (*serve.Preview, error) {
	_, conf, err := s.read(settings)
	if err != nil {
		return nil, err
	}
	if p := s.owner.node.Of(conf.Name); p != s.owner.p {
		return nil, fmt.Errorf("%w here: the site is of partition %d, which alone asks its host: look at it there, or have it watched at once", serve.ErrInvalid, p)
	}
	s.owner.looks.RLock()
	defer s.owner.looks.RUnlock()
	looking, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(s.running, end)()
	return s.Watch.Preview(looking, settings)
}

// read reads settings of a site. The error wraps serve.ErrInvalid.
func (s *site) read(settings serve.Settings) (json.RawMessage, watch.Site, error) {
	text, err := served.Settings(settings)
	if err != nil {
		return nil, watch.Site{}, err
	}
	conf, err := s.owner.node.Watch.Site(text)
	if err != nil {
		return nil, conf, fmt.Errorf("%w: %w", serve.ErrInvalid, err)
	}
	return text, conf, nil
}

var _ serve.Partitions = (*Node)(nil)

// Of implements serve.Partitions.
func (n *Node) Of(site string) int32 { return topics.PartitionOf(site, n.Partitions) }

// Here implements serve.Partitions.
func (n *Node) Here() (all []int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for p, o := range n.owners {
		if o.front.Load() != nil {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return all
}

// Store implements serve.Partitions.
func (n *Node) Store(p int32) *serve.Store {
	if f := n.front(p); f != nil {
		return f.store
	}
	return nil
}

// front returns what is served of a partition, nil where nothing is.
func (n *Node) front(p int32) *front {
	n.mu.Lock()
	defer n.mu.Unlock()
	if o := n.owners[p]; o != nil {
		return o.front.Load()
	}
	return nil
}

// saidFor is for how long what all owners said last is shown without asking the log again.
const saidFor = 2 * time.Second

// said is what all owners said last, as it was read from the log.
type said struct {
	mu  sync.Mutex
	at  time.Time
	all []*topics.Status
}

// All implements serve.Partitions. Where the log does not answer it is what was said before.
func (n *Node) All(ctx context.Context) []serve.Partition {
	out := make([]serve.Partition, n.Partitions)
	for p, s := range n.statuses(ctx) {
		if s == nil {
			out[p] = serve.Partition{Partition: int32(p), State: "none"}
			continue
		}
		out[p] = serve.Partition{Partition: int32(p), Owner: s.Owner, Address: s.Address, State: s.State, At: s.At, Sites: s.Sites, Pages: s.Pages, Queued: s.Queued}
	}
	return out
}

func (n *Node) statuses(ctx context.Context) []*topics.Status {
	n.said.mu.Lock()
	defer n.said.mu.Unlock()
	if n.said.all != nil && time.Since(n.said.at) < saidFor {
		return n.said.all
	}
	ctx, cancel := context.WithTimeout(ctx, saidFor)
	defer cancel()
	all, err := topics.Statuses(ctx, n.client, n.topics, n.Partitions)
	switch {
	case err == nil:
		n.said.all = all
	case n.said.all == nil:
		n.said.all = make([]*topics.Status, n.Partitions)
	}
	n.said.at = time.Now()
	return n.said.all
}
