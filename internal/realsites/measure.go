package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	limit   = 6000             // requests of a first visit
	runaway = 3 * limit        // requests after which a crawler that does not know the limit is ended
	longest = 20 * time.Minute // of one run of a crawler

	// At once, for forage: what Scrapy does by default. 64 would be too much for the time limit of
	// a request where software that needs a second for a page is served by two cores.
	parallel = "8"
)

// budgets are those of the revisits, each of a store of its own.
var budgets = []int{3, 10}

// A measurement runs crawlers over sites and gathers what they did.
type measurement struct {
	ctx        context.Context
	forage     string // program
	onlyForage bool
	dir        string
	visits     []visit
	revisits   []revisit
}

// A visit is a first visit of a site by one crawler.
type visit struct {
	site, crawler string
	requests      int
	how           string // how it ended: by itself, at the limit, or in an error
	content       int    // articles that it found
	articles      int    // that there were
}

// A revisit sums the weekly revisits of a site at one budget.
type revisit struct {
	site                           string
	budget                         int
	published, deleted, renamed    int // that there were
	told, gone, moved, movedAsGone int // of these told in time
	new                            int // all pages that were told new
	requests                       []int
	problem                        string
}

func (m *measurement) all(chosen []*software, host func(*software) *host) error {
	work, err := os.MkdirTemp(m.dir, "measure-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if m.forage == "" {
		m.forage = filepath.Join(work, "forage")
		if out, err := exec.Command("go", "build", "-o", m.forage, "./cmd/forage").CombinedOutput(); err != nil {
			return fmt.Errorf("go build ./cmd/forage: %w\n%s", err, tail(out))
		}
	}
	var failed []error
	for _, s := range chosen {
		if err := m.site(host(s), filepath.Join(work, s.name)); err != nil {
			failed = append(failed, err)
			fmt.Fprintln(os.Stderr, "realsites:", err)
		}
		if m.ctx.Err() != nil {
			return m.ctx.Err()
		}
	}
	if err := m.print(os.Stdout); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// site measures one site, from its first visit to the last revisit.
func (m *measurement) site(h *host, work string) (err error) {
	if err := os.MkdirAll(work, 0o777); err != nil {
		return err
	}
	if h.addr, err = freeAddr(); err != nil {
		return err
	}
	m.log("%s: setting up", h.name)
	if err := h.open(); err != nil {
		return err
	}
	defer h.close()
	first := filepath.Join(work, "first")
	if err := m.firstVisits(h, first, work); err != nil {
		return err
	}
	all := make([]revisit, len(budgets))
	seen := make([]*account, len(budgets))
	for i, k := range budgets {
		all[i] = revisit{site: h.name, budget: k}
		seen[i] = newAccount(fmt.Sprint(first, "-", k))
		if err := os.CopyFS(seen[i].store, os.DirFS(first)); err != nil {
			return err
		}
	}
	for week := 1; week <= 2*weeks; week++ {
		if err := h.advance(); err != nil {
			return err
		}
		for i := range budgets {
			if err := m.revisit(h, &all[i], seen[i], week); err != nil {
				return err
			}
		}
	}
	s, err := h.load()
	if err != nil {
		return err
	}
	for i := range all {
		seen[i].judge(&all[i], s.Log)
	}
	m.revisits = append(m.revisits, all...)
	return nil
}

func (m *measurement) log(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// firstVisits lets each crawler visit the site as it is in week 0; forage's store is kept.
func (m *measurement) firstVisits(h *host, store, work string) error {
	s, err := h.load()
	if err != nil {
		return err
	}
	seed := "http://" + h.addr + h.home
	articles := slices.Collect(maps.Values(s.Content))
	visited := func(crawler string, served []request, how string, found map[string]bool) {
		v := visit{site: h.name, crawler: crawler, requests: len(served), how: how, articles: len(articles)}
		for _, p := range articles {
			if found[p] {
				v.content++
			}
		}
		m.visits = append(m.visits, v)
		m.log("%s: %s: %d requests, ended: %s, %d of %d", v.site, crawler, v.requests, v.how, v.content, v.articles)
	}
	args := []string{"crawl", "--dir", store, "--allow-private", "127.0.0.0/8", "--delay", "0", "--parallel", parallel, "--max-total", fmt.Sprint(limit), "--at", atWeek(0), "--json", seed}
	var result bytes.Buffer
	crawl := exec.CommandContext(m.ctx, m.forage, args...)
	crawl.Stdout = &result
	served, how, err := m.watch(h, crawl, runaway)
	if err != nil {
		return err
	}
	var said struct {
		Shells    []string
		StoppedBy string `json:"stopped_by"`
	}
	if err := json.Unmarshal(result.Bytes(), &said); err != nil && how == "yes" {
		return fmt.Errorf("forage crawl --json: %w", err)
	}
	if said.StoppedBy != "" {
		how = "no: " + said.StoppedBy
	} else if len(said.Shells) > 0 {
		how += ": a shell"
	}
	var status struct{ Queued int }
	if err := m.ask(&status, "status", "--dir", store, "--json"); err != nil {
		return err
	}
	if how == "yes" && status.Queued > 0 {
		how = fmt.Sprintf("no: %d left", status.Queued)
	}
	pages, err := m.pages(store)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, p := range pages {
		found[plainPath(p.URL)] = true
	}
	visited("forage", served, how, found)
	if m.onlyForage {
		return nil
	}
	// The others keep no list of pages: what they were answered counts.
	answered := func(served []request) map[string]bool {
		found := map[string]bool{}
		for _, r := range served {
			if r.method == "GET" && r.status == "200" {
				found[r.path] = true
			}
		}
		return found
	}
	wget := exec.CommandContext(m.ctx, h.tools.wget, "--mirror", "--quiet", "--directory-prefix", filepath.Join(work, "wget"), seed)
	if served, how, err = m.watch(h, wget, limit); err != nil {
		return err
	}
	if how == "exit 4" || how == "exit 8" { // one of its requests failed, or was answered by an error
		how = "yes"
	}
	visited("wget --mirror", served, how, answered(served))
	spider, err := h.unpack("spider.py")
	if err != nil {
		return err
	}
	scrapy := exec.CommandContext(m.ctx, filepath.Join(h.tools.bin, "scrapy"), "runspider", spider, "-a", "seed="+seed, "-a", fmt.Sprint("limit=", limit))
	if served, how, err = m.watch(h, scrapy, runaway); err != nil {
		return err
	}
	if len(served) >= limit { // it ends in good order at its limit
		how = "no"
	}
	visited("Scrapy", served, how, answered(served))
	return nil
}

// watch runs a crawler to its end, or until the site has served it so many requests, and tells
// what it was served and how it ended: "yes", by itself.
func (m *measurement) watch(h *host, cmd *exec.Cmd, most int) (served []request, how string, err error) {
	_, mark, err := h.requests(0)
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	cmd.Stderr = &out
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	deadline := time.After(longest)
	how = "yes"
	for ticker := time.Tick(200 * time.Millisecond); ; {
		select {
		case err := <-ended:
			if m.ctx.Err() != nil {
				return nil, "", m.ctx.Err()
			}
			if e := (*exec.ExitError)(nil); errors.As(err, &e) && how == "yes" {
				how = fmt.Sprint("exit ", e.ExitCode())
				m.log("%s: %s\n%s", strings.Join(cmd.Args, " "), how, tail(out.Bytes()))
			} else if err != nil && how == "yes" {
				return nil, "", err
			}
			served, _, err = h.requests(mark)
			return served, how, err
		case <-deadline:
			how = "no: too long"
			cmd.Process.Kill()
		case <-ticker:
			if served, _, err := h.requests(mark); err == nil && len(served) >= most && how == "yes" {
				how = "no"
				cmd.Process.Kill()
			}
		}
	}
}

// output is what forage prints on stdout.
func (m *measurement) output(args ...string) ([]byte, error) {
	cmd := exec.CommandContext(m.ctx, m.forage, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("forage %s: %w\n%s", strings.Join(args, " "), err, tail(stderr.Bytes()))
	}
	return out, nil
}

// ask decodes the one JSON object that forage prints.
func (m *measurement) ask(v any, args ...string) error {
	out, err := m.output(args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, v); err != nil {
		return fmt.Errorf("forage %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// A page is a line of forage pages.
type page struct {
	URL       string
	Cycle     int
	MovedFrom string `json:"moved_from"`
}

// pages asks a store for pages.
func (m *measurement) pages(store string, args ...string) ([]page, error) {
	out, err := m.output(append([]string{"pages", "--dir", store, "--json"}, args...)...)
	if err != nil {
		return nil, err
	}
	var all []page
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var p page
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("forage pages %s: %w", strings.Join(args, " "), err)
		}
		p.URL, p.MovedFrom = plainPath(p.URL), plainPath(p.MovedFrom)
		all = append(all, p)
	}
	return all, nil
}

// print writes the two tables.
func (m *measurement) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "First visits, ended at %d requests\n\n", limit)
	fmt.Fprintln(t, "site\tcrawler\trequests\tended by itself\tarticles found\trequests per article\t")
	for _, v := range m.visits {
		per := "-"
		if v.content > 0 {
			per = fmt.Sprintf("%.1f", float64(v.requests)/float64(v.content))
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%d of %d\t%s\t\n", v.site, v.crawler, v.requests, v.how, v.content, v.articles, per)
	}
	fmt.Fprintf(t, "\nRevisits by forage, once a week, %d weeks with changes and %d without; what was told within two weeks\n\n", weeks, weeks)
	fmt.Fprintln(t, "site\tbudget\tpublished told new\ttold new in all\tdeleted told gone\trenamed told moved\tor gone\trequests of each revisit\t")
	for _, r := range m.revisits {
		fmt.Fprintf(t, "%s\t%d\t%d of %d\t%d\t%d of %d\t%d of %d\t%d\t%s\t%s\n", r.site, r.budget, r.told, r.published, r.new,
			r.gone, r.deleted, r.moved, r.renamed, r.movedAsGone, strings.Trim(fmt.Sprint(r.requests), "[]"), r.problem)
	}
	return t.Flush()
}
