package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"forage/cover"
	"forage/cover/sets"
	"forage/graph"
	"forage/graph/bv"
)

// A coverSource is the file that is to be covered.
type coverSource struct {
	path   string
	kind   string // bv, arcs or a sets.Format
	bytes  int64
	packed bool
	graph  *bv.Graph
	file   *sets.File
	csr    *graph.CSR
	close  func() error
}

func (f *coverFlags) source(path string) (*coverSource, error) {
	s := &coverSource{path: path, kind: f.format, close: func() error { return nil }}
	info, err := os.Stat(path)
	if err != nil {
		return nil, badInput(err)
	}
	s.bytes = info.Size()
	s.packed = strings.HasSuffix(path, ".gz") || strings.HasSuffix(path, ".zst")
	switch f.format {
	case "auto":
		if strings.HasSuffix(path, ".graph") {
			s.kind = "bv"
			break
		}
		format, err := sets.Detect(path)
		if err != nil {
			return nil, coverError(err)
		}
		s.kind = string(format)
	case "arcs", string(sets.Text), string(sets.SCP), string(sets.Rail), string(sets.Binary):
	default:
		return nil, usagef("--format %q: want auto, sets, arcs, scp, rail or binary", f.format)
	}
	if s.kind == "bv" {
		if s.graph, err = bv.Open(path); err != nil {
			return nil, graphError(err)
		}
		s.close = s.graph.Close
	}
	return s, nil
}

// coverError makes what is wrong with a file of sets, or with options, bad input.
func coverError(err error) error {
	var syntax *sets.Error
	var option *cover.OptionError
	switch {
	case errors.As(err, &syntax), errors.Is(err, fs.ErrNotExist):
		return badInput(err)
	case errors.As(err, &option):
		return badInput(fmt.Errorf("--%w", option))
	}
	return graphError(err)
}

