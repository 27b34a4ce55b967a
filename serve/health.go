package serve

import (
	"io"
	"net/http"
)

// health has a supervisor ask whether the process lives, and whether it can do its work.
func (s *server) health(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { sayOK(w) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.Ending:
			writeProblem(w, http.StatusServiceUnavailable, "the service ends")
			return
		default:
		}
		if wait := s.Watch.State().Wait; wait != nil {
			writeProblem(w, http.StatusServiceUnavailable, wait.Error())
			return
		}
		sayOK(w)
	})
}

func sayOK(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, "ok\n")
}
