package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"forage/report"
	"forage/store"
	"forage/text"
)

// maxLooked is how many events one answer looks at, for those that were asked for.
const maxLooked = 20_000

// maxTexts is how many bytes of texts one answer has before it ends: whoever wants the rest asks for it.
const maxTexts = 4 << 20

// maxWait is how long a request for events waits at most.
const maxWait = time.Minute

// A Choice is of events. It is exported as huma reads no other embedded fields.
type Choice struct {
	Type []string `query:"type,explode" enum:"page.new,page.changed,page.gone,page.moved,site.adopted,site.ready,site.trouble,site.fine,watch.paused,watch.resumed,event.lost" nullable:"false" doc:"only events of these types"`
	Site []string `query:"site,explode" nullable:"false" doc:"only events of these sites"`
	Text string   `query:"text" enum:"markdown,text" doc:"events of new and changed pages have what these say, where that is kept in this format"`
}

func (c *Choice) has(e *store.Event) bool {
	return (len(c.Type) == 0 || slices.Contains(c.Type, string(e.Type))) && (len(c.Site) == 0 || slices.Contains(c.Site, e.Site))
}

// eventList is a part of the list of events.
type eventList struct {
	Events []*report.Event `json:"events" nullable:"false"`
	Next   uint64          `json:"next" doc:"as after, it gives what comes then"`
	Last   uint64          `json:"last" doc:"number of the last event that there was"`
}

// goneEvents is the answer for a cursor of events that are not kept any more.
type goneEvents struct {
	huma.ErrorModel
	First uint64 `json:"first" doc:"number of the first event that is kept: after one less gives all of them"`
}

// events registers the list of events and their stream.
func (s *server) events(api huma.API) {
	gone := map[string]*huma.Response{"410": {
		Description: "Events after that number are not kept any more",
		Content: map[string]*huma.MediaType{"application/problem+json": {
			Schema: huma.SchemaFromType(api.OpenAPI().Components.Schemas, reflect.TypeFor[goneEvents]()),
		}},
	}}
	huma.Register(api, huma.Operation{
		OperationID: "list-events", Method: http.MethodGet, Path: "/api/v1/events", Summary: "What happened, in the order in which it came to be known",
		Description: "Who keeps next and gives it as after misses nothing and gets nothing twice. With wait, an answer without events waits for some.",
		Tags:        []string{"events"}, Responses: gone, Middlewares: huma.Middlewares{mayWait},
	}, s.listEvents)
	stream := map[string]*huma.Response{"410": gone["410"], "200": {
		Description: "id is the number of an event, event its type, data the event as in the list",
		Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{
			"id": {Type: huma.TypeString}, "event": {Type: huma.TypeString}, "data": {Type: huma.TypeString}, "retry": {},
		}}}},
	}}
	huma.Register(api, huma.Operation{
		OperationID: "stream-events", Method: http.MethodGet, Path: "/api/v1/events/stream", Summary: "Events as they come, as Server-Sent Events",
		Description: "Begins after the event Last-Event-ID, or after, or else after the last one that there is.",
		Tags:        []string{"events"}, Responses: stream,
	}, s.streamEvents)
}

// mayWait has an answer that was waited for be written in the time that others have.
func mayWait(ctx huma.Context, next func(huma.Context)) {
	_, w := humago.Unwrap(ctx)
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(maxWait + writeTimeout)) // no error: there is none in tests without a connection
	next(ctx)
}

