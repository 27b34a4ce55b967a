package render

import "testing"

func TestPath(t *testing.T) {
	for path, want := range map[string]string{
		"/":              "/",
		"/a b":           "/a%20b",
		"/a%2fb":         "/a%2Fb",
		"/%41%7e":        "/A~",
		"/caf\u00e9":     "/caf%C3%A9",
		"/100%":          "/100%",
		"/%zz%4":         "/%zz%4",
		"/a%09b":         "/a%09b",
		"/q?x#y":         "/q%3Fx%23y",
		"/a|b[c]^d":      "/a|b[c]%5Ed",
		"/x%27y'z":       "/x%27y'z",
		"/back\\slash\"": "/back%5Cslash%22",
	} {
		got := Path(path)
		if got != want {
			t.Errorf("Path(%q) = %q, want %q", path, got, want)
		}
		if again := Path(got); again != got {
			t.Errorf("Path(%q) = %q: not idempotent", got, again)
		}
	}
}
