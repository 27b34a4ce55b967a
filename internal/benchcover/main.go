// Benchcover prints what the set cover engines reach on this machine: each line is one
// figure, the goal beside it. Ratios are medians over pairs of runs within one process;
// memory is that of a process of its own. It makes the graphs web2m and web20m where they
// are absent, 1 GB in all.
//
//	go run ./internal/benchcover -shared ../shared -dir /tmp/bench-cover
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"forage/cover"
	"forage/cover/sets"
	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/bv"
	"forage/graph/gen"
)

var (
	dir     = flag.String("dir", filepath.Join(os.TempDir(), "bench-cover"), "folder of the graphs")
	shared  = flag.String("shared", "../shared", "folder of the data beside the project")
	reps    = flag.Int("reps", 7, "runs of each figure on the small graphs; a third on web20m")
	big     = flag.Bool("big", true, "also web20m: 413 million arcs, 4 GB of memory")
	improve = flag.Duration("improve", time.Minute, "local search on rail507, each problem; 0: none")
	child   = flag.String("child", "", "run one engine on the file that follows: engine, p, threads, out of core")
)

func main() {
	flag.Parse()
	var err error
	if *child != "" {
		err = runChild(*child, flag.Arg(0))
	} else {
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchcover:", err)
		os.Exit(1)
	}
}

// line prints one figure.
func line(what string, value float64, unit, goal string) {
	fmt.Printf("%-74s %10.3f %-12s %s\n", what, value, unit, goal)
}

func run() error {
	fmt.Printf("%s, %d processors\n", runtime.Version(), runtime.GOMAXPROCS(0))
	if err := os.MkdirAll(*dir, 0o777); err != nil {
		return err
	}
	web2m, err := weblike("web2m", 2_000_000, 21, 0xb91395d8c11126b1)
	if err != nil {
		return err
	}
	g, err := bv.Open(filepath.Join(*shared, "data", "webgraphs", "cnr-2000.graph"))
	if err != nil {
		return err
	}
	defer g.Close()
	csr, err := graph.Load(g)
	if err != nil {
		return err
	}
	cnr := cover.OutLinks(csr).(*cover.Lists)
	if err := engines("cnr-2000", cnr, *reps, "≥ 2"); err != nil {
		return err
	}
	l, _, err := sets.Load(web2m, sets.Binary, 0, 0)
	if err != nil {
		return err
	}
	if err := engines("web2m", l, *reps, "≥ 3.5"); err != nil {
		return err
	}
	if err := twoCores("web2m", l, *reps); err != nil {
		return err
	}
	size := float64(l.Size())
	l = nil
	for _, e := range []string{"pgreedy,2,1", "pgreedy,2,2", "spgreedy,1.2,1", "spgreedy,1.2,2", "fgreedy,0,1", "fgreedy-bucket,0,1", "rfgreedy,0,1"} {
		c, err := start(e, web2m)
		if err != nil {
			return err
		}
		line("web2m, memory above the baseline: "+e, float64(c.PeakRSS-c.BaseRSS-2_000_000/8)/size, "bytes/edge", "≤ 5")
	}
	if *big {
		if err := bigGraph(); err != nil {
			return err
		}
	}
	if err := graphs(g, csr); err != nil {
		return err
	}
	return library()
}

// weblike returns the file of a generated graph, made if it is absent.
func weblike(name string, n, dmin int, checksum uint64) (string, error) {
	path := filepath.Join(*dir, name+".sets")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fmt.Printf("making %s\n", path)
	g, err := gen.Weblike(n, dmin, 42)
	if err != nil {
		return "", err
	}
	if got := gen.Checksum(g); got != checksum {
		return "", fmt.Errorf("%s: checksum %x, want %x", name, got, checksum)
	}
	return path, arcs.Create(path, func(w io.Writer) error { return sets.Write(w, cover.OutLinks(g)) })
}

