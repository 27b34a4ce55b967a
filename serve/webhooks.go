package serve

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"forage/webhook"
)

type webhookList struct {
	Webhooks []*webhook.TargetStatus `json:"webhooks" nullable:"false"`
}

// A WebhookIn names a webhook. It is exported as huma reads no other embedded fields.
type WebhookIn struct {
	Name string `path:"name" maxLength:"64"`
}

type webhookOut struct{ Body *webhook.TargetStatus }

// webhooks registers what is told of webhooks, and what is done with them.
func (s *server) webhooks(api huma.API) {
	op := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/api/v1/webhooks" + path, Summary: summary, Tags: []string{"webhooks"}}
	}
	huma.Register(api, op("list-webhooks", http.MethodGet, "", "Where events are sent to, by name"), func(context.Context, *struct{}) (*struct{ Body webhookList }, error) {
		all := []*webhook.TargetStatus{}
		var err error
		if s.Webhooks != nil {
			err = s.take(func() (err error) { all, err = s.Webhooks.List(); return err })
		}
		return &struct{ Body webhookList }{webhookList{all}}, problem(err)
	})
	huma.Register(api, op("get-webhook", http.MethodGet, "/{name}", "A webhook"), func(_ context.Context, in *WebhookIn) (*webhookOut, error) {
		return s.webhook(in, func(*webhook.Sender) error { return nil })
	})
	test := op("test-webhook", http.MethodPost, "/{name}/test", "Send an event of the type webhook.test, and tell what came of it")
	test.Description = "Where it is accepted, what waits for another attempt is sent at once."
	huma.Register(api, test, func(ctx context.Context, in *WebhookIn) (*struct{ Body *webhook.Attempt }, error) {
		var r *webhook.Attempt
		_, err := s.webhook(in, func(h *webhook.Sender) (err error) {
			r, err = h.Test(ctx, in.Name)
			return err
		})
		return &struct{ Body *webhook.Attempt }{r}, err
	})
	redeliver := op("redeliver", http.MethodPost, "/{name}/redeliver", "Send events again, with the ids that they have, before those that wait")
	redeliver.DefaultStatus = http.StatusAccepted
	huma.Register(api, redeliver, func(_ context.Context, in *struct {
		WebhookIn
		Body webhook.Redelivery
	}) (*webhookOut, error) {
		return s.webhook(&in.WebhookIn, func(h *webhook.Sender) error {
			_, err := h.Redeliver(in.Name, in.Body)
			return err
		})
	})
	huma.Register(api, op("enable-webhook", http.MethodPost, "/{name}/enable", "Send again to one that answered 410"), func(_ context.Context, in *WebhookIn) (*webhookOut, error) {
		return s.webhook(in, func(h *webhook.Sender) error { return h.Enable(in.Name) })
	})
}

// webhook does something with a webhook, and tells how it is then.
func (s *server) webhook(in *WebhookIn, do func(*webhook.Sender) error) (*webhookOut, error) {
	if s.Webhooks == nil {
		return nil, huma.Error404NotFound(webhook.ErrNotFound.Error())
	}
	err := do(s.Webhooks)
	var st *webhook.TargetStatus
	if err == nil {
		err = s.take(func() (err error) { st, err = s.Webhooks.Status(in.Name); return err })
	}
	switch {
	case errors.Is(err, webhook.ErrNotFound):
		return nil, huma.Error404NotFound(err.Error())
	case errors.Is(err, webhook.ErrInvalid):
		return nil, huma.Error400BadRequest(err.Error())
	}
	return &webhookOut{st}, problem(err)
}
