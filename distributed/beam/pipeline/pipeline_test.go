package pipeline_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"forage/cover"
	"forage/cover/covertest"
	"forage/distributed/beam/files/filestest"
	"forage/distributed/beam/level"
	"forage/distributed/beam/pipeline"
	"forage/distributed/beam/shard"
	"forage/graph/bv"
	"forage/internal/disktest"
	"forage/internal/race"
	"forage/internal/shared"
)

func TestMain(m *testing.M) {
	flag.Parse()
	pipeline.Init(nil)
	code := m.Run()
	filestest.Stop()
	os.Exit(code)
}

// options writes the shards of a family and returns how they are covered on Prism.
func options(t *testing.T, f cover.Family, shards int, p float64, form level.Form) pipeline.Options {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir()) // Beam's SDK leaves a file a pipeline
	o := pipeline.Options{Shards: filepath.Join(dir, "shards"), Dir: filepath.Join(dir, "state"), P: p, Form: form, Runner: pipeline.Prism{}}
	if _, err := shard.Write(t.Context(), o.Shards, f, shards, p); err != nil {
		t.Fatal(err)
	}
	return o
}

// picks returns the cover that a run found.
func picks(t *testing.T, o *pipeline.Options, r *pipeline.Result) *cover.Result {
	t.Helper()
	c, err := r.State.Result(t.Context(), o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// same reports whether a run found the cover of the engine for one machine.
func same(t *testing.T, o *pipeline.Options, r *pipeline.Result, f cover.Family) {
	t.Helper()
	got := picks(t, o, r)
	want, err := cover.SPGreedy(t.Context(), f, cover.Options{P: o.P})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Sets, want.Sets) || !slices.Equal(got.Gains, want.Gains) {
		t.Errorf("another cover: %d sets, on one machine %d", len(got.Sets), len(want.Sets))
	}
}

func family(seed uint64) *cover.Lists {
	return covertest.Large(rand.New(rand.NewPCG(seed, 1)), 3000, 2000)
}

func TestSameCover(t *testing.T) {
	for i, p := range []float64{1.2, 2, 3} {
		l := family(uint64(i))
		o := options(t, l, 1+2*i, p, level.Reducer)
		r, err := pipeline.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		same(t, &o, r, l)
	}
	l := family(7)
	o := options(t, l, 4, 2, level.Local)
	r, err := pipeline.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := cover.Verify(l, picks(t, &o, r), cover.Options{}); err != nil || r.State.Counts.Local == 0 {
		t.Errorf("mappers took %d sets: %v", r.State.Counts.Local, err)
	}
}

// TestWebGraph: on a real web graph the cover is that of one machine, and mappers and reducer read at most
// 1.6 times the graph.
func TestWebGraph(t *testing.T) {
	race.Skip(t)
	g, err := bv.Open(shared.Path(t, "data", "webgraphs", "cnr-2000.graph"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	l, err := cover.Load(cover.OutLinks(g), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []float64{2, 1.2} {
		o := options(t, l, 4, p, level.Reducer)
		r, err := pipeline.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		same(t, &o, r, l)
		if reads := float64(r.State.Counts.Reads) / float64(l.Size()); reads > 1.6 {
			t.Errorf("p = %v: %.2f times the graph was read", p, reads)
		}
	}
	o := options(t, l, 4, 1.2, level.Local)
	r, err := pipeline.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := cover.Verify(l, picks(t, &o, r), cover.Options{}); err != nil {
		t.Error(err)
	}
	if local, all := r.State.Counts.Local, r.State.Taken; local < all*9/10 {
		t.Errorf("mappers took %d of %d sets: neighbours link to each other, want nine of ten", local, all)
	}
	if reads := float64(r.State.Counts.Reads) / float64(l.Size()); reads > 1.6 {
		t.Errorf("%.2f times the graph was read", reads)
	}
}

// TestResume: a run that is stopped after any level goes on there, and a finished one is not run
// again.
func TestResume(t *testing.T) {
	l := family(3)
	o := options(t, l, 3, 2, level.Reducer)
	for stop := 1; ; stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		o.Progress = func(p pipeline.Progress) {
			if p.Level == stop && p.Done {
				cancel()
			}
		}
		r, err := pipeline.Run(ctx, o)
		cancel()
		if err == nil {
			if r.Resumed < stop-1 {
				t.Errorf("after %d stops it went on at level %d", stop-1, r.Resumed)
			}
			same(t, &o, r, l)
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	o.Progress = func(p pipeline.Progress) { t.Errorf("level %d of a finished run", p.Level) }
	if _, err := pipeline.Run(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// fails runs and returns the message of the error that it must end with.
func fails(t *testing.T, o pipeline.Options, input bool) string {
	t.Helper()
	_, err := pipeline.Run(t.Context(), o)
	if err == nil {
		t.Fatal("no error")
	}
	if e := (*pipeline.InputError)(nil); errors.As(err, &e) != input {
		t.Errorf("an error of input: %v, want %v: %v", !input, input, err)
	}
	return err.Error()
}

// TestFaults: what goes wrong in the middle is told in a line, and the run goes on when it is
// mended.
func TestFaults(t *testing.T) {
	l := family(5)
	o := options(t, l, 3, 2, level.Reducer)
	m, err := shard.Open(t.Context(), o.Shards)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(o.Shards, m.Shards[1].Files[len(m.Shards[1].Files)-1].Name)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	once := func(do func() error) func(pipeline.Progress) { // when a level begins
		return func(p pipeline.Progress) {
			if do != nil && !p.Done {
				if err := do(); err != nil {
					t.Error(err)
				}
				do = nil
			}
		}
	}
	o.Progress = once(func() error { return os.WriteFile(file, whole[:len(whole)/2], 0o644) })
	if text := fails(t, o, true); !strings.Contains(text, file+": the file was cut short") {
		t.Error(text)
	}
	if text := fails(t, o, true); !strings.Contains(text, file+": the file was cut short") { // at the start
		t.Error(text)
	}
	if err := os.WriteFile(file, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	moved := o.Shards + ".moved"
	o.Progress = once(func() error { return os.Rename(o.Shards, moved) })
	if text := fails(t, o, false); !strings.Contains(text, "does not see the shared folder") || !strings.Contains(text, o.Shards) || strings.Contains(text, "DoFn") {
		t.Error(text)
	}
	if err := os.Rename(moved, o.Shards); err != nil {
		t.Fatal(err)
	}
	o.Progress = nil
	r, err := pipeline.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	same(t, &o, r, l)
}

// TestFullDisk: where the disk of the state is full, wherever that happens, it is said in a line, nothing
// half-written counts, and the run goes on when there is room.
func TestFullDisk(t *testing.T) {
	l := family(6)
	o := options(t, l, 3, 2, level.Reducer)
	disk := disktest.New(t, 8<<20)
	o.Dir = filepath.Join(disk.Dir, "state")
	for _, free := range []int64{0, 4 << 10, 12 << 10, 24 << 10, 48 << 10} {
		disk.Fill(t, free)
		_, err := pipeline.Run(t.Context(), o)
		disk.Empty(t)
		if err == nil {
			break // it was enough for what is left to do
		}
		if text := err.Error(); !strings.Contains(text, "no space left on device") || strings.Contains(text, "\n") || strings.Contains(text, "DoFn") {
			t.Errorf("%d bytes free: %s", free, text)
		}
	}
	r, err := pipeline.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Resumed == 0 {
		t.Error("no level was complete before the disk was full")
	}
	same(t, &o, r, l)
}

// TestOtherState: a state of another cover is not gone on with.
func TestOtherState(t *testing.T) {
	o := options(t, family(1), 2, 2, level.Reducer)
	if _, err := pipeline.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	other := o
	other.P = 3
	if text := fails(t, other, true); !strings.Contains(text, "p = 2 in form reducer") {
		t.Error(text)
	}
	other = options(t, family(2), 2, 2, level.Reducer)
	other.Dir = o.Dir
	if text := fails(t, other, true); !strings.Contains(text, "other shards") {
		t.Error(text)
	}
}

// TestTwoDrivers: a second driver on the same state is turned away.
func TestTwoDrivers(t *testing.T) {
	o := options(t, family(1), 2, 2, level.Reducer)
	second := o
	once := true
	o.Progress = func(pipeline.Progress) {
		if once {
			once = false
			if text := fails(t, second, true); !strings.Contains(text, "another run works on it") {
				t.Error(text)
			}
		}
	}
	if _, err := pipeline.Run(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// TestTwoDriversOnStore: no lock keeps a second driver away from a store. The one that saves a level
// second is told, and what the other has made stays whole.
func TestTwoDriversOnStore(t *testing.T) {
	for _, s := range filestest.Stores() {
		if s.Name == "local" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			l := family(1)
			o := options(t, l, 2, 2, level.Reducer)
			o.Dir = s.Folder(t)
			second := o
			o.Progress = func(p pipeline.Progress) {
				if p.Level == 3 && !p.Done {
					r, err := pipeline.Run(t.Context(), second)
					if err != nil {
						t.Fatal(err)
					}
					same(t, &second, r, l)
				}
			}
			if text := fails(t, o, true); !strings.Contains(text, "another run works on it") || strings.Contains(text, "\n") {
				t.Error(text)
			}
			o.Progress = nil
			r, err := pipeline.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			same(t, &o, r, l)
		})
	}
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestPortable: a job server of its own runs the same cover.
func TestPortable(t *testing.T) {
	address := freeAddress(t)
	port := 0
	fmt.Sscanf(address[strings.LastIndex(address, ":")+1:], "%d", &port)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := prism.CreateJobServer(ctx, prism.Options{Port: port}); err != nil {
		t.Fatal(err)
	}
	l := family(4)
	o := options(t, l, 3, 2, level.Reducer)
	o.Runner = &pipeline.Portable{Endpoint: fmt.Sprintf("localhost:%d", port), Environment: "LOOPBACK"}
	r, err := pipeline.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	same(t, &o, r, l)
}

// TestEndpoint: where no job server answers, that is said within seconds.
func TestEndpoint(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for _, tt := range []struct{ name, endpoint, want string }{
		{"nothing", freeAddress(t), "no job server answers"},
		{"silent", silent.Addr().String(), "is no job server"},
		{"web", strings.TrimPrefix(web.URL, "http://"), "is no job server"},
		{"no port", "localhost", "no job server answers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			r := &pipeline.Portable{Endpoint: tt.endpoint, Environment: "LOOPBACK"}
			err := r.Check(context.Background())
			if e := (*pipeline.InputError)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) {
				t.Error(err)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
