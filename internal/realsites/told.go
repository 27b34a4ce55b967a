package main

import (
	"fmt"
	"os/exec"
	"strings"
)

// An account is what one store has told, and in which week it did so first.
type account struct {
	store     string
	new, gone map[string]int
	moved     map[[2]string]int // from, to
}

func newAccount(store string) *account {
	return &account{store, map[string]int{}, map[string]int{}, map[[2]string]int{}}
}

// revisit lets forage come back once, and asks what it has to tell.
func (m *measurement) revisit(h *host, r *revisit, a *account, week int) error {
	args := []string{"revisit", "--dir", a.store, "--allow-private", "127.0.0.0/8", "--delay", "0", "--parallel", parallel, "--budget", fmt.Sprint(r.budget), "--at", atWeek(week)}
	served, how, err := m.watch(h, exec.CommandContext(m.ctx, m.forage, args...), runaway)
	if err != nil {
		return err
	}
	r.requests = append(r.requests, len(served))
	if how != "yes" {
		r.problem = fmt.Sprintf("week %d ended: %s", week, how)
	}
	for _, since := range []string{"--new-since", "--gone-since", "--moved-since"} {
		pages, err := m.pages(a.store, since, "2") // the first visit was cycle 1
		if err != nil && strings.Contains(err.Error(), "unknown flag") {
			continue // a forage that does not tell such pages
		}
		if err != nil {
			return err
		}
		for _, p := range pages {
			switch since {
			case "--new-since":
				first(a.new, p.URL, week)
			case "--gone-since":
				first(a.gone, p.URL, week)
			default:
				first(a.moved, [2]string{p.MovedFrom, p.URL}, week)
			}
		}
	}
	m.log("%s: week %d, budget %d: %d requests; told by now: %d new, %d gone, %d moved", h.name, week, r.budget, len(served), len(a.new), len(a.gone), len(a.moved))
	return nil
}

func first[K comparable](told map[K]int, what K, week int) {
	if _, ok := told[what]; !ok {
		told[what] = week
	}
}

// judge counts which events were told within two weeks after they happened.
func (a *account) judge(r *revisit, log []event) {
	r.new = len(a.new)
	for _, e := range log {
		inTime := func(week int, ok bool) bool { return ok && week <= e.Week+2 }
		week, told := a.gone[e.Path]
		gone := inTime(week, told)
		switch e.Op {
		case "publish":
			r.published++
			if week, told := a.new[e.Path]; inTime(week, told) {
				r.told++
			}
		case "delete":
			r.deleted++
			if gone {
				r.gone++
			}
		case "rename":
			r.renamed++
			if week, told := a.moved[[2]string{e.Path, e.To}]; inTime(week, told) {
				r.moved++
			} else if gone {
				r.movedAsGone++
			}
		}
	}
}
