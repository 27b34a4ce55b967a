package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// A cloud is a server on loopback that speaks the protocol of a service, with a bucket "bucket", and that may do wrong.
type cloud struct {
	scheme  string
	found   string                // variable of the environment that says where it is
	refuse  string                // answer with status 403 that says: not for you
	heedNot func(r *http.Request) // has it not see the condition of a request
	mu      sync.Mutex
	wrong   func(w http.ResponseWriter, r *http.Request, right http.Handler) // nil: nothing is wrong
	right   http.Handler
	asked   map[string]int // requests by method
}

// start has it listen until the test ends.
func (c *cloud) start(t *testing.T) *cloud {
	c.asked = map[string]int{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Setenv(c.found, server.URL)
	return c
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	wrong := c.wrong
	c.asked[r.Method]++
	c.mu.Unlock()
	if wrong != nil {
		wrong(w, r, c.right)
		return
	}
	c.right.ServeHTTP(w, r)
}

// goWrong has the server do that from now on; nil: nothing.
func (c *cloud) goWrong(wrong func(w http.ResponseWriter, r *http.Request, right http.Handler)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong, c.asked = wrong, map[string]int{}
}

func (c *cloud) bucket(t *testing.T) Bucket {
	t.Helper()
	b, err := Open(t.Context(), c.scheme+"://bucket/a prefix/"+strings.ReplaceAll(t.Name(), "/", "-"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func startS3(t *testing.T) *cloud {
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_REGION": "", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	c := &cloud{scheme: "s3", found: "AWS_ENDPOINT_URL_S3", right: gofakes3.New(backend).Server()}
	c.refuse = `<Error><Code>AccessDenied</Code><Message>not for you</Message></Error>`
	c.heedNot = func(r *http.Request) { r.Header.Del("If-None-Match") }
	return c.start(t)
}

// eachCloud runs a test with a server of each kind.
func eachCloud(t *testing.T, test func(t *testing.T, c *cloud)) {
	t.Run("s3", func(t *testing.T) { test(t, startS3(t)) })
	t.Run("gs", func(t *testing.T) { test(t, startGCS(t)) })
}

// eachBucket runs a test on a bucket of each kind, and on one of a server that others have written.
func eachBucket(t *testing.T, test func(t *testing.T, b Bucket)) {
	t.Run("folder", func(t *testing.T) { test(t, Folder(scratch(t))) })
	eachCloud(t, func(t *testing.T, c *cloud) { test(t, c.bucket(t)) })
	t.Run("fake-gcs-server", func(t *testing.T) { test(t, startFakeGCS(t).bucket(t)) })
}

func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// TestBucket holds each kind of bucket to what Bucket says.
func TestBucket(t *testing.T) {
	eachBucket(t, func(t *testing.T, b Bucket) {
		ctx := t.Context()
		if got := listed(ctx, t, b, ""); got != nil {
			t.Errorf("a new one has %v", got)
		}
		for _, size := range []int{0, 1, 1 << 16, partSize, partSize + 1, 2*partSize + 7, gcsPart, gcsPart + 1, 2*gcsPart + 7} {
			want := noise(size)
			for range 2 { // in the place of what has the name
				if err := b.Put(ctx, "d/file", int64(size), bytes.NewReader(want)); err != nil {
					t.Fatalf("%d bytes: %v", size, err)
				}
			}
			if got, err := Load(ctx, b, "d/file"); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes: %d came back, %v", size, len(got), err)
			}
		}
		for _, size := range []int{3, 2*partSize + 1, 3 * partSize, gcsPart + 1, 2 * gcsPart} { // it is not what was said
			if err := b.Put(ctx, "short", int64(size), bytes.NewReader(noise(size-1))); err == nil {
				t.Errorf("of %d bytes one was missing", size)
			}
			if err := b.Put(ctx, "long", int64(size), bytes.NewReader(noise(size+1))); err == nil {
				t.Errorf("of %d bytes there was one more", size)
			}
		}
		for _, name := range []string{"short", "long", "none", "d"} {
			if _, err := b.Get(ctx, name); name != "d" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for range 2 {
			if err := b.Delete(ctx, "d/file"); err != nil {
				t.Error(err)
			}
		}
		if err := b.Create(ctx, "d/made", []byte("1")); err != nil {
			t.Fatal(err)
		}
		if err := b.Create(ctx, "d/made", []byte("2")); !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
		if err := Exclusive(ctx, b, "here", "name"); err != nil {
			t.Error(err)
		}
		odd := []string{"e/a b", "e/a%20b", "e/a+b&c=d", "e/ä/日本", "e/'\"<>", "e/#?;"}
		for _, name := range odd {
			if err := errors.Join(b.Create(ctx, name, []byte(name)), b.Put(ctx, name+".put", int64(len(name)), strings.NewReader(name))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, name := range []string{name, name + ".put"} {
				if got, err := Load(ctx, b, name); string(got) != strings.TrimSuffix(name, ".put") || err != nil {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
			if err := b.Delete(ctx, name+".put"); err != nil {
				t.Error(err)
			}
		}
		slices.Sort(odd)
		if got := listed(ctx, t, b, "e/"); !slices.Equal(got, odd) {
			t.Errorf("%q, want %q", got, odd)
		}
		for _, name := range []string{"../out", "/out", ""} {
			if err := b.Put(ctx, name, 0, strings.NewReader("")); err == nil {
				t.Errorf("%q was made", name)
			}
		}
		if got := listed(ctx, t, In(b, "d"), ""); !slices.Equal(got, []string{"made"}) {
			t.Errorf("%v", got)
		}
	})
}

// TestManyFiles: all files are listed, of which a service lists 1,000 at once, and those alone that begin so; who wants no more gets no more.
func TestManyFiles(t *testing.T) {
	test := func(t *testing.T, b Bucket) {
		var all sync.WaitGroup
		for k := range 8 {
			all.Go(func() {
				for i := k; i < 2500; i += 8 {
					if err := b.Create(t.Context(), fmt.Sprintf("many/%04d", i), nil); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if err := b.Create(t.Context(), "few/1", nil); err != nil {
			t.Fatal(err)
		}
		for prefix, want := range map[string]int{"": 2501, "many/": 2500, "many/1": 1000, "f": 1} {
			got := listed(t.Context(), t, b, prefix)
			if slices.Sort(got); len(slices.Compact(got)) != want {
				t.Errorf("%q: %d files, want %d", prefix, len(got), want)
			}
		}
		seen := 0
		if err := b.List(t.Context(), "", func(string) bool { seen++; return seen < 5 }); err != nil || seen != 5 {
			t.Errorf("%d were seen, %v", seen, err)
		}
	}
	t.Run("folder", func(t *testing.T) { test(t, Folder(scratch(t))) })
	eachCloud(t, func(t *testing.T, c *cloud) { test(t, c.bucket(t)) })
}

// TestCreateRace: of several who make a file at once one makes it.
func TestCreateRace(t *testing.T) {
	eachBucket(t, func(t *testing.T, b Bucket) {
		for round := range 5 {
			name := fmt.Sprint("race/", round)
			errs := make([]error, 8)
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() { errs[i] = b.Create(t.Context(), name, fmt.Append(nil, i)) })
			}
			all.Wait()
			won := -1
			for i, err := range errs {
				if err == nil && won < 0 {
					won = i
				} else if !errors.Is(err, fs.ErrExist) {
					t.Errorf("%d: %v", i, err)
				}
			}
			if got, err := Load(t.Context(), b, name); string(got) != fmt.Sprint(won) || err != nil {
				t.Errorf("%d has won, and the file has %q, %v", won, got, err)
			}
		}
	})
}

// TestSmallFiles: small files go side by side, however many, and of larger ones no more than there are slots.
func TestSmallFiles(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		b := c.bucket(t)
		const n = 20
		var inside, most atomic.Int64
		all := make(chan struct{}) // closed when all are there
		c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) {
			if brings(r) {
				now := inside.Add(1)
				defer inside.Add(-1)
				for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
				}
				if r.ContentLength < smallFile {
					if now == n {
						close(all)
					}
					select {
					case <-all:
					case <-time.After(5 * time.Second):
						t.Errorf("%d of %d small files came at once", most.Load(), n)
					}
				}
			}
			right.ServeHTTP(w, r)
		})
		put := func(size int) {
			var files sync.WaitGroup
			for i := range n {
				files.Go(func() {
					if err := b.Put(t.Context(), fmt.Sprintf("%d/%d", size, i), int64(size), bytes.NewReader(noise(size))); err != nil {
						t.Error(err)
					}
				})
			}
			files.Wait()
		}
		put(1000)
		most.Store(0)
		if put(smallFile + 1); most.Load() > uploads {
			t.Errorf("%d larger files at once", most.Load())
		}
	})
}

// brings reports whether a request brings the content of an object.
func brings(r *http.Request) bool {
	return r.Method == http.MethodPut || r.Method == http.MethodPost
}

// TestLostAnswer: a file that is made by a request whose answer is lost is the caller's all the same, and nobody else's.
func TestLostAnswer(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		b := c.bucket(t)
		var once sync.Once
		c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) {
			lost := false
			if brings(r) {
				once.Do(func() { lost = true })
			}
			if lost {
				answer := httptest.NewRecorder()
				right.ServeHTTP(answer, r)
				if answer.Code != http.StatusOK {
					t.Errorf("the first try: %d %s", answer.Code, answer.Body)
				}
				panic(http.ErrAbortHandler)
			}
			right.ServeHTTP(w, r)
		})
		if err := b.Create(t.Context(), "f", []byte("mine")); err != nil {
			t.Errorf("whose answer was lost: %v", err)
		}
		if n := c.asked[http.MethodPut] + c.asked[http.MethodPost]; n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
		c.goWrong(nil)
		if err := b.Create(t.Context(), "f", []byte("theirs")); !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
		if got, err := Load(t.Context(), b, "f"); string(got) != "mine" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		// An upload whose answers are lost now and then is whole.
		n := 0
		c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) {
			c.mu.Lock()
			n++
			lost := r.Method == http.MethodPut && n%2 == 1
			c.mu.Unlock()
			if lost {
				right.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
			right.ServeHTTP(w, r)
		})
		want := noise(2*gcsPart + 5)
		if err := b.Put(t.Context(), "large", int64(len(want)), bytes.NewReader(want)); err != nil {
			t.Fatal(err)
		}
		c.goWrong(nil)
		if got, err := Load(t.Context(), b, "large"); !bytes.Equal(got, want) || err != nil {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

// A cutter ends a connection after so many bytes of an answer.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) > c.left {
		c.ResponseWriter.Write(p[:c.left])
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

// TestCutDownload: a download goes on from where its connection was cut. It ends where that brings nothing, and where the file is another one meanwhile.
func TestCutDownload(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		b := c.bucket(t)
		want := noise(3<<20 + 11)
		if err := b.Put(t.Context(), "f", int64(len(want)), bytes.NewReader(want)); err != nil {
			t.Fatal(err)
		}
		cut := func(after int) func(http.ResponseWriter, *http.Request, http.Handler) {
			return func(w http.ResponseWriter, r *http.Request, right http.Handler) {
				if r.Method == http.MethodGet {
					w = &cutter{w, after}
				}
				right.ServeHTTP(w, r)
			}
		}
		c.goWrong(cut(1<<20 - 3))
		got, err := Load(t.Context(), b, "f")
		if !bytes.Equal(got, want) || err != nil {
			t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
		}
		if n := c.asked[http.MethodGet]; n != 4 {
			t.Errorf("%d requests, want 4", n)
		}
		r, err := b.Get(t.Context(), "f")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		c.goWrong(nil)
		other := bytes.Repeat([]byte("x"), len(want))
		if err := b.Put(t.Context(), "f", int64(len(want)), bytes.NewReader(other)); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(r); err == nil || bytes.HasSuffix(rest, []byte("xx")) {
			t.Errorf("%d bytes of a file that was replaced, %v", len(rest), err)
		}
		r.Close()
	})
}

// TestSilentDownload: a download that brings nothing for long is asked for again, and its end is no end of the caller's context.
func TestSilentDownload(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		b := c.bucket(t).(*objects)
		want := noise(1 << 20)
		if err := b.Put(t.Context(), "f", int64(len(want)), bytes.NewReader(want)); err != nil {
			t.Fatal(err)
		}
		b.patience = 200 * time.Millisecond
		silent := func(w http.ResponseWriter, r *http.Request, right http.Handler) {
			right.ServeHTTP(&staller{cutter{w, 100_000}, r.Context()}, r)
		}
		c.goWrong(silent)
		r, err := b.Get(t.Context(), "f")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := io.ReadFull(r, make([]byte, 150_000)); err != nil {
			t.Fatal(err)
		}
		c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) { <-r.Context().Done() })
		if _, err := io.ReadAll(r); errors.Is(err, context.Canceled) || err == nil || !strings.Contains(err.Error(), "nothing came for 200ms") {
			t.Error(err)
		}
	})
}

