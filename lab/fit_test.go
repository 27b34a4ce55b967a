package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"forage/revisit"
	"forage/snap"
)

// TestFold: a site stays where it is from one version to the next, else fits would hold sites that
// they are to be judged by.
func TestFold(t *testing.T) {
	for site, want := range map[string]int{"": 7, "drill": 8, "wcag": 1, "kudu": 4} {
		if got := Fold(site, 10); got != want {
			t.Errorf("%q is in fold %d, want %d", site, got, want)
		}
	}
	var sizes [10]int
	for i := range 1000 {
		sizes[Fold(fmt.Sprintf("site-%d.example", i), 10)]++
	}
	if slices.Min(sizes[:]) < 60 || slices.Max(sizes[:]) > 140 {
		t.Errorf("folds of 1000 sites have %v", sizes)
	}
}

// datedBlogs returns an Env over made-up histories of commits of sites with these names.
func datedBlogs(t *testing.T, names ...string) *Env {
	t.Helper()
	dir := t.TempDir()
	for i, name := range names {
		h := snap.Blog(rand.New(rand.NewPCG(1, uint64(i))), 8)
		h.Site, h.Dated = name, true
		f, err := os.Create(filepath.Join(dir, name+".snap.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(snap.Write(f, h), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return &Env{Data: dir, Seed: 1}
}

// TestFitNumbers: the result is no worse than the start, and the same bytes with one processor as with many.
func TestFitNumbers(t *testing.T) {
	env := datedBlogs(t, "one", "two")
	var progress strings.Builder
	env.Progress = &progress
	fit := func() *revisit.Fit {
		f, err := Fit(t.Context(), env, FitConfig{Rounds: 1, Draws: 8})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := fit()
	if !slices.Equal(f.Origin.Sites, []string{"one", "two"}) || f.Origin.Fold != "" {
		t.Errorf("origin %+v", f.Origin)
	}
	if !strings.HasPrefix(progress.String(), "round 1 of 1, 2 sites: the centre finds ") || strings.Count(progress.String(), "\n") != 1 {
		t.Errorf("progress %q", progress.String())
	}
	sites, err := readFitSites(t.Context(), env, FitConfig{})
	if err != nil {
		t.Fatal(err)
	}
	judge := func(p revisit.Prior) float64 {
		s := search{scores: func(priors []revisit.Prior) ([]float64, error) { return fitScores(t.Context(), sites, priors) }}
		x, err := s.judge(&p)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	if start, result := judge(revisit.RoundPrior()), judge(f.Prior); result < start || rounded(result, 5) != f.Origin.Score || !(start > 0 && result <= 100) {
		t.Errorf("the start scores %g, the result %g, and says %g", start, result, f.Origin.Score)
	}
	if parsed, err := revisit.ParseFit(f.JSON()); err != nil || parsed.Prior != f.Prior {
		t.Errorf("written and read: %+v, %v", parsed, err)
	}
	was := runtime.GOMAXPROCS(1)
	again := fit()
	runtime.GOMAXPROCS(was)
	if string(f.JSON()) != string(again.JSON()) {
		t.Errorf("another run gives\n%s\nwant\n%s", again.JSON(), f.JSON())
	}
}

// TestFitFolds: the sites of the fold are left out.
func TestFitFolds(t *testing.T) {
	env := datedBlogs(t, "a", "b", "c", "d")
	parts := map[int][]string{}
	for _, name := range []string{"a", "b", "c", "d"} {
		parts[Fold(name, 2)] = append(parts[Fold(name, 2)], name)
	}
	if len(parts) != 2 {
		t.Fatalf("all in one fold: %v", parts)
	}
	for i := range 2 {
		sites, err := readFitSites(t.Context(), env, FitConfig{Fold: i + 1, Folds: 2})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range sites {
			names = append(names, s.name)
		}
		if !slices.Equal(names, parts[1-i]) {
			t.Errorf("without fold %d of 2: %v, want %v", i+1, names, parts[1-i])
		}
	}
	fits, err := FitFolds(t.Context(), env, 2, FitConfig{Rounds: 1, Draws: 2})
	if err != nil || len(fits) != 3 {
		t.Fatalf("%d fits, %v", len(fits), err)
	}
	for i, f := range fits {
		cfg := FitConfig{Rounds: 1, Draws: 2}
		if i < 2 {
			cfg.Fold, cfg.Folds = i+1, 2
		}
		alone, err := Fit(t.Context(), env, cfg)
		if err != nil || string(alone.JSON()) != string(f.JSON()) {
			t.Errorf("fit %d of both folds and the whole: %v\n%s\nalone\n%s", i+1, err, f.JSON(), alone.JSON())
		}
	}
	var unfit *DataError
	alone := datedBlogs(t, "one")
	if _, err := Fit(t.Context(), alone, FitConfig{Fold: Fold("one", 5) + 1, Folds: 5, Rounds: 1, Draws: 2}); !errors.As(err, &unfit) || !strings.Contains(err.Error(), "nothing to fit to") {
		t.Errorf("all sites left out: %v", err)
	}
	f, err := Fit(t.Context(), alone, FitConfig{Fold: (Fold("one", 5)+1)%5 + 1, Folds: 5, Rounds: 1, Draws: 2})
	if err != nil || !slices.Equal(f.Origin.Sites, []string{"one"}) || f.Origin.Fold != fmt.Sprintf("%d/5", (Fold("one", 5)+1)%5+1) {
		t.Errorf("another fold left out: %+v, %v", f, err)
	}
	if _, err := Fit(t.Context(), blog(t), FitConfig{Rounds: 1, Draws: 2}); !errors.As(err, &unfit) {
		t.Errorf("a history of recrawls: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fit(ctx, alone, FitConfig{Rounds: 1, Draws: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestSearch: it comes near numbers that are known to be best, and stays within the limits.
func TestSearch(t *testing.T) {
	distance := func(p revisit.Prior, factor float64) float64 {
		sum, start := 0.0, revisit.RoundPrior()
		for i, n := range start.Numbers() {
			x := math.Log(factor * *n.Value / *p.Numbers()[i].Value)
			sum += x * x
		}
		return sum
	}
	for _, factor := range []float64{1.5, .5, 1e6, 1e-6} {
		var judged []revisit.Prior
		s := search{random: rand.New(rand.NewPCG(1, 0)), tell: func(int, float64, float64) {}, scores: func(priors []revisit.Prior) ([]float64, error) {
			var out []float64
			for _, p := range priors {
				out = append(out, -distance(p, factor))
			}
			judged = append(judged, priors...)
			return out, nil
		}}
		best, score, err := s.run(revisit.RoundPrior(), 8, 64)
		start := -distance(revisit.RoundPrior(), factor)
		if at := -distance(best, factor); err != nil || at < start || factor > .1 && factor < 10 && at < .5*start || math.Abs(score-at) > .5+.1*math.Abs(start) {
			t.Errorf("towards %g times the start: at %g and scores %g, from %g, %v", factor, at, score, start, err)
		}
		if len(judged) != 8*64+9*fitCopies {
			t.Errorf("%d priors judged", len(judged))
		}
		for _, p := range judged {
			for _, n := range p.Numbers() {
				if !(*n.Value >= n.Least && *n.Value <= n.Most) {
					t.Fatalf("%s is %g, want %g to %g", n.Name, *n.Value, n.Least, n.Most)
				}
			}
		}
	}
	failed := errors.New("failed")
	s := search{random: rand.New(rand.NewPCG(1, 0)), scores: func([]revisit.Prior) ([]float64, error) { return nil, failed }}
	if _, _, err := s.run(revisit.RoundPrior(), 1, 64); err != failed {
		t.Errorf("got %v, want what failed", err)
	}
}

// TestFoldFiles: what best-folds goes by at a site was not fitted to it.
func TestFoldFiles(t *testing.T) {
	fits, err := foldFits()
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range fits {
		if want := fmt.Sprintf("%d/%d", i+1, numFolds); f.Origin.Fold != want {
			t.Errorf("folds/%d.json is of fold %s, want %s", i+1, f.Origin.Fold, want)
		}
		for _, site := range f.Origin.Sites {
			if Fold(site, numFolds) == i {
				t.Errorf("folds/%d.json was fitted to %s, which is in that fold", i+1, site)
			}
		}
	}
}
