package replay

import (
	"context"
	"net"
	"net/http"
	"time"
)

// ServeUntil serves on l until ctx ends, then lets requests under way finish within two seconds. It
// returns an error only if serving ends by itself.
func ServeUntil(ctx context.Context, srv *http.Server, l net.Listener) error {
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		srv.Close()
	}
	<-ended
	return nil
}
