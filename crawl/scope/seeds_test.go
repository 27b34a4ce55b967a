package scope

import (
	"strings"
	"testing"

	"forage/store"
)

// TestReadSeedsTable: of a table with a head all columns but the first are passed over; without one the fields
// after the URL are rules, and what is none is told.
func TestReadSeedsTable(t *testing.T) {
	const rows = "https://a.example/\t12\t181\t181\ta.example\n\nhttps://b.example/x\t3\t1\t182\tb.example\n7\t7\t1\t183\t\n"
	for _, tt := range []struct {
		list  string
		seeds int
		bad   string // of the first wrong line
	}{
		{"url\tnode\tgain\treached_cumulative\tdomain\n" + rows, 2, `list:5: "7" is no URL`},
		{"\ufeffurl\tnode\r\n" + rows, 2, `list:5: "7" is no URL`},
		{rows, 0, `list:1: want key=value after the URL, got "12"`},
		{"https://a.example/\nurl\tnode\n", 1, `list:2: "url" is no URL`},
		{"https://a.example/\tbudget=3\n", 1, ""},
	} {
		seeds, bad, err := ReadSeeds(strings.NewReader(tt.list), "list", store.Rules{})
		if err != nil || len(seeds) != tt.seeds || (len(bad) > 0) != (tt.bad != "") {
			t.Errorf("%q: %d seeds, wrong %v, %v; want %d seeds", tt.list, len(seeds), bad, err, tt.seeds)
			continue
		}
		if tt.bad != "" && !strings.HasPrefix(bad[0].Error(), tt.bad) {
			t.Errorf("%q: %v, want %s", tt.list, bad[0], tt.bad)
		}
	}
}
