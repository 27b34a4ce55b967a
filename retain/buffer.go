package retain

import (
	"fmt"
	"slices"

	"forage/graph"
)

// A Buffer decides, while a crawl runs, which pages' links and validators a bounded store keeps.
// Keeper and Stepper are the two ways. Pages come one at a time: the caller tells the links of each
// with Vote, offers it with Fetched, and ends each round (a piece of work that came to its end) with
// EndRound. A Buffer is not safe for concurrent use. The same calls give the same decisions.
type Buffer interface {
	// Vote counts a link from a source (a host, or a page where all pages are of one host) to a page.
	Vote(source uint64, to graph.Node)
	// Fetched offers v, which was just fetched, and returns the page to give up, if any: v itself
	// where it does not earn a place.
	Fetched(v graph.Node) (evict graph.Node, ok bool)
	// Kept reports whether v is kept.
	Kept(v graph.Node) bool
	// Forget gives up v, which is gone from the web, without counting it as evicted.
	Forget(v graph.Node)
	// EndRound ends a round and returns what happened so far. links is asked for the links of kept
	// pages, where the rule goes by these. An error is that of links; the round has ended all the same.
	EndRound(links Links) (KeeperStats, error)
	// Stats returns what happened so far.
	Stats() KeeperStats
	// Pages appends the kept pages to to, ascending.
	Pages(to []graph.Node) []graph.Node
	// Limit returns how many pages are kept at most.
	Limit() int
	// Rule returns what the decision goes by.
	Rule() KeepRule
	// AppendBinary appends the state to b, as Restore takes it, for a crawl that goes on in another
	// process. The votes of an unfinished round may then be given again.
	AppendBinary(b []byte) ([]byte, error)
}

var (
	_ Buffer = (*Keeper)(nil)
	_ Buffer = (*Stepper)(nil)
)

// Links appends the pages that the kept page v links to, v itself left out.
type Links func(v graph.Node, to []graph.Node) ([]graph.Node, error)

// A KeepRule is what a Buffer goes by.
type KeepRule string

const (
	KeepVotes    KeepRule = "votes"    // links from everything fetched, older ones counting less: Keeper
	KeepInDegree KeepRule = "indegree" // links from the pages that are kept: Stepper
	KeepPageRank KeepRule = "pagerank" // rank in what the pages that are kept link to: Stepper
)

// KeepRules are all of them, the default first.
func KeepRules() []KeepRule { return []KeepRule{KeepVotes, KeepInDegree, KeepPageRank} }

// ParseKeepRule returns the rule of that name.
func ParseKeepRule(name string) (KeepRule, error) {
	if r := KeepRule(name); slices.Contains(KeepRules(), r) {
		return r, nil
	}
	return "", fmt.Errorf("there is no rule %q; known: %v", name, KeepRules())
}

// NewBuffer returns a Buffer of at most so many pages that keeps nothing yet.
func NewBuffer(rule KeepRule, pages int) (Buffer, error) {
	if rule == KeepVotes {
		return NewKeeper(KeeperConfig{Pages: pages})
	}
	return NewStepper(rule, pages)
}

// Restore returns the buffer whose state AppendBinary wrote. Damage is an error.
func Restore(b []byte) (Buffer, error) {
	if len(b) > 0 && b[0] == stepperVersion {
		return restoreStepper(b)
	}
	return restoreKeeper(b)
}

// CoreRounds is how many rounds a page must have been kept to belong to the core of a live store.
const CoreRounds = 10

// KeeperStats tell what a Buffer did.
type KeeperStats struct {
	Kept     int  // pages kept now
	Core     int  // of them: kept at the ends of the last CoreRounds rounds; 0 before there were as many
	Rounds   int  // rounds that ended
	Evicted  int  // pages that were given up, in all
	Swapped  int  // … for another page, in the round that ended last
	Annealed bool // a challenger needs a lead now; never by the rules of Stepper
}

// inCore reports whether a page that is kept since the round after the first since ones was kept at
// the ends of the last CoreRounds of them.
func (s *KeeperStats) inCore(since uint32) bool { return int(since) <= s.Rounds-CoreRounds }
