// Formatbench measures what it takes to keep what a crawl fetches, to write it in formats of others, and to take in what is in these, and
// prints beside each figure what is asked of it.
//
//	go run ./internal/formatbench
//	go run ./internal/formatbench -only parquet -quick
//
// The program that is measured has one core (GOMAXPROCS=1); CPU time is its user and system time, memory the most that it held at a
// time. Stores are made by a process of their own, without a crawl; the site that is crawled is crawlbench's. -quick divides the sizes by
// ten. What is written goes into a folder that is removed at the end.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"forage/internal/asked"
)

func main() {
	b := &bench{Table: asked.Table{Out: os.Stdout}}
	only := flag.String("only", "", "measure this row alone: "+asked.Names(b.rows()))
	flag.BoolVar(&b.Quick, "quick", false, "sizes divided by ten, for a look")
	flag.StringVar(&b.forage, "forage", "", "the program to measure; empty builds ./cmd/forage")
	store := flag.String("store", "", "only make a store of -pages pages in this folder")
	pages := flag.Int("pages", 0, "see -store")
	flag.StringVar(&b.before, "before", "7bcc8ed", "revision whose program is as large as ours was without formats")
	texts := flag.String("texts", "", "only keep texts of the pages of -store in this folder")
	flag.Parse()
	err := error(nil)
	switch {
	case *texts != "":
		err = makeTexts(*store, *texts)
	case *store != "":
		err = makeStore(*store, *pages)
	default:
		err = b.run(*only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "formatbench:", err)
		os.Exit(1)
	}
}

// A bench is one call of the program.
type bench struct {
	asked.Table
	forage string
	before string
	tmp    string
}

// rows are what can be measured, in the order in which it is.
func (b *bench) rows() []asked.Row {
	return []asked.Row{
		{Name: "archive", Run: b.archive},
		{Name: "payloads", Run: b.payloads},
		{Name: "parquet", Run: b.parquet},
		{Name: "cdxj", Run: b.cdxj},
		{Name: "size", Run: b.size},
		{Name: "text", Run: b.text},
		{Name: "import-warc", Run: b.importWARC},
		{Name: "import-cdxj", Run: b.importCDXJ},
	}
}

func (b *bench) run(only string) (err error) {
	if err := asked.Know(b.rows(), only); err != nil {
		return err
	}
	if b.tmp, err = os.MkdirTemp("", "formatbench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.tmp)
	if b.forage == "" {
		b.forage = filepath.Join(b.tmp, "forage")
		if err := build(b.forage, ".", "./cmd/forage"); err != nil {
			return err
		}
	}
	return b.Run(b.rows(), only)
}

// one is a command of forage on one core.
func (b *bench) one(args ...string) *exec.Cmd {
	cmd := exec.Command(b.forage, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	return cmd
}

// self is another process of this program, on one core.
func (b *bench) self(args ...string) (*exec.Cmd, error) {
	path, err := os.Executable()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	return cmd, err
}

// store makes a store of so many pages.
func (b *bench) store(pages int) (dir string, err error) {
	dir = filepath.Join(b.tmp, fmt.Sprint("store-", pages))
	cmd, err := b.self("-store", dir, "-pages", fmt.Sprint(pages))
	if err != nil {
		return "", err
	}
	_, err = asked.Measure(cmd)
	return dir, err
}

// parquet writes the tables of a store.
func (b *bench) parquet() error {
	n := b.Size(1_000_000)
	store, err := b.store(n)
	if err != nil {
		return err
	}
	out := filepath.Join(b.tmp, "tables")
	u, err := asked.Measure(b.one("export", "parquet", "--dir", store, "-o", out))
	if err != nil {
		return err
	}
	b.Tell(fmt.Sprintf("export parquet of %d pages and %d links: CPU", n, n*linksOf), u.CPU.Seconds(), "s", 60)
	b.Tell("  memory", float64(u.Memory)/1e6, "MB", 300)
	size, err := bytesIn(out)
	if err != nil {
		return err
	}
	b.Tell("  of files for each page", float64(size)/float64(n), "B", 0)
	return os.RemoveAll(store)
}
