package store

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Hosts come by name, those after one that is given, whether it is there or not.
func TestHosts(t *testing.T) {
	db := must(Open("s", Options{FS: vfs.NewMem()}))(t)
	for _, name := range []string{"b.test", "a.test", "b.test:81", "c.test"} {
		check(t, db.PutHost(&Host{Origin: name, NotBefore: int64(len(name))}))
	}
	check(t, db.PutRobots(&Robots{Origin: "http://b.test"}))
	check(t, db.Commit())
	for after, want := range map[string][]string{
		"":       {"a.test", "b.test", "b.test:81", "c.test"},
		"a.test": {"b.test", "b.test:81", "c.test"},
		"b":      {"b.test", "b.test:81", "c.test"},
		"b.test": {"b.test:81", "c.test"},
		"c.test": nil,
		"zz":     nil,
	} {
		var have []string
		check(t, db.Hosts(after, func(h *Host) bool {
			if h.NotBefore != int64(len(h.Origin)) {
				t.Errorf("%+v is that of another host", h)
			}
			have = append(have, h.Origin)
			return len(have) < 3
		}))
		if want = want[:min(3, len(want))]; !slices.Equal(have, want) {
			t.Errorf("after %q come %v, want %v", after, have, want)
		}
	}
	check(t, db.Close())
}
