// Package paper holds the revisit policies of "The Discoverability of the Web" [DGKOPT07], with
// the baselines that it and the lab compare them with. They are here to be compared: a site
// that has no full recrawls learns nothing from them, and revisit.Best finds more with them too.
//
// New and Policies know all policies by name, those of package revisit as well, so whoever takes
// any name (the live crawl, the command line, the lab) calls this package and no other.
//
// A policy here is a plan made in Begin from what full recrawls have shown: ODWin by the share of
// new pages that each document covered, Cliq by one document of each cluster of documents that
// cover the same, Cov by a greedy cover. Bandit learns from its own fetches; Uniform learns
// nothing. Greedy is the oracle. Nutch and Storm are the adaptive schedules of two crawlers that
// many use. Cho, Olston, Lefortier, Azar, Whittle, Kolobov, Upadhyay, Avrachenkov and BusaFekete are policies
// of the literature on refreshing copies; they share a refresher.
package paper

import (
	"errors"
	"math/rand/v2"
	"slices"

	"forage/revisit"
)

// cliqFar is the paper's ε_b [DGKOPT07, §5.6].
const cliqFar = .8

// odWin is the one policy of the paper that serves.
var odWin = revisit.Description{Name: "od-win", Full: true, Doc: "documents that led to most new pages in past full recrawls; nothing without one", Make: func(c revisit.Config) revisit.Policy { return NewODWin(c.Alpha, false) }}

// lists is what others are measured by, and serves who wants no more.
var lists = revisit.Description{Name: "lists", Doc: "main feeds, sitemaps and home in every cycle, then round robin", Make: func(revisit.Config) revisit.Policy { return NewListsFirst() }}

var compared = []revisit.Description{
	{Name: "od-all", Lab: true, Full: true, Doc: "od-win, with a full recrawl every cycle", Make: func(c revisit.Config) revisit.Policy { return NewODWin(c.Alpha, false) }},
	{Name: "od-1", Lab: true, Full: true, Doc: "od-win, from the latest full recrawl only", Make: func(revisit.Config) revisit.Policy { return NewODWin(1, true) }},
	{Name: "cliq-win", Lab: true, Full: true, Doc: "od-win over clusters of documents that show the same, and over each document", Make: func(c revisit.Config) revisit.Policy { return NewCliq(c.Alpha, cliqFar, false, Literal) }},
	{Name: "cliq-1", Lab: true, Full: true, Doc: "cliq-win, from the latest full recrawl only", Make: func(revisit.Config) revisit.Policy { return NewCliq(1, cliqFar, true, Literal) }},
	{Name: "cliq-win-disjoint", Lab: true, Full: true, Doc: "cliq-win, a clustered document in its cluster only", Make: func(c revisit.Config) revisit.Policy { return NewCliq(c.Alpha, cliqFar, false, Disjoint) }},
	{Name: "cliq-1-disjoint", Lab: true, Full: true, Doc: "cliq-win-disjoint, from the latest full recrawl only", Make: func(revisit.Config) revisit.Policy { return NewCliq(1, cliqFar, true, Disjoint) }},
	{Name: "cov", Lab: true, Full: true, Doc: "greedy cover of the latest full recrawl", Make: func(revisit.Config) revisit.Policy { return &Cov{} }},
	{Name: "bandit", Lab: true, Doc: "multi-armed bandit, UCB1", Make: func(revisit.Config) revisit.Policy { return NewBandit(0, nil) }},
	{Name: "bandit-greedy", Lab: true, Doc: "multi-armed bandit, ε-greedy with ε = 0.1", Make: func(c revisit.Config) revisit.Policy { return NewBandit(.1, rand.New(rand.NewPCG(c.Seed, 1))) }},
	{Name: "uniform", Lab: true, Doc: "documents at random", Make: func(c revisit.Config) revisit.Policy { return NewUniform(rand.New(rand.NewPCG(c.Seed, 2))) }},
	{Name: "nutch", Lab: true, Doc: "what is due by Apache Nutch's AdaptiveFetchSchedule", Make: func(revisit.Config) revisit.Policy { return NewNutch() }},
	{Name: "storm", Lab: true, Doc: "what is due by StormCrawler's AdaptiveScheduler", Make: func(revisit.Config) revisit.Policy { return NewStorm() }},
	{Name: "cho", Lab: true, Doc: "most copies fresh, Cho and Garcia-Molina 2003", Make: func(revisit.Config) revisit.Policy { return NewCho() }},
	{Name: "olston", Lab: true, Doc: "cho by the worth of a fetch now, Olston and Pandey 2008", Make: func(revisit.Config) revisit.Policy { return NewOlston() }},
	{Name: "lefortier", Lab: true, Doc: "most interest in new pages saved, Lefortier et al. 2013", Make: func(revisit.Config) revisit.Policy { return NewLefortier() }},
	{Name: "azar", Lab: true, Doc: "most copies fresh by random fetches, Azar et al. 2018", Make: func(revisit.Config) revisit.Policy { return NewAzar() }},
	{Name: "whittle", Lab: true, Doc: "Whittle index for ephemeral content, Avrachenkov and Borkar 2018", Make: func(revisit.Config) revisit.Policy { return NewWhittle() }},
	{Name: "kolobov", Lab: true, Doc: "least harmonic penalty of waiting changes, Kolobov et al. 2019", Make: func(revisit.Config) revisit.Policy { return NewKolobov() }},
	{Name: "upadhyay", Lab: true, Doc: "azar, learning from looks, Upadhyay et al. 2020", Make: func(c revisit.Config) revisit.Policy { return NewUpadhyay(c.Seed) }},
	{Name: "avrachenkov-lln", Lab: true, Doc: "azar, rates by the law of large numbers, Avrachenkov et al. 2020", Make: func(c revisit.Config) revisit.Policy { return NewAvrachenkov(largeNumbers, c.Seed) }},
	{Name: "avrachenkov-sa", Lab: true, Doc: "azar, rates by stochastic approximation, Avrachenkov et al. 2020", Make: func(c revisit.Config) revisit.Policy { return NewAvrachenkov(stochasticApproximation, c.Seed) }},
	{Name: "busa-fekete", Lab: true, Doc: "crawl value with noisy change signals, Busa-Fekete et al. 2025", Make: func(revisit.Config) revisit.Policy { return NewBusaFekete() }},
}

// Policies returns all policies that New makes, those that serve first: od-win stands before
// od-win-audit, which is made of it, and lists before round-robin.
func Policies() []revisit.Description {
	var all []revisit.Description
	for _, d := range revisit.Policies() {
		switch d.Name {
		case "od-win-audit":
			all = append(all, odWin)
		case "round-robin":
			all = append(all, lists)
		}
		all = append(all, d)
	}
	return append(all, compared...)
}

// NeedsRecrawls reports whether the policy of a name learns from full recrawls only, so that it
// names no document before one has led to a new page.
func NeedsRecrawls(name string) bool {
	return slices.ContainsFunc(Policies(), func(d revisit.Description) bool { return d.Name == name && d.Full })
}

// New returns the policy of a name, of this package or of package revisit. The error for an
// unknown name suggests the nearest.
func New(name string, cfg revisit.Config) (revisit.Policy, error) {
	if name == "greedy" {
		return nil, errors.New("greedy is the oracle: it knows what is new, as no live crawl does; 'forage lab run discoverability-beyond' has it beside the others")
	}
	return revisit.NewFrom(Policies(), name, cfg)
}
