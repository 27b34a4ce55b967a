package lab

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"forage/internal/atomicfile"
)

// Write writes r to dir as name.csv, name.json and, with a figure, name.svg. Each file
// appears whole or not at all.
func (r *Result) Write(dir, name string) error {
	if err := atomicfile.Folder(dir); err != nil {
		return err
	}
	var table bytes.Buffer
	w := csv.NewWriter(&table)
	w.Write(r.Columns)
	for _, row := range r.Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = cell(c)
		}
		w.Write(cells)
	}
	w.Flush()

	rows := make([]map[string]any, len(r.Rows))
	for i, row := range r.Rows {
		rows[i] = map[string]any{}
		for j, c := range row {
			if f, ok := c.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
				c = nil
			}
			rows[i][r.Columns[j]] = c
		}
	}
	text, err := json.MarshalIndent(map[string]any{"name": name, "columns": r.Columns, "rows": rows, "notes": r.Notes}, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	files := map[string][]byte{".csv": table.Bytes(), ".json": append(text, '\n')}
	if r.Figure != nil {
		files[".svg"] = r.Figure.svg()
	}
	for ext, b := range files {
		if err := atomicfile.Write(filepath.Join(dir, name+ext), b); err != nil {
			return err
		}
	}
	return nil
}

// cell formats a value for CSV: floats with six significant digits, what is not a number as
// an empty cell.
func cell(c any) string {
	switch c := c.(type) {
	case nil:
		return ""
	case float64:
		if math.IsNaN(c) || math.IsInf(c, 0) {
			return ""
		}
		return strconv.FormatFloat(c, 'g', 6, 64)
	default:
		return fmt.Sprint(c)
	}
}

// Text writes the table in aligned columns, then the notes, for people.
func (r *Result) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(r.Columns, "\t"))
	for _, row := range r.Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = cell(c)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range r.Notes {
		if _, err := fmt.Fprintf(w, "\n%s\n", n); err != nil {
			return err
		}
	}
	return nil
}
