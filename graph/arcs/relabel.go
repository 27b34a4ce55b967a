package arcs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"forage/graph"
)

// A Named graph is one whose nodes have names, and perhaps more.
type Named struct {
	*graph.CSR
	Names   []string   // Names[v] is the name of v; nil if nodes have none but their numbers
	Columns []string   // what is known of nodes beside
	Rows    [][]string // Rows[v] has a value for each column, or is nil
}

// Relabel reads arcs between names and gives the names dense numbers. Names are any words: sparse
// ids, 64-bit numbers, URLs. A line holds two names with a tab between, or else with blanks
// between; a file whose name ends in .csv (.csv.gz, .csv.zst) holds records of which the first
// names the columns and the first two columns are the names. Lines that begin with # or % are comments.
//
// If all names are numbers below 2^64 they are numbered in their order, else in the order in
// which they first appear. A folder with arcs.csv in it is one that 'forage explore' has written: of its other
// files nodes.csv is read too, for all names and what is known of them.
//
// Names and arcs are held in memory: about 64 bytes a name beside the name, 12 an arc; it is an
// error if they exceed o.Memory.
func Relabel(paths []string, o Options) (*Named, error) {
	r := relabeller{o: o, numbers: map[string]graph.Node{}}
	for _, path := range paths {
		if explored, ok := Collection(path); ok {
			nodes := filepath.Join(path, "nodes.csv")
			if _, err := os.Stat(nodes); err == nil {
				if err := r.table(nodes); err != nil {
					return nil, err
				}
			}
			if err := r.csv(explored); err != nil {
				return nil, err
			}
			continue
		}
		files, err := Files(path)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			read := r.lines
			if base := strings.TrimSuffix(strings.TrimSuffix(f, ".gz"), ".zst"); strings.HasSuffix(base, ".csv") {
				read = r.csv
			}
			if err := read(f); err != nil {
				return nil, err
			}
		}
	}
	return r.named(), nil
}

// Collection reports whether path is a folder with arcs.csv in it, compressed or not, and
// returns the path of that file: what 'forage explore' has written.
func Collection(path string) (file string, ok bool) {
	for _, end := range []string{"", ".zst", ".gz"} {
		file = filepath.Join(path, "arcs.csv"+end)
		if _, err := os.Stat(file); err == nil {
			return file, true
		}
	}
	return "", false
}

type relabeller struct {
	o       Options
	numbers map[string]graph.Node
	names   []string
	arcs    []graph.Arc
	bytes   int64
	columns []string
	rows    [][]string // in the order of names, as far as they go
}

// number returns the number of a name, a new one if it is new.
func (r *relabeller) number(name string) (graph.Node, error) {
	v, ok := r.numbers[name]
	if !ok {
		if len(r.names) == graph.MaxNodes {
			return 0, fmt.Errorf("more than %d names: graphs here have fewer than 2^32 nodes; 'forage cover' takes set systems with 64-bit numbers as they are", len(r.names))
		}
		name = strings.Clone(name) // do not keep the line
		v = graph.Node(len(r.names))
		r.numbers[name] = v
		r.names = append(r.names, name)
		r.bytes += int64(len(name)) + 64
	}
	return v, nil
}

func (r *relabeller) add(from, to string) error {
	u, err := r.number(from)
	if err != nil {
		return err
	}
	v, err := r.number(to)
	if err != nil {
		return err
	}
	r.arcs = append(r.arcs, graph.Arc{From: u, To: v})
	if need := r.bytes + 12*int64(len(r.arcs)); r.o.Memory > 0 && need > r.o.Memory {
		return fmt.Errorf("%d names and %d arcs so far take more than the %d MiB of memory that are allowed", len(r.names), len(r.arcs), r.o.Memory>>20)
	}
	return nil
}

