package link

import "strings"

// linkHeader reads one Link header field: the links that a link element could make.
func (x *Extractor) linkHeader(v string) {
	for {
		open := strings.IndexByte(v, '<')
		if open < 0 {
			return
		}
		v = v[open+1:]
		url, rest, ok := strings.Cut(v, ">")
		if !ok {
			return
		}
		v = rest
		var rel, typ, title, anchor string
		for {
			v = strings.TrimLeft(v, " \t")
			if v == "" || v[0] != ';' {
				break
			}
			v = strings.TrimLeft(v[1:], " \t")
			n := strings.IndexAny(v, "=;,")
			if n < 0 {
				n = len(v)
			}
			key := strings.ToLower(strings.TrimSpace(v[:n]))
			v = v[n:]
			value := ""
			if v != "" && v[0] == '=' {
				value, v = parameter(strings.TrimLeft(v[1:], " \t"))
			}
			switch key {
			case "rel":
				if rel == "" {
					rel = value
				}
			case "type":
				typ = value
			case "title":
				title = value
			case "anchor":
				anchor = value
			}
		}
		if anchor != "" {
			continue // a link of another document
		}
		if hasToken([]byte(rel), "license") {
			x.license([]byte(url))
		}
		if kind, ok := relKind([]byte(rel), []byte(typ), []byte(url), []byte(title)); ok {
			x.add(ref{url: []byte(url), kind: kind, nofollow: hasToken([]byte(rel), "nofollow"), node: -1})
		}
	}
}

// parameter reads the value of a header's parameter, a token or a quoted string, and returns
// what follows it.
func parameter(v string) (value, rest string) {
	if v == "" || v[0] != '"' {
		n := strings.IndexAny(v, ";,")
		if n < 0 {
			n = len(v)
		}
		return strings.TrimSpace(v[:n]), v[n:]
	}
	var b strings.Builder
	for i := 1; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			return b.String(), v[i+1:]
		case c == '\\' && i+1 < len(v):
			i++
			b.WriteByte(v[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}
