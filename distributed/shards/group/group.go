// Package group keeps a process a member of a group, of which a broker of Kafka's protocol keeps the members, and tells its lease what it is given
// and what is confirmed. What that allows is said in package lease.
//
// It speaks the classic protocol of consumer groups itself (JoinGroup, SyncGroup, Heartbeat, LeaveGroup), as a lease has to know when a heartbeat was
// sent, and what exactly it was answered: that a generation is the group's is told by no error, and by one that says that members are joining.
package group

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"forage/distributed/shards/lease"
)

// Config says which group, and how.
type Config struct {
	Client     *kgo.Client // requests alone go through it
	Group      string
	Topic      string // with Partitions partitions: told to the broker for its tools
	Partitions int32
	Instance   string        // name of the process, the same after a restart, that no other process has
	Session    time.Duration // after which the broker gives up a member that is silent
	Terms      lease.Terms
	Clock      func() lease.Instant
	Log        *slog.Logger

	// Changed is called when the process is given partitions, or has lost some: one call after another. It must not block for long, and
	// may call May, but no other method.
	Changed func(gained []int32, lost []lease.Lost)
}

// A Member is this process in the group. Its methods may be called by several goroutines.
type Member struct {
	cfg Config

	telling sync.Mutex // held while Changed is called
	mu      sync.Mutex
	lease   *lease.Lease
	id      string // that the broker gave; "": none yet
	joined  int32  // generation of the lease; 0: none
	ended   bool   // the lease, for want of answers, and that was told
	rejoin  chan struct{}
}

// New returns a member that has not joined yet.
func New(cfg Config) *Member {
	return &Member{cfg: cfg, lease: lease.New(cfg.Terms), rejoin: make(chan struct{}, 1)}
}

// ErrTwice is returned by Run where another process has joined under the same name.
var ErrTwice = errors.New("another process with the same name is a member of the group: each needs a folder of its own")

// May is lease.Lease.May at this moment.
func (m *Member) May(p int32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lease.May(p, m.cfg.Clock())
}

// Lease calls f with the lease, and the present time.
func (m *Member) Lease(f func(l *lease.Lease, now lease.Instant)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.lease, m.cfg.Clock())
}

