package lab

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"forage/revisit"
	"forage/snap"
)

// Fold returns to which of n folds a site belongs, 0 to n−1: by its name alone, so that it does not
// depend on which other sites are there. It is FNV-1a of 64 bits modulo n.
func Fold(site string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(site))
	return int(h.Sum64() % uint64(n))
}

// A FitConfig says how Fit goes.
type FitConfig struct {
	// Fold of Folds, from 1, is the one whose sites are left out; 0: none is.
	Fold, Folds int
	// Rounds of the search, in each of which Draws vectors are judged: most of the time goes there.
	Rounds, Draws int
}

// FitRounds and FitDraws are what Fit is given where nobody says otherwise. Folds share the draws of the
// first round and no others.
const (
	FitRounds = 1
	FitDraws  = 128
)

// The budgets at which a prior is judged, of old documents a day, and what is found within each of
// delayHours counts. Late finds count more: to have a page at all comes before having it at once. This
// was decided before anything was fitted, and is no result.
const fitHours = 24

var (
	fitBudgets = [...]int{1, 3, 10}
	fitWeights = [len(delayHours)]float64{.7, 1, 1.3}
)

// Of each round of the search: the one of how many draws that is among the best, whose mean is the next
// centre, the standard deviation of the logarithms at first, and what each round makes of it.
const (
	fitBest   = 4
	fitSpread = .5
	fitNarrow = .7
)

// A run says little of a vector: numbers varied by a tenth find half a point more or less. So centres,
// of which the best is kept, are judged by the mean of fitCopies that are varied so, in pairs of which
// one has more of what the other has less of.
const (
	fitCopies = 4
	fitVaried = .1
)

// Fit fits the numbers of the policy best to the histories of commits below the folder of env that
// the tables of delays count. They are judged by the share of pages found within 1, 7 and 28 days
// of publication, in percent: the mean over these, as fitWeights has them, by page and by publication,
// over sites and over fitBudgets.
func Fit(ctx context.Context, env *Env, cfg FitConfig) (*revisit.Fit, error) {
	sites, err := readFitSites(ctx, env, cfg)
	if err != nil {
		return nil, err
	}
	return fitTo(ctx, env, sites, cfg)
}

// FitFolds returns what Fit finds without each of so many folds, in their order, and then what it finds
// with all sites; it does not go by the fold of cfg. What several of these searches ask of a site is found
// out once: the draws of the first round are those of all.
func FitFolds(ctx context.Context, env *Env, folds int, cfg FitConfig) ([]*revisit.Fit, error) {
	sites, err := readFitSites(ctx, env, FitConfig{})
	if err != nil {
		return nil, err
	}
	var fits []*revisit.Fit
	for fold := 1; fold <= folds; fold++ {
		others := slices.DeleteFunc(slices.Clone(sites), func(s *fitSite) bool { return Fold(s.name, folds) == fold-1 })
		cfg.Fold, cfg.Folds = fold, folds
		f, err := fitTo(ctx, env, others, cfg)
		if err != nil {
			return nil, err
		}
		fits = append(fits, f)
	}
	cfg.Fold, cfg.Folds = 0, 0
	f, err := fitTo(ctx, env, sites, cfg)
	return append(fits, f), err
}