// sizes returns m, n and M, exact if measure is set, otherwise at most.
func (s *coverSource) sizes(measure bool) (m, n, size uint64, err error) {
	switch {
	case s.graph != nil:
		return uint64(s.graph.NumNodes()), uint64(s.graph.NumNodes()), s.graph.NumArcs(), nil
	case s.csr != nil:
		return uint64(s.csr.NumNodes()), uint64(s.csr.NumNodes()), s.csr.NumArcs(), nil
	case s.file == nil && (measure || s.kind == string(sets.Binary)):
		if s.file, err = sets.Open(s.path, sets.Format(s.kind)); err != nil {
			return 0, 0, 0, coverError(err)
		}
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

// family returns what is to be covered, read anew from the file at each scan.
func (s *coverSource) family() (cover.Family, error) {
	switch {
	case s.graph != nil:
		return cover.OutLinks(s.graph), nil
	case s.csr != nil:
		return cover.OutLinks(s.csr), nil
	}
	if _, _, _, err := s.sizes(true); err != nil {
		return nil, err
	}
	return s.file, nil
}

// load returns the family in memory; info is nil for graphs.
func (s *coverSource) load(maxDegree int) (*cover.Lists, *sets.Info, error) {
	switch {
	case s.graph != nil:
		l, err := cover.Load(cover.OutLinks(s.graph), maxDegree)
		return l, nil, graphError(err)
	case s.csr != nil:
		return cover.OutLinks(s.csr).(*cover.Lists), nil, nil
	}
	reserve := uint64(0)
	if s.file != nil {
		reserve = s.file.Size()
	} else if !s.packed {
		reserve = uint64(s.bytes)/2 + 1
	}
	l, info, err := sets.Load(s.path, sets.Format(s.kind), maxDegree, reserve)
	return l, info, coverError(err)
}

// memoryFor returns the bytes that an engine takes in memory.
func memoryFor(a cover.Algorithm, m, n, size uint64, o *cover.Options, improve bool) uint64 {
	need := 4*size + 20*m + n/8 // lists, offsets, counts, queues, covered bits
	switch a {
	case cover.NameGreedy:
		need += 4*size + 8*n + 12*m
	case cover.NameFGreedy:
		need += 4 * m
	}
	if improve {
		need += 12*size + 32*m + 24*n
	}
	return need + extraFor(m, n, o)
}

func extraFor(m, n uint64, o *cover.Options) (extra uint64) {
	if o.Multi > 1 {
		extra += n / 64 * uint64(bitsOf(o.Multi)) * 8
	}
	if o.Weights != nil {
		extra += 24 * m
	}
	return extra
}

func bitsOf(k int) (bits int) {
	for ; k > 0; k >>= 1 {
		bits++
	}
	return bits
}

// choose picks the engine: by name, or for auto the smallest cover that memory allows.
func (f *coverFlags) choose(s *coverSource) (a cover.Algorithm, outOfCore bool, err error) {
	a = cover.Algorithm(f.algorithm)
	if a == "auto" {
		a = cover.NamePGreedy
	}
	limit := uint64(f.memory)
	if limit == 0 {
		limit = freeMemory() / 10 * 9
	}
	m, n, size, err := s.sizes(false)
	if err != nil {
		return "", false, err
	}
	if memoryFor(a, m, n, size, &f.o, f.improve > 0) <= limit {
		return a, false, nil
	}
	if m, n, size, err = s.sizes(true); err != nil {
		return "", false, err
	}
	need := memoryFor(a, m, n, size, &f.o, f.improve > 0)
	if need <= limit && max(m, n) < graph.MaxNodes {
		return a, false, nil
	}
	why := fmt.Sprintf("%s takes %s in memory, more than the %s of --memory", a, binaryBytes(need), binaryBytes(limit))
	if f.memory == 0 {
		why = fmt.Sprintf("%s takes %s in memory, and %s are free", a, binaryBytes(need), binaryBytes(limit))
	}
	return cover.NameSPGreedy, true, f.external(m, n, why)
}

// external refuses what does not work out of core; why tells what keeps it from memory.
func (f *coverFlags) external(m, n uint64, why string) error {
	switch {
	case f.improve > 0:
		return usagef("--improve: %s; it works in memory only", why)
	case f.algorithm != "auto" && f.algorithm != string(cover.NameSPGreedy):
		return usagef("%s; only spgreedy works out of core: leave --algorithm out, or name it", why)
	case f.o.Q != 0:
		return usagef("--q: %s; only spgreedy works out of core, and has no q", why)
	}
	if bits := n/4 + extraFor(m, n, &f.o); bits > uint64(f.memory) && bits > freeMemory() {
		return usagef("out of core two bits of memory an element are needed, %s for %d elements, and %s are free", binaryBytes(bits), n, binaryBytes(freeMemory()))
	}
	return nil
}

func binaryBytes(b uint64) string {
	v := float64(b)
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if v < 1024 {
			return strconv.FormatFloat(v, 'f', min(1, len(unit)-1), 64) + " " + unit
		}
		v /= 1024
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " TiB"
}

// freeMemory returns how many bytes the process may still take: by the kernel's and by the
// control group's word, 8 GiB where neither is known.
func freeMemory() uint64 {
	free := uint64(math.MaxUint64)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if w := strings.Fields(line); len(w) >= 2 && w[0] == "MemAvailable:" {
				if kb, err := strconv.ParseUint(w[1], 10, 64); err == nil {
					free = kb << 10
				}
			}
		}
	}
	number := func(path string) (uint64, bool) {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, false
		}
		v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		return v, err == nil
	}
	if most, ok := number("/sys/fs/cgroup/memory.max"); ok {
		if used, ok := number("/sys/fs/cgroup/memory.current"); ok {
			free = min(free, most-min(most, used))
		}
	}
	if free == math.MaxUint64 {
		return 8 << 30
	}
	return free
}
