package serve

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"forage/chart"
	"forage/store"
)

// How what is told looks in pages: times, numbers, text that strangers wrote.

// uiFuncs are what templates call.
var uiFuncs = template.FuncMap{
	"when":    when,
	"until":   until,
	"number":  number,
	"bytes":   sizeText,
	"percent": func(x float64) string { return chart.Percent(x) },
	"decimal": decimal,
	"text":    func(s string) string { return cut(plain(s), 120) },
	"url":     func(s string) string { return cut(plain(s), 160) },
	"link":    webLink,
	"lasting": span,
	"plural":  plural,
	"asset":   func(name string) string { return "/ui/" + name + "?v=" + uiAssets[name].sum },
	"query":   func(key, value string) template.URL { return template.URL(key + "=" + url.QueryEscape(value)) },
	"deref": func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	},
	"share": func(x *float64) string {
		if x == nil {
			return "–"
		}
		return chart.Percent(*x)
	},
	"decimal1": func(x *float64) string { return strconv.FormatFloat(*x, 'f', 1, 64) },
	"whole":    func(x float64) string { return number(int64(math.Ceil(x))) },
	"sentence": sentence,
	"path":     pathText,
}

// webLink is a URL as what a link leads to, "" for any that is not of the web.
func webLink(u string) string {
	if strings.HasPrefix(u, "http://") || strings.HasPrefix(u, "https://") {
		return u
	}
	return ""
}

// when is a time as people read it: what lies on another day has its date. It takes a store.Time, a time.Time, or
// RFC 3339, or a pointer to that, as records have it.
func when(t any) template.HTML {
	at, ok := timeOf(t)
	if !ok {
		return `<span class="none">never</span>`
	}
	return template.HTML(`<time datetime="` + at.Format(time.RFC3339) + `" title="` + at.Format("Monday, 2 January 2006, 15:04:05") + ` UTC">` + at.Format("2006-01-02 15:04") + `</time>`)
}

// decimal is a small number with two places, a large one without any.
func decimal(x float64) string {
	if x >= 100 {
		return number(int(math.Round(x)))
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

func timeOf(t any) (at time.Time, ok bool) {
	switch t := t.(type) {
	case time.Time:
		return t.UTC(), !t.IsZero()
	case *time.Time:
		if t == nil {
			return at, false
		}
		return t.UTC(), true
	case store.Time:
		return time.Unix(t, 0).UTC(), t != 0
	case *string:
		if t == nil {
			return at, false
		}
		return timeOf(*t)
	case string:
		at, err := time.Parse(time.RFC3339, t)
		return at.UTC(), err == nil
	}
	return at, false
}

// until is how long it is from now to a time, or was: "in 3 h", "2 d ago".
func until(now time.Time, t any) template.HTML {
	at, ok := timeOf(t)
	if !ok {
		return `<span class="none">–</span>`
	}
	text := ""
	switch d := at.Sub(now); {
	case d > 0:
		text = "in " + span(d)
	case d > -time.Second:
		text = "now"
	default:
		text = span(-d) + " ago"
	}
	return template.HTML(`<time datetime="` + at.Format(time.RFC3339) + `" title="` + at.Format("Monday, 2 January 2006, 15:04:05") + ` UTC">` + text + `</time>`)
}

// span is a duration in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", int(math.Ceil(d.Seconds())))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(math.Round(d.Minutes())))
	case d < 36*time.Hour:
		return fmt.Sprintf("%d h", int(math.Round(d.Hours())))
	}
	return fmt.Sprintf("%d d", int(math.Round(d.Hours()/24)))
}

// number is a count with its thousands apart.
func number(n any) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// plural is a number of things.
func plural(n any, one, more string) string {
	if fmt.Sprint(n) == "1" {
		return "1 " + one
	}
	return number(n) + " " + more
}

// sizeText is a number of bytes.
func sizeText(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	case n < 1000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// dayText is a day as charts have it.
func dayText(day int32) string { return time.Unix(int64(day)*86400, 0).UTC().Format("2 Jan") }

// svg is a chart as part of a page: package chart escapes what it is given.
func svg(text string) template.HTML { return template.HTML(text) }

// pathText is what comes after the host of a URL.
func pathText(u string) string {
	if i := strings.Index(u, "://"); i >= 0 {
		if j := strings.IndexByte(u[i+3:], '/'); j >= 0 {
			u = u[i+3+j:]
		}
	}
	return cut(plain(u), 100)
}

// sentence is what was written to stand in a line, as a sentence of its own.
func sentence(text string) string {
	text = cut(plain(text), 600)
	if text == "" {
		return ""
	}
	first, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[n:] + "."
}
