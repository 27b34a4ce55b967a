package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
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
	python: []string{"trac", "setuptools<81", "waitress"}, // it asks setuptools for its own parts
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
		// One thread: those of Python that wait for each other, as for a database of Trac's pool,
		// do not wake up under libfaketime.
		server := h.command(filepath.Join(h.tools.bin, "python"), "-m", "waitress", "--listen", addr, "--threads", "1", "trac.web.main:dispatch_request")
		server.Env = append(server.Env, "TRAC_ENV="+env)
		if err := os.WriteFile(filepath.Join(h.dir, "users"), nil, 0o666); err != nil {
			return "", err
		}
		login := fmt.Sprintf("location /login { auth_basic Almanac; auth_basic_user_file %s/users; }\n\t\t", h.dir)
		return login + proxy(addr), h.serve(server, addr)
	},
	apply: func(h *host, week int, c change) (string, error) {
		script, err := h.unpack("tracker.py")
		if err != nil {
			return "", err
		}
		return h.run(h.command(filepath.Join(h.tools.bin, "python"), script, filepath.Join(h.dir, "trac"), h.changePath()))
	},
}

var oscar = software{
	name:   "oscar",
	kind:   "shop: categories, orders of lists, reviews",
	home:   "/",
	python: []string{"django-oscar", "sorl-thumbnail", "waitress", "whoosh"},
	rate:   rate{articles: 120, publish: 6, edit: 3, rename: 2, delete: 2},
	start: func(h *host) (string, error) {
		dir := filepath.Join(h.dir, "shop")
		source, err := fs.Sub(files, "files/shop")
		if err != nil {
			return "", err
		}
		if err := os.CopyFS(dir, source); err != nil {
			return "", err
		}
		for _, args := range [][]string{{"migrate", "--verbosity", "0"}, {"collectstatic", "--no-input", "--verbosity", "0"}} {
			if _, err := h.run(h.django(append([]string{"-m", "django"}, args...)...)); err != nil {
				return "", err
			}
		}
		addr, err := freeAddr()
		if err != nil {
			return "", err
		}
		server := h.django("-m", "waitress", "--listen", addr, "--call", "django.core.wsgi:get_wsgi_application")
		return fmt.Sprintf("location /static/ { root %[1]s; }\n\t\tlocation /media/ { root %[1]s; }\n\t\t%[2]s", dir, proxy(addr)), h.serve(server, addr)
	},
	apply: func(h *host, week int, c change) (string, error) {
		return h.run(h.django("change.py", h.changePath()))
	},
}

// django is Python in the folder of the shop.
func (h *host) django(args ...string) *exec.Cmd {
	cmd := h.command(filepath.Join(h.tools.bin, "python"), args...)
	cmd.Dir = filepath.Join(h.dir, "shop")
	cmd.Env = append(cmd.Env, "DJANGO_SETTINGS_MODULE=settings", "PYTHONPATH="+cmd.Dir)
	return cmd
}
