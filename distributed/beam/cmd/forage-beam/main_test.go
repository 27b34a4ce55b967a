package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"forage/cover"
	"forage/cover/covertest"
	"forage/cover/sets"
	"forage/distributed/beam/files"
	"forage/distributed/beam/files/filestest"
	"forage/distributed/beam/pipeline"
	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/bv"
	"forage/seed"
)

// TestMain is the program itself where a test has started it as one.
func TestMain(m *testing.M) {
	if os.Getenv("FORAGE_BEAM_MAIN") != "" {
		main()
	}
	flag.Parse()
	pipeline.Init(nil)
	code := m.Run()
	filestest.Stop()
	os.Exit(code)
}

// command is the program in a process of its own.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "FORAGE_BEAM_MAIN=1")
	return cmd
}

// do runs a command in this process.
func do(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), &out, &errs, args)
	return code, out.String(), errs.String()
}

// must runs a command that does what it is asked.
func must(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := do(t, args...)
	if code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, stderr)
	}
	return stdout
}

// setFile writes a family as a set system and returns its path and the list of its cover.
func setFile(t *testing.T, dir string, l *cover.Lists, p float64) (path, list string) {
	t.Helper()
	var b bytes.Buffer
	if err := sets.Write(&b, l); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "family.sets")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path, oneMachine(t, l, p)
}

