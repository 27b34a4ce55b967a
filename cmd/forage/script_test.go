package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"forage/replay"
	"forage/snap"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"forage": func() { os.Exit(run(context.Background(), os.Stdout, os.Stderr, os.Args[1:])) },
	})
}

// TestScripts runs the whole program: each file of testdata is a session at the shell. Beside
// the usual commands there are
//
//	serve     serves the evolving site of snap.Blog on loopback and sets $BASE and $SITE
//	at K      switches it to week K
//	served N  waits until it has answered N requests
func TestScripts(t *testing.T) {
	type key struct{}
	type answers struct{}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Values[key{}] = new(*replay.Server)
			env.Values[answers{}] = map[string]chan bool{}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"serve": func(ts *testscript.TestScript, neg bool, args []string) {
				s, err := replay.New(snap.Blog(rand.New(rand.NewPCG(1, 0)), 6), 0, false)
				ts.Check(err)
				*ts.Value(key{}).(**replay.Server) = s
				answered := make(chan bool, 1<<16)
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					s.ServeHTTP(w, r)
					answered <- true
				}))
				ts.Defer(srv.Close)
				ts.Value(answers{}).(map[string]chan bool)["site"] = answered
				ts.Setenv("BASE", srv.URL)
				ts.Setenv("SITE", srv.Listener.Addr().String())
			},
			"served": func(ts *testscript.TestScript, neg bool, args []string) {
				n, err := strconv.Atoi(args[0])
				ts.Check(err)
				for range n {
					<-ts.Value(answers{}).(map[string]chan bool)["site"]
				}
			},
			"at": func(ts *testscript.TestScript, neg bool, args []string) {
				k, err := strconv.Atoi(args[0])
				ts.Check(err)
				ts.Check((*ts.Value(key{}).(**replay.Server)).Switch(k))
			},
		},
	})
}