// fitTo fits to these sites.
func fitTo(ctx context.Context, env *Env, sites []*fitSite, cfg FitConfig) (*revisit.Fit, error) {
	f := &revisit.Fit{}
	if cfg.Fold > 0 {
		f.Origin.Fold = fmt.Sprintf("%d/%d", cfg.Fold, cfg.Folds)
	}
	if len(sites) == 0 {
		return nil, &DataError{fmt.Sprintf("no site below %s is outside of fold %s: there is nothing to fit to", env.Data, f.Origin.Fold)}
	}
	for _, s := range sites {
		f.Origin.Sites = append(f.Origin.Sites, s.name)
	}
	slices.Sort(f.Origin.Sites)
	s := search{
		random: rand.New(rand.NewPCG(env.Seed, 0)),
		scores: func(priors []revisit.Prior) ([]float64, error) { return fitScores(ctx, sites, priors) },
		tell: func(round int, centre, best float64) {
			if env.Progress != nil {
				if f.Origin.Fold != "" {
					fmt.Fprintf(env.Progress, "fold %s, ", f.Origin.Fold)
				}
				fmt.Fprintf(env.Progress, "round %d of %d, %d sites: the centre finds %.2f%%, the best draw %.2f%%\n", round, cfg.Rounds, len(sites), centre, best)
			}
		},
	}
	var err error
	if f.Prior, f.Origin.Score, err = s.run(revisit.RoundPrior(), cfg.Rounds, cfg.Draws); err != nil {
		return nil, err
	}
	f.Origin.Score = rounded(f.Origin.Score, 5)
	return f, nil
}

// A search is one by the cross-entropy method, on the logarithms of the numbers of a prior.
type search struct {
	random *rand.Rand
	scores func([]revisit.Prior) ([]float64, error)
	tell   func(round int, centre, best float64) // after each round: what its centre and the best of its draws scored
}

// run returns the best centre of all rounds. That is none of the vectors drawn: the best of many is
// the best by luck, too, and the mean of several good ones less so.
func (s *search) run(centre revisit.Prior, rounds, draws int) (best revisit.Prior, score float64, err error) {
	best = centre
	if score, err = s.judge(&centre); err != nil {
		return best, 0, err
	}
	spread, judged := fitSpread, score
	for round := 1; round <= rounds; round++ {
		var priors []revisit.Prior
		for range draws {
			priors = append(priors, s.draw(centre, spread))
		}
		scores, err := s.scores(priors)
		if err != nil {
			return best, 0, err
		}
		s.tell(round, judged, slices.Max(scores))
		order := make([]int, len(priors))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
		var good []revisit.Prior
		for _, i := range order[:max(1, draws/fitBest)] {
			good = append(good, priors[i])
		}
		centre = geometricMean(good)
		if judged, err = s.judge(&centre); err != nil {
			return best, 0, err
		}
		if judged > score {
			best, score = centre, judged
		}
		spread *= fitNarrow
	}
	return best, score, nil
}

// judge returns the mean score of varied copies. All centres vary alike.
func (s *search) judge(centre *revisit.Prior) (float64, error) {
	random := rand.New(rand.NewPCG(fitCopies, 0))
	var copies []revisit.Prior
	for range fitCopies / 2 {
		more, less := *centre, *centre
		up, down := more.Numbers(), less.Numbers()
		for i := range up {
			x := math.Exp(fitVaried * random.NormFloat64())
			*up[i].Value, *down[i].Value = limited(up[i], *up[i].Value*x), limited(down[i], *down[i].Value/x)
		}
		copies = append(copies, more, less)
	}
	scores, err := s.scores(copies)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, x := range scores {
		sum += x
	}
	return sum / fitCopies, nil
}

// draw draws each number log-normally around that of the centre, within its limits.
func (s *search) draw(centre revisit.Prior, spread float64) revisit.Prior {
	for _, n := range centre.Numbers() {
		*n.Value = limited(n, *n.Value*math.Exp(spread*s.random.NormFloat64()))
	}
	return centre
}

func geometricMean(priors []revisit.Prior) revisit.Prior {
	var mean revisit.Prior
	for i, n := range mean.Numbers() {
		sum := 0.0
		for j := range priors {
			sum += math.Log(*priors[j].Numbers()[i].Value)
		}
		*n.Value = limited(n, math.Exp(sum/float64(len(priors))))
	}
	return mean
}

// limited returns x within the limits of n, with three digits: more say nothing, and what is judged
// is to be what is written.
func limited(n revisit.Number, x float64) float64 {
	return min(max(rounded(x, 3), n.Least), n.Most)
}

// rounded returns x with so many digits.
func rounded(x float64, digits int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return r
}

