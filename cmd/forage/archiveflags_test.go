package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

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
