package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

// gcsServer is a server of the JSON API of Google Cloud Storage, as strict as what it is documented to be in what we use of it, and no more than that.
type gcsServer struct {
	http.ServeMux
	mu      sync.Mutex
	objects map[string]gcsObject
	uploads map[string]*gcsUpload
	numbers int64 // generations and uploads
	keeps   int   // most bytes of a part of an upload that it keeps; -1: nothing
}

type gcsObject struct {
	content    []byte
	generation int64
}

type gcsUpload struct {
	key     string
	content []byte
	made    *gcsObject // when it has ended
}

// newGCSServer returns a server with a bucket "bucket".
func newGCSServer() *gcsServer {
	s := &gcsServer{objects: map[string]gcsObject{}, uploads: map[string]*gcsUpload{}, keeps: 1 << 30}
	for pattern, handle := range map[string]func(w http.ResponseWriter, r *http.Request) (status int, message string){
		"GET /storage/v1/b/{bucket}/o":          s.list,
		"GET /storage/v1/b/{bucket}/o/{key}":    s.get,
		"DELETE /storage/v1/b/{bucket}/o/{key}": s.remove,
		"POST /upload/storage/v1/b/{bucket}/o":  s.begin,
		"PUT /upload/storage/v1/b/{bucket}/o":   s.part,
	} {
		s.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			status, message := http.StatusNotFound, "The specified bucket does not exist."
			if r.PathValue("bucket") == "bucket" {
				status, message = handle(w, r)
			}
			if status != 0 {
				w.WriteHeader(status)
				json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": status, "message": message}})
			}
		})
	}
	return s
}

func (s *gcsServer) list(w http.ResponseWriter, r *http.Request) (int, string) {
	most, err := strconv.Atoi(r.FormValue("maxResults"))
	if err != nil || most < 1 || most > 1000 {
		return http.StatusBadRequest, "maxResults"
	}
	var page struct {
		Items         []map[string]string `json:"items,omitempty"`
		NextPageToken string              `json:"nextPageToken,omitempty"`
	}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if key < r.FormValue("pageToken") || !strings.HasPrefix(key, r.FormValue("prefix")) {
			continue
		}
		if len(page.Items) == most {
			page.NextPageToken = key
			break
		}
		page.Items = append(page.Items, map[string]string{"name": key})
	}
	json.NewEncoder(w).Encode(page)
	return 0, ""
}

// heeds reports whether the object of a key is the one that a request wants.
func (s *gcsServer) heeds(r *http.Request, key string) bool {
	want := r.FormValue("ifGenerationMatch")
	return want == "" || want == fmt.Sprint(s.objects[key].generation)
}

func (s *gcsServer) get(w http.ResponseWriter, r *http.Request) (int, string) {
	key := r.PathValue("key")
	o, ok := s.objects[key]
	switch {
	case !ok:
		return http.StatusNotFound, "No such object: bucket/" + key
	case !s.heeds(r, key):
		return http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold."
	case r.FormValue("alt") != "media":
		return http.StatusBadRequest, "alt"
	}
	w.Header().Set("X-Goog-Generation", fmt.Sprint(o.generation))
	w.Header().Add("X-Goog-Hash", "crc32c="+checksum(crc32.Checksum(o.content, castagnoli)))
	w.Header().Add("X-Goog-Hash", "md5=x")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(o.content))
	return 0, ""
}

func (s *gcsServer) remove(w http.ResponseWriter, r *http.Request) (int, string) {
	key := r.PathValue("key")
	if _, ok := s.objects[key]; !ok {
		return http.StatusNotFound, "No such object: bucket/" + key
	}
	delete(s.objects, key)
	w.WriteHeader(http.StatusNoContent)
	return 0, ""
}

func (s *gcsServer) begin(w http.ResponseWriter, r *http.Request) (int, string) {
	key := r.URL.Query().Get("name")
	switch kind := r.URL.Query().Get("uploadType"); {
	case key == "":
		return http.StatusBadRequest, "name"
	case kind == "media":
		content, err := io.ReadAll(r.Body)
		if err != nil {
			return http.StatusBadRequest, err.Error()
		}
		return s.make(w, r, &gcsUpload{key: key, content: content})
	case kind == "resumable":
		s.numbers++
		id := fmt.Sprint(s.numbers)
		s.uploads[id] = &gcsUpload{key: key}
		w.Header().Set("Location", fmt.Sprintf("http://%s%s?uploadType=resumable&upload_id=%s", r.Host, r.URL.Path, id))
		return 0, ""
	default:
		return http.StatusBadRequest, "uploadType"
	}
}

// make makes the object of an upload.
func (s *gcsServer) make(w http.ResponseWriter, r *http.Request, u *gcsUpload) (int, string) {
	sum := checksum(crc32.Checksum(u.content, castagnoli))
	if want := r.Header.Get("X-Goog-Hash"); want != "" && want != "crc32c="+sum {
		return http.StatusBadRequest, "Provided CRC32C doesn't match calculated CRC32C."
	}
	if u.made == nil {
		if !s.heeds(r, u.key) {
			return http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold."
		}
		s.numbers++
		u.made = &gcsObject{u.content, s.numbers}
		s.objects[u.key] = *u.made
	}
	fmt.Fprintf(w, `{"name":%q,"size":"%d","crc32c":%q,"generation":"%d"}`, u.key, len(u.content), sum, u.made.generation)
	return 0, ""
}

