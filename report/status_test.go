package report

import (
	"testing"

	"forage/graph"
	"forage/retain"
	"forage/store"
)

// TestKeptCore: the core is what stayed for the last ten rounds, so that before there were as many nobody
// knows it, and what came in later is none of it.
func TestKeptCore(t *testing.T) {
	for _, rule := range retain.KeepRules() {
		db, err := store.Open(t.TempDir(), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		k, err := retain.NewBuffer(rule, 3)
		if err != nil {
			t.Fatal(err)
		}
		for round := 1; round <= retain.CoreRounds; round++ {
			k.Fetched(1)
			k.Fetched(2)
			if round == 3 {
				k.Fetched(3)
			}
			if _, err := k.EndRound(func(_ graph.Node, to []graph.Node) ([]graph.Node, error) { return append(to, 1, 2, 3), nil }); err != nil {
				t.Fatal(err)
			}
			state, err := k.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.PutKept(state); err != nil {
				t.Fatal(err)
			}
			if err := db.Commit(); err != nil {
				t.Fatal(err)
			}
			totals, err := NewTotals(&db.View)
			if err != nil {
				t.Fatal(err)
			}
			switch got := totals.Kept; {
			case got.Rule != string(rule) || got.Rounds != round || got.Limit != 3:
				t.Errorf("%+v; want the rule %s, round %d, at most 3", got, rule, round)
			case round < retain.CoreRounds && got.Core != nil:
				t.Errorf("%s: a core of %d after %d rounds", rule, *got.Core, round)
			case round == retain.CoreRounds && (got.Core == nil || *got.Core != 2 || got.Kept != 3):
				t.Errorf("%s: %+v; want a core of 2 of 3 pages", rule, got)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
