package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestArgumentsAreUsage: an argument too much is an error of usage in every command, also in those
// that cobra adds.
func TestArgumentsAreUsage(t *testing.T) {
	many := strings.Fields(strings.Repeat("x ", 30))
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Args != nil && c.HasParent() {
			if err := c.ValidateArgs(many); err != nil {
				if _, ok := err.(*exitError); !ok {
					t.Errorf("%s: %v is a %T, want an *exitError", c.CommandPath(), err, err)
				}
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(rootCmd())
	var out, errs bytes.Buffer
	if code := run(context.Background(), &out, &errs, []string{"completion", "bash", "x"}); code != exitUsage || errs.String() != "forage: unknown command \"x\" for \"forage completion bash\"\n" {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}
