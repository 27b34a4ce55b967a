package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/pprof"
	"strconv"
	"time"
)

// debugAt serves the profiles of Go at an address, until the function that it returns is called; "": nowhere. It does not go by
// net/http/pprof, which would make the program 0.4 MB larger.
func debugAt(addr string, log *slog.Logger) (end func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--debug-addr: %w", err)
	}
	server := &http.Server{Handler: profiles(), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() { server.Serve(l); close(done) }()
	log.Info("profiles are served", "at", "http://"+l.Addr().String()+"/debug/pprof/")
	return func() { server.Close(); <-done }, nil
}

// profiles has the paths that 'go tool pprof' asks for.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/{$}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "profile?seconds=30")
		for _, p := range pprof.Profiles() {
			fmt.Fprintln(w, p.Name()+"?debug=1")
		}
	})
	mux.HandleFunc("GET /debug/pprof/profile", func(w http.ResponseWriter, r *http.Request) {
		if err := pprof.StartCPUProfile(w); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		pause(r, 30)
		pprof.StopCPUProfile()
	})
	mux.HandleFunc("GET /debug/pprof/{name}", func(w http.ResponseWriter, r *http.Request) {
		p := pprof.Lookup(r.PathValue("name"))
		if p == nil {
			http.NotFound(w, r)
			return
		}
		debug, _ := strconv.Atoi(r.FormValue("debug")) // none: 0, for the tool
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if w.Header().Set("Content-Type", "application/octet-stream"); debug > 0 {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		}
		p.WriteTo(w, debug)
	})
	return mux
}

// pause waits for as many seconds as a request asks for, or for usual ones, or until who asked has gone.
func pause(r *http.Request, usual int) {
	n, err := strconv.Atoi(r.FormValue("seconds"))
	if err != nil || n < 1 {
		n = usual
	}
	t := time.NewTimer(time.Duration(min(n, 3600)) * time.Second)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
	}
}