// A staller sends no more after so many bytes of an answer.
type staller struct {
	cutter
	ctx context.Context // of the request
}

func (s *staller) Write(p []byte) (int, error) {
	defer func() {
		if recover() != nil {
			<-s.ctx.Done()
			panic(http.ErrAbortHandler)
		}
	}()
	return s.cutter.Write(p)
}

// TestUnusable: what is wrong with a bucket is told at once, in a line.
func TestUnusable(t *testing.T) {
	says := func(t *testing.T, err error, want string) {
		t.Helper()
		var unusable *UnusableError
		if !errors.As(err, &unusable) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 500 {
			t.Errorf("%v, want %s", err, want)
		}
	}
	eachCloud(t, func(t *testing.T, c *cloud) {
		began := time.Now()
		_, err := Open(t.Context(), c.scheme+"://none/x")
		says(t, err, c.scheme+"://none/x: there is no such bucket")
		_, err = Open(t.Context(), c.scheme+":///x")
		says(t, err, "want "+c.scheme+"://BUCKET")
		b := c.bucket(t)
		c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, c.refuse)
		})
		_, err = Open(t.Context(), c.scheme+"://bucket")
		says(t, err, "not for you")
		says(t, Exclusive(t.Context(), b, c.scheme+"://bucket", "name"), "not for you")
		c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) { // as of a server that has never heard of conditions
			c.heedNot(r)
			right.ServeHTTP(w, r)
		})
		says(t, Exclusive(t.Context(), b, c.scheme+"://bucket", "name"), "writes over a file")
		t.Setenv(c.found, "http://127.0.0.1:1")
		_, err = Open(t.Context(), c.scheme+"://bucket")
		says(t, err, "127.0.0.1:1: connect: connection refused")
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Open(canceled, c.scheme+"://bucket"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
	})
	c := startS3(t)
	b := c.bucket(t)
	c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) {
		w.WriteHeader(http.StatusNotImplemented)
		fmt.Fprint(w, `<Error><Code>NotImplemented</Code><Message>A header is not implemented.</Message></Error>`)
	})
	says(t, Exclusive(t.Context(), b, "s3://bucket", "name"), "cannot make a file on condition")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	_, err := Open(t.Context(), "s3://bucket")
	says(t, err, "no credentials are found")
}

