package lab

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestPoissonAtLeast(t *testing.T) {
	for _, tt := range []struct {
		mean float64
		h    int
		want float64
	}{
		{1, 0, 1},
		{1, 1, 1 - 1/math.E},
		{2, 3, 1 - 5*math.Exp(-2)},
		{1e-4, 3, 1.6665416749986e-13}, // x³/6·(1 − 3x/4 + …)
		{1000, 1000, 0.5063},
	} {
		if got := poissonAtLeast(tt.mean, tt.h); math.Abs(got/tt.want-1) > 1e-3 {
			t.Errorf("poissonAtLeast(%v, %d) = %v, want %v", tt.mean, tt.h, got, tt.want)
		}
	}
}

func TestBinomialAndWilson(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sum := 0
	for range 4000 {
		sum += binomial(r, 1000, 0.003)
	}
	if mean := float64(sum) / 4000; math.Abs(mean-3) > 0.15 { // five standard errors
		t.Errorf("binomial(1000, 0.003) has mean %v, want 3", mean)
	}
	if got := binomial(r, 7, 1); got != 7 {
		t.Errorf("binomial(7, 1) = %d, want 7", got)
	}
	// Agresti and Coull's example: 0 of 10.
	if low, high := wilson(0, 10); low != 0 || math.Abs(high-0.2775) > 1e-3 {
		t.Errorf("wilson(0, 10) = %v, %v, want 0, 0.2775", low, high)
	}
}

func TestFit(t *testing.T) {
	x := []float64{10, 100, 1000, 1e4}
	slope, half := fit(x, []float64{3 * 5, 3 * 25, 3 * 125, 3 * 625})
	if want := math.Log10(5); math.Abs(slope-want) > 1e-12 || half > 1e-9 {
		t.Errorf("fit = %v ± %v, want %v ± 0", slope, half, want)
	}
	if slope, _ := fit(x, []float64{1, 0, math.Inf(1), 1e4}); math.Abs(slope-4./3) > 1e-12 {
		t.Errorf("fit without the points at 0 and infinity = %v, want 4/3", slope)
	}
}

func TestZeta(t *testing.T) {
	if got := zeta(2); math.Abs(got-math.Pi*math.Pi/6) > 1e-7 {
		t.Errorf("zeta(2) = %v", got)
	}
}

// All tables of the paper, on small graphs: each has rows, and where counts are large the
// Poisson estimates are near.
func TestStabilityTables(t *testing.T) {
	all, cores, size := scales, coreScales, webNodes
	defer func() { scales, coreScales, webNodes = all, cores, size }()
	scales = []scale{{700, 2}, {2000, 2}}
	coreScales = scales
	webNodes = 1000
	for _, e := range stability {
		if e.Name == "stability-keep" { // of site histories, see its own test
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			env := &Env{Data: t.TempDir(), Out: t.TempDir(), Seed: 1, Runs: 2}
			r, err := e.Run(t.Context(), env)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Rows) < 4 || len(r.Notes) == 0 {
				t.Errorf("%d rows, %d notes", len(r.Rows), len(r.Notes))
			}
			for _, note := range r.Notes {
				if strings.Contains(note, "%!") || strings.Contains(note, "NaN") || strings.Contains(note, "Inf") {
					t.Errorf("note %q", note)
				}
			}
			if err := r.Write(env.Out, e.Name); err != nil {
				t.Error(err)
			}
			for _, row := range r.Rows {
				if r.Columns[0] != "quantity" || row[2] == nil {
					continue
				}
				measured, _ := row[4].(float64)
				poisson, _ := row[7].(float64)
				if row[0] == "nodes of in-degree 0" && math.Abs(measured/poisson-1) > 0.1 {
					t.Errorf("%v", row)
				}
				if row[0] == "reachable from 1 and 2" && math.Abs(measured/poisson-1) > 0.3 {
					t.Errorf("%v", row)
				}
			}
		})
	}
}

// What is said of inertia comes from the rows.
func TestInertia(t *testing.T) {
	got := inertia("web", map[string]float64{"indegree": 0.77, "lead 1": 0.78, "lead 2": 0.72, "lead 3": 0.67,
		"lead 1 after 30 free steps": 0.77, "lead 3 after 30 free steps": 0.76}, map[string]float64{"indegree": 0.05, "lead 1": 0})
	want := "web: of the true top b by links the buffer holds 0.770 without a lead, 0.780 (+0.010) with lead 1, 0.720 (-0.050) with lead 2, 0.670 (-0.100) with lead 3, " +
		"0.770 (+0.000) with lead 1 after 30 free steps, 0.760 (-0.010) with lead 3 after 30 free steps. A step replaces 5.00% of it without a lead, 0.00% with lead 1."
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
