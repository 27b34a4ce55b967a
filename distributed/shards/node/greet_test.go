package node

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestSilent has a broker that answers, and then does not: who begins is told that, and not that a time is over.
func TestSilent(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.CreateTopics, kmsg.ListOffsets} {
		o, cluster := newOwner(t)
		end := make(chan struct{})
		cluster.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
			cluster.SleepControl(func() { <-end })
			return nil, nil, false
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := o.node.greet(ctx); !errors.Is(err, ErrBroker) {
			t.Errorf("%s: %v", key.Name(), err)
		}
		close(end)
	}
}
