package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"forage/internal/asked"
	"forage/store"
	"forage/warc"
)

// archiveRuns is how often a crawl is measured: CPU time of a crawl varies by some percent, and what an archive adds is a difference.
const archiveRuns = 3

// archive crawls a site of pages of 10 kB, without an archive and with one.
func (b *bench) archive() error {
	n := b.Size(30_000)
	crawler := filepath.Join(b.tmp, "crawlbench")
	if err := build(crawler, ".", "./internal/crawlbench"); err != nil {
		return err
	}
	var cpu, memory []float64 // what it adds, of each pair
	kept := filepath.Join(b.tmp, "archive")
	for range archiveRuns {
		var with, without asked.Use
		for _, c := range []struct {
			use  *asked.Use
			args []string
		}{{&without, nil}, {&with, []string{"--warc", kept}}} {
			if err := os.RemoveAll(kept); err != nil {
				return err
			}
			var err error
			if *c.use, err = b.crawl(crawler, n, c.args...); err != nil {
				return err
			}
		}
		cpu = append(cpu, float64((with.CPU-without.CPU).Microseconds())/1000/float64(n))
		memory = append(memory, float64(with.Memory-without.Memory)/1e6)
	}
	slices.Sort(cpu)
	slices.Sort(memory)
	b.Tell(fmt.Sprintf("what --warc adds to a page of 10 kB, of %d: CPU", n), cpu[archiveRuns/2], "ms", .14)
	b.Tell("  memory", memory[archiveRuns/2], "MB", 32)
	size, err := bytesIn(kept)
	if err != nil {
		return err
	}
	b.Tell("  of files for each page", float64(size)/float64(n), "B", 0)
	indexes, err := filepath.Glob(filepath.Join(kept, "*.cdxj"))
	if err != nil {
		return err
	}
	for _, path := range indexes {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	u, err := asked.Measure(b.one("export", "cdxj", "--warc", kept, "-o", filepath.Join(b.tmp, "read.cdxj")))
	if err != nil {
		return err
	}
	b.Tell("  export cdxj that reads all of it: captures a CPU second", float64(n)/u.CPU.Seconds(), "", 0)
	return os.RemoveAll(kept)
}

// crawl crawls a site of so many pages that crawlbench serves.
func (b *bench) crawl(crawler string, pages int, args ...string) (u asked.Use, err error) {
	site := exec.Command(crawler, "-part", "site", "-pages", fmt.Sprint(pages), "-size", "10240", "-links", "20")
	site.Stderr = os.Stderr
	out, err := site.StdoutPipe()
	if err != nil {
		return u, err
	}
	if err := site.Start(); err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, site.Process.Signal(syscall.SIGTERM), site.Wait()) }()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return u, errors.New("the site did not start")
	}
	store := filepath.Join(b.tmp, "crawled")
	defer func() { err = errors.Join(err, os.RemoveAll(store)) }()
	return asked.Measure(b.one(append([]string{"crawl", "--dir", store, "--delay", "0", "--allow-private", "127.0.0.0/8", lines.Text() + "/"}, args...)...))
}

// payloads has a store note where in an archive so many bodies are.
func (b *bench) payloads() error {
	n := b.Size(1_000_000)
	var sizes [2]int64 // of a store without, and with them
	for i, n := range []int{0, n} {
		dir := filepath.Join(b.tmp, "payloads")
		err := putPayloads(dir, n)
		if err != nil {
			return err
		}
		if sizes[i], err = bytesIn(dir); err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	b.Tell(fmt.Sprintf("index of %d bodies, on disk: each", n), float64(sizes[1]-sizes[0])/float64(n), "B", 64)
	return nil
}

func putPayloads(dir string, n int) (err error) {
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r := rand.New(rand.NewPCG(16, 1))
	for i := range n {
		var digest [20]byte
		for k := range digest {
			digest[k] = byte(r.Uint32())
		}
		if err := db.PutPayload(digest, store.Capture{File: uint32(i / 100_000), Offset: int64(i%100_000) * 10_000}); err != nil {
			return err
		}
		if i%1024 == 1023 {
			if err := db.Commit(); err != nil {
				return err
			}
		}
	}
	return db.Sync()
}

// cdxj merges the indexes of an archive.
func (b *bench) cdxj() error {
	const files = 10
	n := b.Size(1_000_000)
	dir := filepath.Join(b.tmp, "indexed")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(16, 2))
	for f := range files {
		var text []byte
		name := fmt.Sprintf("%d.warc.gz", f)
		for i := range n / files {
			x := r.Uint64()
			e := warc.Entry{
				Key: fmt.Sprintf("test,bench)/section-%d/%x", x%37, x), Time: "20261123120000", URL: fmt.Sprintf("https://bench.test/section-%d/%x", x%37, x), MIME: "text/html", Status: "200",
				Digest: "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", Length: 3000, Offset: int64(i) * 3000, Filename: name,
			}
			text = e.Append(text)
		}
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), nil, 0o666), os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.cdxj", f)), text, 0o666)); err != nil {
			return err
		}
	}
	u, err := asked.Measure(b.one("export", "cdxj", "--warc", dir, "-o", filepath.Join(b.tmp, "all.cdxj")))
	if err != nil {
		return err
	}
	b.Tell(fmt.Sprintf("export cdxj of %d captures, indexed by file: CPU", n), u.CPU.Seconds(), "s", 10)
	b.Tell("  memory", float64(u.Memory)/1e6, "MB", 0)
	return os.RemoveAll(dir)
}

// size compares the program with that of a revision without formats.
func (b *bench) size() error {
	old := filepath.Join(b.tmp, "before")
	if out, err := exec.Command("git", "worktree", "add", "--detach", old, b.before).CombinedOutput(); err != nil {
		fmt.Fprintf(b.Out, "what formats add to the program: not measured, there is no revision %s here: %.100s\n", b.before, out)
		return nil
	}
	defer exec.Command("git", "worktree", "remove", "--force", old).Run()
	var sizes [2]int64
	for i, dir := range []string{old, "."} {
		path := filepath.Join(b.tmp, fmt.Sprint("stripped", i))
		if err := build(path, dir, "./cmd/forage", "-trimpath", "-ldflags=-s -w"); err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		sizes[i] = info.Size()
	}
	b.Tell(fmt.Sprintf("program, stripped: more than %s", b.before), float64(sizes[1]-sizes[0])/1e6, "MB", 6)
	return nil
}

// build builds a program of the module in a folder.
func build(path, dir, program string, flags ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), program)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build %s: %w", program, err)
	}
	return nil
}

// bytesIn is how much is in a folder.
func bytesIn(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		n += info.Size()
		return err
	})
	return n, err
}
