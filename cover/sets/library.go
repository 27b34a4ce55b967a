package sets

import (
	"bufio"
	"errors"
	"math"
	"slices"
	"strconv"

	"forage/cover"
	"forage/graph"
	"forage/graph/arcs"
)

// number returns the next word as a number from low to high; what says what it stands for.
func (w *words) number(what string, low, high uint64) (uint64, error) {
	word, err := w.next()
	if err != nil {
		return 0, err
	}
	if word == "" {
		return 0, w.fault("the file ends where %s should stand", what)
	}
	v, err := strconv.ParseUint(word, 10, 64)
	if err != nil || v < low || v > high {
		return 0, w.fault("want %s, a number from %d to %d, got %q", what, low, high, word)
	}
	return v, nil
}

func (w *words) cost() (float64, error) {
	word, err := w.next()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(word, 64)
	if err != nil || !(v >= 0 && v < math.Inf(1)) {
		return 0, w.fault("want a cost of at least 0, got %q", word)
	}
	return v, nil
}

// loadLibrary reads an OR-Library file: a set for each column, elements the rows, both from 0.
func loadLibrary(path string, info *Info) (_ *cover.Lists, err error) {
	file, err := arcs.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := &words{path, bufio.NewReaderSize(file, 1<<18), 1}
	rows, err := w.number("the number of rows", 1, graph.MaxNodes-1)
	if err != nil {
		return nil, err
	}
	columns, err := w.number("the number of columns", 1, graph.MaxNodes-1)
	if err != nil {
		return nil, err
	}
	var costs []float64
	var lists [][]graph.Node // by column; grown as the file proves to hold them
	column := func() error {
		c, err := w.cost()
		costs = append(costs, c)
		lists = append(lists, nil)
		return err
	}
	if info.Format == SCP {
		for range columns {
			if err := column(); err != nil {
				return nil, err
			}
		}
		for row := range rows {
			count, err := w.number("how many columns cover the row", 0, columns)
			if err != nil {
				return nil, err
			}
			for range count {
				c, err := w.number("a column", 1, columns)
				if err != nil {
					return nil, err
				}
				lists[c-1] = append(lists[c-1], graph.Node(row))
			}
		}
	} else {
		for i := range columns {
			if err := column(); err != nil {
				return nil, err
			}
			count, err := w.number("how many rows the column covers", 0, rows)
			if err != nil {
				return nil, err
			}
			for range count {
				r, err := w.number("a row", 1, rows)
				if err != nil {
					return nil, err
				}
				lists[i] = append(lists[i], graph.Node(r-1))
			}
		}
	}
	if word, err := w.next(); err != nil || word != "" {
		return nil, errors.Join(err, w.fault("want the end of the file after %d rows and %d columns, got %q", rows, columns, word))
	}
	l := &cover.Lists{}
	for _, list := range lists {
		if !slices.IsSorted(list) {
			info.Unsorted++
		}
		before := len(l.Elem)
		info.Repeated += uint64(l.Append(list))
		info.add(len(l.Elem) - before)
	}
	l.N = rows
	info.Elements = rows
	if slices.ContainsFunc(costs, func(c float64) bool { return c != 1 }) {
		info.Weights = costs
	}
	return l, nil
}
