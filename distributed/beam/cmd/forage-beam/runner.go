package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"forage/distributed/beam/files"
	"forage/distributed/beam/pipeline"
)

// runnerFlags say which runner runs the pipelines.
type runnerFlags struct {
	runner      string
	endpoint    string
	environment string
	pool        string
	parallelism int
	start       time.Duration
	log         bool
}

func (f *runnerFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.runner, "runner", "prism", "prism (in this process) or portable")
	fs.StringVar(&f.endpoint, "endpoint", "", "portable: HOST:PORT of the job server")
	fs.StringVar(&f.environment, "environment", "LOOPBACK", "portable: where workers run, LOOPBACK or EXTERNAL")
	fs.StringVar(&f.pool, "pool", "", "portable, EXTERNAL: HOST:PORT of the pool that starts workers")
	fs.IntVar(&f.parallelism, "parallelism", 0, "portable: so many shards at a time (default: what the runner is set to, of Flink 1)")
	fs.DurationVar(&f.start, "start-limit", pipeline.DefaultStart, "portable: time within which a worker must have begun on a job")
	fs.BoolVar(&f.log, "log", false, "print what Beam and its runner log")
}

// begin has what Beam logs printed, if that is asked for.
func (f *runnerFlags) begin(stderr io.Writer) {
	if f.log {
		pipeline.Log(stderr)
	}
}

// choose checks the flags and returns the runner.
func (f *runnerFlags) choose(ctx context.Context) (pipeline.Runner, error) {
	switch f.runner {
	case "prism":
		if f.endpoint != "" {
			return nil, usagef("--endpoint is for --runner portable")
		}
		return pipeline.Prism{}, nil
	case "portable":
	default:
		return nil, usagef("--runner %q: want prism or portable", f.runner)
	}
	if f.endpoint == "" {
		return nil, usagef("--endpoint: want HOST:PORT of a job server")
	}
	switch {
	case f.environment != "LOOPBACK" && f.environment != "EXTERNAL":
		return nil, usagef("--environment %q: want LOOPBACK or EXTERNAL", f.environment)
	case (f.environment == "EXTERNAL") != (f.pool != ""):
		return nil, usagef("--pool: EXTERNAL wants HOST:PORT of a pool, LOOPBACK none")
	case f.parallelism < 0:
		return nil, usagef("--parallelism: want at least 1, got %d", f.parallelism)
	case f.start <= 0:
		return nil, usagef("--start-limit: want a time above 0, got %v", f.start)
	}
	r := &pipeline.Portable{Endpoint: f.endpoint, Environment: f.environment, Pool: f.pool, Parallelism: f.parallelism, Start: f.start}
	return r, r.Check(ctx)
}

// checkP refuses a p of which the powers are no levels.
func checkP(p float64) error {
	if !(p > 1 && p <= 1e6) {
		return usagef("--p: want a number above 1, got %v", p)
	}
	return nil
}

// folders returns the paths of the shards and of the state as every process finds them.
func folders(shards, state string) (absShards, absState string, err error) {
	if absShards, err = files.Abs(shards); err == nil {
		absState, err = files.Abs(state)
	}
	if err != nil {
		return "", "", inputError{err}
	}
	return absShards, absState, nil
}

// beamTemp has temporary files of this process in a folder of their own until remove is called: Beam's
// SDK leaves one a pipeline.
func beamTemp() (remove func() error, err error) {
	before := os.Getenv("TMPDIR")
	dir, err := os.MkdirTemp("", "forage-beam-")
	if err != nil {
		return nil, err
	}
	remove = func() error { return errors.Join(os.Setenv("TMPDIR", before), os.RemoveAll(dir)) }
	return remove, os.Setenv("TMPDIR", dir)
}
