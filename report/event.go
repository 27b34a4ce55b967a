package report

import (
	"fmt"

	"forage/store"
)

// An Event is what is told of a store.Event.
type Event struct {
	ID           string       `json:"id" doc:"no other event has it, also among stores"`
	Seq          uint64       `json:"seq" doc:"numbered from 1 without gaps"`
	Type         string       `json:"type"`
	At           *string      `json:"at" format:"date-time"`
	Site         *string      `json:"site"`
	URL          *string      `json:"url"`
	Title        *string      `json:"title"`
	Kind         *string      `json:"kind"`
	Cycle        *store.Cycle `json:"cycle"`
	FoundOn      *string      `json:"found_on"`
	Via          *string      `json:"via"`
	PreviousLook *string      `json:"previous_look" format:"date-time" doc:"when the document that led there was last seen without the link"`
	Published    *string      `json:"published" format:"date-time"`
	LastMod      *string      `json:"lastmod" format:"date-time"`
	ContentType  *string      `json:"content_type"`
	Digest       *string      `json:"digest" doc:"of the body, 16 hexadecimal digits"`
	Depth        *int         `json:"depth" doc:"links from a seed"`
	MovedFrom    *string      `json:"moved_from,omitempty" doc:"of page.moved: the URL that it had"`
	Use          *Use         `json:"use,omitempty" doc:"of pages: what the site said of its use; absent: nothing"`
	Reason       *string      `json:"reason,omitempty" doc:"of events of sites, for people"`
	Text         *string      `json:"text,omitempty" doc:"of page.new and page.changed, where it was asked for: what the page says, at most 64 kB of it; absent: that is not kept, or it says something else by now"`
	Lang         *string      `json:"lang,omitempty" doc:"with text: its language tag"`
	TextCut      *bool        `json:"text_truncated,omitempty" doc:"with text: there is more of it"`
}

// NewEvent returns the record of e.
func NewEvent(e *store.Event) *Event {
	out := &Event{
		ID: e.ID(), Seq: e.Seq, Type: string(e.Type), At: stamp(e.At), Site: null(e.Site), URL: null(e.URL), Title: null(e.Title), Kind: null(e.Kind),
		Cycle: null(e.Cycle), FoundOn: null(e.FoundOn), Via: null(e.Via), PreviousLook: stamp(e.PreviousLook), Published: stamp(e.Published), LastMod: stamp(e.LastMod),
		ContentType: null(e.ContentType), MovedFrom: null(e.MovedFrom), Reason: null(e.Reason), Use: NewUse(e.Use),
	}
	if e.Digest != 0 {
		out.Digest = null(fmt.Sprintf("%016x", e.Digest))
	}
	if e.URL != "" {
		depth := e.Depth
		out.Depth = &depth
	}
	return out
}
