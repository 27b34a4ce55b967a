package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

func TestHistory(t *testing.T) {
	for _, s := range sites {
		t.Run(s.name, func(t *testing.T) {
			all := history(s.rate)
			one, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			if two, _ := json.Marshal(history(s.rate)); string(one) != string(two) {
				t.Fatal("the same rate gives another history")
			}
			if len(all) != weeks+1 || len(all[0].Publish) != s.rate.articles {
				t.Fatalf("%d changes, %d articles at first; want %d, %d", len(all), len(all[0].Publish), weeks+1, s.rate.articles)
			}
			var (
				there   = map[int]bool{}
				touched = map[int]bool{}
				slugs   = map[string]bool{}
				texts   = map[int]string{} // first paragraphs
			)
			for week, c := range all {
				for _, a := range c.Edit {
					if texts[a.ID] == a.Paragraphs[0] {
						t.Errorf("week %d: the edit of article %d changes nothing", week, a.ID)
					}
				}
				for _, a := range slices.Concat(c.Edit, c.Rename) {
					if touched[a.ID] || !there[a.ID] {
						t.Errorf("week %d changes article %d, which is not there or was changed before", week, a.ID)
					}
					touched[a.ID] = true
				}
				for _, id := range c.Delete {
					if touched[id] || !there[id] {
						t.Errorf("week %d deletes article %d, which is not there or was changed before", week, id)
					}
					touched[id] = true
				}
				for _, a := range slices.Concat(c.Publish, c.Rename) {
					if slugs[a.Slug] {
						t.Errorf("week %d: a second article with the slug %s", week, a.Slug)
					}
					slugs[a.Slug] = true
				}
				for _, a := range c.Publish {
					for _, to := range a.Links {
						if to >= a.ID || slices.Contains(c.Delete, to) {
							t.Errorf("article %d links to %d, which is not there", a.ID, to)
						}
					}
					if a.Date.After(c.Now) {
						t.Errorf("week %d publishes article %d at %v, which is later", week, a.ID, a.Date)
					}
					there[a.ID], texts[a.ID] = true, a.Paragraphs[0]
				}
			}
		})
	}
}

func TestRequests(t *testing.T) {
	h := &host{dir: t.TempDir()}
	log := filepath.Join(h.dir, "access.log")
	const first = "200 GET /a%20b?c=d\n"
	if err := os.WriteFile(log, []byte(first+"404 HEAD /x y\n200 GET /cut"), 0o666); err != nil {
		t.Fatal(err)
	}
	all, end, err := h.requests(0)
	if want := []request{{"200", "GET", "/a b?c=d"}, {"404", "HEAD", "/x y"}}; err != nil || !slices.Equal(all, want) {
		t.Errorf("requests(0) = %v, %v, want %v", all, err, want)
	}
	if all, again, err := h.requests(int64(len(first))); err != nil || len(all) != 1 || again != end {
		t.Errorf("requests(%d) = %v, %d, %v, want the second line up to %d", len(first), all, again, err, end)
	}
}

func TestJudge(t *testing.T) {
	log := []event{
		{1, "publish", "/early", ""}, {1, "publish", "/late", ""}, {2, "publish", "/never", ""},
		{1, "delete", "/gone", ""}, {2, "delete", "/there", ""},
		{1, "rename", "/from", "/to"}, {2, "rename", "/old", "/new"}, {2, "rename", "/silent", "/told as new"},
	}
	a := newAccount("")
	a.new = map[string]int{"/early": 3, "/late": 4, "/told as new": 2}
	a.gone = map[string]int{"/gone": 2, "/old": 4}
	a.moved = map[[2]string]int{{"/from", "/to"}: 1, {"/elsewhere", "/to"}: 1}
	var got revisit
	a.judge(&got, log)
	want := revisit{published: 3, deleted: 2, renamed: 3, told: 1, gone: 1, moved: 1, movedAsGone: 1, new: 3}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("judge gives %+v, want %+v", got, want)
	}
}
