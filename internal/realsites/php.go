package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var wordpress = software{
	name:   "wordpress",
	kind:   "blog: archives, feeds, comments",
	home:   "/",
	debian: []string{"wordpress", "wordpress-theme-twentytwentyone", "mariadb-server-core", "mariadb-client-core", "php-cgi", "php-cli", "php-mysql", "php-xml", "php-mbstring"},
	rate:   rate{articles: 200, publish: 4, edit: 2, rename: 1, delete: 1},
	start: func(h *host) (string, error) {
		root := filepath.Join(h.dir, "www")
		// -L: Debian's folder is full of links into others.
		if _, err := h.run(exec.Command("cp", "-rL", "/usr/share/wordpress", root)); err != nil {
			return "", err
		}
		if _, err := h.run(exec.Command("cp", "-rL", "/var/lib/wordpress/wp-content/themes/.", filepath.Join(root, "wp-content", "themes"))); err != nil {
			return "", err
		}
		socket, err := h.startMariaDB()
		if err != nil {
			return "", err
		}
		if _, err := h.run(exec.Command("mariadb", "--no-defaults", "--socket="+socket, "-e", "CREATE DATABASE wordpress")); err != nil {
			return "", err
		}
		config, err := h.unpack("wp-config.php", "@SOCKET@", socket)
		if err != nil {
			return "", err
		}
		if err := os.Rename(config, filepath.Join(root, "wp-config.php")); err != nil {
			return "", err
		}
		fastcgi, err := h.startPHP()
		return fmt.Sprintf(`root %s;
		index index.php;
		location / { try_files $uri $uri/ /index.php?$args; }
		location ~ \.php$ {
			try_files $uri =404;
			%s
		}`, root, fastcgi), err
	},
	apply: func(h *host, week int, c change) (string, error) {
		script, err := h.unpack("wordpress.php")
		if err != nil {
			return "", err
		}
		if week == 0 {
			install := h.command("php", script, filepath.Join(h.dir, "www"), h.changePath())
			install.Env = append(install.Env, "REALSITES_INSTALL=1")
			if _, err := h.run(install); err != nil {
				return "", err
			}
		}
		return h.run(h.command("php", script, filepath.Join(h.dir, "www"), h.changePath()))
	},
}

