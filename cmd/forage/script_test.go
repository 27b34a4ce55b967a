package main

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"forage": func() { os.Exit(run(context.Background(), os.Stdout, os.Stderr, os.Args[1:])) },
	})
}

// TestScripts runs the whole program: each file of testdata is a session at the shell.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata"})
}
