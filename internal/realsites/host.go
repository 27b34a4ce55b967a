package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed files
var files embed.FS

// A software is something that serves a site.
type software struct {
	name   string
	kind   string // what sort of site, for the table
	home   string // path of the page to start from
	debian []string
	python []string
	node   bool // the packages of files/app/package.json
	rate   rate
	start  func(h *host) (nginx string, err error)           // starts its processes; what nginx does with a request
	apply  func(h *host, week int, c change) (string, error) // carries out a change; lines "OP ID PATH [NEW PATH]"
}

// A host is one site while it is served: a folder that holds all of it, and its processes.
type host struct {
	software
	dir, addr string
	tools     tools
	running   []*exec.Cmd
	offset    time.Duration // of the site's clock from the machine's
}

// A state is what a host's folder says of it to other commands.
type state struct {
	Addr    string
	Week    int
	Content map[int]string // path of each article that is there
	Log     []event
}

// An event is something that a crawler is to tell.
type event struct {
	Week     int
	Op       string // publish, delete or rename
	Path, To string // To only of rename
}

func (h *host) statePath() string { return filepath.Join(h.dir, "state.json") }

// changePath is where the latest change is kept for scripts.
func (h *host) changePath() string { return filepath.Join(h.dir, "change.json") }

func (h *host) load() (s state, err error) {
	b, err := os.ReadFile(h.statePath())
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

func (h *host) save(s state) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(h.statePath(), b, 0o666)
}

// open sets up a site from nothing, as it is at the first visit, and serves it at addr.
func (h *host) open() error {
	if err := os.RemoveAll(h.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(h.dir, 0o777); err != nil {
		return err
	}
	if err := h.turnClock(0); err != nil {
		return err
	}
	conf, err := h.start(h)
	if err == nil {
		err = h.startNginx(conf)
	}
	if err == nil {
		err = h.save(state{Addr: h.addr, Week: -1, Content: map[int]string{}})
	}
	if err == nil {
		err = h.advance()
	}
	if err != nil {
		h.close()
		return fmt.Errorf("%s: %w", h.name, err)
	}
	return nil
}

// advance lets the site have its next week. The processes that serve it need not be h's own.
func (h *host) advance() error {
	s, err := h.load()
	if err != nil {
		return err
	}
	s.Week++
	if err := h.turnClock(s.Week); err != nil {
		return err
	}
	if changes := history(h.rate); s.Week < len(changes) {
		if err := h.carryOut(&s, changes[s.Week]); err != nil {
			return fmt.Errorf("week %d: %w", s.Week, err)
		}
	}
	return h.save(s)
}

func (h *host) carryOut(s *state, c change) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(h.changePath(), b, 0o666); err != nil {
		return err
	}
	out, err := h.apply(h, s.Week, c)
	if err != nil {
		return err
	}
	done := map[string]int{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 3 || !slices.Contains([]string{"publish", "edit", "rename", "delete"}, f[0]) {
			return fmt.Errorf("want a line OP ID PATH, got %q", line)
		}
		id, err := strconv.Atoi(f[1])
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		done[f[0]]++
		e := event{Week: s.Week, Op: f[0], Path: plainPath(f[2])}
		switch f[0] {
		case "publish":
			s.Content[id] = e.Path
		case "rename":
			if len(f) < 4 {
				return fmt.Errorf("want rename ID PATH NEW, got %q", line)
			}
			e.To = plainPath(f[3])
			s.Content[id] = e.To
		case "delete":
			delete(s.Content, id)
		}
		if s.Week > 0 && f[0] != "edit" {
			s.Log = append(s.Log, e)
		}
	}
	if done["publish"] != len(c.Publish) || done["edit"] != len(c.Edit) || done["rename"] != len(c.Rename) || done["delete"] != len(c.Delete) {
		return fmt.Errorf("wanted %s; done: %v", c, done)
	}
	return nil
}

// plainPath is a path with its query, percent-encoding undone: what software, log and crawler
// spell differently.
func plainPath(s string) string {
	if u, err := url.Parse(s); err == nil && u.Host != "" {
		s = u.RequestURI()
	}
	if p, err := url.PathUnescape(s); err == nil {
		return p
	}
	return s
}

// turnClock sets the clock of the site's processes to the beginning of a week, from where it goes
// on. They read it from a file, so that they need no restart.
func (h *host) turnClock(week int) error { return h.setClock(at(week)) }

func (h *host) setClock(now time.Time) error {
	h.offset = time.Until(now).Round(time.Second)
	return os.WriteFile(filepath.Join(h.dir, "clock"), fmt.Appendf(nil, "%+d\n", int64(h.offset.Seconds())), 0o666)
}

// command is a program whose clock is the site's. It writes to the file log.
func (h *host) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(),
		"LD_PRELOAD="+h.tools.faketime, "FAKETIME_TIMESTAMP_FILE="+filepath.Join(h.dir, "clock"), "FAKETIME_CACHE_DURATION=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1", "TZ=UTC", "REALSITES_HOST="+h.addr)
	return cmd
}

// run runs a program to its end and returns what it prints on stdout.
func (h *host) run(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, tail(out), tail(stderr.Bytes()))
	}
	return string(out), nil
}