// Run keeps the process a member until ctx ends, and returns nil then; the broker hears of that by Leave, or when the session is over. A broker that does not answer
// is asked again and again. Errors: ErrTwice; what the broker refuses for good.
func (m *Member) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var beats sync.WaitGroup
	beats.Go(func() {
		tick := time.NewTicker(m.cfg.Session / 6)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if err := m.beat(ctx); err != nil {
					cancel(err)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	defer beats.Wait()
	m.again()
	var failing time.Time // since then; zero: it is not
	told := false
	for {
		select {
		case <-m.rejoin:
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
			return nil
		}
		switch err := m.join(ctx); {
		case err == nil:
			failing, told = time.Time{}, false
		case final(err):
			cancel(err)
			return err
		default:
			if failing.IsZero() {
				failing = time.Now()
			}
			if !told && ctx.Err() == nil && time.Since(failing) > 2*m.cfg.Session { // it fails now and then, when others join, too
				m.cfg.Log.Warn("the group cannot be joined, and nothing is fetched; it is tried again", "error", err)
				told = true
			}
			select {
			case <-time.After(m.cfg.Session / 20 * time.Duration(1+rand.IntN(2))):
			case <-ctx.Done():
			}
			m.again()
		}
	}
}

// Leave tells the broker that the process is no member any more, so that others get its partitions at once. It is called after Run has returned and
// everything has ended.
func (m *Member) Leave(ctx context.Context) error {
	m.mu.Lock()
	id := m.id
	m.mu.Unlock()
	if id == "" {
		return nil
	}
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Group, r.MemberID = m.cfg.Group, id
	one := kmsg.NewLeaveGroupRequestMember()
	one.MemberID, one.InstanceID = id, &m.cfg.Instance
	r.Members = append(r.Members, one)
	answer, err := r.RequestWith(ctx, m.cfg.Client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.ErrorCode)
}

func (m *Member) again() {
	select {
	case m.rejoin <- struct{}{}:
	default:
	}
}

// final reports whether it is no use to try again.
func final(err error) bool {
	return errors.Is(err, ErrTwice) || errors.Is(err, kerr.GroupAuthorizationFailed) || errors.Is(err, kerr.InconsistentGroupProtocol) ||
		errors.Is(err, kerr.InvalidSessionTimeout) || errors.Is(err, kerr.InvalidGroupID) || errors.Is(err, kerr.UnsupportedVersion)
}

// beat sends a heartbeat of the generation that the lease is of.
func (m *Member) beat(ctx context.Context) error {
	m.mu.Lock()
	id, generation := m.id, m.joined
	m.mu.Unlock()
	if generation == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Session/2)
	defer cancel()
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.Generation, r.MemberID, r.InstanceID = m.cfg.Group, generation, id, &m.cfg.Instance
	sent := m.cfg.Clock()
	answer, err := r.RequestWith(ctx, m.cfg.Client)
	if err != nil { // the next one may be answered
		if !errors.Is(err, context.Canceled) {
			m.unanswered(err)
		}
		return nil
	}
	switch err := kerr.ErrorForCode(answer.ErrorCode); {
	case err == nil:
		m.confirmed(sent, generation)
	case errors.Is(err, kerr.RebalanceInProgress): // the generation is the group's still, and somebody joins
		m.confirmed(sent, generation)
		m.again()
	case errors.Is(err, kerr.FencedInstanceID):
		if m.expelled(id) {
			return ErrTwice
		}
	case errors.Is(err, kerr.UnknownMemberID):
		if m.expelled(id) {
			m.again()
		}
	case errors.Is(err, kerr.IllegalGeneration): // where it joins already, it hears of the next one
		m.again()
	}
	return nil
}

func (m *Member) confirmed(sent lease.Instant, generation int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lease.Confirmed(sent, generation)
	m.ended = false
}

// unanswered notes that a heartbeat was not answered, and says so once the lease has ended by that.
func (m *Member) unanswered(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ended && m.cfg.Clock() >= m.lease.Until() {
		m.ended = true
		m.cfg.Log.Warn("no broker answers, and the lease has ended: nothing is fetched until one does", "error", err)
	}
}

// expelled notes that the process is no member any more by that ID, and reports whether it was: an answer may be late, and the process have joined anew
// meanwhile, by another one.
func (m *Member) expelled(id string) bool {
	m.telling.Lock()
	defer m.telling.Unlock()
	m.mu.Lock()
	if m.id != id {
		m.mu.Unlock()
		return false
	}
	m.id, m.joined = "", 0
	lost := m.lease.Expelled()
	m.mu.Unlock()
	if len(lost) > 0 {
		m.cfg.Changed(nil, lost)
	}
	return true
}

// An owned list is what a member had when it joined, for who assigns.
type owned struct {
	Generation int32   `json:"generation"`
	Partitions []int32 `json:"partitions"`
}

// protocol is the name by which members agree on how partitions are assigned.
const protocol = "forage"

// join joins the group, has partitions assigned if it is the leader, and hears which are its own.
func (m *Member) join(ctx context.Context) error {
	m.mu.Lock()
	id, had := m.id, owned{m.joined, m.lease.Partitions()}
	m.mu.Unlock()
	data, err := json.Marshal(had)
	if err != nil {
		return err
	}
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Topics, meta.UserData = []string{m.cfg.Topic}, data

	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.InstanceID, r.ProtocolType = m.cfg.Group, id, &m.cfg.Instance, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = int32(m.cfg.Session.Milliseconds()), int32(m.cfg.Session.Milliseconds())
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = protocol, meta.AppendTo(nil)
	r.Protocols = append(r.Protocols, p)
	jctx, cancel := context.WithTimeout(ctx, 2*m.cfg.Session)
	defer cancel()
	in, err := r.RequestWith(jctx, m.cfg.Client)
	if err == nil {
		err = kerr.ErrorForCode(in.ErrorCode)
	}
	if err != nil {
		return m.refused(err, id, in)
	}
	m.mu.Lock()
	m.id = in.MemberID
	m.mu.Unlock()

	s := kmsg.NewPtrSyncGroupRequest()
	s.Group, s.Generation, s.MemberID, s.InstanceID = m.cfg.Group, in.Generation, in.MemberID, &m.cfg.Instance
	s.ProtocolType, s.Protocol = &r.ProtocolType, &p.Name
	if in.LeaderID == in.MemberID && !in.SkipAssignment {
		if s.GroupAssignment, err = m.assignments(in.Members); err != nil {
			return err
		}
	}
	sctx, cancel := context.WithTimeout(ctx, m.cfg.Session)
	defer cancel()
	sent := m.cfg.Clock()
	answer, err := s.RequestWith(sctx, m.cfg.Client)
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
	}
	if err != nil {
		return m.refused(err, in.MemberID, nil)
	}
	var mine kmsg.ConsumerMemberAssignment
	if err := mine.ReadFrom(answer.MemberAssignment); err != nil {
		return fmt.Errorf("what the group assigns cannot be read: %w", err)
	}
	var partitions []int32
	for _, t := range mine.Topics {
		partitions = append(partitions, t.Partitions...)
	}
	m.telling.Lock()
	defer m.telling.Unlock()
	m.mu.Lock()
	m.joined = in.Generation
	gained, lost := m.lease.Joined(sent, in.Generation, partitions)
	m.mu.Unlock()
	m.cfg.Log.Info("joined", "group", m.cfg.Group, "generation", in.Generation, "partitions", len(partitions), "gained", gained)
	if len(gained)+len(lost) > 0 {
		m.cfg.Changed(gained, lost)
	}
	return nil
}

