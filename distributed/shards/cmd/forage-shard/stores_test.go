package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forage/distributed/shards/checkpoint"
	"forage/distributed/shards/latest"
	"forage/store"
)

// saved makes a folder with the checkpoint of a partition of four, of which the page http://a.test/ is.
func saved(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	db, err := store.Open(filepath.Join(t.TempDir(), "store"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	bucket := checkpoint.In(checkpoint.Folder(folder), latest.Place("forage", 2))
	site := &store.Site{Name: "a.test"}
	if err := db.AddSite(site); err != nil {
		t.Fatal(err)
	}
	d := store.NewDoc("http://a.test/", site.ID)
	d.State, d.Kind, d.Status, d.Visits = store.Fetched, store.Page, 200, 1
	if _, err := db.Add(d); err != nil {
		t.Fatal(err)
	}
	if err := db.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Claim(t.Context(), bucket, 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := checkpoint.NewWriter(bucket, 1, nil).Write(t.Context(), db, latest.State{At: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), Partitions: 4}); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestStores reads one partition of four, and gives the commands what does not fit.
func TestStores(t *testing.T) {
	folder := saved(t)
	t.Setenv("TMPDIR", t.TempDir())
	into := t.TempDir()
	full := filepath.Join(into, "full")
	if err := os.MkdirAll(filepath.Join(full, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, group string
		code        int
		out, msg    string
	}{
		{"pages", "forage", 0, "http://a.test/\n", "forage-shard: no checkpoint yet of: partition 0, 1, 3\nforage-shard: as of checkpoints, the oldest of 2026-01-31T12:00:00Z, "},
		{"pages --partition 2 --new-since 1 --include-unknown", "forage", 0, "", "there is no cycle 1 yet"},
		{"pages --partition 1", "forage", 0, "", "no checkpoint yet of: partition 1\n"},
		{"pages --partition 4", "forage", exitUsage, "", "--partition 4: the crawl has partitions 0 to 3"},
		{"pages --partition -2", "forage", exitUsage, "", "the crawl has partitions 0 to 3"},
		{"pages --new-since 3", "forage", exitUsage, "", "3 is a cycle, of which each partition has its own"},
		{"pages --new-since yesterday", "forage", exitUsage, "", "want a cycle such as 3 or a time"},
		{"pages --format xml", "forage", exitUsage, "", "unknown format"},
		{"pages --site b.test", "forage", exitUsage, "", "no checkpoint has a site \"b.test\""},
		{"pages", "other", exitUsage, "", "there are no checkpoints of a crawl \"other\"; there are of: forage; --group names another one"},
		{"export urls -o -", "forage", 0, "http://a.test/\n", "no checkpoint yet"},
		{"export urls --json -o " + into + "/urls", "forage", 0, `"oldest":"2026-01-31T12:00:00Z"`, "no checkpoint yet"},
		{"export urls", "forage", exitUsage, "", "say where to write with -o PATH"},
		{"export text -o x.jsonl", "forage", exitUsage, "", "text is made of an archive, and checkpoints have none"},
		{"export things -o x", "forage", exitUsage, "", "there is no export \"things\"; known: graph parquet snap urls"},
		{"export parquet -o -", "forage", exitUsage, "", "parquet is a folder of files"},
		{"export parquet --all -o x", "forage", exitUsage, "", "--all is for 'export urls'; parquet has no use for it"},
		{"export parquet --since 3 -o x", "forage", exitUsage, "", "3 is a cycle"},
		{"export parquet -o " + full, "forage", exitUsage, "", "full"},
		{"export snap -o x", "forage", exitUsage, "", "choose a site with --site"},
		{"export snap --site b.test -o " + into + "/snap", "forage", exitUsage, "", "no checkpoint has a site"},
	} {
		var out, msg bytes.Buffer
		code := run(t.Context(), &out, &msg, append(strings.Fields(c.args), "--checkpoints", folder, "--group", c.group))
		if code != c.code || !strings.Contains(out.String(), c.out) || c.out == "" && out.Len() > 0 || !strings.Contains(msg.String(), c.msg) {
			t.Errorf("%s: exit code %d, %q, %q; want %d, %q, %q", c.args, code, out.String(), msg.String(), c.code, c.out, c.msg)
		}
	}
	for where, want := range map[string]string{"": "say where the checkpoints are", filepath.Join(folder, "none"): "there is no such folder", t.TempDir(): "or of any other one"} {
		var out, msg bytes.Buffer
		if code := run(t.Context(), &out, &msg, []string{"pages", "--checkpoints", where}); code != exitUsage || !strings.Contains(msg.String(), want) {
			t.Errorf("--checkpoints %q: exit code %d, %q; want %q", where, code, msg.String(), want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range []string{"pages", "export parquet -o " + into + "/tables", "export urls -o " + into + "/late"} {
		var out, msg bytes.Buffer
		if code := run(ctx, &out, &msg, append(strings.Fields(args), "--checkpoints", folder)); code != exitInterrupted || out.Len() > 0 {
			t.Errorf("%s, interrupted: exit code %d, %q, %q", args, code, out.String(), msg.String())
		}
	}
	for dir, want := range map[string]int{os.TempDir(): 0, into: 2} { // the folder that was full, and urls
		if left, err := os.ReadDir(dir); err != nil || len(left) != want {
			t.Errorf("%s has %v, %v", dir, left, err)
		}
	}
}
