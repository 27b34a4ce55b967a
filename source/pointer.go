package source

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A pointerError says which pointer found nothing, and what there was instead.
type pointerError struct{ member, pointer, found string }

func (e *pointerError) Error() string {
	return fmt.Sprintf("%s: %q points at nothing: %s", e.member, e.pointer, e.found)
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// find returns the values that a JSON pointer points at in doc, * for all elements or members
// (members by name). What is missing behind a * is left out; before it, found says what is
// there instead.
func find(doc any, pointer string) (values []any, found string) {
	values = []any{doc}
	if pointer == "" {
		return values, ""
	}
	many := false
	for _, segment := range strings.Split(pointer[1:], "/") {
		segment = unescape.Replace(segment)
		var next []any
		for _, v := range values {
			switch v := v.(type) {
			case map[string]any:
				if segment == "*" {
					for _, name := range sortedNames(v) {
						next = append(next, v[name])
					}
				} else if inner, ok := v[segment]; ok {
					next = append(next, inner)
				} else if !many {
					return nil, "the object there has " + strings.Join(sortedNames(v), ", ")
				}
			case []any:
				if segment == "*" {
					next = append(next, v...)
				} else if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(v) {
					next = append(next, v[i])
				} else if !many {
					return nil, fmt.Sprintf("there is an array of %d there", len(v))
				}
			default:
				if !many {
					return nil, "there is " + show(v) + " there"
				}
			}
		}
		many = many || segment == "*"
		values = next
	}
	return values, ""
}

func sortedNames(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil || len(b) > 40 {
		return fmt.Sprintf("a %T", v)
	}
	return string(b)
}

// scalar returns a string, number or boolean as text.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// one returns the first value at pointer as text, "" where there is none.
func one(doc any, pointer string) string {
	if pointer == "" {
		return ""
	}
	values, _ := find(doc, pointer)
	for _, v := range values {
		if text, ok := scalar(v); ok {
			return text
		}
		if v != nil {
			b, err := json.Marshal(v)
			if err == nil {
				return string(b)
			}
		}
	}
	return ""
}

// count returns the number at pointer, -1 where there is none.
func count(doc any, pointer string) int {
	n, err := strconv.Atoi(one(doc, pointer))
	if err != nil || n < 0 {
		return -1
	}
	return n
}
