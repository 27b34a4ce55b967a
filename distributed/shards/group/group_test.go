package group

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"forage/distributed/shards/group/grouptest"
	"forage/distributed/shards/lease"
)

// TestAssign compares what is assigned with what is to be true of it.
func TestAssign(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := int32(r.IntN(40))
		members := map[string]owned{}
		holds := map[int32]int{} // by how many members
		for i := range 1 + r.IntN(6) {
			o := owned{Generation: int32(r.IntN(4))}
			for range r.IntN(12) {
				p := int32(r.IntN(44) - 2)
				o.Partitions = append(o.Partitions, p)
				holds[p]++
			}
			members[fmt.Sprint("m", i)] = o
		}
		got := assign(members, n)
		var all []int32
		least, most := n, int32(0)
		kept := 0
		for name := range members {
			all = append(all, got[name]...)
			least, most = min(least, int32(len(got[name]))), max(most, int32(len(got[name])))
			for _, p := range got[name] {
				if slices.Contains(members[name].Partitions, p) {
					kept++
				}
			}
		}
		slices.Sort(all)
		for p := range n {
			if int(p) >= len(all) || all[p] != p {
				t.Fatalf("%v get %v, want each of %d partitions once", members, got, n)
			}
		}
		if len(all) != int(n) || most-least > 1 {
			t.Fatalf("%v get %v, want %d partitions in even shares", members, got, n)
		}
		if len(members) == 1 {
			continue
		}
		again := map[string]owned{}
		for name := range members {
			again[name] = owned{Generation: 9, Partitions: got[name]}
		}
		if next := assign(again, n); !equal(next, got) {
			t.Fatalf("%v become %v, though nothing has changed", got, next)
		}
		delete(again, "m0")
		next := assign(again, n)
		for name, o := range again { // whoever stays keeps all
			for _, p := range o.Partitions {
				if !slices.Contains(next[name], p) {
					t.Fatalf("m0 leaves %v, and %s loses %d: %v", got, name, p, next)
				}
			}
		}
	}
}

func equal(a, b map[string][]int32) bool {
	for name := range a {
		if !slices.Equal(a[name], b[name]) {
			return false
		}
	}
	return len(a) == len(b)
}

// A process is a member of a group in a test.
type process struct {
	*Member
	client *kgo.Client
	end    context.CancelFunc
	ended  chan error
}

const (
	partitions = 6
	session    = 2 * time.Second
)

var began = time.Now()

// cluster starts a broker, which runs until the test ends.
func cluster(t *testing.T) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "urls"), kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "100"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// start has a process join.
func start(t *testing.T, c *kfake.Cluster, name string) *process {
	t.Helper()
	return startTelling(t, c, name, io.Discard)
}

// startTelling has a process join that logs to w.
func startTelling(t *testing.T, c *kfake.Cluster, name string, w io.Writer) *process {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	p := &process{client: client, end: end, ended: make(chan error, 1)}
	p.Member = New(Config{
		Client: client, Group: "g", Topic: "urls", Partitions: partitions, Instance: name, Session: session,
		Terms: lease.Terms{Term: session, Longest: time.Second, Delay: time.Millisecond},
		Clock: func() lease.Instant { return time.Since(began) }, Log: slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn})), Changed: func([]int32, []lease.Lost) {},
	})
	go func() { p.ended <- p.Run(ctx) }()
	t.Cleanup(func() { end(); client.Close() })
	return p
}

// has returns the partitions of a process, and whether its lease is in force.
func (p *process) has() (all []int32, valid bool) {
	p.Lease(func(l *lease.Lease, now lease.Instant) { all, valid = l.Partitions(), now < l.Until() })
	return all, valid
}

// settle waits until the partitions are divided among processes, all with a lease in force.
func settle(t *testing.T, processes ...*process) {
	t.Helper()
	grouptest.Await(t, "all partitions are divided", func() bool {
		var all []int32
		ok := true
		for _, p := range processes {
			has, valid := p.has()
			all = append(all, has...)
			ok = ok && valid && len(has) >= partitions/len(processes)
		}
		slices.Sort(all)
		return ok && slices.Equal(all, []int32{0, 1, 2, 3, 4, 5})
	})
}