// A fitSite is a site as a prior is judged at it, made once for all priors.
type fitSite struct {
	*site
	*publications
	judged map[revisit.Prior]float64 // what score returned
}

// readFitSites reads the sites to fit to, in the order of their files.
func readFitSites(ctx context.Context, env *Env, cfg FitConfig) ([]*fitSite, error) {
	files, err := env.Files(".snap.gz")
	if err != nil {
		return nil, err
	}
	sites := make([]*fitSite, len(files))
	if _, err := eachDated(ctx, env, files, func(i int, h *snap.History, p *publications) error {
		if cfg.Fold == 0 || Fold(h.Site, cfg.Folds) != cfg.Fold-1 {
			sites[i] = &fitSite{p.siteAt(h, p.cycles(fitHours*hour)), p, make(map[revisit.Prior]float64)}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(sites, func(s *fitSite) bool { return s == nil }), nil
}

// fitScores returns the scores of priors. Sites are judged at the same time and added up in order,
// so that the sums do not depend on how many processors there are.
func fitScores(ctx context.Context, sites []*fitSite, priors []revisit.Prior) ([]float64, error) {
	bySite := make([][]float64, len(sites))
	if err := each(ctx, len(sites), func(i int) error {
		for j := range priors {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			x, err := sites[i].score(&priors[j])
			if err != nil {
				return err
			}
			bySite[i] = append(bySite[i], x)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	scores := make([]float64, len(priors))
	for _, row := range bySite {
		for j, x := range row {
			scores[j] += x / float64(len(sites))
		}
	}
	return scores, nil
}

// score judges a prior at one site, in percent.
func (s *fitSite) score(prior *revisit.Prior) (float64, error) {
	if x, ok := s.judged[*prior]; ok {
		return x, nil
	}
	sum, weights := 0.0, 0.0
	for _, budget := range fitBudgets {
		policy, err := revisit.New("best", revisit.Config{Prior: prior})
		if err != nil {
			return 0, err
		}
		d := s.delays(s.delayedRun(policy), budget)
		for i, hours := range delayHours {
			byPage, byPublication := d.within(hours)
			sum += fitWeights[i] * (byPage + byPublication) / 2
			weights += fitWeights[i]
		}
	}
	s.judged[*prior] = 100 * sum / weights
	return s.judged[*prior], nil
}

// numFolds is the number of folds of the policy best-folds.
const numFolds = 10

//go:embed folds/*.json
var foldFiles embed.FS

// foldFits are what Fit gives without the sites of each fold: of fold i/10 the i−1st.
var foldFits = sync.OnceValues(func() ([]*revisit.Fit, error) {
	var fits []*revisit.Fit
	for i := 1; i <= numFolds; i++ {
		name := fmt.Sprintf("folds/%d.json", i)
		data, err := foldFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := revisit.ParseFit(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fits = append(fits, f)
	}
	return fits, nil
})

// policyAt makes a policy of the lab for a site: one of policy, or best-folds, which is best with
// numbers that were fitted without the site.
func policyAt(name, site string, seed uint64) (revisit.Policy, error) {
	if name != "best-folds" {
		return policy(name, seed)
	}
	fits, err := foldFits()
	if err != nil {
		return nil, err
	}
	return revisit.New("best", revisit.Config{Prior: &fits[Fold(site, numFolds)].Prior})
}

// fitNote says to which of these sites best was fitted, fitted being all that it was.
func fitNote(r *Result, sites, fitted []string) {
	among := 0
	for _, name := range sites {
		if slices.Contains(fitted, name) {
			among++
		}
	}
	if among == 0 {
		r.Notef("The numbers of best were fitted to none of these sites.")
		return
	}
	r.Notef("The numbers of best were fitted to %d of these sites: there its figures are not out of sample. Those of best-folds were fitted, at each site, "+
		"to others only: the sites fall into %d folds by their names, and those of the site's own fold were left out. "+
		"The search for both begins at numbers that were rounded by trials on the sites that best was fitted to, so that best-folds is not wholly out of sample either.", among, numFolds)
}
