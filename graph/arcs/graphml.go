package arcs

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"forage/graph"
)

// WriteGraphML writes g as GraphML, which programs that draw graphs read. Nodes are called n0,
// n1, …; names, if there are any, and the columns are data of the nodes, as whole numbers or
// numbers where all values are.
func WriteGraphML(w io.Writer, g graph.Scanner, names, columns []string, rows [][]string) error {
	out := bufio.NewWriterSize(w, 1<<18)
	fmt.Fprintln(out, `<?xml version="1.0" encoding="UTF-8"?>`)
	fmt.Fprintln(out, `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">`)
	text := func(s string) { xml.EscapeText(out, []byte(s)) }
	key := func(id, name, kind string) {
		fmt.Fprintf(out, `<key id="%s" for="node" attr.name="`, id)
		text(name)
		fmt.Fprintf(out, `" attr.type="%s"/>`+"\n", kind)
	}
	if names != nil {
		key("name", "name", "string")
	}
	for i, c := range columns {
		key("d"+strconv.Itoa(i), c, columnType(rows, i))
	}
	fmt.Fprintln(out, `<graph edgedefault="directed">`)
	n := graph.Node(g.NumNodes())
	for v := range n {
		fmt.Fprintf(out, `<node id="n%d"`, v)
		row := []string(nil)
		if int(v) < len(rows) {
			row = rows[v]
		}
		if names == nil && row == nil {
			fmt.Fprintln(out, "/>")
			continue
		}
		fmt.Fprint(out, ">")
		if names != nil {
			fmt.Fprint(out, `<data key="name">`)
			text(names[v])
			fmt.Fprint(out, "</data>")
		}
		for i, value := range row {
			if value != "" && i < len(columns) {
				fmt.Fprintf(out, `<data key="d%d">`, i)
				text(value)
				fmt.Fprint(out, "</data>")
			}
		}
		fmt.Fprintln(out, "</node>")
	}
	var buf []byte
	err := g.Scan(0, n, func(v graph.Node, succ []graph.Node) error {
		for _, u := range succ {
			buf = strconv.AppendUint(append(buf[:0], `<edge source="n`...), uint64(v), 10)
			buf = strconv.AppendUint(append(buf, `" target="n`...), uint64(u), 10)
			if _, err := out.Write(append(buf, "\"/>\n"...)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "</graph>\n</graphml>")
	return out.Flush()
}

// columnType returns the GraphML type that holds all values of a column.
func columnType(rows [][]string, i int) string {
	kind := ""
	for _, row := range rows {
		if i >= len(row) || row[i] == "" {
			continue
		}
		if _, err := strconv.ParseInt(row[i], 10, 64); err == nil {
			if kind == "" {
				kind = "long"
			}
			continue
		}
		if _, err := strconv.ParseFloat(row[i], 64); err != nil {
			return "string"
		}
		kind = "double"
	}
	if kind == "" {
		return "string"
	}
	return kind
}

// ReadGraphML reads the first graph of a GraphML file, compressed or not. Nodes are numbered as
// they first appear, and named by their data of the name "name" or else by their ids; arcs of
// undirected edges lead both ways.
func ReadGraphML(path string, o Options) (*Named, error) {
	in, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r := relabeller{o: o, numbers: map[string]graph.Node{}}
	names := map[graph.Node]string{}
	d := xml.NewDecoder(in)
	var (
		nameKey  string     // id of the key "name"
		node     graph.Node // whose data is read
		inNode   bool
		seen     bool // a graph
		directed = true
	)
	fail := func(want, got string) error {
		line, _ := d.InputPos()
		return &Error{File: path, Line: line, Want: want, Got: got}
	}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		var bad *xml.SyntaxError
		if errors.As(err, &bad) {
			return nil, &Error{File: path, Line: bad.Line, Want: "GraphML (" + bad.Msg + ")"}
		}
		if err != nil {
			return nil, err
		}
		if end, ok := token.(xml.EndElement); ok {
			switch end.Name.Local {
			case "node":
				inNode = false
			case "graph":
				return r.graphML(names), nil
			}
			continue
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attr := map[string]string{}
		for _, a := range start.Attr {
			attr[a.Name.Local] = a.Value
		}
		switch start.Name.Local {
		case "graph":
			if seen {
				return nil, fail("one graph, without graphs in nodes", "graph")
			}
			seen = true
			directed = attr["edgedefault"] != "undirected"
		case "key":
			if attr["attr.name"] == "name" && attr["for"] != "edge" {
				nameKey = attr["id"]
			}
		case "node":
			if attr["id"] == "" {
				return nil, fail("an id of the node", "")
			}
			if node, err = r.number(attr["id"]); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			inNode = true
		case "data":
			if inNode && nameKey != "" && attr["key"] == nameKey {
				var text string
				if err := d.DecodeElement(&text, &start); err != nil {
					return nil, fail("the name of a node", "")
				}
				names[node] = text
			}
		case "edge":
			if attr["source"] == "" || attr["target"] == "" {
				return nil, fail("source and target of the edge", "")
			}
			err := r.add(attr["source"], attr["target"])
			if both := attr["directed"] == "false" || attr["directed"] == "" && !directed; err == nil && both {
				err = r.add(attr["target"], attr["source"])
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	if seen {
		return nil, fail("the end of the graph", "")
	}
	return nil, fail("a graph", "")
}

func (r *relabeller) graphML(names map[graph.Node]string) *Named {
	g := graph.FromBlocks(len(r.names), [][]graph.Arc{r.o.Direction.turn(r.arcs)}, r.o.Threads)
	for v, name := range names {
		r.names[v] = name
	}
	return &Named{CSR: g, Names: slices.Clip(r.names)}
}
