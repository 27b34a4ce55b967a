package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"forage/internal/race"
	"forage/replay"
	"forage/snap"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"forage": func() {
			code := run(context.Background(), os.Stdout, os.Stderr, os.Args[1:])
			if name := os.Getenv("FORAGE_TEST_PEAK"); name != "" {
				if err := copyStatus(name); err != nil {
					panic(err)
				}
			}
			os.Exit(code)
		},
	})
}

// TestScripts runs the whole program: each file of testdata is a session at the shell. Beside
// the usual commands there are
//
//	serve     serves the evolving site of snap.Blog on loopback and sets $BASE and $SITE
//	at K      switches it to week K
//	hold N    keeps it from answering more than N requests
//	served N  waits until it has answered N requests
//	release   lets it answer all
//	web D [F] serves the files of folder D on loopback and sets $BASE and $SITE; F answers for what
//	          is not there, with status 200. Each request is a line of requests.txt. Where there is
//	          a folder D/HOST it is that which is served to who asks HOST. $PORT in files is the port
//	remove P  removes the files that pattern P matches
//	commits F writes the history of that site into F, as one of commits
//
// Under the race detector it is those that crawl, import, watch and are steered meanwhile: what other commands run
// in several goroutines is tested in the packages of these.
func TestScripts(t *testing.T) {
	type key struct{}
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if race.Enabled {
		scripts = slices.DeleteFunc(scripts, func(path string) bool {
			name := strings.TrimSuffix(filepath.Base(path), ".txtar")
			return !slices.Contains([]string{"actions", "archive", "crawl", "export", "import", "status", "steer", "visit", "watch"}, name)
		})
	}
	testscript.Run(t, testscript.Params{
		Files: scripts,
		Setup: func(env *testscript.Env) error {
			env.Values[key{}] = &webSite{answered: make(chan bool, 1<<16), free: make(chan bool)}
			env.Setenv("GORACE", os.Getenv("GORACE")) // a script's environment is empty
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"serve": func(ts *testscript.TestScript, neg bool, args []string) {
				s, err := replay.New(snap.Blog(rand.New(rand.NewPCG(1, 0)), 6), 0, false)
				ts.Check(err)
				w := ts.Value(key{}).(*webSite)
				w.Server = s
				srv := httptest.NewServer(w)
				ts.Defer(srv.Close)
				ts.Setenv("BASE", srv.URL)
				ts.Setenv("SITE", srv.Listener.Addr().String())
			},
			"web": func(ts *testscript.TestScript, neg bool, args []string) {
				log, err := os.Create(ts.MkAbs("requests.txt"))
				ts.Check(err)
				f := folder{dir: ts.MkAbs(args[0]), log: log}
				if len(args) > 1 {
					f.other = filepath.Join(f.dir, args[1])
				}
				srv := httptest.NewServer(&f)
				ts.Defer(func() { srv.Close(); log.Close() })
				ts.Setenv("BASE", srv.URL)
				ts.Setenv("SITE", srv.Listener.Addr().String())
			},
			"hold": func(ts *testscript.TestScript, neg bool, args []string) {
				n, err := strconv.ParseInt(args[0], 10, 64)
				ts.Check(err)
				ts.Value(key{}).(*webSite).hold.Store(n)
			},
			"served": func(ts *testscript.TestScript, neg bool, args []string) {
				n, err := strconv.Atoi(args[0])
				ts.Check(err)
				for range n {
					<-ts.Value(key{}).(*webSite).answered
				}
			},
			"release": func(ts *testscript.TestScript, neg bool, args []string) {
				close(ts.Value(key{}).(*webSite).free)
			},
			"remove": func(ts *testscript.TestScript, neg bool, args []string) {
				files, err := filepath.Glob(ts.MkAbs(args[0]))
				ts.Check(err)
				if len(files) == 0 {
					ts.Fatalf("nothing matches %s", args[0])
				}
				for _, f := range files {
					ts.Check(os.Remove(f))
				}
			},
			"commits": func(ts *testscript.TestScript, neg bool, args []string) {
				h := snap.Blog(rand.New(rand.NewPCG(1, 0)), 8)
				h.Site, h.Dated = strings.TrimSuffix(filepath.Base(args[0]), ".snap.gz"), true
				f, err := os.Create(ts.MkAbs(args[0]))
				ts.Check(err)
				ts.Check(errors.Join(snap.Write(f, h), f.Close()))
			},
			"at": func(ts *testscript.TestScript, neg bool, args []string) {
				k, err := strconv.Atoi(args[0])
				ts.Check(err)
				ts.Check(ts.Value(key{}).(*webSite).Switch(k))
			},
		},
	})
}

// A webSite is the site of one script.
type webSite struct {
	*replay.Server
	answered chan bool
	asked    atomic.Int64
	hold     atomic.Int64 // requests after this one wait for free; 0: none
	free     chan bool
}

func (w *webSite) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if n := w.asked.Add(1); w.hold.Load() > 0 && n > w.hold.Load() {
		select {
		case <-w.free:
		case <-r.Context().Done():
		}
	}
	w.Server.ServeHTTP(rw, r)
	w.answered <- true
}

// A folder serves its files; index.html stands for its folder.
type folder struct {
	dir, other string // other: for what is not there; "": 404

	mu  sync.Mutex
	log io.Writer
}

func (f *folder) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	fmt.Fprintln(f.log, r.URL.RequestURI())
	f.mu.Unlock()
	host, port, _ := net.SplitHostPort(r.Host)
	dir := filepath.Join(f.dir, host)
	if _, err := os.Stat(dir); err != nil {
		dir = f.dir
	}
	path := filepath.Join(dir, filepath.FromSlash(r.URL.Path))
	if strings.HasSuffix(r.URL.Path, "/") {
		path = filepath.Join(path, "index.html")
	}
	body, err := os.ReadFile(path)
	if err != nil && f.other != "" {
		path = f.other
		body, err = os.ReadFile(path)
	}
	if err != nil {
		http.NotFound(rw, r)
		return
	}
	rw.Header().Set("Content-Type", mime.TypeByExtension(filepath.Ext(path)))
	rw.Write(bytes.ReplaceAll(body, []byte("$PORT"), []byte(port)))
}