func (r *relabeller) lines(file string) (err error) {
	in, err := Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	return eachLine(in, func(line int, text string) error {
		text = strings.TrimRight(text, "\r\n")
		trimmed := strings.TrimSpace(text)
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == '%' {
			return nil
		}
		from, to, ok := strings.Cut(text, "\t")
		from, to = strings.TrimSpace(from), strings.TrimSpace(to)
		if !ok || from == "" || to == "" || strings.Contains(to, "\t") {
			f := strings.Fields(text)
			if len(f) != 2 {
				return &Error{File: file, Line: line, Want: "two names, with a tab or blanks between", Got: shortened(trimmed)}
			}
			from, to = f[0], f[1]
		}
		if err := r.add(from, to); err != nil {
			return fmt.Errorf("%s:%d: %w", file, line, err)
		}
		return nil
	})
}

// records calls do for every record of a CSV file but the first, which it returns.
func records(file string, least int, do func(line int, record []string) error) (header []string, err error) {
	in, err := Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	c := csv.NewReader(in)
	c.ReuseRecord = true
	c.FieldsPerRecord = -1
	for {
		record, err := c.Read()
		if err == io.EOF {
			if header == nil {
				return nil, &Error{File: file, Line: 1, Want: "a first record that names the columns"}
			}
			return header, nil
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			return nil, &Error{File: file, Line: bad.Line, Want: "comma-separated values (" + bad.Err.Error() + ")"}
		}
		if err != nil {
			return nil, err
		}
		line, _ := c.FieldPos(0)
		if len(record) < least {
			return nil, &Error{File: file, Line: line, Want: fmt.Sprintf("at least %d columns", least), Got: shortened(strings.Join(record, ","))}
		}
		if header == nil {
			header = slices.Clone(record)
			continue
		}
		if err := do(line, record); err != nil {
			return nil, err
		}
	}
}

func (r *relabeller) csv(file string) error {
	_, err := records(file, 2, func(line int, record []string) error {
		if record[0] == "" || record[1] == "" {
			return &Error{File: file, Line: line, Want: "two names", Got: shortened(strings.Join(record, ","))}
		}
		if err := r.add(record[0], record[1]); err != nil {
			return fmt.Errorf("%s:%d: %w", file, line, err)
		}
		return nil
	})
	return err
}

// table reads what is known of nodes: the first column is the name.
func (r *relabeller) table(file string) error {
	columns, err := records(file, 1, func(line int, record []string) error {
		v, err := r.number(record[0])
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, line, err)
		}
		for len(r.rows) <= int(v) {
			r.rows = append(r.rows, nil)
		}
		r.rows[v] = slices.Clone(record[1:])
		return nil
	})
	if err == nil {
		r.columns = columns[1:]
	}
	return err
}

// named builds the graph.
func (r *relabeller) named() *Named {
	n := len(r.names)
	order := make([]uint64, n) // the names as numbers
	numeric := true
	for v, name := range r.names {
		x, err := strconv.ParseUint(name, 10, 64)
		if err != nil || strconv.FormatUint(x, 10) != name {
			numeric = false
			break
		}
		order[v] = x
	}
	g := &Named{Names: r.names, Columns: r.columns}
	for len(r.rows) < n && r.columns != nil {
		r.rows = append(r.rows, nil)
	}
	g.Rows = r.rows
	if numeric {
		by := make([]graph.Node, n) // old numbers in the order of the new
		for v := range by {
			by[v] = graph.Node(v)
		}
		slices.SortFunc(by, func(a, b graph.Node) int {
			if order[a] < order[b] {
				return -1
			}
			return 1
		})
		names, rows, now := make([]string, n), make([][]string, len(r.rows)), make([]graph.Node, n)
		for v, old := range by {
			names[v] = r.names[old]
			now[old] = graph.Node(v)
			if len(rows) > 0 {
				rows[v] = r.rows[old]
			}
		}
		for i, a := range r.arcs {
			r.arcs[i] = graph.Arc{From: now[a.From], To: now[a.To]}
		}
		g.Names, g.Rows = names, rows
	}
	g.CSR = graph.FromBlocks(n, [][]graph.Arc{r.o.Direction.turn(r.arcs)}, r.o.Threads)
	return g
}

// WriteNames writes a line a node: its number, a tab, its name.
func WriteNames(w io.Writer, names []string) error {
	var buf []byte
	for v, name := range names {
		buf = strconv.AppendInt(buf[:0], int64(v), 10)
		buf = append(append(append(buf, '\t'), name...), '\n')
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

func shortened(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
