package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// In a repository an article is a file, and each change of one a commit.
var cgit = software{
	name:   "cgit",
	kind:   "git front end: trees, logs, diffs",
	home:   "/",
	debian: []string{"cgit", "git", "fcgiwrap"},
	rate:   rate{articles: 60, publish: 6, edit: 3, rename: 2, delete: 2},
	start: func(h *host) (string, error) {
		repository := filepath.Join(h.dir, "almanac")
		if _, err := h.run(exec.Command("git", "init", "--quiet", "--initial-branch=main", repository)); err != nil {
			return "", err
		}
		conf := filepath.Join(h.dir, "cgitrc")
		text := fmt.Sprintf("css=/cgit.css\nlogo=/cgit.png\nvirtual-root=/\nenable-index-links=1\nsnapshots=tar.gz zip\nrepo.url=almanac\nrepo.path=%s/.git\nrepo.desc=The almanac\n", repository)
		if err := os.WriteFile(conf, []byte(text), 0o666); err != nil {
			return "", err
		}
		socket := filepath.Join(h.dir, "cgi.sock")
		if err := h.serve(h.command("/usr/sbin/fcgiwrap", "-c", "4", "-s", "unix:"+socket), socket); err != nil {
			return "", err
		}
		return fmt.Sprintf(`root /usr/share/cgit;
		location ~ ^/(cgit\.(css|png|js)|favicon\.ico|robots\.txt)$ { }
		location / {
			include /etc/nginx/fastcgi_params;
			fastcgi_param SCRIPT_FILENAME /usr/lib/cgit/cgit.cgi;
			fastcgi_param PATH_INFO $uri;
			fastcgi_param HTTP_HOST $http_host;
			fastcgi_param CGIT_CONFIG %s;
			fastcgi_pass unix:%s;
		}`, conf, socket), nil
	},
	apply: func(h *host, week int, c change) (string, error) {
		file := func(a article) string { return path.Join(strings.ToLower(a.Category), a.Slug+".md") }
		old, _, err := h.articles()
		if err != nil {
			return "", err
		}
		before := map[int]article{}
		for _, a := range old {
			before[a.ID] = a
		}
		_, done, err := h.update(c, func(a article) string { return "/almanac/tree/" + file(a) })
		if err != nil {
			return "", err
		}
		repository := filepath.Join(h.dir, "almanac")
		git := func(args ...string) error {
			_, err := h.run(exec.Command("git", append([]string{"-C", repository}, args...)...))
			return err
		}
		commit := func(a article, when time.Time, message string) error {
			cmd := exec.Command("git", "-C", repository, "-c", "user.name="+a.Author, "-c", "user.email="+a.Author+"@example.org", "commit", "--quiet", "-m", message)
			cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+when.Format(time.RFC3339), "GIT_COMMITTER_DATE="+when.Format(time.RFC3339))
			_, err := h.run(cmd)
			return err
		}
		write := func(a article) error {
			name := filepath.Join(repository, file(a))
			if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
				return err
			}
			if err := os.WriteFile(name, []byte("# "+a.Title+"\n\n"+strings.Join(a.Paragraphs, "\n\n")+"\n"), 0o666); err != nil {
				return err
			}
			return git("add", file(a))
		}
		for _, a := range c.Publish {
			if err := write(a); err != nil {
				return "", err
			}
			if err := commit(a, a.Date, "Add "+a.Title); err != nil {
				return "", err
			}
		}
		for _, a := range c.Edit {
			if err := write(a); err != nil {
				return "", err
			}
			if err := commit(a, c.Now, "Improve "+a.Title); err != nil {
				return "", err
			}
		}
		for _, a := range c.Rename {
			if err := git("mv", file(before[a.ID]), file(a)); err != nil {
				return "", err
			}
			if err := commit(a, c.Now, "Rename "+before[a.ID].Title); err != nil {
				return "", err
			}
		}
		for _, id := range c.Delete {
			if err := git("rm", "--quiet", file(before[id])); err != nil {
				return "", err
			}
			if err := commit(before[id], c.Now, "Remove "+before[id].Title); err != nil {
				return "", err
			}
		}
		return done, nil
	},
}
