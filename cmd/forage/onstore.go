package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"forage/archive"
	"forage/control"
	"forage/crawl"
	"forage/source"
	"forage/store"
	"forage/watch"
	"forage/webhook"
)

// A call is one invocation of the program: its arguments, and the store that it finds open
// when it runs for another process inside the one that owns the store.
type call struct {
	args  []string
	input []byte    // what was read from stdin, which goes along to the owner of the store
	dir   string    // folder that relative paths start from; "": the process's own
	owner *ownStore // nil: open the store
	// api changes how a live API is asked, before it is; nil: not at all. Tests trust the certificate of a server of
	// theirs, and bring a clock.
	api func(*source.Client)
	// handedBack: the owner ends; what it has not finished the other process does itself.
	handedBack bool
}

// An ownStore is the open store of this process, with the crawl that works on it.
type ownStore struct {
	crawl   *crawl.Crawl
	watch   *watch.Service    // that begins its runs; nil: this is no service
	hooks   *webhook.Sender   // of the service
	flags   map[string]string // those that hold for the whole process, as they were given
	imports bool              // it takes in what others have fetched, and fetches nothing meanwhile
	// ending is closed when the process has done what it was started for, and waits for those it answers.
	ending chan struct{}
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	if c == nil {
		c = new(call)
	}
	return c
}

// stdin returns what the command has been given on stdin, all of it: for another process that is what came
// along with the call.
func (c *call) stdin(in io.Reader) ([]byte, error) {
	var err error
	if c.owner == nil && c.input == nil {
		c.input, err = io.ReadAll(in)
	}
	return c.input, err
}

// path resolves a path given on the command line against the folder it was given in.
func (c *call) path(p string) string {
	if c.dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.dir, p)
}

// serveStore answers commands of other processes on the store in dir.
func serveStore(dir string, own *ownStore) (*control.Server, error) {
	return control.Serve(dir, func(ctx context.Context, stdout, stderr io.Writer, args []string, input []byte) (int, error) {
		if len(args) == 0 {
			return exitUsage, nil
		}
		// The first argument is the folder of the process that calls.
		c := &call{args: args[1:], input: input, dir: args[0], owner: own}
		code := run(context.WithValue(ctx, callKey{}, c), stdout, stderr, args[1:])
		if c.handedBack {
			return 0, control.ErrAgain
		}
		return code, nil
	})
}

// onStore runs read on a view of the store in dir: here, or inside the process that owns it.
func onStore(cmd *cobra.Command, dir string, read func(*store.View) error) error {
	return onDB(cmd, dir, func(_ context.Context, db *store.DB) error {
		v := db.Snapshot()
		return errors.Join(read(v), v.Close())
	})
}

// onDB runs act on the store in dir: here, where it can only be read, or inside the process that owns it.
func onDB(cmd *cobra.Command, dir string, act func(context.Context, *store.DB) error) error {
	c := callOf(cmd.Context())
	if c.owner != nil {
		err := act(cmd.Context(), c.owner.crawl.DB())
		if errors.Is(err, store.ErrClosed) {
			c.handedBack = true
			return &exitError{exitFailed, nil} // the other process does it for itself
		}
		return err
	}
	return here(cmd, dir, io.Discard, func() error {
		db, err := store.Open(dir, store.Options{ReadOnly: true})
		if err != nil {
			return storeError(dir, err)
		}
		return errors.Join(act(cmd.Context(), db), db.Close())
	})
}

// onCrawl runs act on the crawl that runs in dir.
func onCrawl(cmd *cobra.Command, dir string, act func(*crawl.Crawl) error) error {
	none := fmt.Errorf("no crawl is running in %s; 'forage crawl' or 'forage revisit' starts one", dir)
	if own := callOf(cmd.Context()).owner; own != nil {
		err := act(own.crawl)
		if errors.Is(err, crawl.ErrNotRunning) {
			return none
		}
		return err
	}
	err := elsewhere(cmd, dir)
	if errors.Is(err, control.ErrNobody) || errors.Is(err, control.ErrAgain) {
		return none
	}
	return err
}

// here runs open, which opens the store in dir, or, where another process owns it, has the
// command run there. It goes on as long as owners come and go, and tells of it.
func here(cmd *cobra.Command, dir string, tell io.Writer, open func() error) error {
	for told := false; ; {
		err := open()
		var used *store.InUseError
		if !errors.As(err, &used) {
			return err
		}
		err = elsewhere(cmd, dir)
		if errors.Is(err, control.ErrForbidden) {
			return fmt.Errorf("store %s: %w: %w; or wait until it has ended", dir, used, err)
		}
		if !errors.Is(err, control.ErrNobody) && !errors.Is(err, control.ErrAgain) {
			return err
		}
		if !told && errors.Is(err, control.ErrAgain) {
			told = true
			fmt.Fprintln(tell, "forage: the command that had the store has ended; this one goes on by itself")
		}
		// The owner has no socket yet, or no longer.
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// elsewhere runs the command in the process that owns the store in dir. Its errors are those of
// control.Call, and an exitError of the code with which the command ended there.
func elsewhere(cmd *cobra.Command, dir string) error {
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	args := append([]string{wd}, callOf(cmd.Context()).args...)
	code, err := control.Call(cmd.Context(), dir, args, callOf(cmd.Context()).input, cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	return &exitError{code, nil} // the other process has said what there is to say
}

// storeError makes an error of opening a store, or a folder that goes with it, one that says what to do.
func storeError(dir string, err error) error {
	var folder *archive.FolderError
	var used *archive.InUseError
	switch {
	case errors.As(err, &used):
		return badInput(err)
	case errors.As(err, &folder) && !archive.NoRoom(err):
		return badInput(fmt.Errorf("%w; --warc and --text, or warc: and text: of forage.yaml, name another folder", err))
	case errors.Is(err, store.ErrNotStore):
		return badInput(err)
	case errors.Is(err, store.ErrUnfinished):
		return badInput(fmt.Errorf("%w: 'forage crawl URL' makes it", err))
	case errors.Is(err, fs.ErrNotExist):
		return usagef("there is no store in %s: 'forage crawl URL' makes one, --dir names another", dir)
	}
	return err
}

// isStore returns the error that says what to do where dir is no store.
func isStore(dir string) error {
	if err := store.Exists(dir); err != nil {
		return storeError(dir, err)
	}
	return nil
}

// dirFlag adds --dir.
func dirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "forage-data", "folder of the store")
}

// orNull returns nil for the zero value.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}
