package arcs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"forage/graph"
)

// collector keeps the arcs of all blocks in memory, up to a limit.
type collector struct {
	mu         sync.Mutex
	blocks     map[uint64][]graph.Arc
	arcs, most int
}

var errMemory = errors.New("more arcs than memory holds")

func (c *collector) take(_ int, seq uint64, arcs []graph.Arc) error {
	// A copy of the right length: the parser's own slice has grown by doubling.
	own := append(make([]graph.Arc, 0, len(arcs)), arcs...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks[seq] = own
	if c.arcs += len(own); c.arcs > c.most {
		return errMemory
	}
	return nil
}

func (c *collector) inOrder() [][]graph.Arc {
	all := make([][]graph.Arc, 0, len(c.blocks))
	for _, seq := range slices.Sorted(maps.Keys(c.blocks)) {
		all = append(all, c.blocks[seq])
	}
	return all
}

// blockSize returns how much text is parsed at a time.
func blockSize(o Options) int {
	if o.Memory > 0 {
		return int(min(max(o.Memory/64, 1<<14), 1<<20))
	}
	return 1 << 20
}

// read parses the files and hands their arcs, block by block, to take, which is called by
// several workers (numbered from 0) at once and must not keep the slice; seq orders blocks as
// they stand in the files. It returns the number of nodes. As many files as there are threads
// are read and decompressed at a time, lines of adjacency one file after another since they
// number the nodes; the workers parse. Of several errors in the text the one that stands first
// in the files is returned.
func read(files []string, o Options, take func(worker int, seq uint64, arcs []graph.Arc) error) (nodes int, err error) {
	threads := o.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var (
		blocks = make(chan *block, threads)
		free   = make(chan []byte, 2*threads+2) // more than two a splitter, which holds one while it waits for another
		failed atomic.Uint64                    // the first block with an error: what follows need not be read
		mu     sync.Mutex
		first  error
		text   int64
	)
	failed.Store(math.MaxUint64)
	fail := func(seq uint64, err error) {
		mu.Lock()
		defer mu.Unlock()
		if seq < failed.Load() {
			failed.Store(seq)
			first = err
		}
	}
	for range cap(free) {
		free <- nil
	}
	var parsers, splitters sync.WaitGroup
	for w := range threads {
		parsers.Go(func() {
			var buf []graph.Arc
			most := 0
			for b := range blocks {
				p, err := b.parse(buf[:0])
				if err != nil {
					fail(b.seq, err)
				} else {
					buf = o.Direction.turn(p.arcs)
					most = max(most, p.nodes)
					if err := take(w, b.seq, buf); err != nil {
						fail(0, err) // not about the text: stop at once
					}
				}
				free <- b.text[:0]
			}
			mu.Lock()
			defer mu.Unlock()
			nodes = max(nodes, most)
		})
	}
	progress := func(file string, n int) {
		mu.Lock()
		defer mu.Unlock()
		if text += int64(n); o.Progress != nil {
			o.Progress(file, text)
		}
	}
	atOnce := min(threads, len(files))
	if o.Format == Adjacency {
		atOnce = 1
	}
	var next atomic.Int64
	for range atOnce {
		splitters.Go(func() {
			s := splitter{size: blockSize(o), format: o.Format, free: free, blocks: blocks, failed: &failed, progress: progress}
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				if s.seq = uint64(i) << 32; s.stopped() {
					break
				}
				if err := s.split(files[i]); err != nil {
					fail(s.seq, err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			nodes = max(nodes, s.node)
		})
	}
	splitters.Wait()
	close(blocks)
	parsers.Wait()
	if first != nil {
		return 0, first
	}
	return nodes, nil
}

// splitter cuts files into blocks of whole lines.
type splitter struct {
	size   int
	format Format
	seq    uint64 // of the next block: its file's number<<32 | its own in the file
	node   int    // adjacency: lines so far; MatrixMarket: nodes
	free   chan []byte
	blocks chan<- *block
	failed *atomic.Uint64

	progress func(file string, text int)
}

// stopped reports whether an error stands before the next block.
func (s *splitter) stopped() bool { return s.seq >= s.failed.Load() }

func (s *splitter) split(file string) error {
	in, err := Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	var (
		b       = block{file: file, line: 1, format: s.format, text: s.buffer()}
		first   = true
		entries uint64
		eof     bool
		longer  int // bytes of a line longer than the block, without its end
	)
	for !eof && !s.stopped() {
		for !eof && len(b.text) < s.size {
			n, err := in.Read(b.text[len(b.text):cap(b.text)])
			b.text = b.text[:len(b.text)+n]
			switch {
			case err == io.EOF:
				eof = true
			case err != nil:
				return err
			}
		}
		if first {
			first = false
			if err := s.begin(&b); err != nil {
				return err
			}
		}
		next := block{file: file, format: b.format, header: b.header}
		if eof {
			if len(b.text) > 0 && b.text[len(b.text)-1] != '\n' {
				b.text = append(b.text, '\n')
			}
		} else {
			end := longer + bytes.LastIndexByte(b.text[longer:], '\n') + 1
			if end == longer { // a line longer than the block: read on
				longer = len(b.text)
				if len(b.text) == cap(b.text) {
					b.text = append(make([]byte, 0, 2*cap(b.text)), b.text...)
				}
				s.size = max(s.size, len(b.text)+1)
				continue
			}
			longer = 0
			next.text = append(s.buffer(), b.text[end:]...)
			b.text = b.text[:end]
		}
		lines := bytes.Count(b.text, []byte{'\n'})
		next.line = b.line + lines
		switch b.format {
		case Adjacency:
			b.node = s.node
			s.node += lines - comments(b.text)
		case MatrixMarket:
			entries += uint64(lines - comments(b.text) - empty(b.text))
		}
		s.progress(file, len(b.text))
		b.seq = s.seq
		s.seq++
		s.blocks <- &block{b.seq, b.file, b.line, b.node, b.text, b.header, b.format}
		b = next
	}
	if h := b.header; h != nil && eof && entries != h.entries {
		return &Error{File: file, Want: fmt.Sprintf("%d entries, as its line of sizes says", h.entries), Got: fmt.Sprint(entries)}
	}
	return nil
}

// buffer returns an empty buffer of the block's size and some more for a line's rest.
func (s *splitter) buffer() []byte {
	b := <-s.free
	if cap(b) < s.size+s.size/4 {
		b = make([]byte, 0, s.size+s.size/4)
	}
	return b[:0]
}

// begin looks at the head of a file: which format it has, and its header.
func (s *splitter) begin(b *block) error {
	const banner = "%%MatrixMarket"
	is := len(b.text) >= len(banner) && strings.EqualFold(string(b.text[:len(banner)]), banner)
	if b.format == Auto {
		b.format = List
		if is {
			b.format = MatrixMarket
		}
	}
	if b.format != MatrixMarket {
		return nil
	}
	if !is {
		return &Error{File: b.file, Line: 1, Want: "the header '%%MatrixMarket matrix coordinate …'", Got: firstLine(b.text)}
	}
	f := strings.Fields(strings.ToLower(firstLine(b.text)))
	if len(f) != 5 || f[1] != "matrix" || f[2] != "coordinate" {
		return &Error{File: b.file, Line: 1, Want: "'%%MatrixMarket matrix coordinate FIELD SYMMETRY' (dense arrays are no graphs)", Got: firstLine(b.text)}
	}
	h := &header{}
	switch f[4] {
	case "general":
	case "symmetric", "skew-symmetric", "hermitian":
		h.symmetric = true
	default:
		return &Error{File: b.file, Line: 1, Want: "general, symmetric, skew-symmetric or hermitian", Got: f[4]}
	}
	for len(b.text) > 0 {
		line := firstLine(b.text)
		if line != "" && line[0] != '%' {
			sizes := strings.Fields(line)
			var v [3]uint64
			ok := len(sizes) == 3
			for i := 0; ok && i < 3; i++ {
				var err error
				v[i], err = strconv.ParseUint(sizes[i], 10, 64)
				ok = err == nil
			}
			if !ok {
				return &Error{File: b.file, Line: b.line, Want: "the sizes, 'rows columns entries'", Got: line}
			}
			h.rows, h.cols, h.entries = v[0], v[1], v[2]
			if h.rows > graph.MaxNodes || h.cols > graph.MaxNodes {
				return &Error{File: b.file, Line: b.line, Want: tooMany, Got: line}
			}
		}
		end := bytes.IndexByte(b.text, '\n') + 1
		if end == 0 {
			end = len(b.text)
		}
		b.text = b.text[:copy(b.text, b.text[end:])]
		b.line++
		if line != "" && line[0] != '%' {
			b.header = h
			s.node = max(s.node, int(h.rows), int(h.cols))
			return nil
		}
	}
	return &Error{File: b.file, Line: b.line, Want: "the sizes, 'rows columns entries'"}
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	return strings.TrimSpace(string(line[:min(len(line), 200)]))
}

// comments returns the number of lines that begin with # or %.
func comments(text []byte) int {
	n := bytes.Count(text, []byte("\n#")) + bytes.Count(text, []byte("\n%"))
	if len(text) > 0 && (text[0] == '#' || text[0] == '%') {
		n++
	}
	return n
}

// empty returns the number of lines with nothing on them.
func empty(text []byte) int {
	n := 0
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		if len(bytes.TrimSpace(line)) == 0 {
			n++
		}
		text = rest
	}
	return n
}
