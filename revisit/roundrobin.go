package revisit

import "forage/graph"

// RoundRobin fetches the document that was fetched longest ago: the baseline that every site
// can do. Documents that are gone are not fetched again. O(1) a fetch.
type RoundRobin struct{ roster }

var _ Saver = (*RoundRobin)(nil)

// Learn takes in a document.
func (p *RoundRobin) Learn(v graph.Node, profile Profile) { p.learn(v, profile) }

// Begin starts a cycle.
func (p *RoundRobin) Begin(Time, int) { p.cycle++ }

// Next returns the document fetched longest ago.
func (p *RoundRobin) Next() (graph.Node, bool) { return p.oldest(nil) }

// Observe puts a document at the end of the queue.
func (p *RoundRobin) Observe(v Refetch) { p.fetched(v) }

// End notes what is gone.
func (p *RoundRobin) End(c Cycle) { p.recrawled(c) }

// AppendState appends the queue.
func (p *RoundRobin) AppendState(b []byte) []byte { return p.appendState(b) }

// SetState reads the queue.
func (p *RoundRobin) SetState(r *StateReader, docs *Profiles, cycle int) { p.setState(r, docs, cycle) }
