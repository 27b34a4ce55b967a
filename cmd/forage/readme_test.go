package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// TestReadme: the README shows what the demo prints.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), &stdout, &stderr, []string{"demo"}); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	if !strings.Contains(string(readme), "\n```\n"+stdout.String()+"```\n") {
		t.Errorf("forage demo prints another story than README.md, which is to hold this:\n%s", stdout.String())
	}
}
