package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// articles returns the articles that update keeps, and in which file.
func (h *host) articles() (now []article, file string, err error) {
	file = filepath.Join(h.dir, "articles.json")
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, file, nil
	}
	if err != nil {
		return nil, "", err
	}
	return now, file, json.Unmarshal(b, &now)
}

// update carries out a change on the articles that a site without a database keeps in a file of
// its folder. It returns those that are there now, by ID, and what happened under which path.
func (h *host) update(c change, path func(article) string) ([]article, string, error) {
	now, kept, err := h.articles()
	if err != nil {
		return nil, "", err
	}
	find := func(id int) int { return slices.IndexFunc(now, func(a article) bool { return a.ID == id }) }
	var out strings.Builder
	for _, a := range c.Publish {
		now = append(now, a)
		fmt.Fprintln(&out, "publish", a.ID, path(a))
	}
	for _, a := range c.Edit {
		now[find(a.ID)] = a
		fmt.Fprintln(&out, "edit", a.ID, path(a))
	}
	for _, a := range c.Rename {
		old := &now[find(a.ID)]
		fmt.Fprintln(&out, "rename", a.ID, path(*old), path(a))
		*old = a
	}
	for _, id := range c.Delete {
		i := find(id)
		fmt.Fprintln(&out, "delete", id, path(now[i]))
		now = slices.Delete(now, i, i+1)
	}
	b, err := json.Marshal(now)
	if err != nil {
		return nil, "", err
	}
	return now, out.String(), os.WriteFile(kept, b, 0o666)
}

// stamp gives all files of a folder the time of a week, as a build on that day would have: the
// clock of a site is not that of its file system.
func stamp(dir string, week int) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, at(week), at(week))
	})
}

// publish puts what a build has made in the place of what nginx served before.
func (h *host) publish(built string, week int) error {
	if err := stamp(built, week); err != nil {
		return err
	}
	www := filepath.Join(h.dir, "www")
	if err := os.RemoveAll(www); err != nil {
		return err
	}
	return os.Rename(built, www)
}

var mkdocs = software{
	name:   "mkdocs",
	kind:   "manual: static, with a sitemap",
	home:   "/",
	python: []string{"mkdocs"},
	rate:   rate{articles: 60, publish: 6, edit: 3, rename: 2, delete: 2},
	start: func(h *host) (string, error) {
		return fmt.Sprintf("root %s/www;\n\t\terror_page 404 /404.html;", h.dir), nil
	},
	apply: func(h *host, week int, c change) (string, error) {
		source := func(a article) string { return path.Join(strings.ToLower(a.Category), a.Slug+".md") }
		all, done, err := h.update(c, func(a article) string { return "/" + strings.TrimSuffix(source(a), ".md") + "/" })
		if err != nil {
			return "", err
		}
		docs := filepath.Join(h.dir, "docs")
		if err := os.RemoveAll(docs); err != nil {
			return "", err
		}
		pages := map[string]string{"index.md": "# The Almanac\n\nAll that we know.\n"}
		titles := map[int]string{}
		for _, a := range all {
			titles[a.ID] = fmt.Sprintf("[%s](../%s)", a.Title, source(a))
		}
		for _, a := range all {
			text := "# " + a.Title + "\n"
			for i, p := range a.Paragraphs {
				text += "\n" + p
				if i < len(a.Links) && titles[a.Links[i]] != "" {
					text += " See " + titles[a.Links[i]] + "."
				}
				text += "\n"
			}
			pages[source(a)] = text
		}
		for name, text := range pages {
			file := filepath.Join(docs, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				return "", err
			}
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				return "", err
			}
		}
		conf := fmt.Sprintf("site_name: The Almanac\nsite_url: http://%s/\n", h.addr)
		if err := os.WriteFile(filepath.Join(h.dir, "mkdocs.yml"), []byte(conf), 0o666); err != nil {
			return "", err
		}
		built := filepath.Join(h.dir, "built")
		if _, err := h.run(h.command(filepath.Join(h.tools.bin, "mkdocs"), "build", "--quiet", "--site-dir", built)); err != nil {
			return "", err
		}
		return done, h.publish(built, week)
	},
}

// app is a React app, built by Vite: as a shell whose pages are made in the browser, or with each
// page rendered beforehand. In both cases any other path is answered with the home page.
func app(name, kind string, prerendered bool) software {
	return software{
		name: name,
		kind: kind,
		home: "/",
		node: true,
		rate: rate{articles: 60, publish: 6, edit: 3, rename: 2, delete: 2},
		start: func(h *host) (string, error) {
			return fmt.Sprintf("root %s/www;\n\t\tlocation / { try_files $uri $uri/index.html /index.html; }", h.dir), nil
		},
		apply: func(h *host, week int, c change) (string, error) {
			all, done, err := h.update(c, func(a article) string { return "/articles/" + a.Slug })
			if err != nil {
				return "", err
			}
			source, err := fs.Sub(files, "files/app")
			if err != nil {
				return "", err
			}
			dir := filepath.Join(h.dir, "app")
			if err := os.RemoveAll(dir); err != nil {
				return "", err
			}
			if err := os.CopyFS(dir, source); err != nil {
				return "", err
			}
			if err := os.Symlink(filepath.Join(h.tools.app, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
				return "", err
			}
			b, err := json.Marshal(all)
			if err != nil {
				return "", err
			}
			if err := os.WriteFile(filepath.Join(dir, "src", "articles.json"), b, 0o666); err != nil {
				return "", err
			}
			const vite = "node_modules/vite/bin/vite.js"
			steps := [][]string{{vite, "build"}}
			if prerendered {
				steps = append(steps, []string{vite, "build", "--ssr", "src/server.jsx", "--outDir", "dist-server"}, []string{"prerender.js"})
			}
			for _, args := range steps {
				node := exec.Command("node", args...)
				node.Dir = dir
				if _, err := h.run(node); err != nil {
					return "", err
				}
			}
			return done, h.publish(filepath.Join(dir, "dist"), week)
		},
	}
}

var (
	shell       = app("shell", "single-page app", false)
	prerendered = app("prerendered", "app rendered beforehand, catch-all", true)
)
