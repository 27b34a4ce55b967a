// Package arcs reads and writes graphs as text.
//
// Load reads a graph into memory, Sort one that is larger than memory onto disk, Read does what
// memory allows; Guess tells beforehand how large it will be; Write writes. Three formats:
//
//	arc list       u v          a line an arc: two node numbers, blanks or tabs between
//	adjacency      v1 v2 v3     line i, counted from 0, is the successors of node i; may be empty
//	MatrixMarket   i j [value]  after its header and its line of sizes, numbered from 1
//
// In arc lists and adjacency, lines that begin with # or % are comments; the first are skipped
// as empty lines are, the second do not count as nodes. Repeated arcs count once, self-loops are
// kept. The number of nodes is the largest number + 1 (and at least the lines of adjacency, the
// sizes of MatrixMarket). Any file may be compressed with gzip or zstandard, which is seen from
// its first bytes. A graph may lie in many files; Files says how they are named.
//
// Graphs here have at most graph.MaxNodes nodes. Relabel gives dense numbers to sparse ids and
// other names; GraphML is for programs that draw.
package arcs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forage/graph"
)

// A Format is one of the text formats.
type Format int

const (
	Auto         Format = iota // MatrixMarket where a file begins with its header, else an arc list
	List                       // arc list
	Adjacency                  // line i lists the successors of node i
	MatrixMarket               // coordinate format; values are ignored
)

var formats = []string{"auto", "arcs", "adjacency", "mtx"}

func (f Format) String() string { return formats[f] }

// ParseFormat returns the format of a name: auto, arcs, adjacency or mtx.
func ParseFormat(name string) (Format, error) {
	if i := slices.Index(formats, name); i >= 0 {
		return Format(i), nil
	}
	return 0, fmt.Errorf("there is no text format %q; known: %s", name, strings.Join(formats, " "))
}

// A Direction says how the arcs that are read enter the graph.
type Direction int

const (
	AsWritten Direction = iota
	Reversed            // every arc turned round
	Both                // every arc in both directions, without self-loops
)

// turn brings arcs into the direction, perhaps in place.
func (d Direction) turn(arcs []graph.Arc) []graph.Arc {
	switch d {
	case Reversed:
		for i, a := range arcs {
			arcs[i] = graph.Arc{From: a.To, To: a.From}
		}
	case Both:
		arcs = slices.DeleteFunc(arcs, func(a graph.Arc) bool { return a.From == a.To })
		for _, a := range arcs {
			arcs = append(arcs, graph.Arc{From: a.To, To: a.From})
		}
	}
	return arcs
}

// Options of reading. The zero value reads arc lists and MatrixMarket, directed as they are
// written, with all processors.
type Options struct {
	Format    Format
	Direction Direction
	Threads   int    // 0: one a processor
	Memory    int64  // bytes that reading and the result may take together; 0: no limit
	Dir       string // for the sorted runs of graphs that exceed Memory; "": os.TempDir

	// Progress, if set, is told now and then which file is read and how many bytes of text
	// have been, of all files together; by one goroutine at a time.
	Progress func(file string, text int64)
}

// An Error tells where text is not what it should be.
type Error struct {
	File string
	Line int // from 1; 0 where the file as a whole is meant
	Want string
	Got  string // what stands there, shortened; "" where nothing does

	NotArc bool // a line of an arc list is not two node numbers: it may be of another format
}

func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.Got == "" {
		return fmt.Sprintf("%s: want %s", at, e.Want)
	}
	return fmt.Sprintf("%s: want %s, got %q", at, e.Want, e.Got)
}

// Load returns the graph at path as Files understands it. Options.Memory bounds the whole: arcs
// that exceed it are read again and sorted on disk, and a result that would exceed it is an
// error. Memory 8 bytes a node and 12 an arc, for the result alone 8 and 4. Bad text is an
// *Error.
func Load(path string, o Options) (*graph.CSR, error) { return LoadAll([]string{path}, o) }