type listEventsIn struct {
	Choice
	After uint64 `query:"after" doc:"only events after this number"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
	Wait  string `query:"wait" pattern:"^(([0-9]{1,6}([.][0-9]{1,6})?(ns|us|ms|s|m|h)){1,3}|0?)$" doc:"where there are none, wait for some for so long: 30s, at most 1m"`
}

func (s *server) listEvents(ctx context.Context, in *listEventsIn) (*struct{ Body *eventList }, error) {
	wait := time.Duration(0)
	if in.Wait != "" {
		var err error
		if wait, err = time.ParseDuration(in.Wait); err != nil || wait < 0 {
			return nil, huma.Error400BadRequest(fmt.Sprintf("wait=%s: want a duration such as 30s", in.Wait))
		}
	}
	after := in.After
	var end <-chan time.Time
	for {
		more := s.DB.MoreEvents()
		l, err := s.someEvents(after, in.Limit, &in.Choice)
		if err != nil {
			return nil, err
		}
		// What was looked at in vain is not looked at again; there may be more that was not looked at.
		if len(l.Events) > 0 || wait == 0 || l.Next < l.Last {
			return &struct{ Body *eventList }{l}, nil
		}
		after = l.Next
		if end == nil {
			leave, err := s.enter()
			if err != nil {
				return nil, err
			}
			defer leave()
			t := time.NewTimer(min(wait, maxWait))
			defer t.Stop()
			end = t.C
		}
		select {
		case <-more:
			continue
		case <-end:
		case <-s.Ending:
		case <-ctx.Done():
		}
		return &struct{ Body *eventList }{l}, nil
	}
}

// enter counts a reader that waits, until leave is called. It refuses one where there are too many.
func (s *server) enter() (leave func(), err error) {
	select {
	case s.streams <- struct{}{}:
		return func() { <-s.streams }, nil
	default:
		return nil, tooMany(fmt.Sprintf("%d readers wait for events already", cap(s.streams)), "30")
	}
}

// someEvents returns at most limit events after a number, out of those that one answer looks at.
func (s *server) someEvents(after uint64, limit int, c *Choice) (*eventList, error) {
	l := &eventList{Events: []*report.Event{}, Next: after}
	err := s.read(func(v *store.View) error {
		first, last, err := v.EventsKept()
		switch {
		case err != nil:
			return err
		case after > last:
			return huma.Error400BadRequest(fmt.Sprintf("after %d: the last event is %d", after, last))
		case after != 0 && after+1 < first:
			why := huma.Error410Gone(fmt.Sprintf("after %d: events before %d are not kept any more", after, first)).(*huma.ErrorModel)
			return &goneEvents{*why, first}
		}
		looked, said := 0, 0
		l.Last = last
		return v.Events(after, func(e *store.Event) bool {
			l.Next = e.Seq
			l.Last = max(l.Last, e.Seq)
			if c.has(e) {
				told := report.NewEvent(e)
				said += s.addText(e, c, told)
				l.Events = append(l.Events, told)
			}
			looked++
			return len(l.Events) < limit && looked < maxLooked && said < maxTexts
		})
	})
	return l, err
}

// addText adds the text of an event if it is asked for, and returns how many bytes that has.
func (s *server) addText(of *store.Event, c *Choice, to *report.Event) int {
	if c.Text == "" || s.Text == nil {
		return 0
	}
	if err := s.Text(of, text.Format(c.Text), to); err != nil {
		s.Log.Warn("the text of a page cannot be read", "event", of.Seq, "error", err)
	}
	if to.Text == nil {
		return 0
	}
	return len(*to.Text)
}

type streamEventsIn struct {
	Choice
	After       string `query:"after" pattern:"^[0-9]{0,20}$" doc:"only events after this number"`
	LastEventID string `header:"Last-Event-ID" maxLength:"20" doc:"the same, as browsers send it when they connect again"`
}

// streamed is how many events are read of the store before they are written to a stream.
const streamed = 100

func (s *server) streamEvents(ctx context.Context, in *streamEventsIn) (*huma.StreamResponse, error) {
	var after uint64
	switch from := in.LastEventID; {
	case from == "" && in.After == "":
		after = s.DB.LastEvent()
	default:
		if from == "" {
			from = in.After
		}
		var err error
		if after, err = strconv.ParseUint(from, 10, 64); err != nil {
			return nil, huma.Error400BadRequest(fmt.Sprintf("%q is not the number of an event", from))
		}
	}
	if _, err := s.someEvents(after, 1, &in.Choice); err != nil { // that cursor does not work
		return nil, err
	}
	leave, err := s.enter()
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer leave()
		_, w := humago.Unwrap(ctx)
		if err := s.stream(ctx.Context(), w, after, &in.Choice); err != nil {
			s.Log.Debug("a stream of events ended", "error", err)
		}
	}}, nil
}

// stream writes events until the reader goes, takes none for too long, or the service ends.
func (s *server) stream(ctx context.Context, w http.ResponseWriter, after uint64, c *Choice) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy is not to keep events back
	out := http.NewResponseController(w)
	send := func(text string) error {
		if err := out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return err
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		return out.Flush()
	}
	if err := send("retry: 3000\n\n"); err != nil {
		return err
	}
	beat := time.NewTicker(s.Heartbeat)
	defer beat.Stop()
	for {
		more := s.DB.MoreEvents()
		l, err := s.someEvents(after, streamed, c)
		if err != nil {
			return err
		}
		if len(l.Events) > 0 {
			lines, err := sseText(l.Events)
			if err != nil {
				return err
			}
			if err := send(lines); err != nil {
				return err
			}
		}
		if after = l.Next; after < l.Last {
			continue
		}
		select {
		case <-more:
		case <-beat.C:
			if err := send(": still here\n\n"); err != nil {
				return err
			}
		case <-s.Ending:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sseText is events as a stream has them. JSON has no end of line but the one that follows it.
func sseText(events []*report.Event) (string, error) {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: ", e.Seq, e.Type)
		if err := report.WriteJSON(&b, e); err != nil {
			return "", err
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}
