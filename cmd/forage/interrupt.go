package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"forage/internal/atomicfile"
)

// endOnInterrupt makes an interrupt end the program at once, until stop is called. It is for
// what cannot be told to stop, as loading a file; of the outputs what is unfinished is removed.
// A command that another process runs for its user is left alone.
func endOnInterrupt(ctx context.Context, stderr io.Writer, outputs ...string) (stop func()) {
	if callOf(ctx).owner != nil {
		return func() {}
	}
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			for _, path := range outputs {
				if err := atomicfile.RemoveLeft(path); err != nil {
					fmt.Fprintf(stderr, "forage: %v\n", err)
				}
			}
			fmt.Fprintln(stderr, "forage: interrupted")
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(signals)
		close(done)
	})
}