// refused notes what an error of JoinGroup or SyncGroup, sent by an ID, says of the membership.
func (m *Member) refused(err error, id string, in *kmsg.JoinGroupResponse) error {
	switch {
	case errors.Is(err, kerr.MemberIDRequired) && in != nil:
		m.mu.Lock()
		m.id = in.MemberID
		m.mu.Unlock()
	case errors.Is(err, kerr.FencedInstanceID):
		m.expelled(id)
		return ErrTwice
	case errors.Is(err, kerr.UnknownMemberID):
		m.expelled(id)
	}
	return err
}

// assignments divides the partitions among the members.
func (m *Member) assignments(members []kmsg.JoinGroupResponseMember) (all []kmsg.SyncGroupRequestGroupAssignment, err error) {
	had := map[string]owned{}
	for i := range members {
		var meta kmsg.ConsumerMemberMetadata
		var o owned
		err := meta.ReadFrom(members[i].ProtocolMetadata)
		if err == nil {
			err = json.Unmarshal(meta.UserData, &o)
		}
		if err != nil {
			return nil, fmt.Errorf("member %s of group %s is not forage-shard: %w", members[i].MemberID, m.cfg.Group, err)
		}
		had[members[i].MemberID] = o
	}
	plans := assign(had, m.cfg.Partitions)
	for id := range had { // also of those who get none: else they would not know
		partitions := plans[id]
		plan := kmsg.NewConsumerMemberAssignment()
		t := kmsg.NewConsumerMemberAssignmentTopic()
		t.Topic, t.Partitions = m.cfg.Topic, partitions
		plan.Topics = append(plan.Topics, t)
		one := kmsg.NewSyncGroupRequestGroupAssignment()
		one.MemberID, one.MemberAssignment = id, plan.AppendTo(nil)
		all = append(all, one)
	}
	return all, nil
}
