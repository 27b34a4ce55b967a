package warc

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestLineReader reads lines of each kind of index.
func TestLineReader(t *testing.T) {
	at := func(s string) time.Time {
		d, err := time.Parse("2006-01-02 15:04:05", s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	june := at("2019-06-02 03:04:05")
	page := Sighting{URL: "http://example.org/a?b=1", Time: june, MIME: "text/html", Status: "200"}
	for name, c := range map[string]struct {
		lines []string // the last one is looked at
		want  Sighting
		none  bool
		bad   string
	}{
		"CDXJ of pywb":         {lines: []string{`org,example)/a?b=1 20190602030405 {"url": "http://example.org/a?b=1", "mime": "text/html", "status": "200", "digest": "AAA", "length": "7", "offset": "0", "filename": "x.warc.gz"}`}, want: page},
		"of Common Crawl":      {lines: []string{`org,example)/a?b=1 20190602030405 {"url": "http://example.org/a?b=1", "mime": "text/html", "mime-detected": "text/html", "status": "200", "languages": "eng"}`}, want: page},
		"status as a number":   {lines: []string{`org,example)/a?b=1 20190602030405 {"url":"http://example.org/a?b=1","mime":"text/html","status":200,"x":{"y":[1]},"z":null}`}, want: page},
		"escapes":              {lines: []string{`org,example)/a?b=1 20190602030405 {"url": "http:\/\/example.org\/a?b=1", "mime": "text/html", "status": "200"}`}, want: page},
		"of the server's API":  {lines: []string{`{"urlkey": "org,example)/a?b=1", "timestamp": "20190602030405", "url": "http://example.org/a?b=1", "mime": "text/html", "status": "200"}`}, want: page},
		"revisit":              {lines: []string{`org,example)/ 20190602030405 {"url": "http://example.org/", "mime": "warc/revisit"}`}, want: Sighting{URL: "http://example.org/", Time: june, MIME: MIMERevisit}},
		"revisit, dashes":      {lines: []string{`org,example)/ 20190602030405 {"url": "http://example.org/", "mime": "warc/revisit", "status": "-"}`}, want: Sighting{URL: "http://example.org/", Time: june, MIME: MIMERevisit}},
		"method":               {lines: []string{`org,example)/ 20190602030405 {"url": "http://example.org/", "mime": "text/html", "status": "200", "method": "POST"}`}, want: Sighting{URL: "http://example.org/", Time: june, MIME: "text/html", Status: "200", Method: "POST"}},
		"method in the key":    {lines: []string{`org,example)/?__wb_method=post&a=b 20190602030405 {"url": "http://example.org/", "mime": "text/html", "status": "200"}`}, want: Sighting{URL: "http://example.org/", Time: june, MIME: "text/html", Status: "200", Method: "POST"}},
		"11 columns":           {lines: []string{" CDX N b a m s k r M S V g", "org,example)/a?b=1 20190602030405 http://example.org/a?b=1 text/html 200 AAA - - 7 0 x.warc.gz"}, want: page},
		"9 columns":            {lines: []string{" CDX N b a m s k r V g", "org,example)/a?b=1 20190602030405 http://example.org/a?b=1 text/html 200 AAA - 0 x.arc.gz"}, want: page},
		"another order":        {lines: []string{" CDX b s m a", "20190602030405 200 text/html http://example.org/a?b=1"}, want: page},
		"tabs":                 {lines: []string{"\tCDX\tN\tb\ta\tm\ts", "org,example)/a?b=1\t20190602030405\thttp://example.org/a?b=1\ttext/html\t200"}, want: page},
		"no header":            {lines: []string{"org,example)/a?b=1 20190602030405 http://example.org/a?b=1 text/html 200 AAA - - 7 0 x.warc.gz"}, want: page},
		"the server's default": {lines: []string{"org,example)/a?b=1 20190602030405 http://example.org/a?b=1 text/html 200 AAA 7"}, want: page},
		"dashes":               {lines: []string{"org,example)/a?b=1 20190602030405 http://example.org/a?b=1 - - AAA 7"}, want: Sighting{URL: page.URL, Time: june}},
		"a date cut short":     {lines: []string{`org,example)/ 201906 {"url": "http://example.org/"}`}, want: Sighting{URL: "http://example.org/", Time: at("2019-06-01 00:00:00")}},
		"milliseconds":         {lines: []string{`org,example)/ 20190602030405678 {"url": "http://example.org/"}`}, want: Sighting{URL: "http://example.org/", Time: june}},
		"a date of WARC":       {lines: []string{`org,example)/ 2019-06-02T03:04:05Z {"url": "http://example.org/"}`}, want: Sighting{URL: "http://example.org/", Time: june}},
		"headers of CDXJ":      {lines: []string{`!meta {"a": "b"}`}, none: true},
		"nothing":              {lines: []string{"  "}, none: true},
		"no URL":               {lines: []string{`org,example)/ 20190602030405 {"mime": "text/html"}`}, bad: "no URL"},
		"no JSON":              {lines: []string{`org,example)/ 20190602030405 {"url": "http://example.org/", }`}, bad: "no JSON"},
		"cut off":              {lines: []string{`org,example)/ 20190602030405 {"url": "http://exam`}, bad: "no JSON"},
		"text behind":          {lines: []string{`org,example)/ 20190602030405 {"url": "http://example.org/"} x`}, bad: "no JSON"},
		"no date":              {lines: []string{`org,example)/ 20191302030405 {"url": "http://example.org/"}`}, bad: "no date"},
		"the 30th of February": {lines: []string{`org,example)/ 20190230000000 {"url": "http://example.org/"}`}, bad: "no date"},
		"text":                 {lines: []string{"What a fine day it is today"}, bad: "no date"},
		"a URL":                {lines: []string{"http://example.org/"}, bad: "want a key"},
		"too few columns":      {lines: []string{" CDX N b a m s k r M S V g", "org,example)/ 20190602030405 http://example.org/"}, bad: "want 11 columns, got 3"},
		"a blank in a URL":     {lines: []string{" CDX N b a m s k r M S V g", "org,example)/ 20190602030405 http://example.org/a b text/html 200 AAA - - 7 0 x.warc.gz"}, bad: "want 11 columns, got 12"},
		"no column of URLs":    {lines: []string{" CDX N b m s"}, bad: "no column a"},
	} {
		t.Run(name, func(t *testing.T) {
			var r LineReader
			for _, line := range c.lines[:len(c.lines)-1] {
				if _, ok, _ := r.Read(line); ok {
					t.Fatalf("%q is a capture", line)
				}
			}
			s, ok, err := r.Read(c.lines[len(c.lines)-1])
			switch {
			case c.bad != "":
				if err == nil || !strings.Contains(err.Error(), c.bad) {
					t.Errorf("got %+v, error %v, want one that says %q", s, err, c.bad)
				}
			case err != nil || ok == c.none || s != c.want && !c.none:
				t.Errorf("got %+v, %v, %v, want %+v", s, ok, err, c.want)
			}
		})
	}
}

// FuzzLineReader: no line panics, the quick way of reading an object says what encoding/json does, and what Entry.Append writes is read.
func FuzzLineReader(f *testing.F) {
	for _, s := range []string{
		" CDX N b a m s k r M S V g", "org,example)/ 20190602030405 http://example.org/ text/html 200 AAA - - 7 0 x.warc.gz", "\xffCDX\xffa\xffb", "\tCDX\ta\tb",
		`org,example)/ 20190602030405 {"url": "http://example.org/", "mime": "warc/revisit", "status": 200}`, `{"url":"a","timestamp":"2019"}`, "CDX", "CDX b a", "b a b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r LineReader
		for line := range strings.SplitSeq(text, "\n") {
			if s, ok, err := r.Read(line); ok && (err != nil || s.URL == "" || s.Time.IsZero() && s.Time.Year() != 1) {
				t.Fatalf("%q: %+v, %v", line, s, err)
			}
			got := map[string]string{}
			if !plainObject(line, func(name, value string) { got[name] = value }) {
				continue
			}
			var want map[string]string
			if err := json.Unmarshal([]byte(line), &want); err != nil {
				t.Fatalf("%q is taken for an object: %v", line, err)
			}
			if len(got) != len(want) {
				t.Fatalf("%q: got %v, want %v", line, got, want)
			}
			for name, value := range want {
				if got[name] != value {
					t.Fatalf("%q: got %v, want %v", line, got, want)
				}
			}
		}
		if text = strings.ToValidUTF8(text, ""); text != "" {
			e := Entry{Key: "org,example)/", Time: "20190602030405", URL: text, MIME: text, Status: "200", Filename: text}
			want := Sighting{URL: text, Time: time.Date(2019, 6, 2, 3, 4, 5, 0, time.UTC), MIME: text, Status: "200"}
			if text == "-" {
				want.MIME = ""
			}
			s, ok, err := new(LineReader).Read(strings.TrimSuffix(string(e.Append(nil)), "\n"))
			if !ok || err != nil || s != want {
				t.Fatalf("got %+v, %v, %v, want %+v", s, ok, err, want)
			}
		}
	})
}
