package node

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"forage/crawl"
	"forage/internal/served"
	"forage/metrics"
	"forage/serve"
)

// TestLook has somebody look at a site while its partition ends: before that says so, the request has ended.
func TestLook(t *testing.T) {
	o, _ := newOwner(t)
	asked := make(chan bool, 1)
	n := o.node
	answer := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- true
		<-r.Context().Done()
	})
	web := httptest.NewServer(answer)
	for n.Of(web.Listener.Addr().String()) != o.p {
		web.Close()
		web = httptest.NewServer(answer)
	}
	defer web.Close()
	var err error
	if n.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer n.Listener.Close()
	if n.shown, err = metrics.NewSeveral(func() crawl.Counts { return crawl.Counts{} }, n.Log); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	hide, err := o.serve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	own := &site{Watch: served.Watch{Service: o.service}, owner: o, running: ctx}
	looked := make(chan error, 1)
	go func() {
		_, err := own.Preview(t.Context(), serve.Settings{URL: web.URL})
		looked <- err
	}()
	select {
	case <-asked:
	case err := <-looked:
		t.Fatalf("it is not looked at: %v", err)
	}
	end()
	hide()
	select {
	case err := <-looked:
		if err == nil {
			t.Error("what was cut off is told")
		}
	case <-time.After(2 * time.Second):
		t.Error("the host is asked still")
	}
	if _, err := own.Preview(t.Context(), serve.Settings{URL: web.URL}); err == nil {
		t.Error("it is looked at once more")
	}
}