// LoadAll is Load for a graph that lies at several paths.
func LoadAll(paths []string, o Options) (*graph.CSR, error) {
	g, closeGraph, err := Read(paths, o)
	if err != nil {
		return nil, err
	}
	defer closeGraph()
	if need := 8*(int64(g.NumNodes())+1) + 4*int64(g.NumArcs()); o.Memory > 0 && need > o.Memory {
		return nil, fmt.Errorf("%s: the graph has %d nodes and %d arcs and takes %d MiB, memory is limited to %d MiB; "+
			"'forage graph convert' to BV makes a graph that is read where it lies on disk", paths[0], g.NumNodes(), g.NumArcs(), need>>20+1, o.Memory>>20)
	}
	return graph.Load(g)
}

// Read returns the graph at the paths: in memory, as a *graph.CSR, or, where reading it there
// would exceed o.Memory, sorted on disk, as *Runs. The caller must call closeGraph when done.
func Read(paths []string, o Options) (g graph.Scanner, closeGraph func() error, err error) {
	files, err := FilesAll(paths)
	if err != nil {
		return nil, nil, err
	}
	c := collector{blocks: map[uint64][]graph.Arc{}, most: 1 << 62}
	if o.Memory > 0 {
		c.most = int(o.Memory / 12)
	}
	nodes, err := read(files, o, c.take)
	if err == errMemory || err == nil && o.Memory > 0 && 8*(int64(nodes)+1)+12*int64(c.arcs) > o.Memory {
		c.blocks = nil
		r, err := sortFiles(files, o)
		if err != nil {
			return nil, nil, err
		}
		if err := checkDense(files, r.nodes, r.all.arcs); err != nil {
			r.Close()
			return nil, nil, err
		}
		return r, r.Close, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if err := checkDense(files, nodes, uint64(c.arcs)); err != nil {
		return nil, nil, err
	}
	return graph.FromBlocks(nodes, c.inOrder(), o.Threads), func() error { return nil }, nil
}

// checkDense refuses graphs whose node numbers are so sparse that the table of nodes would
// dwarf the arcs: that is nearly always a list of ids, not of node numbers.
func checkDense(files []string, nodes int, arcs uint64) error {
	if uint64(nodes) > 1<<24 && uint64(nodes) > 256*(arcs+1) {
		return fmt.Errorf("%s: node numbers up to %d but only %d arcs: these look like sparse ids; 'forage graph convert --relabel' gives them dense numbers", files[0], nodes-1, arcs)
	}
	return nil
}

// Files returns the files of the graph at path: the file itself, the files that a pattern with
// *, ? or [ matches, the files of a folder (hidden ones left out), or those that a list names
// (NAME.paths or NAME.paths.gz: a path a line, relative to the list's folder), sorted, lists in
// their own order.
func Files(path string) ([]string, error) {
	if base := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst"); strings.HasSuffix(base, ".paths") {
		return listed(path)
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	if err == nil {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s: the folder holds no files", path)
		}
		return files, nil
	}
	if !strings.ContainsAny(path, "*?[") {
		return nil, err
	}
	files, err = filepath.Glob(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	files = slices.DeleteFunc(files, func(f string) bool {
		info, err := os.Stat(f)
		return err == nil && info.IsDir()
	})
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no file matches", path)
	}
	return files, nil
}

// FilesAll returns the files of all paths, in their order.
func FilesAll(paths []string) ([]string, error) {
	var files []string
	for _, p := range paths {
		f, err := Files(p)
		if err != nil {
			return nil, err
		}
		files = append(files, f...)
	}
	return files, nil
}

// listed returns the files that a .paths list names.
func listed(path string) ([]string, error) {
	in, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var files []string
	err = eachLine(in, func(line int, text string) error {
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			return nil
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(path), text)
		}
		if _, err := os.Stat(text); err != nil {
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
		files = append(files, text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: the list names no files", path)
	}
	return files, nil
}