// cost is what a run took, in seconds: on the wall, and of processors. What else runs on the
// machine adds to the first only, next to nothing to the second.
type cost struct{ wall, processor float64 }

// of returns what counts for so many threads: with more than one it is the wall that they
// are for.
func (c cost) of(threads int) float64 {
	if threads == 1 {
		return c.processor
	}
	return c.wall
}

// solve measures an engine on a copy of l.
func solve(l *cover.Lists, a cover.Algorithm, o cover.Options) (c cost, r *cover.Result, err error) {
	own := &cover.Lists{Offset: slices.Clone(l.Offset), Elem: slices.Clone(l.Elem), N: l.N}
	o.InPlace = true
	runtime.GC()
	began, before := time.Now(), processor()
	r, err = cover.Solve(context.Background(), own, a, o)
	return cost{time.Since(began).Seconds(), processor() - before}, r, err
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

type engine struct {
	a    cover.Algorithm
	o    cover.Options
	name string
	size string // goal of the cover's size against greedy
}

func engines(name string, l *cover.Lists, reps int, goal string) error {
	all := []engine{
		{cover.NameFGreedy, cover.Options{Threads: 1}, "fgreedy", "= 1, the same sequence"},
		{cover.NameFGreedyBucket, cover.Options{Threads: 1}, "fgreedy-bucket", "≤ 1.005"},
		{cover.NameRFGreedy, cover.Options{Q: 1.05, Threads: 1}, "rfgreedy q=1.05", ""},
		{cover.NamePGreedy, cover.Options{P: 2, Q: 1, Threads: 1}, "pgreedy p=2 q=1", "= 1, the same sequence"},
		{cover.NameSPGreedy, cover.Options{P: 1.2, Threads: 1}, "spgreedy p=1.2", "≤ 1.01"},
		{cover.NameSPGreedy, cover.Options{P: 2, Threads: 1}, "spgreedy p=2", "≤ 1.05"},
		{cover.NamePGreedy, cover.Options{P: 2, Q: 1, Threads: 2}, "pgreedy p=2 q=1, two threads", "= 1, the same sequence"},
	}
	ratios := make([][]float64, len(all))
	times := make([][]float64, len(all))
	walls := make([][]float64, len(all))
	var textbook []float64
	for rep := range reps {
		base, want, err := solve(l, cover.NameGreedy, cover.Options{Threads: 1})
		if err != nil {
			return err
		}
		textbook = append(textbook, base.processor)
		for i, e := range all {
			c, r, err := solve(l, e.a, e.o)
			if err != nil {
				return err
			}
			seconds := c.of(e.o.Threads)
			ratios[i] = append(ratios[i], base.processor/seconds)
			times[i], walls[i] = append(times[i], seconds), append(walls[i], c.wall)
			if rep > 0 {
				continue
			}
			if err := cover.Verify(l, r, e.o); err != nil {
				return err
			}
			if strings.HasPrefix(e.size, "= 1") && !slices.Equal(r.Sets, want.Sets) {
				return fmt.Errorf("%s, %s: not the sequence of greedy", name, e.name)
			}
			line(name+", cover size against greedy: "+e.name, float64(r.Taken)/float64(want.Taken), "times", e.size)
		}
	}
	line(name+", greedy, processor time", median(textbook), "s", "")
	for i, e := range all {
		line(name+", time of greedy against: "+e.name, median(ratios[i]), "times", goal+" by the best")
		if e.o.Threads == 1 {
			line(name+", edges a second of processor time: "+e.name, float64(l.Size())/median(times[i])/1e6, "10^6/s", "pgreedy p=2 q=1 on web2m ≥ 80")
		}
		line(name+", edges a second on the wall: "+e.name, float64(l.Size())/median(walls[i])/1e6, "10^6/s", "")
	}
	return nil
}

func twoCores(name string, l *cover.Lists, reps int) error {
	var ratios, walls, extra []float64
	for range max(reps, 1) {
		one, a, err := solve(l, cover.NameSPGreedy, cover.Options{Threads: 1})
		if err != nil {
			return err
		}
		two, b, err := solve(l, cover.NameSPGreedy, cover.Options{Threads: 2})
		if err != nil {
			return err
		}
		if !slices.Equal(a.Sets, b.Sets) || a.Reads != b.Reads {
			return fmt.Errorf("%s: two threads do otherwise than one", name)
		}
		ratios = append(ratios, one.of(1)/two.of(2))
		walls = append(walls, one.wall/two.wall)
		extra = append(extra, two.processor/one.processor)
	}
	line(name+", two cores against one: spgreedy p=1.2", median(ratios), "times", "≥ 1.6, two idle cores given")
	line(name+", two cores against one, both on the wall: spgreedy p=1.2", median(walls), "times", "")
	line(name+", processor time of two cores against one: spgreedy p=1.2", median(extra), "times", "")
	return nil
}

func bigGraph() error {
	web20m, err := weblike("web20m", 20_000_000, 14, 0x0aedf45a09453ddc)
	if err != nil {
		return err
	}
	runtime.GC()
	for _, goal := range []struct {
		engine, speed string
	}{{"spgreedy,1.2,1,external", "≥ 20"}, {"spgreedy,1.2,2,external", "≥ 35"}} {
		var speeds, busy []float64
		memory := 0.0
		for range (*reps + 2) / 3 {
			c, err := start(goal.engine, web20m)
			if err != nil {
				return err
			}
			speeds = append(speeds, float64(c.Size)/c.Seconds/1e6)
			busy = append(busy, float64(c.Size)/c.Processor/1e6)
			memory = max(memory, float64(c.PeakRSS))
		}
		line("web20m, out of core, reading the file included: "+goal.engine, median(speeds), "10^6 edges/s", goal.speed)
		line("web20m, out of core, a second of processor time: "+goal.engine, median(busy), "10^6 edges", "")
		line("web20m, out of core, peak memory: "+goal.engine, memory/(1<<20), "MiB", "≤ 64 + 2.4 (n/8) + buffers")
	}
	l, _, err := sets.Load(web20m, sets.Binary, 0, 0)
	if err != nil {
		return err
	}
	return twoCores("web20m", l, (*reps+2)/3)
}

// graphs measures reading and writing of graphs.
func graphs(g *bv.Graph, csr *graph.CSR) error {
	var decode []float64
	for range *reps {
		began := processor() // what else runs on the machine takes none of this
		n := uint64(0)
		err := g.Scan(0, graph.Node(g.NumNodes()), func(_ graph.Node, succ []graph.Node) error {
			n += uint64(len(succ))
			return nil
		})
		if err != nil {
			return err
		}
		decode = append(decode, float64(n)/(processor()-began)/1e6)
	}
	line("cnr-2000, BV decoding on one core", median(decode), "10^6 arcs/s", "≥ 25")
	given, err := g.Bits()
	if err != nil {
		return err
	}
	began := processor()
	written, err := bv.Write(filepath.Join(*dir, "cnr-2000"), csr, bv.Config{}) // the given file's parameters are the defaults
	if err != nil {
		return err
	}
	line("cnr-2000, BV encoding", float64(written.Arcs)/(processor()-began)/1e6, "10^6 arcs/s", "")
	line("cnr-2000, size as BV against the given file", float64(written.Bits)/float64(given), "times", "≤ 1.02")
	text := filepath.Join(*dir, "cnr-2000.arcs")
	if err := arcs.WriteFile(text, csr, arcs.List); err != nil {
		return err
	}
	var load []float64
	for range *reps {
		began := time.Now()
		c, err := arcs.Load(text, arcs.Options{Threads: 2})
		if err != nil {
			return err
		}
		load = append(load, float64(c.NumArcs())/time.Since(began).Seconds()/1e6)
	}
	line("cnr-2000, text arcs to CSR on two cores", median(load), "10^6 arcs/s", "≥ 20")
	return nil
}

// library measures the local search on rail507.
func library() error {
	if *improve == 0 {
		return nil
	}
	path := filepath.Join(*shared, "data", "setsystems", "rail507")
	l, _, err := sets.Load(path+".txt.gz", sets.Text, 0, 0)
	if err != nil {
		return err
	}
	costs, err := readCosts(path + ".cost.gz")
	if err != nil {
		return err
	}
	for _, p := range []struct {
		name    string
		weights []float64
		best    float64
	}{{"unicost", nil, 96}, {"weighted", costs, 174}} {
		r, err := cover.Greedy(context.Background(), l, cover.Options{Weights: p.weights})
		if err != nil {
			return err
		}
		end := time.Now().Add(*improve)
		better, err := cover.Improve(l, r, p.weights, 0, rand.New(rand.NewPCG(1, 0)), func() bool { return time.Now().After(end) })
		if err != nil {
			return err
		}
		if err := cover.Verify(l, better, cover.Options{Weights: p.weights}); err != nil {
			return err
		}
		line(fmt.Sprintf("rail507 %s, %v of local search: %v against the best known, %v", p.name, *improve, better.Weight, p.best), better.Weight/p.best, "times", "≤ 1.03")
	}
	return nil
}

func readCosts(path string) (costs []float64, err error) {
	r, err := arcs.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		var v float64
		if _, err := fmt.Fscan(r, &v); err == io.EOF {
			return costs, nil
		} else if err != nil {
			return nil, err
		}
		costs = append(costs, v)
	}
}

