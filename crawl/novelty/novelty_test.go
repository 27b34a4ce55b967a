package novelty

import (
	"testing"

	"forage/store"
)

// TestStubsAnswer: what is said of a stub that a budgeted cycle finds after a first visit at 100,
// and when it is a page of its own later.
func TestStubsAnswer(t *testing.T) {
	const no, yes, unknown = store.NotNew, store.IsNew, store.MaybeNew
	for _, c := range []struct {
		found     store.Novelty // by its links
		published store.Time
		full      bool
		stub      store.Novelty
		page      store.Novelty
	}{
		{found: yes, stub: unknown, page: yes},
		{found: yes, full: true, stub: yes, page: yes},
		{found: no, stub: no, page: no},
		{found: unknown, stub: unknown, page: unknown}, // it may have been a page before
		{found: unknown, published: 120, stub: unknown, page: yes},
		{found: unknown, published: 120, full: true, stub: yes, page: yes},
		{found: unknown, published: 80, stub: no, page: no},
	} {
		d := &store.Doc{New: c.found, Published: c.published, Site: 1}
		if told := Answered(d, true, true, !c.full, 100); !told || d.New != c.stub {
			t.Errorf("%+v: %v as a stub, told: %v", c, d.New, told)
		}
		if again := Answered(d, false, true, true, 100); again || d.New != c.stub {
			t.Errorf("%+v: %v when it is a stub still, told: %v", c, d.New, again)
		}
		// What a stub leads to is new for what led to the stub.
		if to, want := Of(&store.Site{ID: 1, FirstCycle: 1}, 3, d), c.page; to != want && c.stub != no {
			t.Errorf("%+v: its target is new: %v, want %v", c, to, want)
		}
		if told := Answered(d, false, false, true, 100); told != (c.stub != c.page) || d.New != c.page || d.Stub {
			t.Errorf("%+v: %v as a page, told: %v", c, d.New, told)
		}
	}
}
