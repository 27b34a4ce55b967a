package main

import (
	"fmt"
	"path/filepath"
)

// proxy has nginx pass requests on to a server at an address.
func proxy(addr string) string {
	return fmt.Sprintf(`location / {
			proxy_pass http://%s;
			proxy_set_header Host $http_host;
			proxy_read_timeout 300;
		}`, addr)
}

var trac = software{
	name:   "trac",
	kind:   "issue tracker: queries, timeline, reports",
	home:   "/",
	python: []string{"trac", "setuptools<81"}, // it asks setuptools for its own parts
	rate:   rate{articles: 100, publish: 6, edit: 3, delete: 2},
	start: func(h *host) (string, error) {
		env := filepath.Join(h.dir, "trac")
		if _, err := h.run(h.command(filepath.Join(h.tools.bin, "trac-admin"), env, "initenv", "The Almanac", "sqlite:db/trac.db")); err != nil {
			return "", err
		}
		addr, err := freeAddr()
		if err != nil {
			return "", err
		}
		port := addr[len("127.0.0.1:"):]
		err = h.serve(h.command(filepath.Join(h.tools.bin, "tracd"), "--single-env", "--hostname", "127.0.0.1", "--port", port, env), addr)
		return proxy(addr), err
	},
	apply: func(h *host, week int, c change) (string, error) {
		script, err := h.unpack("tracker.py")
		if err != nil {
			return "", err
		}
		return h.run(h.command(filepath.Join(h.tools.bin, "python"), script, filepath.Join(h.dir, "trac"), h.changePath()))
	},
}
