package lab

// A weekly is what a policy did in one week of setting A.
type weekly struct {
	fetches, found, there int
	score                 bool
}

// leader is follow the leader at one site and budget: each week is that of the policy which
// found most in the weeks before, the first of equals. In setting A what a policy does in a
// week does not depend on whether it was followed before: after each week all are told the same.
func leader(policies [][]weekly) tally {
	var out tally
	found := make([]int, len(policies))
	for t := range policies[0] {
		lead := 0
		for i := range policies {
			if found[i] > found[lead] {
				lead = i
			}
		}
		if w := policies[lead][t]; w.score {
			out.add(w.fetches, w.found, w.there)
		}
		for i, p := range policies {
			found[i] += p[t].found
		}
	}
	return out
}