// oneMachine returns the list that the engine for one machine makes.
func oneMachine(t *testing.T, f cover.Family, p float64) string {
	t.Helper()
	r, err := cover.SPGreedy(t.Context(), f, cover.Options{P: p})
	if err != nil {
		t.Fatal(err)
	}
	var list bytes.Buffer
	if err := sets.WriteList(&list, sets.Each(r.Sets)); err != nil {
		t.Fatal(err)
	}
	return list.String()
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestInputs: the same cover from every form of input.
func TestInputs(t *testing.T) {
	g := graph.FromLists([][]graph.Node{{0, 1}, {1, 2, 3}, {}, {0}, {4, 0}})
	want := oneMachine(t, cover.OutLinks(g), 2)
	dir := t.TempDir()
	if _, err := bv.Write(filepath.Join(dir, "g"), g, bv.Config{}); err != nil {
		t.Fatal(err)
	}
	write := func(name string, f arcs.Format) string {
		path := filepath.Join(dir, name)
		if err := arcs.WriteFile(path, g, f); err != nil {
			t.Fatal(err)
		}
		return path
	}
	edges := write("edges.txt.gz", arcs.List)
	text := strings.SplitAfter(content(t, write("edges.txt", arcs.List)), "\n")
	half := []string{filepath.Join(dir, "e0.txt"), filepath.Join(dir, "e1.txt")}
	for i, part := range [][]string{text[:len(text)/2], text[len(text)/2:]} {
		if err := os.WriteFile(half[i], []byte(strings.Join(part, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, in := range [][]string{
		{filepath.Join(dir, "g.graph")},
		{edges, "--format", "arcs"},
		{half[0], half[1], "--format", "arcs"},
		{write("adjacency.txt", arcs.Adjacency), "--format", "sets"},
		{write("a.mtx", arcs.MatrixMarket)},
	} {
		out := filepath.Join(dir, fmt.Sprint("shards", i))
		must(t, append([]string{"shard", "-o", out, "--shards", "2"}, in...)...)
		list := filepath.Join(dir, "list")
		must(t, "cover", out, "--p", "2", "-o", list, "--verify")
		if got := content(t, list); got != want {
			t.Errorf("%v: cover %q, want %q", in, got, want)
		}
	}
}

// TestJSON: the record has what it promises, and the numbers agree.
func TestJSON(t *testing.T) {
	dir := t.TempDir()
	l := covertest.Large(rand.New(rand.NewPCG(1, 2)), 2000, 1500)
	path, want := setFile(t, dir, l, 2)
	shards := filepath.Join(dir, "shards")
	var made sharded
	if err := json.Unmarshal([]byte(must(t, "shard", path, "-o", shards, "--shards", "3", "--p", "2", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	if made.Sets != l.NumSets() || made.Size != l.Size() || made.Shards != 3 || made.Bytes == 0 {
		t.Errorf("%+v", made)
	}
	for _, form := range []string{"reducer", "local"} {
		list := filepath.Join(dir, form)
		var r covered
		if err := json.Unmarshal([]byte(must(t, "cover", shards, "--p", "2", "--form", form, "--verify", "--json", "-o", list)), &r); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(content(t, list), "\n"); uint64(lines) != r.Cover || !r.Verified || r.Covered == 0 || r.BytesRead == 0 || string(r.Form) != form || (r.Local > 0) != (form == "local") {
			t.Errorf("%d lines, %+v", lines, r)
		}
		if form == "reducer" && content(t, list) != want {
			t.Error("another cover than on one machine")
		}
	}
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	l := cover.NewLists([][]graph.Node{{1, 2}, {3}})
	path, _ := setFile(t, dir, l, 2)
	shards := filepath.Join(dir, "shards")
	must(t, "shard", path, "-o", shards)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cut := filepath.Join(dir, "cut")
	must(t, "shard", path, "-o", cut)
	files, err := filepath.Glob(filepath.Join(cut, "*", "*.sets"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	if err := os.Truncate(files[0], 5); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	must(t, "shard", write("empty.txt", "\n\n"), "-o", empty)
	for _, tt := range []struct{ args, want string }{
		{"shard " + path, "-o: want the folder"},
		{"shard " + path + " -o " + shards, "already exists"},
		{"shard " + path + " -o x --shards 0", "want at least 1"},
		{"shard " + path + " -o x --p 1", "above 1"},
		{"shard " + path + " -o x --format no", "want auto, sets, arcs"},
		{"shard " + dir + "/none -o x", "no such file"},
		{"shard " + write("bad.txt", "1 2\n3 x\n") + " -o " + dir + "/x", "bad.txt:2: want element numbers"},
		{"shard " + write("bad.arcs", "1 2\n3\n") + " -o " + dir + "/x --format arcs", "bad.arcs:2"},
		{"shard " + write("cut.sets", content(t, path)[:40]) + " -o " + dir + "/x", "cut.sets"},
		{"shard " + write("a.scp", "2 2\n3 4\n2\n1 2\n1\n2\n") + " -o " + dir + "/x", "--unit-weights"},
		{"shard " + write("none.txt", "") + " -o " + dir + "/x", "nothing to cover"},
		{"shard", "requires at least 1 arg"},
		{"cover", "accepts 1 arg"},
		{"cover " + dir + "/none", "no such file"},
		{"cover " + dir, "no folder of shards"},
		{"cover " + cut, files[0] + ": the file was cut short: 5 bytes"},
		{"cover " + empty, "every set is empty"},
		{"cover " + shards + " --p 0.5", "--p: want a number above 1"},
		{"cover " + shards + " --form x", "reducer or local"},
		{"cover " + shards + " --runner x", "prism or portable"},
		{"cover " + shards + " --endpoint x:1", "--endpoint is for"},
		{"cover " + shards + " --runner portable", "want HOST:PORT"},
		{"cover " + shards + " --runner portable --endpoint 127.0.0.1:1", "no job server answers at 127.0.0.1:1"},
		{"cover " + shards + " --runner portable --endpoint 127.0.0.1:1 --environment x", "LOOPBACK or EXTERNAL"},
		{"cover " + shards + " --runner portable --endpoint 127.0.0.1:1 --pool x", "--pool: EXTERNAL wants"},
		{"cover --nonsense", "unknown flag"},
		{"seeds " + shards, "want one of --l0 and --l0-top-indegree"},
		{"seeds " + shards + " --l0-top-indegree 1 --depth 0", "--depth: want 1 to"},
		{"seeds " + shards + " --l0-top-indegree 1", "2 sets of 4 elements: seeds are chosen in a graph"},
		{"seeds " + shards + " --l0 " + write("pages.txt", "0\n\nx\n"), "pages.txt:3: want a page number, got \"x\""},
		{"seeds " + shards + " --l0 " + dir + "/none", "no such file"},
		{"cover ftp://h/x", "want a folder of this machine, or s3://"},
		{"shard " + path + " -o gs://", "-o: gs://: want gs://BUCKET/FOLDER"},
	} {
		code, stdout, stderr := do(t, strings.Fields(tt.args)...)
		if code != 2 || !strings.Contains(stderr, tt.want) || stdout != "" || !strings.HasPrefix(stderr, "forage-beam: ") {
			t.Errorf("%s: exit code %d, want 2 and %q: %s%s", tt.args, code, tt.want, stdout, stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "x*")); len(left) > 0 {
			t.Errorf("%s left %v", tt.args, left)
		}
	}
}

// TestSeeds: the record and the list, from a file and from the pages of most links.
func TestSeeds(t *testing.T) {
	dir := t.TempDir()
	g := graph.FromLists([][]graph.Node{{1, 2}, {3}, {3, 4}, {0}, {5}, {0}, {0}})
	path := filepath.Join(dir, "g.txt")
	if err := arcs.WriteFile(path, g, arcs.List); err != nil {
		t.Fatal(err)
	}
	shards, list, l0 := filepath.Join(dir, "shards"), filepath.Join(dir, "list"), filepath.Join(dir, "l0")
	must(t, "shard", path, "--format", "arcs", "-o", shards, "--shards", "2", "--p", "2")
	if err := os.WriteFile(l0, []byte("6\n5\n3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, from := range [][]string{{"--l0", l0}, {"--l0-top-indegree", "1"}} {
		must(t, append([]string{"seeds", shards, "--depth", "3", "--p", "2", "-o", list, "--state", filepath.Join(dir, from[0])}, from...)...)
		var want []string
		nodes := []graph.Node{3, 5, 6}
		if from[0] != "--l0" {
			nodes = []graph.Node{0}
		}
		r, err := seed.Layered(t.Context(), g, nodes, &seed.Task{Depth: 3}, seed.LayeredConfig{Algorithm: cover.NameSPGreedy, Options: cover.Options{P: 2}})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range r.Seeds {
			want = append(want, fmt.Sprintln(v))
		}
		if got := content(t, list); got != strings.Join(want, "") || got == "" {
			t.Errorf("%v: %q, want %q", from, got, want)
		}
	}
	var res seeded
	if err := json.Unmarshal([]byte(must(t, "seeds", shards, "--depth", "3", "--p", "2", "--l0", l0, "--json")), &res); err != nil {
		t.Fatal(err)
	}
	if res.Nodes != 7 || res.Arcs != g.NumArcs() || len(res.Layers) != 4 || res.Layers[0] != 3 || res.Seeds == 0 || res.Unreached != 0 || len(res.Covers) == 0 || res.Counts.Read == 0 {
		t.Errorf("%+v", res)
	}
}

// TestInterrupt: who interrupts it is told that nothing is lost, and the same command goes on.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	path, want := setFile(t, dir, covertest.Large(rand.New(rand.NewPCG(8, 9)), 500, 400), 2)
	shards, list := filepath.Join(dir, "shards"), filepath.Join(dir, "list")
	must(t, "shard", path, "-o", shards, "--p", "2")
	ctx, cancel := context.WithCancel(t.Context())
	var stderr interruptAt
	stderr.line, stderr.interrupt = "level 2 done", cancel
	args := []string{"cover", shards, "--p", "2", "-o", list}
	if code := run(ctx, io.Discard, &stderr, args); code != 130 || !strings.Contains(stderr.String(), "interrupted; the same command goes on") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if _, err := os.Stat(list); err == nil {
		t.Error("it wrote a cover")
	}
	must(t, args...)
	if content(t, list) != want {
		t.Error("another cover than on one machine")
	}
}

// interruptAt interrupts when a line is written that has a text.
type interruptAt struct {
	bytes.Buffer
	line      string
	interrupt func()
}

func (w *interruptAt) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(w.line)) {
		w.interrupt()
	}
	return w.Buffer.Write(b)
}

// TestKill kills the driver, and with Prism all workers, again and again: between levels, when a
// level has begun, and when its mappers have written; with all files on a disk, and in each kind of
// store. The cover in the end is that of a run that nobody disturbed, and no complete level was run twice.
func TestKill(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // who is killed leaves temporary files
	path, want := setFile(t, t.TempDir(), covertest.Large(rand.New(rand.NewPCG(3, 4)), 4000, 3000), 2)
	for _, store := range filestest.Stores() {
		t.Run(store.Name, func(t *testing.T) {
			shards := store.Folder(t)
			must(t, "shard", path, "-o", shards, "--shards", "3", "--p", "2")
			killAll(t, shards, "reducer", want)
			if store.Name == "local" {
				killAll(t, shards, "local", "")
			}
		})
	}
}

// killAll covers with kills; want is the list, where it is known.
func killAll(t *testing.T, shards, form, want string) {
	dir := t.TempDir()
	undisturbed, out := filepath.Join(dir, "undisturbed"), filepath.Join(dir, "list")
	must(t, "cover", shards, "--p", "2", "--form", form, "-o", undisturbed, "--state", shards+".undisturbed-"+form, "--verify")
	if want != "" && content(t, undisturbed) != want {
		t.Fatalf("form %s: another cover than on one machine", form)
	}
	state := files.Join(shards, "cover-"+form+"-2")
	done, kills := map[string]bool{}, 0
	for round := 0; ; round++ {
		cmd := command("cover", shards, "--p", "2", "--form", form, "-o", out)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		killed := false
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			line := lines.Text()
			level := strings.Fields(line + " - - -")[2]
			isDone := strings.Contains(line, " done: ")
			if isDone {
				if done[level] {
					t.Errorf("level %s was run again after it was complete", level)
				}
				done[level] = true
			}
			if killed || isDone != (round%3 == 0) {
				continue
			}
			if round%3 == 2 {
				awaitFile(t, state, "-mapped-")
			}
			killed = true
			kills++
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		err = cmd.Wait()
		if err == nil {
			break
		}
		if !killed {
			t.Fatal(err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Error("a run that was killed wrote a cover")
		}
	}
	if content(t, out) != content(t, undisturbed) {
		t.Errorf("form %s: another cover after %d kills", form, kills)
	}
	if kills < 6 {
		t.Errorf("only %d kills", kills)
	}
}

// awaitFile returns when a folder holds a file whose name has a part.
func awaitFile(t *testing.T, dir, part string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); runtime.Gosched() {
		there, err := files.List(t.Context(), dir, "")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if slices.ContainsFunc(there, func(f files.Info) bool { return strings.Contains(f.Name, part) }) {
			return
		}
	}
	t.Errorf("%s: no file %s", dir, part)
}

// startPool starts a pool in a process of its own, which ends with the test, and returns when it
// listens.
func startPool(t *testing.T, address string) (pool *exec.Cmd) {
	t.Helper()
	pool = command("pool", "--addr", address)
	stdout, err := pool.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := pool.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pool.Process.Signal(os.Interrupt)
		pool.Wait()
	})
	if line := bufio.NewScanner(stdout); !line.Scan() || line.Text() != address {
		t.Fatalf("the pool says %q, want %q", line.Text(), address)
	}
	return pool
}

// TestPool: workers in processes of their own, which a job server has a pool start, find the same
// cover.
func TestPool(t *testing.T) {
	port := filestest.FreePort(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := prism.CreateJobServer(ctx, prism.Options{Port: port}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, want := setFile(t, dir, covertest.Large(rand.New(rand.NewPCG(5, 6)), 2000, 1500), 2)
	shards, list := filepath.Join(dir, "shards"), filepath.Join(dir, "list")
	must(t, "shard", path, "-o", shards, "--shards", "3", "--p", "2")
	address := fmt.Sprintf("127.0.0.1:%d", filestest.FreePort(t))
	startPool(t, address)
	must(t, "cover", shards, "--p", "2", "-o", list, "--runner", "portable", "--endpoint", fmt.Sprintf("localhost:%d", port), "--environment", "EXTERNAL", "--pool", address)
	if content(t, list) != want {
		t.Error("another cover than on one machine")
	}
}
