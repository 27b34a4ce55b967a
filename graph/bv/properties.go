package bv

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"forage/graph"
)

// Config says how a graph is compressed. Zero fields mean WebGraph's defaults.
type Config struct {
	Window      int    // how many lists before may be referred to; 0: 7, −1: no references
	MaxRef      int    // longest chain of references; 0: 3, −1: no limit
	MinInterval int    // least length of an interval; 0: 4, −1: no intervals
	ZetaK       int    // k of the ζ code (and of Golomb) for residuals; 0: 3
	Flags       string // codes as in compressionflags, e.g. "OUTDEGREES_DELTA | RESIDUALS_GAMMA"
}

// codes are the codes of the parts of a graph file, with the default of each.
type codes struct {
	outdegrees, blocks, residuals, references, blockCounts, offsets code
}

var defaultCodes = codes{gamma, gamma, zeta, unary, gamma, gamma}

// part finds a part's code by its name in compressionflags, and tells which codes it may have.
func (c *codes) part(name string) (*code, []code) {
	switch name {
	case "OUTDEGREES":
		return &c.outdegrees, []code{gamma, delta}
	case "BLOCKS":
		return &c.blocks, []code{unary, gamma, delta}
	case "RESIDUALS":
		return &c.residuals, []code{gamma, delta, zeta, golomb, nibble}
	case "REFERENCES":
		return &c.references, []code{unary, gamma, delta}
	case "BLOCK_COUNT":
		return &c.blockCounts, []code{unary, gamma, delta}
	case "OFFSETS":
		return &c.offsets, []code{gamma, delta}
	}
	return nil, nil
}

// parseFlags reads compressionflags: names of part and code, separated by |.
func parseFlags(flags string) (codes, error) {
	c := defaultCodes
	for f := range strings.SplitSeq(flags, "|") {
		if f = strings.TrimSpace(f); f == "" {
			continue
		}
		cut := strings.LastIndexByte(f, '_')
		var part *code
		var may []code
		if cut > 0 {
			part, may = c.part(f[:cut])
		}
		if part == nil {
			return c, fmt.Errorf("there is no compression flag %q", f)
		}
		i := slices.Index(codeNames, f[cut+1:])
		if i < 0 || !slices.Contains(may, code(i)) {
			return c, fmt.Errorf("compression flag %q: there is no such code here", f)
		}
		*part = code(i)
	}
	return c, nil
}

// String returns the flags that differ from the defaults.
func (c codes) String() string {
	d := defaultCodes
	var flags []string
	for _, name := range []string{"OUTDEGREES", "BLOCKS", "RESIDUALS", "REFERENCES", "BLOCK_COUNT", "OFFSETS"} {
		is, _ := c.part(name)
		was, _ := d.part(name)
		if *is != *was {
			flags = append(flags, name+"_"+codeNames[*is])
		}
	}
	return strings.Join(flags, " | ")
}

// header is what a .properties file says.
type header struct {
	nodes       int
	arcs        uint64
	window      int
	maxRef      int // −1: no limit
	minInterval int // 0: no intervals
	zetaK       uint
	codes       codes
}

// readProperties reads the file of properties of a graph.
func readProperties(path string) (*header, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("a BV graph is a .graph file with its .properties beside it: %w", err)
	}
	return parseProperties(path, text)
}

func parseProperties(path string, text []byte) (*header, error) {
	values := map[string]string{}
	lines := map[string]int{}
	s := bufio.NewScanner(bytes.NewReader(text))
	s.Buffer(nil, 1<<20)
	for line := 1; s.Scan(); line++ {
		t := strings.TrimSpace(s.Text())
		if t == "" || t[0] == '#' || t[0] == '!' {
			continue
		}
		key, value, ok := strings.Cut(t, "=")
		if !ok {
			return nil, fmt.Errorf("%s:%d: want KEY=VALUE, got %q", path, line, t)
		}
		key = strings.TrimSpace(key)
		values[key] = strings.TrimSpace(value)
		lines[key] = line
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if values["graphclass"] == "" {
		return nil, fmt.Errorf("%s: want a line graphclass=it.unimi.dsi.webgraph.BVGraph, there is none", path)
	}
	if class := values["graphclass"]; !strings.HasSuffix(class, ".BVGraph") {
		return nil, fmt.Errorf("%s:%d: want a graphclass of BVGraph, got %q", path, lines["graphclass"], class)
	}
	if e := values["endianness"]; e != "" && e != "big" {
		return nil, fmt.Errorf("%s:%d: want endianness big, got %q", path, lines["endianness"], e)
	}
	var wrong error
	number := func(key string, least, most int64, missing int64) int64 {
		v, ok := values[key]
		if !ok && missing >= least {
			return missing
		}
		if !ok {
			if wrong == nil {
				wrong = fmt.Errorf("%s: no %s", path, key)
			}
			return 0
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if (err != nil || n < least || n > most) && wrong == nil {
			wrong = fmt.Errorf("%s:%d: want %s from %d to %d, got %q", path, lines[key], key, least, most, v)
			if key == "nodes" && err == nil && n > most {
				wrong = fmt.Errorf("%w (graphs here have fewer than 2^32 nodes; 'forage cover' takes set systems with 64-bit numbers)", wrong)
			}
		}
		return n
	}
	number("version", 0, 0, 0)
	h := &header{
		nodes:       int(number("nodes", 0, graph.MaxNodes, -1)),
		arcs:        uint64(number("arcs", 0, 1<<62, -1)),
		window:      int(number("windowsize", 0, 1<<20, 7)),
		maxRef:      int(number("maxrefcount", -1, 1<<31-1, 3)),
		minInterval: int(number("minintervallength", 0, 1<<31-1, 4)),
		zetaK:       uint(number("zetak", 1, 32, 3)),
	}
	if wrong != nil {
		return nil, wrong
	}
	var err error
	if h.codes, err = parseFlags(values["compressionflags"]); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, lines["compressionflags"], err)
	}
	return h, nil
}

// Check reports whether a graph can be written so.
func (c Config) Check() error {
	_, err := c.header()
	return err
}

// header returns the parameters of a graph to be written.
func (c Config) header() (*header, error) {
	h := &header{window: 7, maxRef: 3, minInterval: 4, zetaK: 3}
	switch {
	case c.Window < -1 || c.Window > 1<<20:
		return nil, fmt.Errorf("BV window: want 0 to %d or −1 for no references, got %d", 1<<20, c.Window)
	case c.MaxRef < -1:
		return nil, fmt.Errorf("BV longest chain of references: want a number or −1 for no limit, got %d", c.MaxRef)
	case c.MinInterval < -1:
		return nil, fmt.Errorf("BV least interval: want a number or −1 for no intervals, got %d", c.MinInterval)
	case c.ZetaK < 0 || c.ZetaK > 32:
		return nil, fmt.Errorf("BV ζ code: want k from 1 to 32, got %d", c.ZetaK)
	}
	if c.Window != 0 {
		h.window = max(0, c.Window)
	}
	if c.MaxRef != 0 {
		h.maxRef = c.MaxRef
	}
	if c.MinInterval != 0 {
		h.minInterval = max(0, c.MinInterval)
	}
	if c.ZetaK != 0 {
		h.zetaK = uint(c.ZetaK)
	}
	var err error
	h.codes, err = parseFlags(c.Flags)
	return h, err
}