var mediawiki = software{
	name:   "mediawiki",
	kind:   "wiki: history, forms, special pages",
	home:   "/index.php/Main_Page",
	debian: []string{"mediawiki", "php-cgi", "php-cli", "php-sqlite3", "php-intl", "php-mbstring", "php-xml"},
	rate:   rate{articles: 150, publish: 6, edit: 3, rename: 2, delete: 2},
	start: func(h *host) (string, error) {
		const root = "/usr/share/mediawiki"
		install := h.command("php", root+"/maintenance/install.php", "--dbtype", "sqlite", "--dbname", "wiki", "--dbpath", h.dir,
			"--confpath", h.dir, "--server", "http://"+h.addr, "--scriptpath", "", "--pass", "a-long-secret", "--skins", "Vector", "The Almanac", "Admin")
		if _, err := h.run(install); err != nil {
			return "", err
		}
		settings, err := os.OpenFile(filepath.Join(h.dir, "LocalSettings.php"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return "", err
		}
		// As under Apache's module, Debian's default: /index.php/Title.
		_, err = settings.WriteString("\n$wgUsePathInfo = true;\n$wgArticlePath = '/index.php/$1';\n$wgCacheDirectory = __DIR__;\n")
		if err := errors.Join(err, settings.Close()); err != nil {
			return "", err
		}
		fastcgi, err := h.startPHP(mediawikiEnv(h)...)
		return fmt.Sprintf(`root %s;
		index index.php;
		location / { try_files $uri $uri/ /index.php?$args; }
		location ~ ^/(maintenance|includes|vendor|languages|mw-config)/ { return 404; }
		location ~ \.php(/|$) {
			fastcgi_split_path_info ^(.+?\.php)(/.*)$;
			%s
		}`, root, fastcgi), err
	},
	apply: func(h *host, week int, c change) (string, error) {
		script, err := h.unpack("mediawiki.php")
		if err != nil {
			return "", err
		}
		change := h.command("php", script, h.changePath())
		change.Env = append(change.Env, mediawikiEnv(h)...)
		out, err := h.run(change)
		if err != nil {
			return "", err
		}
		jobs := h.command("php", "/usr/share/mediawiki/maintenance/runJobs.php")
		jobs.Env = append(jobs.Env, mediawikiEnv(h)...)
		_, err = h.run(jobs)
		return out, err
	},
}

func mediawikiEnv(h *host) []string {
	return []string{"MW_INSTALL_PATH=/usr/share/mediawiki", "MW_CONFIG_FILE=" + filepath.Join(h.dir, "LocalSettings.php")}
}

var dokuwiki = software{
	name:   "dokuwiki",
	kind:   "wiki: query strings of one script",
	home:   "/doku.php",
	debian: []string{"dokuwiki", "php-cgi", "php-cli", "php-xml", "php-mbstring"},
	rate:   rate{articles: 120, publish: 6, edit: 3, rename: 2, delete: 2},
	start: func(h *host) (string, error) {
		root := filepath.Join(h.dir, "www")
		if _, err := h.run(exec.Command("cp", "-rL", "/usr/share/dokuwiki", root)); err != nil {
			return "", err
		}
		// Without Debian's preload.php it looks for conf beside its scripts, and so for data by its own conf.
		if err := os.Remove(filepath.Join(root, "inc", "preload.php")); err != nil {
			return "", err
		}
		for _, dir := range strings.Fields("attic cache index locks log media media_attic media_meta meta pages tmp") {
			if err := os.MkdirAll(filepath.Join(root, "data", dir), 0o777); err != nil {
				return "", err
			}
		}
		conf := filepath.Join(root, "conf")
		if err := os.Mkdir(conf, 0o777); err != nil {
			return "", err
		}
		for _, name := range strings.Fields("acronyms.conf dokuwiki.php entities.conf interwiki.conf license.php manifest.json mediameta.php mime.conf plugins.php plugins.required.php scheme.conf smileys.conf wordblock.conf") {
			if _, err := h.run(exec.Command("cp", "/etc/dokuwiki/"+name, conf)); err != nil {
				return "", err
			}
		}
		// An open wiki, as its installer offers first.
		for name, text := range map[string]string{
			"local.php":      "<?php\n$conf['title'] = 'The Almanac';\n$conf['useacl'] = 1;\n$conf['superuser'] = '@admin';\n$conf['updatecheck'] = 0;\n$conf['savedir'] = './data';\n",
			"acl.auth.php":   "*\t@ALL\t8\n",
			"users.auth.php": "",
		} {
			if err := os.WriteFile(filepath.Join(conf, name), []byte(text), 0o666); err != nil {
				return "", err
			}
		}
		fastcgi, err := h.startPHP()
		return fmt.Sprintf(`root %s;
		index doku.php;
		location ~ ^/(conf|data|bin|inc|vendor)/ { return 404; }
		location ~ \.php$ {
			try_files $uri =404;
			%s
		}`, root, fastcgi), err
	},
	apply: func(h *host, week int, c change) (string, error) {
		script, err := h.unpack("dokuwiki.php")
		if err != nil {
			return "", err
		}
		// It asks search engines to leave a page alone that is younger than five days.
		if week == 0 {
			if err := h.setClock(at(0).Add(-30 * 24 * time.Hour)); err != nil {
				return "", err
			}
			defer h.turnClock(0)
		}
		// It goes by the times of its files. While the script is at work they are as the machine
		// has them and seen as the site has them, then and before the other way round.
		data, offset := filepath.Join(h.dir, "www", "data"), h.offset
		if err := shiftTimes(data, -offset); err != nil {
			return "", err
		}
		change := h.command("php", script, filepath.Join(h.dir, "www"), h.changePath())
		change.Env = slices.DeleteFunc(change.Env, func(v string) bool { return strings.HasPrefix(v, "NO_FAKE_STAT=") })
		out, err := h.run(change)
		return out, errors.Join(err, shiftTimes(data, offset))
	},
}

// shiftTimes adds d to the times of all files of a folder.
func shiftTimes(dir string, d time.Duration) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		t := info.ModTime().Add(d)
		return os.Chtimes(path, t, t)
	})
}
