package watch

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"forage/internal/spell"
)

// A reader reads values off the nodes of a YAML file and collects what is wrong. Values are read from their
// text as it stands in the file, so that 10:30 or 1e3 are what somebody wrote, whatever YAML makes of them.
type reader struct {
	file string
	env  func(string) (string, bool)
	path []string // keys that lead to the value that is read
	errs []*Error
}

// parse returns the root of a file, nil where there is none.
func (r *reader) parse(data []byte) ast.Node {
	f, err := parser.ParseBytes(data, 0)
	var wrong yaml.Error
	switch {
	case errors.As(err, &wrong) && wrong.GetToken() != nil:
		at := wrong.GetToken().Position
		r.errs = append(r.errs, &Error{r.file, at.Line, at.Column, wrong.GetMessage()})
		return nil
	case err != nil:
		r.errs = append(r.errs, &Error{r.file, 1, 1, err.Error()})
		return nil
	case len(f.Docs) > 1 && f.Docs[1].Body != nil:
		r.errorf(f.Docs[1].Body, "want one document in the file")
		return nil
	case len(f.Docs) == 0 || f.Docs[0].Body == nil:
		return nil
	}
	return f.Docs[0].Body
}

// errorf notes what is wrong with a node.
func (r *reader) errorf(n ast.Node, format string, args ...any) {
	at := start(n).GetToken().Position
	r.errs = append(r.errs, &Error{r.file, at.Line, at.Column, strings.Join(append(slices.Clone(r.path), fmt.Sprintf(format, args...)), ": ")})
}

// start is the node whose token comes first: a mapping without braces begins with its first key.
func start(n ast.Node) ast.Node {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return m.Values[0].Key
		}
	case *ast.MappingValueNode:
		return m.Key
	}
	return n
}

// mapping calls the function of each key that n has. Names may have - for _, as flags do.
func (r *reader) mapping(n ast.Node, keys map[string]func(ast.Node)) {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		r.errorf(n, "want keys and values, got %s", kindOf(n))
		return
	}
	seen := map[string]bool{}
	for _, v := range values {
		written := v.Key.GetToken().Value
		if _, ok := v.Key.(*ast.StringNode); !ok {
			r.errorf(v.Key, "%s: want a name as key", written)
			continue
		}
		name := strings.ReplaceAll(written, "-", "_")
		read := keys[name]
		switch {
		case read == nil:
			r.errorf(v.Key, "%s: unknown key%s", written, meant(name, sortedKeys(keys)))
		case seen[name]:
			r.errorf(v.Key, "%s: is there twice", written)
		default:
			seen[name] = true
			r.path = append(r.path, written)
			read(v.Value)
			r.path = r.path[:len(r.path)-1]
		}
	}
}

// list returns the entries of a list; none for nil.
func (r *reader) list(n ast.Node) []ast.Node {
	switch s := n.(type) {
	case nil, *ast.NullNode:
		return nil
	case *ast.SequenceNode:
		return s.Values
	}
	r.errorf(n, "want a list, got %s", kindOf(n))
	return nil
}

// scalar returns the text of a value.
func (r *reader) scalar(n ast.Node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return v.GetToken().Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	}
	r.errorf(n, "want a value, got %s", kindOf(n))
	return "", false
}

// value has set read a value.
func (r *reader) value(n ast.Node, set func(string) error) {
	if s, ok := r.scalar(n); ok {
		if err := set(s); err != nil {
			r.errorf(n, "%v", err)
		}
	}
}

// text reads a text, which check, if there is one, accepts.
func (r *reader) text(n ast.Node, to *string, check func(string) error) {
	r.value(n, func(s string) error {
		*to = s
		if s == "" {
			return errors.New("want a text")
		}
		if check != nil {
			return check(s)
		}
		return nil
	})
}

// texts reads a list of texts, or one text. They come after what there is.
func (r *reader) texts(n ast.Node, to *[]string, check func(string) error) {
	nodes := []ast.Node{n}
	if s, ok := n.(*ast.SequenceNode); ok {
		nodes = s.Values
	}
	for _, n := range nodes {
		before := len(r.errs)
		var s string
		if r.text(n, &s, check); len(r.errs) == before {
			*to = append(*to, s)
		}
	}
}

// number reads a whole number of at least some.
func (r *reader) number(n ast.Node, least int, to *int) {
	r.value(n, func(s string) error {
		v, err := strconv.Atoi(s)
		if err != nil || v < least {
			return fmt.Errorf("want a whole number of at least %d, got %q", least, s)
		}
		*to = v
		return nil
	})
}

func (r *reader) duration(n ast.Node, to *time.Duration) {
	r.value(n, func(s string) (err error) { *to, err = parseDuration(s); return err })
}

func (r *reader) yes(n ast.Node, to *bool) {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		r.errorf(n, "want true or false, got %s", kindOf(n))
		return
	}
	*to = b.Value
}

// secret reads a text in which $NAME stands for a variable of the environment.
func (r *reader) secret(n ast.Node) (s string) {
	r.text(n, &s, nil)
	var missing []string
	s = os.Expand(s, func(name string) string {
		v, ok := r.env(name)
		if !ok {
			missing = append(missing, "$"+name)
		}
		return v
	})
	if len(missing) > 0 {
		r.errorf(n, "not in the environment: %s", strings.Join(missing, " "))
	}
	return s
}

// secrets reads a list of secrets, or one.
func (r *reader) secrets(n ast.Node) (all []string) {
	for _, n := range items(n) {
		all = append(all, r.secret(n))
	}
	return all
}

// minToken is the least length of a token of the API, in bytes: shorter ones may be guessed.
const minToken = 16

// tokens reads a list of tokens of the API, or one.
func (r *reader) tokens(n ast.Node) (all []string) {
	for _, n := range items(n) {
		had := len(r.errs)
		token := r.secret(n)
		if len(token) < minToken && len(r.errs) == had {
			r.errorf(n, "want a token of at least %d characters, this one has %d", minToken, len(token))
		}
		all = append(all, token)
	}
	return all
}

// items are the nodes of a list, or the one that stands for it.
func items(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values
	}
	return []ast.Node{n}
}

// header reads names and values of header fields.
func (r *reader) header(n ast.Node) map[string]string {
	fields := map[string]string{}
	m, ok := n.(*ast.MappingNode)
	if !ok {
		r.errorf(n, "want names and values of header fields, got %s", kindOf(n))
		return fields
	}
	for _, v := range m.Values {
		name := v.Key.GetToken().Value
		r.path = append(r.path, name)
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" || name == "" {
			r.errorf(v.Key, "is no name of a header field")
		}
		value := r.secret(v.Value)
		if strings.ContainsAny(value, "\r\n\x00") {
			r.errorf(v.Value, "want a value of one line")
		}
		fields[name] = value
		r.path = r.path[:len(r.path)-1]
	}
	return fields
}

// kindOf names what a node is, for people.
func kindOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys and values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode:
		return "an anchor or alias, which are not read here"
	case *ast.TagNode:
		return "a tag, which is not read here"
	default:
		return strconv.Quote(n.GetToken().Value)
	}
}

// meant says which of some names was meant, "" where none is near.
func meant(name string, names []string) string {
	if near := spell.Nearest(name, names); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
