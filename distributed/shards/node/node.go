// Package node is a process of a crawl that several share: it is given partitions, and crawls each as forage does one store.
//
// node.go has the process: which partitions it works on, and what may be asked of hosts. partition.go is the life of one partition, from when
// the process is given it until it is lost. inbox.go takes in what other partitions found, outbox.go hands on what was found here.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"forage/crawl"
	"forage/distributed/shards/checkpoint"
	"forage/distributed/shards/group"
	"forage/distributed/shards/latest"
	"forage/distributed/shards/lease"
	"forage/distributed/shards/topics"
	"forage/metrics"
	"forage/store"
	"forage/watch"
)

// Config says how a process takes part.
type Config struct {
	Dir         string        // where it has the stores of its partitions
	Brokers     []string      // host:port
	Group       string        // of processes that share the crawl; the topics are named after it
	Name        string        // of this process, that no other has, and that it has after a restart, too
	Partitions  int32         // the same for all processes, for the life of the crawl
	Replicas    int16         // of topics that it makes; -1: the broker's default
	Checkpoints string        // where all processes see them, as checkpoint.Open is told
	Interval    time.Duration // between checkpoints
	Session     time.Duration // after which a process that is silent loses its partitions
	Longest     time.Duration // a request; at least what Crawl.Fetch.Timeout says
	MaxTotal    int64         // fetches of all partitions, for the life of the crawl; 0: no limit
	Watch       *watch.Config // which sites, how often; the same for all processes
	Crawl       crawl.Config  // how to fetch; Dir, Loop, Elsewhere, Spend and Fetch.Permit are the node's own
	Log         *slog.Logger

	Listener net.Listener // where the partitions of the process are served; nil: nowhere. Run closes it once it has begun to serve
	Address  string       // of that, as others reach it
}

// A Node is a process.
type Node struct {
	Config
	bucket checkpoint.Bucket // of all crawls whose checkpoints are there
	mark   string            // the name that the crawl's part of it has, by which it is known
	topics topics.Names
	loop   *crawl.Loop
	cache  *store.Cache
	member *group.Member
	client *kgo.Client // for the group, statuses, and seeds
	budget *budget
	total  *quota // of MaxTotal; nil: there is no limit
	said   said
	shown  *metrics.Several

	mu     sync.Mutex
	owners map[int32]*owner // by partition, those that have not ended
	ending bool             // nothing more is begun
	failed chan error       // holds the first error with which an owner cannot go on
}

// Check returns an error unless the configuration can work.
func (c *Config) Check() error {
	switch {
	case c.Partitions < 1 || c.Partitions > 10_000:
		return fmt.Errorf("%d partitions: want 1 to 10000", c.Partitions)
	case c.Session < 2*time.Second:
		return fmt.Errorf("a session of %v: want 2s at least", c.Session)
	case c.Longest < c.Crawl.Fetch.Timeout:
		return fmt.Errorf("requests may take %v, and the longest is to take %v", c.Crawl.Fetch.Timeout, c.Longest)
	case c.Watch.Adopt > 0:
		return errors.New("adopt: is not known to several processes: they would adopt the same sites")
	case len(c.Watch.Webhooks) > 0:
		return fmt.Errorf("webhooks: are not sent by several processes: read the events from topic %s", topics.Of(c.Group).Events)
	case c.Watch.Archive.Folder != "" || c.Watch.Texts.Folder != "":
		return errors.New("warc: and text: are not known to several processes: checkpoints do not have these files")
	}
	return nil
}

// memTable is how many bytes are written in the store of a partition before a flush, and two of them may wait. With 32 partitions in a process
// twice as much took 50 MiB more for 3% less of the CPU.
const memTable = 512 << 10

// Run takes part until ctx ends; then it finishes what is under way, writes checkpoints, and hands its partitions back. Errors: group.ErrTwice, *topics.PartitionsError, a *checkpoint.UnusableError, a broker
// that does not answer at the start, and what a partition cannot go on with.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.Check(); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return err
	}
	bucket, err := checkpoint.Open(ctx, cfg.Checkpoints)
	if err != nil {
		return err
	}
	cache := store.NewCache(int(cfg.Partitions), memTable)
	defer cache.Close()
	n := &Node{
		Config: cfg, bucket: bucket, topics: topics.Of(cfg.Group), cache: cache, budget: newBudget(cfg.Watch.Limits.FetchesPerDay, cfg.Partitions),
		owners: map[int32]*owner{}, failed: make(chan error, 1),
	}
	if n.client, err = kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...), kgo.ClientID("forage-shard "+cfg.Name), kgo.RecordPartitioner(kgo.ManualPartitioner())); err != nil {
		return err
	}
	defer n.client.Close()
	if err := n.greet(ctx); err != nil {
		return err
	}
	cfg.Log.Info("takes part", "name", cfg.Name, "group", cfg.Group, "partitions", cfg.Partitions)
	fetching := cfg.Crawl
	fetching.Fetch.Permit = n.permit
	end := n.share(&fetching)
	defer end()
	if n.loop, err = crawl.NewLoop(fetching); err != nil {
		return err
	}
	n.member = group.New(group.Config{
		Client: n.client, Group: cfg.Group, Topic: n.topics.URLs, Partitions: cfg.Partitions, Instance: cfg.Name, Session: cfg.Session,
		Terms: lease.Terms{Term: cfg.Session, Longest: cfg.Longest, Delay: cfg.delay()}, Clock: sinceBoot, Log: cfg.Log, Changed: n.changed,
	})
	unserve, err := n.listen()
	if err != nil {
		return err
	}
	defer unserve()
	joined, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	if n.budget.limit > 0 {
		if err := n.follow(joined); err != nil {
			return err
		}
	}
	left := make(chan error, 1)
	go func() { left <- n.member.Run(joined) }()
	select {
	case <-ctx.Done():
	case err = <-n.failed:
	case err = <-left:
		left <- nil
	}
	n.endAll() // as a member still: what is under way may go on to its end, and others wait for less
	leave()
	err = errors.Join(err, <-left)
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Session)
	defer cancel()
	if e := n.client.Flush(out); e != nil {
		cfg.Log.Warn("the log is not told how the partitions are", "error", e)
	}
	if e := n.member.Leave(out); e != nil {
		cfg.Log.Warn("the group is not told, and finds out when the session is over", "error", e)
	}
	return err
}

