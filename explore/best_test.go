package explore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"forage/graph"
)

func TestClasses(t *testing.T) {
	var c classes
	class := func(path string) uint32 {
		k, ok := c.of(&Link{Path: path})
		if !ok {
			t.Fatalf("%s has no class", path)
		}
		return k
	}
	list := class("html body div#main ul.posts li a")
	if k := class("html body div#main ul.posts li.odd a"); k == class("html body nav ul.menu li a.item") {
		t.Errorf("list and menu are one class, %d", k)
	}
	if k := class("html body.home div#main ul.posts li a"); k != list {
		t.Errorf("the same list on another page has class %d, want %d", k, list)
	}
	if _, ok := c.of(&Link{}); ok {
		t.Error("a link without a place has a class")
	}
	a, _ := c.of(&Link{Place: 7})
	b, _ := c.of(&Link{Place: 8})
	if again, _ := c.of(&Link{Place: 7}); again != a || a == b {
		t.Errorf("places 7, 8, 7 have classes %d, %d, %d", a, b, again)
	}
}

// The sizes of centroids, which are kept, are those that a sum over all dimensions gives.
func TestClassSizes(t *testing.T) {
	var c classes
	for i := range 300 {
		c.of(&Link{Path: fmt.Sprintf("html body div#p%d ul.q%d li.r%d a", i%7, i%13, i)})
		c.of(&Link{Place: uint32(1 + i%5)})
	}
	for i, centroid := range c.centroids {
		size := 0.0
		for _, y := range centroid {
			size += float64(y) * float64(y)
		}
		if c.sizes[i] != size {
			t.Errorf("class %d has size %v, want %v", i, c.sizes[i], size)
		}
	}
}

// TestBestFindsTheArchive: a site whose menu leads to pages that show nothing new and whose
// archive pages show ten each: nearly all queries go to the archive.
func TestBestFindsTheArchive(t *testing.T) {
	p := newBest(Config{Rand: rand.New(rand.NewPCG(1, 1)), Directed: true})
	p.Observe(graph.None, []graph.Node{0})
	next := graph.Node(1)
	kind := map[graph.Node]string{}
	link := func(what string) Link {
		v := next
		next++
		kind[v] = what
		return Link{To: v, Site: 1, Path: "html body " + what + " a"}
	}
	archive := 0
	for range 100 {
		v, ok := p.Next()
		if !ok {
			t.Fatal("nothing left")
		}
		var links []Link
		switch {
		case v == 0:
			for range 200 {
				links = append(links, link("nav.top ul.menu li"))
			}
			for range 5 {
				links = append(links, link("aside.archive ol.months li"))
			}
		case kind[v] == "aside.archive ol.months li":
			archive++
			for range 9 {
				links = append(links, link("main section.posts article h2"))
			}
			links = append(links, link("aside.archive ol.months li"))
		}
		p.ObserveLinks(v, links)
	}
	if archive < 80 {
		t.Errorf("%d of 99 queries went to the archive", archive)
	}
}
