package store

import "testing"

// TestAddSite gives sites numbers in the order in which they come, each name once, also in a
// store that is opened again.
func TestAddSite(t *testing.T) {
	dir := t.TempDir()
	for run := range SiteID(2) {
		db, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"a", "b"} {
			s := &Site{Name: name + string('0'+rune(run))}
			if err := db.AddSite(s); err != nil || s.ID != 2*run+SiteID(i)+1 {
				t.Errorf("AddSite(%s) in run %d gives number %d, %v", s.Name, run, s.ID, err)
			}
		}
		if err := db.AddSite(&Site{Name: "a0"}); err == nil {
			t.Errorf("a0 was added twice, in run %d", run)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
