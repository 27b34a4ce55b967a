package group

import (
	"cmp"
	"maps"
	"slices"
)

// assign divides partitions 0 to n-1 among members: each gets as many as any other, or one more, and keeps as many of those that it has as
// it may. Where two say that they have the same one, the later generation counts, then the name. It is the same whoever works it out.
func assign(members map[string]owned, n int32) map[string][]int32 {
	if len(members) == 0 {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		return cmp.Or(-cmp.Compare(members[a].Generation, members[b].Generation), cmp.Compare(a, b))
	})
	have := map[string][]int32{}
	taken := make([]bool, n)
	for _, name := range names {
		for _, p := range slices.Sorted(slices.Values(members[name].Partitions)) {
			if p >= 0 && p < n && !taken[p] {
				taken[p] = true
				have[name] = append(have[name], p)
			}
		}
	}
	// Those who have most get the shares that are one larger: fewer partitions move.
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(-cmp.Compare(len(have[a]), len(have[b])), cmp.Compare(a, b))
	})
	share, larger := int(n)/len(names), int(n)%len(names)
	shares := map[string]int{}
	for i, name := range names {
		if shares[name] = share; i < larger {
			shares[name]++
		}
		if has := have[name]; len(has) > shares[name] {
			for _, p := range has[shares[name]:] {
				taken[p] = false
			}
			have[name] = has[:shares[name]:shares[name]]
		}
	}
	next := int32(0)
	for _, name := range names {
		for len(have[name]) < shares[name] {
			for taken[next] {
				next++
			}
			taken[next] = true
			have[name] = append(have[name], next)
		}
		slices.Sort(have[name])
	}
	return have
}
