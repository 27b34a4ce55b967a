package source

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/zstd"

	"forage/graph"
	"forage/internal/atomicfile"
)

// A Record is one query and its answer.
type Record struct {
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Answer Answer    `json:"answer"`
}

// A Step is one step of a walk: where it stood, repeats included.
type Step struct {
	Walker int
	Node   graph.Node
	Degree int
}

// A Collection is a folder that holds what was collected:
//
//	journal.jsonl   a line a query, as it was answered; with a key, each line encrypted
//	nodes.csv       a line a node observed: node, state, order, time, declared, listed, attributes
//	arcs.csv.zst    source,target: a line a link listed
//	walk.csv        step,walker,node,degree: the steps of a walk, repeats included
//	manifest.json   how it was collected
//	raw/            the answers as they came, where asked for
//
// The journal is enough to go on after any interruption; Write makes the rest of it, each file
// in one piece. With a key, names and attributes that are text are replaced by keyed hashes
// (HMAC-SHA256, the first 16 bytes) in all tables. A Collection is not safe for concurrent use.
type Collection struct {
	dir     string
	key     []byte
	seal    cipher.AEAD // nil without a key
	journal *os.File

	number  map[string]graph.Node
	nodes   []node
	queries int
}

type node struct {
	name       string
	state      State
	order      int // of its query, from 1; 0: none
	time       time.Time
	declared   int
	out        []graph.Node
	attributes map[string]string
}

// Settings are what must not change between the sessions of one collection.
type Settings map[string]any

// OpenCollection opens the folder dir, made if it is missing, and returns the records of
// earlier sessions. A line that an interruption cut short is dropped. It fails when the
// folder was collected with other settings, or with another key.
func OpenCollection(dir string, key []byte, s Settings) (*Collection, []Record, error) {
	if err := atomicfile.Folder(dir); err != nil {
		return nil, nil, err
	}
	c := &Collection{dir: dir, key: key, number: map[string]graph.Node{}}
	if key != nil {
		sum := sha256.Sum256(append([]byte("journal:"), key...))
		block, err := aes.NewCipher(sum[:])
		if err != nil {
			return nil, nil, err
		}
		if c.seal, err = cipher.NewGCM(block); err != nil {
			return nil, nil, err
		}
	}
	head, err := json.Marshal(s)
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "journal.jsonl")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	var records []Record
	good := 0
	for line := 1; ; line++ {
		i := bytes.IndexByte(text[good:], '\n')
		if i < 0 {
			break
		}
		plain, err := c.open(text[good : good+i])
		if err != nil {
			return nil, nil, fmt.Errorf("%s:%d: %w", path, line, err)
		}
		if line == 1 {
			if !bytes.Equal(plain, head) {
				return nil, nil, fmt.Errorf("%s was collected with other settings: %s, now %s; choose another folder", dir, plain, head)
			}
		} else {
			var r Record
			if err := json.Unmarshal(plain, &r); err != nil {
				return nil, nil, fmt.Errorf("%s:%d: %w", path, line, err)
			}
			records = append(records, r)
		}
		good += i + 1
	}
	if c.journal, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return nil, nil, err
	}
	err = c.journal.Truncate(int64(good))
	if err == nil {
		_, err = c.journal.Seek(int64(good), io.SeekStart)
	}
	if err == nil && good == 0 {
		err = c.line(head)
	}
	if err != nil {
		c.journal.Close()
		return nil, nil, err
	}
	return c, records, nil
}

// Close closes the journal.
func (c *Collection) Close() error { return c.journal.Close() }

// line appends one line to the journal.
func (c *Collection) line(plain []byte) error {
	if c.seal != nil {
		nonce := make([]byte, c.seal.NonceSize())
		if _, err := rand.Read(nonce); err != nil {
			return err
		}
		plain = []byte(base64.StdEncoding.EncodeToString(c.seal.Seal(nonce, nonce, plain, nil)))
	}
	_, err := c.journal.Write(append(slices.Clip(plain), '\n'))
	return err
}

// open returns the text of a line of the journal.
func (c *Collection) open(line []byte) ([]byte, error) {
	if c.seal == nil {
		if len(line) == 0 || line[0] != '{' {
			return nil, errors.New("the journal is encrypted or damaged; was it collected with --pseudonymize?")
		}
		return line, nil
	}
	b, err := base64.StdEncoding.DecodeString(string(line))
	if err == nil && len(b) > c.seal.NonceSize() {
		n := c.seal.NonceSize()
		if b, err = c.seal.Open(nil, b[:n], b[n:], nil); err == nil {
			return b, nil
		}
	}
	return nil, errors.New("the journal was written with another key, or without one")
}

// Number returns the number of a node, which is new when its name is: names are numbered in
// the order of first observation.
func (c *Collection) Number(name string) graph.Node {
	v, ok := c.number[name]
	if !ok {
		v = graph.Node(len(c.nodes))
		c.number[name] = v
		c.nodes = append(c.nodes, node{name: name, state: Open, declared: -1})
	}
	return v
}

// Name returns the name of a node.
func (c *Collection) Name(v graph.Node) string { return c.nodes[v].name }

// Observed returns how many nodes are observed, Queries how many of them were queried.
func (c *Collection) Observed() int { return len(c.nodes) }

// Queries returns how many nodes were queried.
func (c *Collection) Queries() int { return c.queries }

