package snap

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A SyntaxError tells where a history file breaks its format.
type SyntaxError struct {
	File string
	Line int // from 1
	Err  error
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }
func (e *SyntaxError) Unwrap() error { return e.Err }

// Open reads the history in the named file. Errors are a *SyntaxError or those of the file.
func Open(name string) (*History, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, name)
}

// Dated reports whether the named file is the history of a site by commits (SNAP3), from its first line alone. Errors are as those
// of Open.
func Dated(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	p, err := newParser(f, name)
	if err != nil {
		return false, err
	}
	h, err := p.head()
	if err != nil {
		return false, &SyntaxError{name, p.line, err}
	}
	return h.Dated, nil
}

// Read reads a gzip'd history to its end; name is for error messages.
func Read(r io.Reader, name string) (*History, error) {
	p, err := newParser(r, name)
	if err != nil {
		return nil, err
	}
	h, err := p.history()
	if err != nil {
		return nil, &SyntaxError{name, p.line, err}
	}
	return h, nil
}

type parser struct {
	in   *bufio.Reader
	line int
}

func newParser(r io.Reader, name string) (*parser, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, &SyntaxError{name, 1, fmt.Errorf("want a gzip'd SNAP2 or SNAP3 history: %w", err)}
	}
	return &parser{in: bufio.NewReaderSize(z, 1<<16)}, nil
}

// next returns the next line without its end.
func (p *parser) next() (string, error) {
	p.line++
	s, err := p.in.ReadString('\n')
	if err == io.EOF {
		return "", fmt.Errorf("the file ends before its E line (truncated?): %w", io.ErrUnexpectedEOF)
	}
	if err != nil {
		return "", fmt.Errorf("the file is truncated or damaged: %w", err)
	}
	return s[:len(s)-1], nil
}

// head reads the first line.
func (p *parser) head() (*History, error) {
	s, err := p.next()
	if err != nil {
		return nil, err
	}
	f := strings.Split(s, "\t")
	if len(f) != 6 || f[0] != "SNAP2" && f[0] != "SNAP3" {
		return nil, fmt.Errorf("want a line SNAP2 or SNAP3, site, repository, ref, root, base URL, got %.60q", s)
	}
	return &History{Site: f[1], Repo: f[2], Ref: f[3], Root: f[4], Base: f[5], Dated: f[0] == "SNAP3"}, nil
}

func (p *parser) history() (*History, error) {
	h, err := p.head()
	if err != nil {
		return nil, err
	}
	s, err := p.next()
	if err != nil {
		return nil, err
	}
	num, ok := strings.CutPrefix(s, "U\t")
	n, err := strconv.ParseUint(num, 10, 31)
	if !ok || err != nil {
		return nil, fmt.Errorf("want U and the number of URLs, got %.60q", s)
	}
	seen := map[string]bool{}
	for range n {
		if s, err = p.next(); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(s, "/") {
			return nil, fmt.Errorf("want a URL path that starts with /, got %.60q", s)
		}
		if seen[s] {
			return nil, fmt.Errorf("the path %.60q is in the table twice", s)
		}
		seen[s] = true
		h.URLs = append(h.URLs, s)
	}
	if err := p.snapshots(h); err != nil {
		return nil, err
	}
	return h, nil
}

// snapshots reads up to and with the E line.
func (p *parser) snapshots(h *History) error {
	state := h.newState()
	end := func() error {
		if len(h.Snapshots) == 0 {
			return nil
		}
		last := &h.Snapshots[len(h.Snapshots)-1]
		if err := state.apply(last); err != nil {
			return fmt.Errorf("snapshot %d: %w", len(h.Snapshots)-1, err)
		}
		if err := state.check(last); err != nil {
			return fmt.Errorf("snapshot %d: %w", len(h.Snapshots)-1, err)
		}
		return state.checkLinks(last)
	}
	for {
		s, err := p.next()
		if err != nil {
			return err
		}
		switch {
		case s == "E":
			if err := end(); err != nil {
				return err
			}
			if _, err := p.in.ReadByte(); err == nil {
				return errors.New("there is text after the E line")
			} else if err != io.EOF {
				return fmt.Errorf("the file is truncated or damaged: %w", err)
			}
			return nil
		case strings.HasPrefix(s, "S\t"):
			if err := end(); err != nil {
				return err
			}
			snapshot, err := header(s, len(h.Snapshots))
			if err != nil {
				return err
			}
			h.Snapshots = append(h.Snapshots, snapshot)
		case len(h.Snapshots) == 0:
			return fmt.Errorf("want a snapshot's S line, got %.60q", s)
		case h.Dated && (strings.HasPrefix(s, "P ") || strings.HasPrefix(s, "L ")):
			if err := dates(s, &h.Snapshots[len(h.Snapshots)-1], len(h.URLs)); err != nil {
				return err
			}
		default:
			if err := line(s, &h.Snapshots[len(h.Snapshots)-1], len(h.URLs)); err != nil {
				return err
			}
		}
	}
}

// header parses the S line of snapshot k.
func header(s string, k int) (Snapshot, error) {
	f := strings.Split(s, "\t")
	if len(f) != 6 || f[1] != strconv.Itoa(k) {
		return Snapshot{}, fmt.Errorf("want S, %d, time, commit, pages, feeds and sitemaps, got %.60q", k, s)
	}
	var num [3]int64
	for i, t := range []string{f[2], f[4], f[5]} {
		v, err := strconv.ParseInt(t, 10, 64)
		if err != nil {
			return Snapshot{}, fmt.Errorf("want a number, got %.60q", t)
		}
		num[i] = v
	}
	return Snapshot{Time: num[0], Commit: f[3], Pages: int(num[1]), Docs: int(num[2])}, nil
}