// childResult is what a process of its own tells of one run.
type childResult struct {
	Seconds          float64 // on the wall
	Processor        float64 // of all threads
	Size             uint64
	BaseRSS, PeakRSS int64
}

// start runs one engine in a process of its own.
func start(engine, path string) (*childResult, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-dir", *dir, "-child", engine, path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", engine, err)
	}
	c := new(childResult)
	return c, json.NewDecoder(bytes.NewReader(out)).Decode(c)
}

func runChild(engine, path string) error {
	c := childResult{BaseRSS: peak()}
	w := strings.Split(engine, ",")
	if len(w) < 3 {
		return fmt.Errorf("-child %q: want engine,p,threads", engine)
	}
	var o cover.Options
	if _, err := fmt.Sscan(w[1], &o.P); err != nil {
		return err
	}
	if _, err := fmt.Sscan(w[2], &o.Threads); err != nil {
		return err
	}
	o.InPlace = true
	o.Take = func(set, gain uint64) error { return nil }
	if len(w) == 4 {
		f, err := sets.Open(path, sets.Binary)
		if err != nil {
			return err
		}
		scratch, err := sets.NewScratch(*dir)
		if err != nil {
			return err
		}
		runtime.GOMAXPROCS(o.Threads)
		began, before := time.Now(), processor()
		r, err := cover.External(context.Background(), f, scratch, o)
		if err != nil {
			return err
		}
		c.Seconds, c.Processor, c.Size = time.Since(began).Seconds(), processor()-before, r.Size
	} else {
		l, _, err := sets.Load(path, sets.Binary, 0, 0)
		if err != nil {
			return err
		}
		began := time.Now()
		r, err := cover.Solve(context.Background(), l, cover.Algorithm(w[0]), o)
		if err != nil {
			return err
		}
		c.Seconds, c.Size = time.Since(began).Seconds(), r.Size
	}
	c.PeakRSS = peak()
	return json.NewEncoder(os.Stdout).Encode(c)
}

// peak returns the most memory the process ever had, in bytes.
func peak() int64 {
	text, err := os.ReadFile("/proc/self/status") // Rusage would count the parent, too
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if w := strings.Fields(line); len(w) >= 2 && w[0] == "VmHWM:" {
			kb, err := strconv.ParseInt(w[1], 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}

// processor returns the processor time of the process, all threads together, in seconds.
func processor() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