// tail is the end of what a program printed: enough to see what went wrong.
func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

// serve starts a program that runs until close, and waits until it listens: at a path of a
// socket, or at an address.
func (h *host) serve(cmd *exec.Cmd, listen string) error {
	log, err := os.Create(filepath.Join(h.dir, filepath.Base(cmd.Path)+".out"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return err
	}
	h.running = append(h.running, cmd)
	network := "tcp"
	if strings.HasPrefix(listen, "/") {
		network = "unix"
	}
	for range 300 {
		if c, err := net.Dial(network, listen); err == nil {
			return c.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	b, _ := os.ReadFile(log.Name())
	return fmt.Errorf("%s does not listen at %s after 30 s:\n%s", filepath.Base(cmd.Path), listen, tail(b))
}

// close ends all processes of the site.
func (h *host) close() {
	for _, cmd := range slices.Backward(h.running) {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
		}
	}
	h.running = nil
}

const nginxConf = `daemon off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
%[4]s
env LD_PRELOAD; env FAKETIME_TIMESTAMP_FILE; env FAKETIME_CACHE_DURATION; env FAKETIME_DONT_FAKE_MONOTONIC; env NO_FAKE_STAT;
events {}
http {
	include /etc/nginx/mime.types;
	default_type application/octet-stream;
	log_format plain '$status $request_method $request_uri';
	access_log %[1]s/access.log plain;
	client_body_temp_path %[1]s/tmp; proxy_temp_path %[1]s/tmp; fastcgi_temp_path %[1]s/tmp; uwsgi_temp_path %[1]s/tmp; scgi_temp_path %[1]s/tmp;
	index index.html;
	server {
		listen %[2]s;
		%[3]s
	}
}
`

func (h *host) startNginx(conf string) error {
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // or its workers could not read the folder
	}
	file := filepath.Join(h.dir, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, nginxConf, h.dir, h.addr, conf, user), 0o666); err != nil {
		return err
	}
	return h.serve(h.command(h.tools.nginx, "-c", file, "-p", h.dir, "-e", filepath.Join(h.dir, "error.log")), h.addr)
}

// startPHP starts PHP for nginx and returns the lines of a location that passes a request on.
func (h *host) startPHP(env ...string) (fastcgi string, err error) {
	socket := filepath.Join(h.dir, "php.sock")
	// By the site's clock all scripts come from the future, which OPcache would not keep.
	cmd := h.command("php-cgi", "-d", "opcache.file_update_protection=0", "-b", socket)
	cmd.Env = append(append(cmd.Env, env...), "PHP_FCGI_CHILDREN=4", "PHP_FCGI_MAX_REQUESTS=0")
	if err := h.serve(cmd, socket); err != nil {
		return "", err
	}
	return `include /etc/nginx/fastcgi_params;
			fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
			fastcgi_param PATH_INFO $fastcgi_path_info;
			fastcgi_param HTTP_HOST $http_host;
			fastcgi_read_timeout 300;
			fastcgi_pass unix:` + socket + `;`, nil
}

// startMariaDB starts a database server whose data is in the folder; root needs no password.
func (h *host) startMariaDB() (socket string, err error) {
	data := filepath.Join(h.dir, "mariadb")
	self, err := exec.Command("id", "-un").Output()
	if err != nil {
		return "", err
	}
	user := "--user=" + strings.TrimSpace(string(self))
	if _, err := h.run(exec.Command("mysql_install_db", "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", user)); err != nil {
		return "", err
	}
	socket = filepath.Join(h.dir, "mariadb.sock")
	return socket, h.serve(exec.Command("mariadbd", "--no-defaults", "--datadir="+data, "--socket="+socket, "--skip-networking", "--skip-grant-tables",
		"--innodb-flush-log-at-trx-commit=0", "--pid-file="+filepath.Join(h.dir, "mariadb.pid"), user), socket)
}

// unpack writes a file that comes with this program into the folder and returns its path.
func (h *host) unpack(name string, replace ...string) (string, error) {
	b, err := files.ReadFile("files/" + name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(h.dir, filepath.Base(name))
	return path, os.WriteFile(path, []byte(strings.NewReplacer(replace...).Replace(string(b))), 0o666)
}

// requests returns the lines of the access log from the byte offset on, and where they end.
func (h *host) requests(offset int64) ([]request, int64, error) {
	f, err := os.Open(filepath.Join(h.dir, "access.log"))
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, 0, err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, 0, err
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	var all []request
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(f) < 3 {
			return nil, 0, fmt.Errorf("access log: want STATUS METHOD URI, got %q", line)
		}
		all = append(all, request{f[0], f[1], plainPath(f[2])})
	}
	return all, offset + int64(len(b)), nil
}

// A request is what the server saw.
type request struct{ status, method, path string }

// freeAddr returns an address of loopback at which nothing listens.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// wait blocks until ctx is done or one of the site's processes has ended.
func (h *host) wait(ctx context.Context) error {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		for _, cmd := range h.running {
			if errors.Is(cmd.Process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
				return fmt.Errorf("%s has ended", cmd.Path)
			}
		}
	}
}