// document parses the number of one of n documents.
func document(t string, n int) (ID, error) {
	v, err := strconv.ParseUint(t, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("want a document's number, got %.60q", t)
	}
	if v >= uint64(n) {
		return 0, fmt.Errorf("document %d is outside the table of %d URLs", v, n)
	}
	return ID(v), nil
}

// dates parses a P or L line and adds it to the change above it. What must hold of the document
// that it names, State.date checks.
func dates(s string, to *Snapshot, n int) error {
	f := strings.Fields(s)
	if len(f) < 3 || f[0] == "P" && len(f) > 3 {
		return fmt.Errorf("want P, a document and a time, or L, a document and its dates, got %.60q", s)
	}
	v, err := document(f[1], n)
	if err != nil {
		return err
	}
	if len(to.Changes) == 0 || to.Changes[len(to.Changes)-1].ID != v {
		return fmt.Errorf("%s %d is not below a change of %d", f[0], v, v)
	}
	c := &to.Changes[len(to.Changes)-1]
	if c.Published != 0 || c.Dates != nil {
		return fmt.Errorf("%s %d follows another line of dates", f[0], v)
	}
	if f[0] == "P" {
		c.Published, err = stamp(f[2])
		return err
	}
	for _, t := range f[2:] {
		num, when, ok := strings.Cut(t, ":")
		if !ok {
			return fmt.Errorf("want a document, a colon and a time or -, got %.60q", t)
		}
		var d Date
		if d.Target, err = document(num, n); err != nil {
			return err
		}
		if when != "-" {
			if d.Time, err = stamp(when); err != nil {
				return err
			}
		}
		if last := len(c.Dates) - 1; last >= 0 && c.Dates[last].Target >= d.Target {
			return fmt.Errorf("date of %d after that of %d: targets ascend", d.Target, c.Dates[last].Target)
		}
		c.Dates = append(c.Dates, d)
	}
	return nil
}

// stamp parses a stated time. It is never 0, which stands for none.
func stamp(t string) (int64, error) {
	v, err := strconv.ParseInt(t, 10, 64)
	if err != nil || v == 0 {
		return 0, fmt.Errorf("want a time in seconds, not 0, got %.60q", t)
	}
	return v, nil
}

// line parses a W line or a change.
func line(s string, to *Snapshot, n int) error {
	id := func(t string) (ID, error) { return document(t, n) }
	f := strings.Fields(s)
	if len(f) == 0 {
		return errors.New("empty line")
	}
	if f[0] == "W" {
		to.WellKnown = []ID{}
		for _, t := range f[1:] {
			v, err := id(t)
			if err != nil {
				return err
			}
			to.WellKnown = append(to.WellKnown, v)
		}
		return nil
	}
	c := Change{Op: Op(s[0])}
	if !strings.ContainsRune("-+*~", rune(s[0])) {
		return fmt.Errorf("want a line that starts with S, W, E, -, +, * or ~, got %.60q", s)
	}
	var err error
	if c.ID, err = id(f[0][1:]); err != nil {
		return err
	}
	if last := len(to.Changes) - 1; last >= 0 {
		before := to.Changes[last]
		if (before.Op == Gone) == (c.Op == Gone) && before.ID >= c.ID || before.Op != Gone && c.Op == Gone {
			return fmt.Errorf("%c%d after %c%d: gone documents come first, then all others ascending", c.Op, c.ID, before.Op, before.ID)
		}
	}
	rest := f[1:]
	if (c.Op == Gone || c.Op == Content) && len(rest) > 0 {
		return fmt.Errorf("want nothing after %s, got %.60q", f[0], rest[0])
	}
	if len(rest) > 0 && (rest[0] == "r" || rest[0] == "f" || rest[0] == "m") {
		c.Flag, rest = Flag(rest[0][0]), rest[1:]
	}
	last := -1
	for _, t := range rest {
		num, drop := strings.CutPrefix(t, "-")
		if drop && c.Op != Links {
			return fmt.Errorf("a new document cannot drop a link: %.60q", t)
		}
		v, err := id(num)
		if err != nil {
			return err
		}
		if int(v) <= last {
			return fmt.Errorf("link %d after %d: links ascend", v, last)
		}
		last = int(v)
		if drop {
			c.Drop = append(c.Drop, v)
		} else {
			c.Gain = append(c.Gain, v)
		}
	}
	to.Changes = append(to.Changes, c)
	return nil
}

// checkLinks verifies that no document links to one that is not there, looking only where
// this snapshot can have broken that.
func (s *State) checkLinks(snapshot *Snapshot) error {
	gone := map[ID]bool{}
	for _, c := range snapshot.Changes {
		if c.Op == Gone {
			gone[c.ID] = true
		}
		for _, u := range c.Gain {
			if !s.Alive[u] {
				return fmt.Errorf("snapshot %d: document %d links to %d, which is not there", s.K, c.ID, u)
			}
		}
	}
	if len(gone) == 0 {
		return nil
	}
	for id, links := range s.Links {
		if i := slices.IndexFunc(links, func(u ID) bool { return gone[u] }); i >= 0 {
			return fmt.Errorf("snapshot %d: document %d links to %d, which is gone", s.K, id, links[i])
		}
	}
	return nil
}
