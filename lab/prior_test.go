package lab

import (
	"testing"

	"forage/internal/shared"
	"forage/revisit"
)

// TestFoldPrior: the prior that a site is judged with does not change with what the site's own
// fold shows, and does with what any other site shows. The default prior names the histories
// that it was chosen on.
func TestFoldPrior(t *testing.T) {
	env := &Env{Data: shared.Path(t, "data", "sites")}
	files, err := env.Files(".snap.gz")
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for _, name := range revisit.PriorSites() {
		named[name] = true
	}
	taught := make([]*revisit.Experience, len(files))
	if _, err := eachSite(t.Context(), env, func(i int, s *site) error {
		if !named[s.name] {
			t.Errorf("PriorSites does not name %s", s.name)
		}
		_, weeks := s.recrawls(true)
		taught[i] = s.experience(weeks)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	before := make([]revisit.Prior, len(files))
	for i := range files {
		before[i] = *foldPrior(taught, i)
		p := before[i]
		if !(p.Home > .5 && p.Main > .5 && p.Last > .02 && p.List < .1 && p.Links[0] < p.Links[3]) {
			t.Errorf("%s gets the prior %+v", files[i], p)
		}
	}
	for j := range files {
		own := taught[j]
		louder := new(revisit.Experience)
		*louder = *own
		louder.Add(&revisit.Profile{Home: true}, false, 1000, 1)
		taught[j] = louder
		for i := range files {
			if got, same := *foldPrior(taught, i), i%folds == j%folds; (got == before[i]) != same {
				t.Errorf("what %s shows: the prior of %s stays is %v, want %v", files[j], files[i], got == before[i], same)
			}
		}
		taught[j] = own
	}
}
