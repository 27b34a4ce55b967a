// Package webhook sends events of a store to others over HTTP, as Standard Webhooks 1.0 has it.
//
// A Target is where events are sent to, and which. New makes a Sender of several; Sender.Run sends what the store
// has for them and what comes, each target by itself, so that one that hangs holds up no other. A target gets its
// events in their order, each at least once, and every time with the same webhook-id and the same body: an event is
// sent until it is accepted with a status from 200 to 299, or has not been for 32 hours; then it is a dead
// letter, which Redeliver sends again. How long to wait between two attempts, and when to give up, is in state.go, which is pure.
//
// How far a target is stands in the store, and is written after its answer. So a kill loses nothing: what was
// answered shortly before is sent once more, in the same order.
//
// A target is asked at the address at which it is, if that is public or allowed: the address is judged when it is connected
// to, whatever a name resolved to before. Redirects are not followed.
package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"forage/store"
	"forage/text"
)

// A Target is where events are sent to. Name and URL must be there.
type Target struct {
	Name     string            // see CheckName; the store knows it by this
	URL      string            // http or https
	Secrets  []string          // each signs, see CheckSecret; none: nothing is signed
	Template string            // of the body, see CheckTemplate; "": the event as JSON
	Text     text.Format       // events of pages that are new or have changed have their text; "": they do not
	Sites    []string          // names; none: of all. What is of no site is of all
	Types    []store.EventType // none: all
	Header   map[string]string // fields besides
	Allow    []netip.Prefix    // addresses that may be asked although they are not public
}

// has reports whether the target gets an event.
func (t *Target) has(e *store.Event) bool {
	return (len(t.Types) == 0 || slices.Contains(t.Types, e.Type)) && (len(t.Sites) == 0 || e.Site == "" || slices.Contains(t.Sites, e.Site))
}

// CheckName returns an error unless s can be the name of a target: it stands in paths, labels and keys.
func CheckName(s string) error {
	if s == "" || len(s) > 64 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		return fmt.Errorf("want a name of up to 64 letters, digits, - and _, got %q", s)
	}
	return nil
}

// secretPrefix is what a secret begins with that is to be known as one.
const secretPrefix = "whsec_"

// CheckSecret returns an error unless s is a secret as the libraries of the standard take it: bytes in base64, with
// whsec_ before them or not.
func CheckSecret(s string) error {
	_, err := secretKey(s)
	return err
}

func secretKey(s string) ([]byte, error) {
	text := strings.TrimPrefix(strings.TrimSpace(s), secretPrefix)
	key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || len(key) == 0 {
		return nil, errors.New("want whsec_ and bytes in base64, such as 'openssl rand -base64 32' makes") // the secret is not repeated
	}
	return key, nil
}

// shownURL is a URL that may be shown: path and query of a webhook are often what lets one in.
func shownURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	shown := u.Scheme + "://" + u.Host + "/"
	if u.RequestURI() != "/" {
		shown += "…"
	}
	return shown
}