func (s *gcsServer) part(w http.ResponseWriter, r *http.Request) (int, string) {
	u := s.uploads[r.URL.Query().Get("upload_id")]
	if u == nil {
		return http.StatusNotFound, ""
	}
	brought, err := io.ReadAll(r.Body)
	if err != nil {
		return http.StatusBadRequest, err.Error()
	}
	var from, to, size int
	of := r.Header.Get("Content-Range")
	if _, err := fmt.Sscanf(of, "bytes %d-%d/%d", &from, &to, &size); err != nil || to+1-from != len(brought) || from > len(u.content) || to >= size {
		return http.StatusBadRequest, of
	}
	if to+1 < size && len(brought)%(256<<10) > 0 {
		return http.StatusBadRequest, "a part that is no multiple of 256 KiB"
	}
	fresh := brought[min(len(u.content)-from, len(brought)):]
	u.content = append(u.content, fresh[:max(0, min(len(fresh), s.keeps))]...)
	if len(u.content) == size {
		return s.make(w, r, u)
	}
	if len(u.content) > 0 {
		w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(u.content)-1))
	}
	w.WriteHeader(http.StatusPermanentRedirect)
	return 0, ""
}

func gcsCloud(t *testing.T, right http.Handler) *cloud {
	c := &cloud{scheme: "gs", found: "STORAGE_EMULATOR_HOST", right: right}
	c.refuse = `{"error": {"code": 403, "message": "not for you", "errors": []}}`
	c.heedNot = func(r *http.Request) {
		query := r.URL.Query()
		query.Del("ifGenerationMatch")
		r.URL.RawQuery = query.Encode()
	}
	return c.start(t)
}

func startGCS(t *testing.T) *cloud { return gcsCloud(t, newGCSServer()) }

// startFakeGCS starts a server that was written by others. Uploads that are cut it makes into half of what they should be: it is told nothing wrong.
func startFakeGCS(t *testing.T) *cloud {
	server, err := fakestorage.NewServerWithOptions(fakestorage.Options{NoListener: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	server.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: "bucket"})
	return gcsCloud(t, server.HTTPHandler())
}

// TestGCSBusy: what a server is too busy for, or cuts, is asked for again, and an upload goes on from what of it has come.
func TestGCSBusy(t *testing.T) {
	c := startGCS(t)
	b := c.bucket(t)
	want := noise(2*gcsPart + 9)
	n := 0
	c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) {
		c.mu.Lock()
		n++
		turn := n
		c.mu.Unlock()
		switch turn % 4 {
		case 0:
			right.ServeHTTP(w, r)
		case 1:
			w.WriteHeader([]int{http.StatusServiceUnavailable, http.StatusTooManyRequests}[turn/4%2])
			io.WriteString(w, "<html>busy</html>")
		case 2: // what is asked for is not done
			panic(http.ErrAbortHandler)
		case 3: // it is done, and the answer is cut
			right.ServeHTTP(&cutter{w, 1}, r)
		}
	})
	if err := b.Put(t.Context(), "large", int64(len(want)), bytes.NewReader(want)); err != nil {
		t.Error(err)
	}
	if err := b.Create(t.Context(), "small", []byte("1")); err != nil {
		t.Error(err)
	}
	if got := listed(t.Context(), t, b, ""); !slices.Equal(got, []string{"large", "small"}) {
		t.Error(got)
	}
	if got, err := Load(t.Context(), b, "small"); string(got) != "1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := b.Delete(t.Context(), "small"); err != nil {
		t.Error(err)
	}
	c.goWrong(nil)
	if got, err := Load(t.Context(), b, "large"); !bytes.Equal(got, want) || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := b.Get(t.Context(), "small"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	// A context ends the waits, and the error tells why there were any.
	ctx, cancel := context.WithCancel(t.Context())
	c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) {
		w.WriteHeader(http.StatusServiceUnavailable)
		cancel()
	})
	if err := b.Delete(ctx, "large"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := b.Put(ctx, "large", int64(len(want)), bytes.NewReader(want)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestGCSUpload: a server may keep less of a part than it is sent.
func TestGCSUpload(t *testing.T) {
	server := newGCSServer()
	c := gcsCloud(t, server)
	b := c.bucket(t)
	want := noise(3*gcsPart + 5)
	keep := func(n int) {
		server.mu.Lock()
		defer server.mu.Unlock()
		server.keeps = n
	}
	keep(3 << 20)
	if err := b.Put(t.Context(), "f", int64(len(want)), bytes.NewReader(want)); err != nil {
		t.Fatal(err)
	}
	if n := c.asked[http.MethodPut]; n != 9 {
		t.Errorf("%d requests, want 9", n)
	}
	if got, err := Load(t.Context(), b, "f"); !bytes.Equal(got, want) || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	keep(-1)
	if err := b.Put(t.Context(), "g", int64(len(want)), bytes.NewReader(want)); err == nil || !strings.Contains(err.Error(), "keeps nothing") {
		t.Error(err)
	}
	keep(1 << 30)
	for answer, want := range map[string]string{"bytes=0-99999999": "it has 100000000", "bytes 3": `"bytes 3"`} {
		c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) {
			if r.Method == http.MethodPut {
				w.Header().Set("Range", answer)
				w.WriteHeader(http.StatusPermanentRedirect)
				return
			}
			right.ServeHTTP(w, r)
		})
		if err := b.Put(t.Context(), "g", 3*gcsPart, bytes.NewReader(noise(3*gcsPart))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) {
		if r.Method == http.MethodPut { // an upload that has ended, or was forgotten
			r.URL.RawQuery += "0"
		}
		right.ServeHTTP(w, r)
	})
	if err := b.Put(t.Context(), "g", int64(len(want)), bytes.NewReader(want)); err == nil || !strings.Contains(err.Error(), "does not know the upload") {
		t.Error(err)
	}
	if got := listed(t.Context(), t, b, ""); !slices.Equal(got, []string{"f"}) {
		t.Error(got)
	}
}

