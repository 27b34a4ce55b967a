package node

import (
	"testing"

	"forage/distributed/shards/topics"
)

// TestStray has the log hold a site of another partition: it is left out.
func TestStray(t *testing.T) {
	o, _ := newOwner(t)
	for p, want := range []int{1, 0} {
		u := topics.URL{URL: "https://" + hostOf(int32(p)) + "/", Seed: true}
		before := len(o.service.Sites())
		if err := o.watch(t.Context(), &u); err != nil {
			t.Fatal(err)
		}
		if got := len(o.service.Sites()) - before; got != want {
			t.Errorf("a site of partition %d adds %d sites, want %d", p, got, want)
		}
	}
}
