package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"forage/archive"
)

// TestFolderErrors: a folder that cannot be written to is the fault of whoever names it, unless the disk is full, and never a store that is
// not there.
func TestFolderErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{&archive.FolderError{Folder: "/proc/w", Err: fs.ErrNotExist}, exitUsage},
		{&archive.FolderError{Folder: "/srv/w", Err: fs.ErrPermission}, exitUsage},
		{&archive.FolderError{Folder: "/srv/w", Err: syscall.ENOSPC}, exitFailed},
		{&archive.InUseError{Folder: "/srv/w"}, exitUsage},
	} {
		got := storeError("store", fmt.Errorf("open: %w", c.err))
		code := exitFailed
		var exit *exitError
		if errors.As(got, &exit) {
			code = exit.code
		}
		if code != c.code || !errors.Is(got, c.err) || strings.Contains(got.Error(), "there is no store") {
			t.Errorf("%v: %v with exit code %d, want %d", c.err, got, code, c.code)
		}
	}
}

// TestCommandLine: what an archive tells of the command has no secrets, however badly they are written.
func TestCommandLine(t *testing.T) {
	var text string
	var headers []string
	var cookies, proxy, contact string
	cmd := &cobra.Command{Use: "crawl", RunE: func(cmd *cobra.Command, _ []string) error {
		text = commandLine(cmd)
		return nil
	}}
	cmd.Flags().StringArrayVar(&headers, "header", nil, "")
	cmd.Flags().StringVar(&cookies, "cookies", "", "")
	cmd.Flags().StringVar(&proxy, "proxy", "", "")
	cmd.Flags().StringVar(&contact, "contact", "", "")
	cmd.SetArgs([]string{
		"--header", "a.test X: s3cret", "--cookies", "s3cret.txt", "--proxy", "http://joe:s3cret@p.test", "--contact", "joe@a.test",
		"http://joe:s3cret@a.test/", "http://joe:s3%cret@a.test/x", "https://s3cret@a.test:80?q=@b",
	})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	want := "crawl --contact=joe@a.test --cookies=… --header=… --proxy=… http://a.test/ http://a.test/x https://a.test:80?q=@b"
	if text != want || strings.Contains(text, "cret") {
		t.Errorf("%q, want %q", text, want)
	}
}
