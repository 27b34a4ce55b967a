package lab

import (
	"context"
	"fmt"
	"math"
	"strings"

	"forage/graph"
	"forage/retain"
)

// withLinks returns how many nodes have in-degree h or more.
func withLinks(in []uint32, h int) int {
	b := 0
	for _, k := range in {
		if int(k) >= h {
			b++
		}
	}
	return b
}

// [ABCHMT08, Theorem 1]: the h-pyramid of a random set of b nodes.
func theorem1(ctx context.Context, env *Env) (*Result, error) {
	b := newBench(env)
	b.scales = env.coreScales()
	hs := []int{2, 3, 4}
	const name = "size of the h-pyramid, S_0 left out"
	values, poisson, share := map[int][]float64{}, map[int]float64{}, map[int]float64{}
	first, last := map[int]float64{}, map[int]float64{} // share of the graph, by h
	err := b.eachSample(ctx, typicalAlpha, false, func(s *sample) {
		in := indegrees(s.g)
		seen, count := make([]bool, s.n), make([]uint32, s.n)
		for _, h := range hs {
			size := withLinks(in, h)
			share[h] += float64(size) / float64(s.n)
			clear(seen)
			level := retain.RandomStart(s.n, size, s.r)
			for _, v := range level {
				seen[v] = true
			}
			total := 0
			for len(level) > 0 {
				level = votedAtLeast(s.g, level, h, seen, count)
				total += len(level)
			}
			values[h] = append(values[h], float64(total))
			poisson[h] += pyramidEstimate(s, h, float64(size)/float64(s.n))
		}
	}, func(n, runs int) {
		for _, h := range hs {
			b.row(name, fmt.Sprintf("h=%d b=%.3f n", h, share[h]/float64(runs)), n, values[h], poisson[h]/float64(runs), "Θ(n^(1−ε))", noConstant)
			mean, _ := meanInterval(values[h])
			last[h] = mean / float64(n)
			if _, ok := first[h]; !ok {
				first[h] = last[h]
			}
		}
		clear(values)
		clear(poisson)
		clear(share)
	})
	if err != nil {
		return nil, err
	}
	b.slopesOver(name, hs, atLeast, 1)
	b.Notef("b is the number of nodes of in-degree at least h. The estimate follows shares of each degree through the levels.")
	for _, h := range hs {
		b.shareNote(fmt.Sprintf("h = %d: the pyramid", h), first[h], last[h])
	}
	return b.figure("h-pyramids of a random buffer"), nil
}

// shareNote says whether what the paper bounds by n^(1−ε) keeps its share of the graph from the smallest size to the largest.
func (b *bench) shareNote(what string, first, last float64) {
	so := "it keeps its share"
	switch {
	case last < .9*first:
		so = "its share falls"
	case last > 1.1*first:
		so = "its share grows"
	}
	b.Notef("%s is %.4f of the graph at the smallest n and %.4f at the largest: %s, where the paper has n^(1−ε).", what, first, last, so)
}

// slopesOver fits one slope for each h over rows whose parameters begin with it.
func (b *bench) slopesOver(quantity string, hs []int, c claim, printed float64) {
	for _, h := range hs {
		all := &curve{}
		prefix := fmt.Sprintf("%s|h=%d ", quantity, h)
		for _, key := range b.order {
			if len(key) >= len(prefix) && key[:len(prefix)] == prefix {
				c := b.series[key]
				all.n, all.measured, all.poisson = append(all.n, c.n...), append(all.measured, c.measured...), append(all.poisson, c.poisson...)
			}
		}
		p := fmt.Sprintf("h=%d", h)
		all.quantity, all.parameters = quantity, p
		b.series[quantity+"|"+p] = all
		b.order = append(b.order, quantity+"|"+p)
		b.slope(quantity, p, c, printed)
	}
}

// pyramidEstimate is the size of the pyramid if links were Poisson: of the nodes of degree k
// that no earlier level took, those with h links from the level before.
func pyramidEstimate(s *sample, h int, start float64) float64 {
	type class struct{ k, nodes, left float64 }
	var classes []class
	for i := 0; i < s.n; {
		j := i
		for j < s.n && s.d[j] == s.d[i] {
			j++
		}
		classes = append(classes, class{float64(s.d[i]), float64(j - i), float64(j-i) * (1 - start)})
		i = j
	}
	from, total := start, 0.0 // from: share of the total degree in the level before
	for range 60 {
		next := 0.0
		for i := range classes {
			c := &classes[i]
			got := c.left * poissonAtLeast(c.k*from, h)
			c.left -= got
			total += got
			next += got * c.k / s.m
		}
		if from = next; from < 1e-9 {
			break
		}
	}
	return total
}

// coreEstimate is the size of the core of a buffer of b pages if links were Poisson: the fixed
// point of "those with more links than the threshold, and as many at it as there is room for".
// Pages above the threshold, and the share that fits of those at it (kept by a fixed priority),
// are the core.
func coreEstimate(s *sample, b int) float64 {
	from := float64(b) / float64(s.n)
	size := 0.0
	for range 200 {
		// The least h for which those with h links or more fit.
		h, above := 1, 0.0
		for {
			if above = s.overDegrees(0, func(k float64) float64 { return poissonAtLeast(k*from, h) }); above <= float64(b) || h > 1<<12 {
				break
			}
			h++
		}
		at := 0.0
		fill := 0.0
		if h > 1 {
			at = s.overDegrees(0, func(k float64) float64 { return poissonAtLeast(k*from, h-1) }) - above
			if at > 0 {
				fill = min(1, (float64(b)-above)/at)
			}
		}
		next := s.overDegrees(0, func(k float64) float64 {
			p := poissonAtLeast(k*from, h)
			if h > 1 {
				p += fill * (poissonAtLeast(k*from, h-1) - p)
			}
			return k * p
		}) / s.m
		size = above + fill*at
		if math.Abs(next-from) < 1e-9 {
			break
		}
		from = next
	}
	return size
}