// TestMembers has processes join, leave, die and be cut off.
func TestMembers(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	a := start(t, c, "a")
	settle(t, a)
	b := start(t, c, "b")
	d := start(t, c, "d")
	settle(t, a, b, d)

	kept, _ := a.has()
	b.end() // as one that dies: the session has to end
	if err := <-b.ended; err != nil {
		t.Fatal(err)
	}
	settle(t, a, d)
	for _, p := range kept {
		if now, _ := a.has(); !slices.Contains(now, p) {
			t.Errorf("a had %v, has %v now: %d moved for nothing", kept, now, p)
		}
	}

	var idle []*process
	for i := range partitions {
		idle = append(idle, start(t, c, fmt.Sprint("idle", i)))
	}
	grouptest.Await(t, "more members than partitions", func() bool {
		return !slices.ContainsFunc(append(idle, a, d), func(p *process) bool { has, valid := p.has(); return !valid || len(has) > 1 })
	})
	for _, p := range idle {
		p.end()
		if err := errors.Join(<-p.ended, p.Leave(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, a, d)

	d.end()
	if err := errors.Join(<-d.ended, d.Leave(t.Context())); err != nil {
		t.Fatal(err)
	}
	settle(t, a)
}

// TestStranger has a member in the group that is another program: who cannot join for that says so.
func TestStranger(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	c.ControlKey(int16(kmsg.JoinGroup), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := r.ResponseKind().(*kmsg.JoinGroupResponse)
		answer.Generation, answer.MemberID, answer.LeaderID = 1, "a", "a"
		answer.Members = []kmsg.JoinGroupResponseMember{{MemberID: "stranger"}}
		return answer, nil, true
	})
	var log grouptest.Journal
	startTelling(t, c, "a", &log)
	grouptest.Await(t, "told", func() bool { return log.Count("stranger of group g is not forage-shard") == 1 })
}

// TestBrokerGone has a lease end when the broker is gone, and not before. That is told once.
func TestBrokerGone(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	var log grouptest.Journal
	a := startTelling(t, c, "a", &log)
	settle(t, a)
	c.Close()
	closed := time.Since(began)
	for {
		var until, now lease.Instant
		a.Lease(func(l *lease.Lease, at lease.Instant) { until, now = l.Until(), at })
		if until > closed+session {
			t.Fatalf("the broker was closed at %v, and the lease goes on until %v", closed, until)
		}
		if now >= until {
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	if has, _ := a.has(); len(has) != partitions {
		t.Errorf("the process has %v, want all partitions, as nobody has told otherwise", has)
	}
	grouptest.Await(t, "told", func() bool { return log.Count("no broker answers") == 1 })
}

// TestTwice starts two processes with one name.
func TestTwice(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	a := start(t, c, "a")
	settle(t, a)
	again := start(t, c, "a")
	settle(t, again)
	if err := <-a.ended; !errors.Is(err, ErrTwice) {
		t.Errorf("the first process ends with %v, want %v", err, ErrTwice)
	}
	if has, _ := a.has(); len(has) != 0 {
		t.Errorf("it still has %v", has)
	}
}

// TestLateAnswer has a heartbeat answered when the process has joined anew, by another ID: neither is the new membership lost, nor does another process have the name.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	for _, refusal := range []*kerr.Error{kerr.UnknownMemberID, kerr.FencedInstanceID} {
		c := cluster(t)
		client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		m := New(Config{
			Client: client, Group: "g", Topic: "urls", Partitions: partitions, Instance: "a", Session: session, Terms: lease.Terms{Term: session},
			Clock: func() lease.Instant { return time.Since(began) }, Log: slog.New(slog.DiscardHandler), Changed: func([]int32, []lease.Lost) {},
		})
		m.id, m.joined = "old", 1
		c.ControlKey(int16(kmsg.Heartbeat), func(r kmsg.Request) (kmsg.Response, error, bool) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.id, m.joined = "new", 3
			m.lease.Joined(time.Since(began), 3, []int32{1})
			answer := r.ResponseKind().(*kmsg.HeartbeatResponse)
			answer.ErrorCode = refusal.Code
			return answer, nil, true
		})
		if err := m.beat(t.Context()); err != nil {
			t.Errorf("%v: %v", refusal, err)
		}
		if has := m.lease.Partitions(); m.id != "new" || len(has) != 1 {
			t.Errorf("%v: it is member %q, and has %v", refusal, m.id, has)
		}
	}
}
