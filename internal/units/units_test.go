package units

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{"1500": 1500, "64MiB": 64 << 20, "2 GiB": 2 << 30, "10GB": 10e9, "0.5kB": 500, "7B": 7, "0": 0} {
		var s Size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("Set(%q) = %d, %v, want %d", text, s, err, want)
		}
	}
	for _, text := range []string{"", "x", "-1", "1XB", "9e30", "NaN"} {
		if err := new(Size).Set(text); err == nil {
			t.Errorf("Set(%q): no error", text)
		}
	}
	for s, want := range map[Size]string{0: "0", 1024: "1KiB", 1025: "1025", 3 << 40: "3TiB"} {
		if got := s.String(); got != want {
			t.Errorf("%d is %q, want %q", int64(s), got, want)
		}
	}
	for b, want := range map[int64]string{5: "5 B", 1536: "1.5 KiB", 3 << 20: "3.0 MiB", 5 << 50: "5120.0 TiB"} {
		if got := Binary(b); got != want {
			t.Errorf("Binary(%d) = %q, want %q", b, got, want)
		}
	}
}
