package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"forage/store"
)

// A call is one invocation of the program: its arguments, and the store that it finds open
// when it runs for another process inside the one that owns the store.
type call struct {
	args  []string
	dir   string    // folder that relative paths start from; "": the process's own
	owner *ownStore // nil: open the store
}

// An ownStore is the open store of this process and, while a crawl runs, its controls.
type ownStore struct {
	db    *store.DB
	crawl controls // nil: none runs
}

// controls steer a running crawl.
type controls interface {
	// Add queues URLs as seeds.
	Add(urls []string) error
	// Pause, Resume and Stop act on the site of that name, or on the whole crawl for "".
	Pause(site string) error
	Resume(site string) error
	Stop(site string) error
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	if c == nil {
		c = new(call)
	}
	return c
}

// path resolves a path given on the command line against the folder it was given in.
func (c *call) path(p string) string {
	if c.dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.dir, p)
}

// serveStore answers commands of other processes on the store in dir until ctx ends or
// closeSocket is called.
func serveStore(ctx context.Context, dir string, own *ownStore) (closeSocket func(), err error) {
	return serveSocket(ctx, dir, func(ctx context.Context, stdout, stderr io.Writer, args []string) int {
		if len(args) == 0 {
			return exitUsage
		}
		// The first argument is the folder of the process that calls.
		ctx = context.WithValue(ctx, callKey{}, &call{args: args[1:], dir: args[0], owner: own})
		return run(ctx, stdout, stderr, args[1:])
	})
}

// onStore runs read on a view of the store in dir: here, or inside the process that owns it.
func onStore(cmd *cobra.Command, dir string, read func(*store.View) error) error {
	c := callOf(cmd.Context())
	if c.owner != nil {
		v := c.owner.db.Snapshot()
		return errors.Join(read(v), v.Close())
	}
	for try := 0; ; try++ {
		db, err := store.Open(dir, store.Options{ReadOnly: true})
		if err == nil {
			return errors.Join(read(&db.View), db.Close())
		}
		var used *store.InUseError
		if !errors.As(err, &used) {
			return storeError(dir, err)
		}
		err = elsewhere(cmd, dir)
		if !errors.Is(err, errNobody) {
			return err
		}
		// The owner has no socket yet, or no longer.
		if try == 50 {
			return used
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// onCrawl runs act on the crawl that runs in dir.
func onCrawl(cmd *cobra.Command, dir string, act func(controls) error) error {
	if own := callOf(cmd.Context()).owner; own != nil {
		if own.crawl == nil {
			return errNobody
		}
		return act(own.crawl)
	}
	if err := elsewhere(cmd, dir); !errors.Is(err, errNobody) {
		return err
	}
	return fmt.Errorf("no crawl is running in %s; 'forage crawl' or 'forage revisit' starts one", dir)
}

// elsewhere runs the command in the process that owns the store in dir.
func elsewhere(cmd *cobra.Command, dir string) error {
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	args := append([]string{wd}, callOf(cmd.Context()).args...)
	code, err := callSocket(cmd.Context(), dir, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if code != 0 {
		return &exitError{code, nil} // the other process has said why
	}
	return nil
}

// storeError makes an error of opening a store one that says what to do.
func storeError(dir string, err error) error {
	switch {
	case errors.Is(err, store.ErrNotStore):
		return badInput(err)
	case errors.Is(err, fs.ErrNotExist):
		return usagef("there is no store in %s: 'forage crawl URL' makes one, --dir names another", dir)
	}
	return err
}

// dirFlag adds --dir.
func dirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "forage-data", "folder of the store")
}

// since is a flag value that is a cycle or a time.
type since struct {
	cycle store.Cycle
	time  store.Time
	text  string
}

func (s *since) Type() string   { return "CYCLE|TIME" }
func (s *since) String() string { return s.text }
func (s *since) set() bool      { return s.text != "" }

func (s *since) Set(text string) error {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil && n > 0 && len(text) < 10 {
		*s = since{cycle: store.Cycle(n), text: text}
		return nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			*s = since{time: t.Unix(), text: text}
			return nil
		}
	}
	return fmt.Errorf("want a cycle such as 3 or a time such as 2026-01-31T12:00:00Z, got %q", text)
}

// start returns when the cycle, or the time, was.
func (s *since) start(v *store.View) (store.Time, error) {
	if s.cycle == 0 {
		return s.time, nil
	}
	cycles, err := v.Cycles()
	if err != nil {
		return 0, err
	}
	for _, c := range cycles {
		if c.Cycle >= s.cycle {
			return c.At, nil
		}
	}
	return 1<<63 - 1, nil
}

// stamp formats a time for JSON: nil where there is none.
func stamp(t store.Time) any {
	if t == 0 {
		return nil
	}
	return time.Unix(t, 0).UTC().Format(time.RFC3339)
}

// orNull returns nil for the zero value.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}
