package spell

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"od-win", "od-1", "best", "index"}
	for _, c := range []struct{ name, want string }{
		{"od-wim", "od-win"},
		{"bset", "best"},
		{"od-2", "od-1"},
		{"idx", "index"},
		{"nonsense", ""},
		{"", ""},
		{"best", "best"},
	} {
		if got := Nearest(c.name, names); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}
