package webhook

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"forage/report"
	"forage/store"
)

// TestSign compares with what the Python package standardwebhooks 1.1.0 signs.
func TestSign(t *testing.T) {
	keys, err := keysOf([]string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", " MDEyMzQ1Njc4OWFiY2RlZg\n"})
	if err != nil {
		t.Fatal(err)
	}
	want := "v1,hDfXIL0d+hdMSV8r7UzSvZDKBvam/ioNHh7nLi1X5CA= v1,L2MZ9baDiCel0ak11D+4CdF1/KgFWnAY1SA3xhZ7iK0="
	if got := sign(keys, "12-00aa", 1614265330, []byte(`{"title":"über"}`)); got != want {
		t.Errorf("sign = %q, want %q", got, want)
	}
	for _, s := range []string{"", "whsec_", "whsec_?", "no base64", "MDEy-Mz_"} {
		if err := CheckSecret(s); err == nil || s != "" && strings.Contains(err.Error(), s) && s != "whsec_" {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"MDEyMw", "MDEyMw==", "whsec_MDEyMw==", "whsec_MDEyMw"} {
		if err := CheckSecret(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// hostile is an event of a page whose title wants to be more than one.
func hostile() *report.Event {
	return report.NewEvent(&store.Event{
		Seq: 7, Type: store.PageNew, At: 1_700_000_000, Site: "a.test", URL: "https://a.test/x", Depth: 2,
		Title: "<!channel> \"& \u202eevil\"\n}}{{.url}} @everyone \x1b[31m",
		Use:   "page robots noarchive\npage policy https://p.test/\u202e\npage license https://l.test/\x1b\n",
	})
}

func TestBody(t *testing.T) {
	for _, c := range []struct{ template, want string }{
		{"", ""},
		{`{"text": {{json (printf "<%s|%s>" .url (slack .title))}}}`, `{"text": "<https://a.test/x|&lt;!channel&gt; \"&amp; \\u202eevil\" }}{{.url}} @everyone \\u001b[31m>"}`},
		{`{{json (printf "<%s|%s>" (slackurl "https://a.test/?q=x|Your+bank&y=<z>") (slack "t"))}}`, `"<https://a.test/?q=x%7CYour+bank&amp;y=%3Cz%3E|t>"`},
		{`{{.type}} {{.seq}} {{.depth}} [{{.published}}{{.moved_from}}] {{with .title}}{{slice . 0 10}}{{end}}`, `page.new 7 2 [] <!channel>`},
		{`{{with .use}}{{.noarchive}} {{.tdm_policy}} {{.license}}[{{.noindex}}{{.tdm_reservation}}]{{end}}`, `true https://p.test/\u202e [https://l.test/\u001b][]`},
		{`{"n": {{json .seq}}, "none": {{json .published}}}`, `{"n": 7, "none": ""}`},
	} {
		w, err := newWriter(c.template)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.body(hostile())
		if err != nil {
			t.Errorf("%s: %v", c.template, err)
		}
		if c.template != "" {
			if string(got) != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.template, got, c.want)
			}
			continue
		}
		var e struct{ ID, Type, At, Timestamp, Title, Site string }
		if err := json.Unmarshal(got, &e); err != nil || e.Type != "page.new" || e.Timestamp != "2023-11-14T22:13:20Z" || e.At != e.Timestamp || e.ID != hostile().ID ||
			e.Title != *hostile().Title {
			t.Errorf("%s: %v", got, err)
		}
		if strings.ContainsAny(string(got), "\u202e\x1b\n") {
			t.Errorf("%q is hidden in part", got)
		}
	}
	for _, text := range []string{"{{", "{{.titel}}", "{{.use.noarchiv}}", "{{call .title}}", `{{range $i := 9000000}}xxxx{{end}}`} {
		if err := CheckTemplate(text); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{"team": true, "a-B_9": true, "": false, "a/b": false, "a b": false, "ü": false, strings.Repeat("a", 65): false} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	for in, want := range map[string]string{"https://hooks.example/services/T0/secret": "https://hooks.example/…", "http://u:p@a:1": "http://a:1/", "https://a/?k=v": "https://a/…"} {
		if got := shownURL(in); got != want {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
	}
}

// TestDocumentedTemplates: those of docs/watching.md make JSON of an event whose title wants to be more than text.
func TestDocumentedTemplates(t *testing.T) {
	text, err := os.ReadFile("../docs/watching.md")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^    template: '(.*)'$`).FindAllSubmatch(text, -1)
	if len(all) != 3 {
		t.Fatalf("%d templates, want 3", len(all))
	}
	for _, m := range all {
		if err := CheckTemplate(string(m[1])); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
		w, err := newWriter(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		body, err := w.body(hostile())
		var v map[string]any
		if err != nil || json.Unmarshal(body, &v) != nil || strings.Contains(string(body), "\u202e") {
			t.Errorf("%s makes %s, %v", m[1], body, err)
		}
		if text, ok := v["text"].(string); ok && strings.Count(text, "<") != 1 {
			t.Errorf("a title has markup: %s", text)
		}
	}
}
