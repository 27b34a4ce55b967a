// Watchbench measures the service, and prints beside each figure what is asked of it: how soon what was found is
// told, what a thousand sites take when nothing is due and when all are due each minute, how long pages take to be
// made when there is much to tell.
//
//	go run ./internal/watchbench
//	go run ./internal/watchbench -only rounds -quick
//
// The service is a process of its own; the sites, on addresses of their own in 127.0.0.0/8, and those who read, are this one, and
// so are of the load: on two cores about as much again as the service. All of it takes half an hour; -quick divides
// the sizes by ten. What is written goes into a folder that is removed at the end.
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forage/internal/asked"
)

func main() {
	b := &bench{Table: asked.Table{Out: os.Stdout}}
	only := flag.String("only", "", "measure this row alone: "+asked.Names(b.rows()))
	flag.BoolVar(&b.Quick, "quick", false, "sizes divided by ten, for a look")
	flag.StringVar(&b.forage, "forage", "", "the program to measure; empty builds ./cmd/forage")
	flag.Parse()
	if err := b.run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "watchbench:", err)
		os.Exit(1)
	}
}

// A bench is one call of the program.
type bench struct {
	asked.Table
	forage string
	tmp    string
}

// rows are what can be measured, in the order in which it is.
func (b *bench) rows() []asked.Row {
	return []asked.Row{
		{Name: "size", Run: b.binary},
		{Name: "idle", Run: b.idle},
		{Name: "rounds", Run: b.rounds},
		{Name: "large", Run: b.large},
	}
}

func (b *bench) run(only string) (err error) {
	if err := asked.Know(b.rows(), only); err != nil {
		return err
	}
	if b.tmp, err = os.MkdirTemp("", "watchbench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.tmp)
	if b.forage == "" {
		b.forage = filepath.Join(b.tmp, "forage")
		cmd := exec.Command("go", "build", "-o", b.forage, "./cmd/forage")
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go build: %w", err)
		}
	}
	return b.Run(b.rows(), only)
}

// quantile is the value below which a share q of all lies, in the unit of a second; NaN of none.
func quantile(all []time.Duration, q float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	all = slices.Sorted(slices.Values(all))
	return all[min(len(all)-1, int(q*float64(len(all))))].Seconds()
}

// binary is how large the program is that users get.
func (b *bench) binary() error {
	path := filepath.Join(b.tmp, "stripped")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/forage")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	b.Tell("stripped program", float64(info.Size())/1e6, "MB", 38)
	return nil
}

// config is a configuration of all sites of a web.
func config(w *web, keys string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "listen: 127.0.0.1:0\ndefaults: {%s}\nsites:\n", keys)
	for i := range w.pages {
		fmt.Fprintf(&text, "  - url: %s\n", w.home(i))
	}
	return text.String()
}

// idle is what a thousand sites take when nothing is due.
func (b *bench) idle() error {
	sites := b.Size(1000)
	w, err := newWeb(sites, 100)
	if err != nil {
		return err
	}
	defer w.stop()
	store := filepath.Join(b.tmp, "idle")
	s, err := b.start(store, config(w, "every: 240h, budget: 10"))
	if err != nil {
		return err
	}
	if err := s.ready(sites, 10*time.Minute); err != nil {
		s.stop()
		return err
	}
	if _, err := s.stop(); err != nil {
		return err
	}
	if s, err = b.start(store, config(w, "every: 240h, budget: 10")); err != nil {
		return err
	}
	const watched = 60 * time.Second
	time.Sleep(15 * time.Second) // what a start has to read is read then
	before, err := s.use()
	if err != nil {
		return err
	}
	time.Sleep(watched)
	after, err := s.use()
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d sites of 100 pages: ", sites)
	b.Tell(what+"start", s.took.Seconds(), "s", 2)
	b.Tell(what+"idle, of a core", 100*(after.cpu-before.cpu).Seconds()/watched.Seconds(), "%", 1)
	b.Tell(what+"idle, memory", float64(after.resident)/1e6, "MB", 150)
	took, err := s.stop()
	b.Tell(what+"stop", took.Seconds(), "s", 5)
	return err
}
