package explore_test

import (
	"math/rand/v2"
	"testing"

	"forage/explore"
	"forage/explore/exploretest"
)

func TestConformance(t *testing.T) {
	for _, name := range append(explore.Names(), "best") {
		t.Run(name, func(t *testing.T) { exploretest.Test(t, name) })
	}
}

func TestUnknownName(t *testing.T) {
	if _, err := explore.New("bsf", explore.Config{}); err == nil {
		t.Error(`New("bsf") gave a policy`)
	}
	for _, name := range append(explore.Names(), "best") {
		if name == "med" {
			continue
		}
		if _, err := explore.New(name, explore.Config{Rand: rand.New(rand.NewPCG(1, 1))}); err != nil {
			t.Errorf("New(%q): %v", name, err)
		}
	}
}