// delay is the largest delay between two requests to a host that anybody asks for.
func (c *Config) delay() time.Duration {
	d := c.Crawl.Delay
	c.Watch.Each(func(s *watch.Site) { d = max(d, time.Duration(s.Rules.DelayMillis)*time.Millisecond) })
	return max(d, 0)
}

// ErrBroker says that nobody answers who speaks Kafka's protocol.
var ErrBroker = errors.New("no broker of Kafka's protocol answers")

// greetFor is how long a broker may take to answer at the start.
const greetFor = 10 * time.Second

// greet sees whether the broker is there, and makes the topics.
func (n *Node) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, greetFor)
	defer cancel()
	if err := n.client.Ping(ctx); err != nil {
		return n.away(err)
	}
	if err := topics.Ensure(ctx, n.client, n.topics, n.Partitions, n.Replicas); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = n.away(err)
		}
		return err
	}
	return n.agree(ctx)
}

// away says where no broker has answered.
func (n *Node) away(err error) error {
	return fmt.Errorf("%w at %s: %w", ErrBroker, strings.Join(n.Brokers, ","), err)
}

// ErrElsewhere says that the processes of a crawl do not see the same checkpoints.
var ErrElsewhere = errors.New("these are not the checkpoints that the other processes of the crawl see: each of them has to see the same one")

// nameFile is in the bucket of the crawl, with a name that was made up when it was used first.
const nameFile = "name"

// agree sees to it that all processes see the same checkpoints: their bucket has a name, and the log has it, too.
func (n *Node) agree(ctx context.Context) error {
	place := checkpoint.In(n.bucket, n.Group)
	if err := checkpoint.Exclusive(ctx, place, n.Checkpoints, nameFile); err != nil {
		return err
	}
	name, err := n.name(ctx)
	if err != nil {
		return err
	}
	n.mark = name
	have, err := topics.Folder(ctx, n.client, n.topics)
	if err == nil && have == "" {
		if err = topics.PutFolder(ctx, n.client, n.topics, name); err == nil {
			have, err = topics.Folder(ctx, n.client, n.topics) // somebody else may have been faster
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = n.away(err)
	}
	if err == nil && have != name {
		err = fmt.Errorf("%s/%s: %w", n.Checkpoints, n.Group, ErrElsewhere)
	}
	return err
}

// name returns the name of the crawl's bucket.
func (n *Node) name(ctx context.Context) (string, error) {
	b, err := checkpoint.Load(ctx, checkpoint.In(n.bucket, n.Group), nameFile)
	return strings.TrimSpace(string(b)), err
}

// same returns an error where the checkpoints are not those any more that all processes agreed on: of a folder that is not mounted, an empty one may be left, in which
// nobody seems to have a partition.
func (n *Node) same(ctx context.Context) error {
	name, err := n.name(ctx)
	if err == nil && name != n.mark {
		err = ErrElsewhere
	}
	return err
}

// place is where the checkpoints of a partition are.
func (n *Node) place(p int32) checkpoint.Bucket {
	return checkpoint.In(n.bucket, latest.Place(n.Group, p))
}

// where is that place for people.
func (n *Node) where(p int32) string { return n.Checkpoints + "/" + latest.Place(n.Group, p) }

// permit is asked before a host is contacted.
func (n *Node) permit(host string) error { return n.member.May(topics.Partition(host, n.Partitions)) }

// changed begins to work on partitions that the process was given, and ends with those that it has lost.
func (n *Node) changed(gained []int32, lost []lease.Lost) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range lost {
		if o := n.owners[l.Partition]; o != nil {
			o.end()
		}
	}
	if n.ending { // while it waits for its own, others that end may leave it theirs
		return
	}
	for _, p := range gained {
		before := n.owners[p] // may be ending still
		ctx, end := context.WithCancel(context.Background())
		o := &owner{node: n, p: p, end: end, ended: make(chan struct{}), log: n.Log.With("partition", p)}
		n.owners[p] = o
		go func() {
			defer close(o.ended)
			if before != nil {
				<-before.ended
			}
			err := o.own(ctx)
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.owners[p] == o {
				delete(n.owners, p)
			}
			if err != nil {
				select {
				case n.failed <- fmt.Errorf("partition %d: %w", p, err):
				default:
				}
			}
		}()
	}
}

// endAll ends with all partitions, begins with no others, and returns when that is done.
func (n *Node) endAll() {
	n.mu.Lock()
	n.ending = true
	all := slices.Collect(maps.Values(n.owners))
	n.mu.Unlock()
	for _, o := range all {
		o.end()
	}
	for _, o := range all {
		<-o.ended
	}
}
