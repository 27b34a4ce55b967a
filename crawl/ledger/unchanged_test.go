package ledger

import (
	"testing"
	"time"

	"forage/store"
)

func TestBefore(t *testing.T) {
	at := func(s string) store.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.Unix()
	}
	for _, test := range []struct {
		lastMod, fetched string
		want             bool
	}{
		{"2024-05-03T10:11:12Z", "2024-05-03T10:11:12Z", true},
		{"2024-05-03T10:11:12Z", "2024-05-03T10:11:11Z", false},
		{"2024-05-03T00:00:00Z", "2024-05-03T23:00:00Z", false}, // a day: it may have changed at any hour of it
		{"2024-05-03T00:00:00Z", "2024-05-04T11:59:59Z", false},
		{"2024-05-03T00:00:00Z", "2024-05-04T12:00:00Z", true},
		{"2024-05-03T00:00:00+05:30", "2024-05-03T12:00:00Z", false},
	} {
		if got := before(at(test.lastMod), at(test.fetched)); got != test.want {
			t.Errorf("before(%s, %s) = %v", test.lastMod, test.fetched, got)
		}
	}
}
