package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"forage/control"
	"forage/report"
	"forage/store"
)

func eventsCmd() *cobra.Command {
	var (
		dir    string
		after  uint64
		follow bool
		wait   time.Duration
		types  []string
		sites  []string
	)
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Tell what happened, in the order in which it came to be known",
		Long: `Events prints what was found out, one JSON object a line, numbered without gaps by "seq":

  page.new      a page that is certainly new since the first visit of its site
  page.changed  a page has another body than at the fetch before
  page.gone     a page is not there any more
  page.moved    a page was found at a new URL; moved_from is the one that it had
  site.adopted  a site was taken on, as the page found_on links to url
  site.ready    the first visit of a site has ended: what comes from now on is news
  site.trouble  a site cannot be fetched, or blocks us; site.fine: that is over
  event.lost    a damaged store was repaired: what stood under this number is not known

An event says what was known then and stays as it is. previous_look is when the document that
led to a page was last seen without the link: the page became known at most the time between
the two after it was linked. A page is told as new once. Who keeps "seq" of the last line and
gives it as --after misses nothing and gets nothing twice. With --follow it goes on printing
what comes, also beside a running crawl.`,
		Example: "  forage events --type page.new\n  forage events --after 120 --follow --site example.org",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, t := range types {
				if !slices.Contains(store.EventTypes, store.EventType(t)) {
					var known []string
					for _, t := range store.EventTypes {
						known = append(known, string(t))
					}
					return usagef("unknown type %q; known: %s", t, strings.Join(known, " "))
				}
			}
			told := func(e *store.Event) bool {
				return (len(types) == 0 || slices.Contains(types, string(e.Type))) && (len(sites) == 0 || slices.Contains(sites, e.Site))
			}
			if follow {
				return followEvents(cmd, dir, after, told)
			}
			return listEvents(cmd, dir, after, wait, told)
		},
	}
	dirFlag(cmd, &dir)
	f := cmd.Flags()
	f.Uint64Var(&after, "after", 0, "only events after this number")
	f.BoolVar(&follow, "follow", false, "go on with what comes, until interrupted")
	f.StringArrayVar(&types, "type", nil, "only events of this type (repeatable)")
	f.StringArrayVar(&sites, "site", nil, "only events of this site (repeatable)")
	f.DurationVar(&wait, "wait", 0, "where there are none, wait for some beside a running crawl, for so long")
	return cmd
}

// listEvents prints the events after a number. Where there are none it waits for some, as long as a process
// owns the store.
func listEvents(cmd *cobra.Command, dir string, after uint64, wait time.Duration, told func(*store.Event) bool) error {
	c := callOf(cmd.Context())
	if c.owner == nil {
		return onStore(cmd, dir, func(v *store.View) error {
			_, _, err := printEvents(v, cmd.OutOrStdout(), after, told)
			return err
		})
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), wait)
	defer cancel()
	db := c.owner.crawl.DB()
	for {
		more := db.MoreEvents()
		v := db.Snapshot()
		printed, last, err := printEvents(v, cmd.OutOrStdout(), after, told)
		if err = errors.Join(err, v.Close()); errors.Is(err, store.ErrClosed) {
			c.handedBack = true
			return &exitError{exitFailed, nil}
		}
		if err != nil || printed > 0 {
			return err
		}
		after = last
		select {
		case <-more:
		case <-c.owner.ending:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// printEvents prints the events after a number of which told is true, and returns how many, and the number of
// the last one that there is.
func printEvents(v *store.View, w io.Writer, after uint64, told func(*store.Event) bool) (printed int, last uint64, err error) {
	first, last, err := v.EventsKept()
	switch {
	case err != nil:
		return 0, 0, err
	case after > last:
		return 0, 0, usagef("--after %d: the last event is %d", after, last)
	case after != 0 && after+1 < first:
		return 0, 0, usagef("--after %d: events before %d are not kept any more", after, first)
	}
	out := bufio.NewWriter(w)
	var failed error
	err = v.Events(after, func(e *store.Event) bool {
		last = e.Seq
		if told(e) {
			failed = printJSON(out, report.NewEvent(e))
			printed++
		}
		return failed == nil
	})
	return printed, last, errors.Join(err, failed, out.Flush())
}

// followEvents prints the events after a number and those that come, of which told is true. It asks the
// process that owns the store, and reads by itself where none does.
func followEvents(cmd *cobra.Command, dir string, after uint64, told func(*store.Event) bool) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	out := &follower{out: cmd.OutOrStdout(), after: after, told: told}
	read := time.Time{}
	for ctx.Err() == nil {
		out.rest = nil
		before := out.after
		var said bytes.Buffer
		code, err := control.Call(ctx, dir, []string{wd, "events", "--after", fmt.Sprint(out.after), "--wait", "1m", "--dir", dir}, nil, out, &said)
		switch {
		case err == nil && code == 0, ctx.Err() != nil:
			continue
		case out.after != before: // an owner that ended in the middle, killed or not: others go on from there
			continue
		case err == nil:
			cmd.ErrOrStderr().Write(said.Bytes())
			return &exitError{code, nil} // said already
		case errors.Is(err, control.ErrForbidden) || !errors.Is(err, control.ErrNobody) && !errors.Is(err, control.ErrAgain):
			return err
		}
		if written := store.LastWritten(dir); written.IsZero() || written.After(read) {
			db, err := store.Open(dir, store.Options{ReadOnly: true})
			var used *store.InUseError
			if err != nil && !errors.As(err, &used) {
				return storeError(dir, err)
			}
			if err == nil {
				_, _, err := printEvents(&db.View, out, out.after, func(*store.Event) bool { return true })
				if err := errors.Join(err, db.Close()); err != nil {
					return err
				}
				read = written
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return &exitError{exitInterrupted, nil}
}

// A follower passes on lines of events of which told is true, and keeps the number of the last one.
type follower struct {
	out   io.Writer
	after uint64
	told  func(*store.Event) bool
	rest  []byte // the beginning of a line
}

func (f *follower) Write(b []byte) (int, error) {
	f.rest = append(f.rest, b...)
	for {
		i := bytes.IndexByte(f.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		line := f.rest[:i+1]
		var e struct {
			Seq        uint64
			Type, Site string
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, fmt.Errorf("event after %d: %w", f.after, err)
		}
		if f.told(&store.Event{Type: store.EventType(e.Type), Site: e.Site}) {
			if _, err := f.out.Write(line); err != nil {
				return 0, err
			}
		}
		f.after = e.Seq
		f.rest = f.rest[i+1:]
	}
}