// Enter takes a record into the tables and returns the numbers of the neighbours.
func (c *Collection) Enter(r *Record) []graph.Node {
	v := c.Number(r.ID)
	out := make([]graph.Node, 0, len(r.Answer.Neighbours))
	for _, u := range r.Answer.Neighbours {
		w := c.Number(u.ID)
		if u.Degree >= 0 && c.nodes[w].declared < 0 {
			c.nodes[w].declared = u.Degree
		}
		if u.Attributes != nil && c.nodes[w].attributes == nil {
			c.nodes[w].attributes = u.Attributes
		}
		out = append(out, w)
	}
	c.queries++
	n := &c.nodes[v]
	n.state, n.order, n.time, n.out = r.Answer.State, c.queries, r.Time, out
	if r.Answer.Declared >= 0 {
		n.declared = r.Answer.Declared
	}
	if r.Answer.Attributes != nil {
		merged := map[string]string{}
		for _, m := range []map[string]string{n.attributes, r.Answer.Attributes} {
			for name, value := range m {
				merged[name] = value
			}
		}
		n.attributes = merged
	}
	return out
}

// Append enters a record and writes it to the journal, and the raw answers beside it.
func (c *Collection) Append(r *Record) ([]graph.Node, error) {
	for i, body := range r.Answer.Raw {
		if err := atomicfile.Folder(filepath.Join(c.dir, "raw")); err != nil {
			return nil, err
		}
		name := filepath.Join(c.dir, "raw", fmt.Sprintf("%07d-%d.json", c.queries+1, i+1))
		if err := atomicfile.Write(name, body); err != nil {
			return nil, err
		}
	}
	b, err := json.Marshal(r)
	if err == nil {
		err = c.line(b)
	}
	if err != nil {
		return nil, err
	}
	return c.Enter(r), nil
}

// pseudonym returns text as the tables show it.
func (c *Collection) pseudonym(text string) string {
	if c.key == nil || text == "" {
		return text
	}
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Pseudonym returns a name as the tables show it.
func (c *Collection) Pseudonym(name string) string { return c.pseudonym(name) }

// States counts the nodes by state.
func (c *Collection) States() map[State]int {
	count := map[State]int{}
	for i := range c.nodes {
		count[c.nodes[i].state]++
	}
	return count
}

// Write makes the tables and the manifest anew, each file in one piece. steps may be nil.
func (c *Collection) Write(manifest any, steps []Step) error {
	if err := c.journal.Sync(); err != nil {
		return err
	}
	if err := c.create("nodes.csv", c.writeNodes); err != nil {
		return err
	}
	err := c.create("arcs.csv.zst", func(w io.Writer) error {
		z, err := zstd.NewWriter(w)
		if err != nil {
			return err
		}
		if err := c.writeArcs(z); err != nil {
			z.Close()
			return err
		}
		return z.Close()
	})
	if err != nil {
		return err
	}
	if steps != nil {
		err := c.create("walk.csv", func(w io.Writer) error {
			out := csv.NewWriter(w)
			out.Write([]string{"step", "walker", "node", "degree"})
			for i, s := range steps {
				out.Write([]string{strconv.Itoa(i), strconv.Itoa(s.Walker), c.pseudonym(c.nodes[s.Node].name), strconv.Itoa(s.Degree)})
			}
			out.Flush()
			return out.Error()
		})
		if err != nil {
			return err
		}
	}
	return c.create("manifest.json", func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(manifest)
	})
}

func (c *Collection) writeNodes(w io.Writer) error {
	columns := map[string]bool{}
	for i := range c.nodes {
		for name := range c.nodes[i].attributes {
			columns[name] = true
		}
	}
	var names []string
	for name := range columns {
		names = append(names, name)
	}
	slices.Sort(names)
	out := csv.NewWriter(w)
	out.Write(append([]string{"node", "state", "order", "time", "declared", "listed"}, names...))
	for i := range c.nodes {
		n := &c.nodes[i]
		row := []string{c.pseudonym(n.name), string(n.state), "", "", "", ""}
		if n.order > 0 {
			row[2], row[5] = strconv.Itoa(n.order), strconv.Itoa(len(n.out))
			if !n.time.IsZero() { // a graph file answers at no time
				row[3] = n.time.UTC().Format(time.RFC3339)
			}
		}
		if n.declared >= 0 {
			row[4] = strconv.Itoa(n.declared)
		}
		for _, name := range names {
			text := n.attributes[name]
			if _, err := strconv.ParseFloat(text, 64); err != nil && text != "true" && text != "false" {
				text = c.pseudonym(text)
			}
			row = append(row, text)
		}
		out.Write(row)
	}
	out.Flush()
	return out.Error()
}

func (c *Collection) writeArcs(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"source", "target"})
	for i := range c.nodes {
		from := c.pseudonym(c.nodes[i].name)
		for _, u := range c.nodes[i].out {
			out.Write([]string{from, c.pseudonym(c.nodes[u].name)})
		}
	}
	out.Flush()
	return out.Error()
}

// create writes a file of the folder, which appears when it is complete.
func (c *Collection) create(name string, write func(io.Writer) error) error {
	err := atomicfile.Create(filepath.Join(c.dir, name), func(w io.Writer) error {
		b := bufio.NewWriter(w)
		if err := write(b); err != nil {
			return err
		}
		return b.Flush()
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
