package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketRunsCommandsElsewhere(t *testing.T) {
	for name, dir := range map[string]string{
		"short": t.TempDir(),
		"long":  filepath.Join(t.TempDir(), strings.Repeat("long", 30)),
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			var out, msg bytes.Buffer
			if _, err := callSocket(t.Context(), dir, nil, &out, &msg); !errors.Is(err, errNobody) {
				t.Fatalf("without a server: %v, want %v", err, errNobody)
			}
			path, _ := socketPath(dir)
			if err := os.WriteFile(path, nil, 0o600); err != nil { // what a killed process leaves
				t.Fatal(err)
			}
			closeSocket, err := serveSocket(t.Context(), dir, func(ctx context.Context, stdout, stderr io.Writer, args []string) int {
				fmt.Fprintf(stderr, "%d arguments\n", len(args))
				for _, a := range args {
					fmt.Fprintf(stdout, "%s\xff\n", a)
				}
				return 40 + len(args)
			})
			if err != nil {
				t.Fatal(err)
			}
			code, err := callSocket(t.Context(), dir, []string{"a", "ü\n"}, &out, &msg)
			if err != nil || code != 42 || out.String() != "a\xff\nü\n\xff\n" || msg.String() != "2 arguments\n" {
				t.Errorf("callSocket = %d, %v; stdout %q, stderr %q", code, err, &out, &msg)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("socket: %v, %v, want mode 0600", info, err)
			}
			closeSocket()
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket stays: %v", err)
			}
			if _, err := callSocket(t.Context(), dir, nil, &out, &msg); !errors.Is(err, errNobody) {
				t.Errorf("after close: %v, want %v", err, errNobody)
			}
		})
	}
}
