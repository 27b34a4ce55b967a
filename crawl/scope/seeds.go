package scope

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"forage/store"
)

// A Seed is one URL to start from, with the rules of its site.
type Seed struct {
	URL     string
	Rules   store.Rules     // Within is filled in
	Adopted *store.Adoption // nil: somebody named it
}

// A LineError tells which line of a list of seeds is wrong. The other lines count.
type LineError struct {
	File string
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// ReadSeeds reads a list of seeds: a line is a URL and, after tabs, key=value fields that
// change the rules for its site: scope, max-pages, max-depth, budget, delay, include, exclude
// (the last two may be repeated). Empty lines and lines that start with # are passed over. A first line
// that begins with "url" and a tab is the head of a table, as package seed writes it: of the lines after it
// all but the URL is passed over.
// defaults are the rules of a line without fields. The lines that are wrong are returned as
// *LineError beside the seeds of all others; err is that of r.
func ReadSeeds(r io.Reader, name string, defaults store.Rules) (seeds []Seed, bad []error, err error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	table := false
	for n := 1; in.Scan(); n++ {
		line := strings.TrimRight(in.Text(), "\r\t ")
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if n == 1 && strings.HasPrefix(line, "url\t") {
			table = true
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if table {
			line, _, _ = strings.Cut(line, "\t")
		}
		seed, err := parseSeed(line, defaults)
		if err != nil {
			bad = append(bad, &LineError{name, n, err})
			continue
		}
		seeds = append(seeds, seed)
	}
	if err := in.Err(); err != nil {
		return seeds, bad, fmt.Errorf("%s: %w", name, err)
	}
	return seeds, bad, nil
}

func parseSeed(line string, rules store.Rules) (Seed, error) {
	rules.Include, rules.Exclude = slices.Clone(rules.Include), slices.Clone(rules.Exclude)
	fields := strings.Split(line, "\t")
	url := strings.TrimSpace(fields[0])
	if err := CheckURL(url); err != nil {
		return Seed{}, err
	}
	for _, f := range fields[1:] {
		if f = strings.TrimSpace(f); f == "" {
			continue
		}
		key, value, ok := strings.Cut(f, "=")
		if !ok {
			return Seed{}, fmt.Errorf("want key=value after the URL, got %q", f)
		}
		var err error
		switch key {
		case "scope":
			rules.Scope = value
			if !slices.Contains(Kinds, value) {
				err = fmt.Errorf("want %s", strings.Join(Kinds, ", "))
			}
		case "max-pages":
			rules.MaxPages, err = atLeast0(value)
		case "max-depth":
			if rules.MaxDepth, err = atLeast0(value); rules.MaxDepth == 0 {
				rules.MaxDepth = -1
			}
		case "budget":
			rules.Budget, err = atLeast0(value)
		case "delay":
			var d time.Duration
			if d, err = time.ParseDuration(value); err == nil && d < 0 {
				err = errors.New("want 0 or more")
			}
			rules.DelayMillis = d.Milliseconds()
		case "include":
			rules.Include = append(rules.Include, value)
		case "exclude":
			rules.Exclude = append(rules.Exclude, value)
		default:
			err = errors.New("there is no such field; known: scope max-pages max-depth budget delay include exclude")
		}
		if err != nil {
			return Seed{}, fmt.Errorf("%s: %w", f, err)
		}
	}
	if _, err := New(&rules); err != nil {
		return Seed{}, err
	}
	return Seed{URL: url, Rules: rules}, nil
}

func atLeast0(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, errors.New("want a number of at least 0")
	}
	return n, nil
}

// CheckRules reports what is wrong with rules, such as a broken regular expression.
func CheckRules(r store.Rules) error {
	if r.Scope != "" && !slices.Contains(Kinds, r.Scope) {
		return fmt.Errorf("scope %q: want %s", r.Scope, strings.Join(Kinds, ", "))
	}
	_, err := New(&r)
	return err
}

// CheckURL reports why text is no URL that can be crawled.
func CheckURL(text string) error {
	if !strings.Contains(text, "://") {
		if _, err := Normalise("https://"+text, nil); err == nil && strings.Contains(text, ".") && !strings.ContainsAny(text, " \t") {
			return fmt.Errorf("%q is no URL; did you mean https://%s ?", text, text)
		}
		return fmt.Errorf("%q is no URL: want http:// or https:// and a host", text)
	}
	u, err := Normalise(text, nil)
	if err != nil {
		return fmt.Errorf("%q is no URL: %w", text, err)
	}
	if !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") || store.HostOf(u) == "" {
		return fmt.Errorf("%q cannot be crawled: want http:// or https:// and a host", text)
	}
	return nil
}