// A spoiler changes the first byte of what is read.
type spoiler struct {
	io.ReadCloser
	done bool
}

func (s *spoiler) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if n > 0 && !s.done {
		p[0] ^= 1
		s.done = true
	}
	return n, err
}

// TestGCSChecksums: what is changed on the way is an error: at the server, and where that does not look at it, here.
func TestGCSChecksums(t *testing.T) {
	c := startGCS(t)
	b := c.bucket(t)
	spoil := func(looks bool) func(w http.ResponseWriter, r *http.Request, right http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, right http.Handler) {
			if r.ContentLength > 0 {
				r.Body = &spoiler{ReadCloser: r.Body}
			}
			if !looks {
				r.Header.Del("X-Goog-Hash")
			}
			right.ServeHTTP(w, r)
		}
	}
	for _, looks := range []bool{true, false} {
		c.goWrong(spoil(looks))
		want := "the server has 1 bytes with checksum"
		if looks {
			want = "doesn't match calculated CRC32C"
		}
		if err := b.Create(t.Context(), "made", []byte("1")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		for _, size := range []int{1, gcsPart + 1} {
			if err := b.Put(t.Context(), "put", int64(size), bytes.NewReader(noise(size))); err == nil || !strings.Contains(err.Error(), "match") && !strings.Contains(err.Error(), "checksum") {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
		c.goWrong(nil)
		if got := listed(t.Context(), t, b, ""); looks && got != nil {
			t.Errorf("%q was made", got)
		}
	}
	want := noise(1000)
	if err := b.Put(t.Context(), "f", 1000, bytes.NewReader(want)); err != nil {
		t.Fatal(err)
	}
	c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) {
		answer := httptest.NewRecorder()
		right.ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		body := answer.Body.Bytes()
		body[500] ^= 1
		w.Write(body)
	})
	if _, err := Load(t.Context(), b, "f"); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Error(err)
	}
	c.goWrong(func(w http.ResponseWriter, r *http.Request, right http.Handler) { // the sum is that of all of it, also where it comes in two pieces
		right.ServeHTTP(&cutter{w, 700}, r)
	})
	if got, err := Load(t.Context(), b, "f"); !bytes.Equal(got, want) || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestGCSCredentials: without an emulator requests bring a token, of an account that is found as Google's programs find it.
func TestGCSCredentials(t *testing.T) {
	storage := newGCSServer()
	var refused, token string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token" && refused != "":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, "{\n  %q: %q\n}", "error", refused)
		case r.URL.Path == "/token":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token": "secret", "token_type": "Bearer", "expires_in": 3600}`)
		default:
			token = r.Header.Get("Authorization")
			storage.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "a@b.test", "private_key_id": "1", "token_uri": server.URL + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(file, account, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	open := func() (Bucket, error) {
		return openObjects(t.Context(), "gs://bucket", func(ctx context.Context, bucket string) (service, error) {
			s, err := newGCS(ctx, bucket)
			if err == nil {
				s.(*gcsBucket).server = server.URL
			}
			return s, err
		})
	}
	b, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Create(t.Context(), "f", []byte("1")); err != nil || token != "Bearer secret" {
		t.Errorf("%q, %v", token, err)
	}
	for _, c := range []struct{ refused, file, want string }{
		{"invalid_grant", file, "the credentials are refused: "},
		{"", file + ".none", "no credentials are found"},
		{"", os.Args[0], "no credentials are found"},
	} {
		refused = c.refused
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", c.file)
		var unusable *UnusableError
		if _, err := open(); !errors.As(err, &unusable) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), cmp.Or(c.refused, c.file)) && c.file != os.Args[0] || strings.Contains(err.Error(), "\n") || len(err.Error()) > 600 {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	t.Setenv("STORAGE_EMULATOR_HOST", "http://")
	if _, err := Open(t.Context(), "gs://bucket"); err == nil || !strings.Contains(err.Error(), "want HOST:PORT") {
		t.Error(err)
	}
}
