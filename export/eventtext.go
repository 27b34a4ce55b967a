package export

import (
	"errors"
	"sync"

	"forage/archive"
	"forage/graph"
	"forage/report"
	"forage/store"
	"forage/text"
)

// maxEventText is how many bytes of a text an event has at most.
const maxEventText = 64_000

// EventTexts reads texts of pages for events. Its methods may be called by several goroutines. The caller closes it.
type EventTexts struct {
	db *store.DB

	mu   sync.Mutex
	kept *archive.Reader // nil: nothing was asked for yet, or there are no texts
}

// NewEventTexts returns the texts that a store has kept.
func NewEventTexts(db *store.DB) *EventTexts { return &EventTexts{db: db} }

// Close closes what was opened.
func (x *EventTexts) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.kept == nil {
		return nil
	}
	return x.kept.Close()
}

// Add adds its text to an event of a page that is new or has changed, if it is kept in a format and the page has still the body that the event
// tells of; "": in whatever format. At most 64,000 bytes are added, cut at a character. Errors are those of the store and of a file.
func (x *EventTexts) Add(of *store.Event, as text.Format, to *report.Event) error {
	if of.Doc == graph.None || of.Type != store.PageNew && of.Type != store.PageChanged {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	at, err := x.db.View.Text(of.Doc)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && x.kept == nil {
		var state []byte
		if state, err = x.db.View.Archive(store.Texts); err == nil {
			x.kept, err = archive.NewReader("", state)
		}
	}
	if err != nil {
		return err
	}
	t, err := x.kept.Text(archive.Place(at))
	if err != nil || t.Body != of.Digest || as != "" && t.Format != as.MediaType() {
		return err
	}
	said := valid(t.Text)
	if len(said) > maxEventText {
		said = text.Cut(said, maxEventText)
		cut := true
		to.TextCut = &cut
	}
	to.Text = &said
	if t.Lang != "" {
		to.Lang = &t.Lang
	}
	return nil
}
