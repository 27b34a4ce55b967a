package revisit_test

import (
	"fmt"

	"forage/revisit"
)

// A site has a home page and two posts. In each cycle two documents may be fetched again. The
// caller fetches what Next names and says what it saw; in the first cycle home links to a new post.
func Example() {
	policy, err := revisit.New(revisit.Default, revisit.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	site := revisit.NewSite(policy)
	site.Start([]revisit.Document{
		{Key: 1, Path: "/", Home: true, Links: []revisit.Key{2, 3}},
		{Key: 2, Path: "/posts/1.html", Links: []revisit.Key{1}},
		{Key: 3, Path: "/posts/2.html", Links: []revisit.Key{1}},
	})
	for cycle := 1; cycle <= 2; cycle++ {
		site.Begin(revisit.Time(cycle*86400), 2)
		for range 2 {
			v, ok := site.Next()
			if !ok {
				break
			}
			answer := revisit.Answer{Links: site.Profile(v).Links}
			if cycle == 1 && site.Key(v) == 1 {
				answer = revisit.Answer{
					Changed: true, Links: 3, Gained: []revisit.Key{4},
					Found: []revisit.Document{{Key: 4, Path: "/posts/3.html", Links: []revisit.Key{1}}},
				}
			}
			refetch := site.Observe(v, answer)
			fmt.Printf("cycle %d: document %d led to %d new pages\n", cycle, site.Key(v), len(refetch.Found))
		}
		site.End()
	}
	// Output:
	// cycle 1: document 1 led to 1 new pages
	// cycle 1: document 2 led to 0 new pages
	// cycle 2: document 1 led to 0 new pages
	// cycle 2: document 4 led to 0 new pages
}

// What happened at a site is kept as bytes, from which another policy is brought up to date.
func ExampleSite_Replay() {
	first := revisit.NewSite(&revisit.RoundRobin{})
	first.Start([]revisit.Document{{Key: 1, Path: "/", Home: true}, {Key: 2, Path: "/a"}})
	records := [][]byte{first.Record()}
	first.Begin(0, 1)
	v, _ := first.Next()
	first.Observe(v, revisit.Answer{})
	first.End()
	records = append(records, first.Record())

	second := revisit.NewSite(revisit.NewBest(0))
	for _, r := range records {
		if err := second.Replay(r); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(second.NumDocuments(), "documents after cycle", second.Cycle())
	// Output: 2 documents after cycle 1
}

// A budget of ten fetches is divided between a site that gains little from each further fetch
// and one that gains more.
func ExampleShare() {
	gain := func(first float64) func(k int) float64 {
		return func(k int) float64 { return first / float64(k) }
	}
	fetches, price := revisit.Share(10, []revisit.Claim{
		{Gain: gain(1), Max: 100},
		{Gain: gain(4), Max: 100},
	})
	fmt.Printf("%d fetches, the last worth %.2f pages\n", fetches, price)
	// Output: [2 8] fetches, the last worth 0.50 pages
}
