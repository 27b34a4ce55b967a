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

// TestUnlisted follows a page that answers first at 0 in seconds, asking not to be listed, and is
// looked at as soon as it is due.
func TestUnlisted(t *testing.T) {
	for _, c := range []struct {
		name  string
		class store.Class
		found store.Novelty
		until int // looks that find it unlisted
		at    store.Time
		told  bool
	}{
		{"listed at the first look", store.ContentPage, store.IsNew, 0, 86_400, true},
		{"listed at the third", store.ContentPage, store.IsNew, 2, 7 * 86_400, true},
		{"listed at the last", store.ContentPage, store.IsNew, 4, 31 * 86_400, true},
		{"listed after that", store.ContentPage, store.IsNew, 5, 0, false},
		{"a form", store.FormPage, store.IsNew, 0, 0, false},
		{"known for long", store.ContentPage, store.NotNew, 0, 0, false},
		{"perhaps known for long", store.ContentPage, store.MaybeNew, 0, 0, false},
	} {
		d := &store.Doc{New: c.found, Class: c.class}
		if told := Unlisted(d, true, true); !told || d.New == store.IsNew {
			t.Errorf("%s: %v when it answers first, told: %v", c.name, d.New, told)
		}
		told, at := false, store.Time(0)
		for day := store.Time(1); day < 200; day++ {
			if !DueUnlisted(d, day*86_400) {
				continue
			}
			at, d.LastFetched = day*86_400, day*86_400
			if c.until--; Unlisted(d, c.until >= 0, false) {
				told = true
				break
			}
		}
		if told != c.told || told && at != c.at || told != (d.New == store.IsNew) {
			t.Errorf("%s: told: %v, at %d; it is new: %v", c.name, told, at, d.New)
		}
	}
}
