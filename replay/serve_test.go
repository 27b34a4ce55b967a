package replay

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
)

// TestServeUntil: a request under way when the context ends is answered.
func TestServeUntil(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		io.WriteString(w, "late")
	})}
	ended := make(chan error, 1)
	go func() { ended <- ServeUntil(ctx, srv, l) }()
	resp, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "late" {
		t.Errorf("got %q, %v", b, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("ServeUntil = %v", err)
	}
}