// TestCheckpointInBucket writes checkpoints to a bucket of each kind, and goes on from there.
func TestCheckpointInBucket(t *testing.T) {
	eachBucket(t, func(t *testing.T, all Bucket) {
		r := rand.New(rand.NewPCG(1, 2))
		b := In(all, "group/partition-00001")
		if err := Claim(t.Context(), b, 1, []byte("me")); err != nil {
			t.Fatal(err)
		}
		db := fresh(t)
		defer db.Close()
		w := NewWriter(b, 1, nil)
		for range 4 {
			grow(t, db, r, 500)
			if _, _, err := w.Write(t.Context(), db, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Prune(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
		}
		var claimed *ClaimedError
		if err := Claim(t.Context(), b, 1, []byte("you")); !errors.As(err, &claimed) || string(claimed.By) != "me" {
			t.Error(err)
		}
		dir := scratch(t) + "/store"
		m, damaged, err := RestoreLatest(t.Context(), b, dir)
		if err != nil || len(damaged) > 0 || m.Number != 4 {
			t.Fatalf("%+v, %v, %v", m, damaged, err)
		}
		if got, want := records(t, dir+"/documents"), frozen(t, db); len(got) != len(want) {
			t.Errorf("%d records, want %d", len(got), len(want))
		}
		if err := b.Delete(t.Context(), m.Files[len(m.Files)-1].At); err != nil {
			t.Fatal(err)
		}
	})
}
