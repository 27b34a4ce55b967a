package printable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"unicode"
)

func TestText(t *testing.T) {
	for _, c := range [][3]string{ // text, Lines, Cell
		{"plain – ünïcode 日本 \U0001f468\u200d\U0001f469", "plain – ünïcode 日本 \U0001f468\u200d\U0001f469", "plain – ünïcode 日本 \U0001f468\u200d\U0001f469"},
		{"a\x1b[31mred", `a\u001b[31mred`, `a\u001b[31mred`},
		{"b\u202egnp.exe", `b\u202egnp.exe`, `b\u202egnp.exe`},
		{"c\u009b31m\x7f\x00", `c\u009b31m\u007f\u0000`, `c\u009b31m\u007f\u0000`},
		{"d\U000e0041\u2066\u061c\u2028", `d\U000e0041\u2066\u061c\u2028`, `d\U000e0041\u2066\u061c\u2028`},
		{"e\xff\xfe", `e\ufffd\ufffd`, `e\ufffd\ufffd`},
		{"two\nlines\tand\rmore", "two\nlines\tand\\u000dmore", "two lines and more"},
		{"=1+1", "=1+1", "'=1+1"},
		{"+1", "+1", "'+1"},
		{"-1", "-1", "'-1"},
		{"@SUM(1)", "@SUM(1)", "'@SUM(1)"},
		{"\t=1", "\t=1", "' =1"},
		{"\r=1", `\u000d=1`, "' =1"},
		{"\uff1d1+1", "\uff1d1+1", "'\uff1d1+1"},
		{"a=b", "a=b", "a=b"},
		{"", "", ""},
	} {
		if got := Lines(c[0]); got != c[1] {
			t.Errorf("Lines(%q) = %q, want %q", c[0], got, c[1])
		}
		if got := Cell(c[0]); got != c[2] {
			t.Errorf("Cell(%q) = %q, want %q", c[0], got, c[2])
		}
		var b bytes.Buffer
		if n, err := Writer(&b).Write([]byte(c[0])); n != len(c[0]) || err != nil || b.String() != c[1] {
			t.Errorf("Write(%q) = %d, %v: %q, want %q", c[0], n, err, &b, c[1])
		}
	}
}

// FuzzJSON keeps every value as it is, and leaves nothing hidden in it.
func FuzzJSON(f *testing.F) {
	f.Add("a\x1b[31m\u202e\u009b\U000e0041\u2028\x7f", "plain")
	f.Fuzz(func(t *testing.T, name, value string) {
		b, err := json.Marshal(map[string]string{name: value})
		if err != nil {
			t.Fatal(err)
		}
		safe := JSON(bytes.Clone(b))
		for _, r := range string(safe) {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("JSON(%q) = %q", b, safe)
			}
		}
		var want, got map[string]string
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(safe, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("JSON(%q) = %q: %v, %v", b, safe, got, err)
		}
	})
}

// FuzzAppendString writes what JSON makes of encoding/json's string.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", `a"b\c`, "<a href=x>&amp;", "a\x1b[31m\u202e\u009b\U000e0041\u2028\x7f\xff\n\t", "日本"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got := string(AppendString([]byte("x"), s)) + "\n"; got != "x"+string(JSON(want.Bytes())) {
			t.Errorf("AppendString(%q) = %s, want %s", s, got, &want)
		}
	})
}
