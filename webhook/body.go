package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"text/template"

	"forage/internal/printable"
	"forage/report"
	"forage/store"
)

// maxPayload bounds what a template makes, in bytes.
const maxPayload = 1 << 20

// payload is an event as targets without a template get it: with the keys that it has everywhere, and the
// time by the name that the standard has for it.
type payload struct {
	*report.Event
	Timestamp *string `json:"timestamp"`
}

// A writer makes bodies.
type writer struct{ template *template.Template } // nil: as JSON

// functions are those of a template besides the ones of text/template.
var functions = template.FuncMap{
	"json":     jsonText,
	"slack":    strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace,
	"slackurl": strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C").Replace,
}

// jsonText is a value as JSON, which strings need to stand within JSON.
func jsonText(v any) (string, error) {
	var b bytes.Buffer
	if err := report.WriteJSON(&b, v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func newWriter(text string) (*writer, error) {
	if text == "" {
		return &writer{}, nil
	}
	t, err := template.New("template").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return nil, err
	}
	return &writer{t}, nil
}

// CheckTemplate returns an error unless text is a template, of package text/template, that works for an event. It gets the keys of the
// event as JSON has them, "" for null, and beside the functions of text/template
//
//	json      a value as JSON, a string with its quotes
//	slack     a text without what Slack takes for markup
//	slackurl  a URL without what ends it in a link of Slack
func CheckTemplate(text string) error {
	w, err := newWriter(text)
	if err == nil {
		_, err = w.body(testEvent("check"))
	}
	return err
}

// body returns what is sent of an event: the same for the same event. Errors are those of the template.
func (w *writer) body(e *report.Event) ([]byte, error) {
	var b bytes.Buffer
	if w.template == nil {
		err := report.WriteJSON(&b, payload{e, e.At})
		return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
	}
	keys, err := templateKeys(e)
	if err == nil {
		err = w.template.Execute(&bounded{&b}, keys)
	}
	return b.Bytes(), err
}

// templateKeys are the values of an event by their keys in JSON, those of its use too, without null.
func templateKeys(e *report.Event) (map[string]any, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	keys := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&keys); err != nil {
		return nil, err
	}
	said, _ := keys["use"].(map[string]any)
	keys["use"] = complete[report.Use](said)
	lines := keys["text"] // of which it has several
	keys = complete[report.Event](keys)
	if lines != nil {
		keys["text"] = lines
	}
	return keys, nil
}

// complete returns keys with all those of the record T, "" for those that JSON leaves out or has null. Texts may be written
// as they are: in one line, with nothing hidden.
func complete[T any](keys map[string]any) map[string]any {
	if keys == nil {
		keys = map[string]any{}
	}
	for f := range reflect.TypeFor[T]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && keys[name] == nil {
			keys[name] = ""
		}
	}
	plain := func(s string) string { return printable.Text(strings.Join(strings.Fields(s), " ")) }
	for k, v := range keys {
		switch v := v.(type) {
		case string:
			keys[k] = plain(v)
		case []any:
			for i := range v {
				if s, ok := v[i].(string); ok {
					v[i] = plain(s)
				}
			}
		}
	}
	return keys
}

// bounded refuses what a template writes beyond maxPayload.
type bounded struct{ *bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxPayload {
		return 0, fmt.Errorf("the template makes more than %d bytes", maxPayload)
	}
	return b.Buffer.Write(p)
}

// testEvent is what a target gets to show that it works. It is in no store.
func testEvent(id string) *report.Event {
	e := report.NewEvent(&store.Event{
		Type: store.PageNew, At: 1_700_000_000, Site: "example.org", Cycle: 1, URL: "https://example.org/test", Title: "A test of this webhook",
		Kind: "content", FoundOn: "https://example.org/", Via: "link", ContentType: "text/html",
	})
	e.Type, e.ID = "webhook.test", id
	return e
}

// sign returns the value of webhook-signature: a signature with each key.
func sign(keys [][]byte, id string, timestamp int64, body []byte) string {
	var all []string
	for _, key := range keys {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(id + "." + strconv.FormatInt(timestamp, 10) + "."))
		m.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(m.Sum(nil)))
	}
	return strings.Join(all, " ")
}

// keysOf are the keys of secrets.
func keysOf(secrets []string) (keys [][]byte, err error) {
	for _, s := range secrets {
		key, e := secretKey(s)
		keys, err = append(keys, key), errors.Join(err, e)
	}
	return keys, err
}