// cores measures the core of the dynamics from random starts.
func (b *bench) cores(ctx context.Context, buffers []string, size func(s *sample, in []uint32, i int) int) error {
	values, poisson, share := make([][]float64, len(buffers)), make([]float64, len(buffers)), make([]float64, len(buffers))
	periods := map[int]int{}
	err := b.eachSample(ctx, typicalAlpha, false, func(s *sample) {
		in := indegrees(s.g)
		for i := range buffers {
			k := size(s, in, i)
			if k < 1 || k >= s.n {
				continue
			}
			d, err := retain.New(s.g, retain.Config{Buffer: k}, retain.RandomStart(s.n, k, s.r), s.r)
			if err != nil {
				panic(err) // sizes are in range
			}
			l := retain.Run(d, coreSteps)
			periods[l.Period]++
			values[i] = append(values[i], float64(len(l.Core)))
			poisson[i] += coreEstimate(s, k)
			share[i] += float64(k) / float64(s.n)
		}
	}, func(n, _ int) {
		for i, name := range buffers {
			if runs := len(values[i]); runs > 0 {
				b.row("core", name, n, values[i], poisson[i]/float64(runs), "Θ(n^(1−ε))", noConstant)
			}
			values[i], poisson[i], share[i] = nil, 0, 0
		}
	})
	b.periodsNote(periods)
	return err
}

// periodsNote says how the limit cycles of the runs are, by their periods; 0: none was found.
func (b *bench) periodsNote(periods map[int]int) {
	runs, longest := 0, 0
	for period, n := range periods {
		runs, longest = runs+n, max(longest, period)
	}
	b.Notef("Of %d runs %d end at a fixed point, %d in a cycle of 2 or more steps, the longest of %d, and %d in none within %d steps.",
		runs, periods[1], runs-periods[1]-periods[0], longest, periods[0], coreSteps)
}

// coreSteps is after how many steps the search for a limit cycle is given up.
const coreSteps = 2000

// [ABCHMT08, Theorem 2]: the core of a buffer of c·n pages.
func theorem2(ctx context.Context, env *Env) (*Result, error) {
	b := newBench(env)
	b.scales = env.coreScales()
	cs := []float64{0.02, 0.05, 0.1, 0.2, 0.4}
	var names []string
	for _, c := range cs {
		names = append(names, fmt.Sprintf("b=%v n", c))
	}
	if err := b.cores(ctx, names, func(s *sample, _ []uint32, i int) int { return int(cs[i] * float64(s.n)) }); err != nil {
		return nil, err
	}
	for _, name := range names {
		b.slope("core", name, atLeast, 1)
	}
	b.Notef("The estimate counts all pages with a vote that fit, zero-vote pages that stay by their priority left out.")
	return b.figure("core of a buffer of c·n pages"), nil
}

// [ABCHMT08, Theorem 3]: the core where the buffer holds the pages of n^δ links and more.
func theorem3(ctx context.Context, env *Env) (*Result, error) {
	b := newBench(env)
	b.scales = env.coreScales()
	deltas := []float64{1. / 16, 1. / 8, 1. / 4}
	names := []string{"δ=1/16", "δ=1/8", "δ=1/4 (outside the theorem)"}
	err := b.cores(ctx, names, func(s *sample, in []uint32, i int) int {
		return withLinks(in, atLinks(s.n, deltas[i]))
	})
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		b.slope("core", name, atLeast, 1-7*deltas[i]/4)
	}
	for i, name := range names {
		b.linksNote(name, deltas[i])
	}
	return b.figure("core of a buffer for pages of n^δ links"), nil
}

// linksNote says which whole numbers of links n^δ is rounded to.
func (b *bench) linksNote(name string, delta float64) {
	var hs []string
	for _, scale := range b.scales {
		if h := fmt.Sprint(atLinks(scale.n, delta)); len(hs) == 0 || hs[len(hs)-1] != h {
			hs = append(hs, h)
		}
	}
	if len(hs) == 1 {
		b.Notef("%s: h = n^δ, rounded to a whole number of links, is %s at all sizes, so that the buffer is the same share of each graph and the slope is that of Theorem 2.", name, hs[0])
		return
	}
	b.Notef("%s: h = n^δ, rounded to a whole number of links, is %s over these sizes: its steps show in those of the buffer and of the core.", name, strings.Join(hs, ", "))
}

// atLinks returns n^δ as a number of links.
func atLinks(n int, delta float64) int {
	return max(1, int(math.Round(math.Pow(float64(n), delta))))
}

// topOf returns the nodes of a share of the graph, at least one, that score best.
func topOf[T float64 | uint32](score []T, share float64) []graph.Node {
	return graph.Top(score, max(1, int(share*float64(len(score)))), nil)
}
