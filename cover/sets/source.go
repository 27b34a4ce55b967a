package sets

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"forage/cover"
	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/bv"
)

// Formats of a Source beside those of set systems.
const (
	Auto Format = "auto" // BV where the name ends in .graph, else what Detect says
	Arcs Format = "arcs" // a graph, a line an arc: the set of a node is what it links to
	BV   Format = "bv"   // a graph in WebGraph's format
)

// A Source is a file that is to be covered, of any format: a set system, or a graph. It knows how
// to be read into memory and how to be read as a stream. It is not safe for concurrent use.
type Source struct {
	Path   string
	Format Format // never Auto
	Info   *Info  // of a set system that has been read whole or from its head; else nil

	bytes  int64
	packed bool
	graph  *bv.Graph
	csr    *graph.CSR
	file   *File
}

// OpenSource opens the file at path; o is for Arcs, which are read here. The caller must close the
// source. Errors are those of Open, of package arcs and of package bv.
func OpenSource(path string, f Format, o arcs.Options) (*Source, error) {
	s := &Source{Path: path, Format: f}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	s.bytes = info.Size()
	s.packed = strings.HasSuffix(path, ".gz") || strings.HasSuffix(path, ".zst")
	if f == Auto {
		if s.Format = BV; !strings.HasSuffix(path, ".graph") {
			if s.Format, err = Detect(path); err != nil {
				return nil, err
			}
		}
	}
	switch s.Format {
	case BV:
		s.graph, err = bv.Open(path)
	case Arcs:
		o.Format = arcs.List
		s.csr, err = arcs.Load(path, o)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends the use of the source and of all families that come from it.
func (s *Source) Close() error {
	if s.graph != nil {
		return s.graph.Close()
	}
	return nil
}

// InMemory reports whether the family is in memory whatever is done with it.
func (s *Source) InMemory() bool { return s.csr != nil }

// Sizes returns the number of sets m, of elements n, and M, how many elements the sets have in all.
// They are exact if measure is set, which may read the file, and otherwise at most so large.
func (s *Source) Sizes(measure bool) (m, n, size uint64, err error) {
	switch {
	case s.graph != nil:
		return uint64(s.graph.NumNodes()), uint64(s.graph.NumNodes()), s.graph.NumArcs(), nil
	case s.csr != nil:
		return uint64(s.csr.NumNodes()), uint64(s.csr.NumNodes()), s.csr.NumArcs(), nil
	case s.file == nil && (measure || s.Format == Binary):
		if s.file, err = Open(s.Path, s.Format); err != nil {
			return 0, 0, 0, err
		}
		s.Info = &s.file.Info
	}
	if s.file != nil {
		return s.file.NumSets(), s.file.NumElements(), s.file.Size(), nil
	}
	text := uint64(s.bytes)
	if s.packed {
		text *= 8 // numbers seldom shrink more
	}
	return text / 8, text, text / 2, nil
}

// Family returns what is to be covered, read anew from the file at each scan.
func (s *Source) Family() (cover.Family, error) {
	switch {
	case s.graph != nil:
		return cover.OutLinks(s.graph), nil
	case s.csr != nil:
		return cover.OutLinks(s.csr), nil
	}
	if _, _, _, err := s.Sizes(true); err != nil {
		return nil, err
	}
	return s.file, nil
}

// Load returns the family in memory, with at most maxDegree elements of each set, 0 for all.
func (s *Source) Load(maxDegree int) (*cover.Lists, error) {
	switch {
	case s.graph != nil:
		return cover.Load(cover.OutLinks(s.graph), maxDegree)
	case s.csr != nil:
		return cover.OutLinks(s.csr).(*cover.Lists), nil
	}
	reserve := uint64(0)
	if s.file != nil {
		reserve = s.file.Size()
	} else if !s.packed {
		reserve = uint64(s.bytes)/2 + 1
	}
	l, info, err := Load(s.Path, s.Format, maxDegree, reserve)
	if err == nil {
		s.Info = info
	}
	return l, err
}

// ReadCosts reads the cost of each set from a file, compressed or not: a finite number of at least
// 0 a line.
func ReadCosts(path string) ([]float64, error) {
	var costs []float64
	err := arcs.Lines(path, func(line int, text string) error {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v < math.Inf(1)) {
			return fmt.Errorf("%s:%d: want a finite cost of at least 0, got %q", path, line, text)
		}
		costs = append(costs, v)
		return nil
	})
	return slices.Clip(costs), err
}
