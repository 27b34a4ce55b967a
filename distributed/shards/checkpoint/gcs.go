package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// gcsBucket is a bucket of Google Cloud Storage, by its JSON API. Google's own client would do it too, and make the program twice as large: it brings gRPC
// and telemetry.
type gcsBucket struct {
	server string             // scheme and host
	path   string             // of the bucket in URLs: /storage/v1/b/NAME
	tokens oauth2.TokenSource // nil: requests are anonymous
	client *http.Client
}

const (
	gcsScope   = "https://www.googleapis.com/auth/devstorage.read_write"
	gcsPart    = 8 << 20          // of an upload, bytes: a multiple of 256 KiB; Google advises no less than 8 MiB
	gcsPage    = 1000             // keys that are listed at once: the most that the server does
	answerTime = 20 * time.Second // for an answer to begin when a request is sent: several tries fit in requestTime
)

// newGCS finds credentials as Google's own programs do, or none where STORAGE_EMULATOR_HOST names a server for tests.
func newGCS(ctx context.Context, bucket string) (service, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = answerTime
	transport.DisableCompression = true // checksums are of the bytes that are kept
	b := &gcsBucket{server: "https://storage.googleapis.com", path: "/storage/v1/b/" + escape(bucket), client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // status 308 says how far an upload is
	}}
	if at := os.Getenv("STORAGE_EMULATOR_HOST"); at != "" {
		if !strings.Contains(at, "://") {
			at = "http://" + at
		}
		u, err := url.Parse(at)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("STORAGE_EMULATOR_HOST %q: want HOST:PORT or a URL", at)
		}
		b.server = u.Scheme + "://" + u.Host
		return b, nil
	}
	// They are asked for tokens as long as the bucket is used.
	lasting := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Transport: transport, Timeout: answerTime})
	found, err := await(ctx, func() (*google.Credentials, error) { return google.FindDefaultCredentials(lasting, gcsScope) })
	if err != nil {
		return nil, fmt.Errorf("no credentials are found in a file, or of the machine: %w", err)
	}
	b.tokens = found.TokenSource
	return b, nil
}

// await returns what f does, or an error when ctx ends before: where credentials come from heeds no context. f then ends by itself, within seconds.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		of  T
		err error
	}
	done := make(chan result, 1)
	go func() {
		of, err := f()
		done <- result{of, err}
	}()
	select {
	case r := <-done:
		return r.of, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// escape makes a name a part of a path: none of the characters that the server wants to be escaped stays.
func escape(name string) string { return strings.ReplaceAll(url.QueryEscape(name), "+", "%20") }

// checksum is a CRC-32C as the protocol writes it.
func checksum(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// A gcsRequest is one that may be made again.
type gcsRequest struct {
	method string
	url    string
	header map[string]string
	body   []byte
}

// once makes a request. The answer is one of success, whose body the caller closes; again tells whether it may succeed later.
func (b *gcsBucket) once(ctx context.Context, q gcsRequest) (answer *http.Response, again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, q.method, q.url, bytes.NewReader(q.body))
	if err != nil {
		return nil, false, err
	}
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	if b.tokens != nil {
		token, err := await(ctx, b.tokens.Token)
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) {
			return nil, busy(refused.Response.StatusCode), fmt.Errorf("the credentials are refused: %.300s", refused.Error())
		}
		if err != nil {
			return nil, ctx.Err() == nil, fmt.Errorf("the credentials: %w", err)
		}
		token.SetAuthHeader(r)
	}
	answer, err = b.client.Do(r)
	var failed *url.Error
	if errors.As(err, &failed) { // which has the URL, too
		err = failed.Err
	}
	switch {
	case err != nil:
		return nil, ctx.Err() == nil, err
	case answer.StatusCode < 300 || answer.StatusCode == http.StatusPermanentRedirect:
		return answer, false, nil
	}
	defer answer.Body.Close()
	return nil, busy(answer.StatusCode), gcsError(answer)
}

// busy reports whether a server that answers so may do later what it was asked for.
func busy(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
}

// gcsError says in one line what an answer says.
func gcsError(answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10)) // the status says enough
	var told struct{ Error struct{ Message string } }
	message := strings.TrimSpace(string(text))
	if json.Unmarshal(text, &told) == nil {
		message = told.Error.Message
	} else if strings.HasPrefix(message, "<") { // a page
		message = ""
	}
	switch {
	case answer.StatusCode == http.StatusNotFound && strings.Contains(message, "bucket does not exist"):
		return errNoBucket
	case answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusGone:
		return fs.ErrNotExist
	case answer.StatusCode == http.StatusPreconditionFailed:
		return fs.ErrExist
	case answer.StatusCode == http.StatusConflict:
		return errConflict
	}
	return fmt.Errorf("%d %s", answer.StatusCode, cmp.Or(fmt.Sprintf("%.300s", message), http.StatusText(answer.StatusCode)))
}

// repeat calls f until it succeeds or says that it will not. Waits between tries grow.
func repeat(ctx context.Context, f func() (again bool, err error)) error {
	for try := 1; ; try++ {
		again, err := f()
		if err == nil || !again || try == tries {
			return err
		}
		if end := wait(ctx, try); end != nil {
			return fmt.Errorf("%w (%w)", err, end)
		}
	}
}

// ask makes a request until it is answered, and returns the answer with its body.
func (b *gcsBucket) ask(ctx context.Context, q gcsRequest) (answer *http.Response, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	err = repeat(ctx, func() (again bool, err error) {
		answer, body, again, err = b.read(ctx, q)
		return again, err
	})
	return answer, body, err
}

// read makes a request once, and returns the answer with its body.
func (b *gcsBucket) read(ctx context.Context, q gcsRequest) (answer *http.Response, body []byte, again bool, err error) {
	if answer, again, err = b.once(ctx, q); err != nil {
		return nil, nil, again, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	return answer, body, ctx.Err() == nil, err
}

func (b *gcsBucket) create(ctx context.Context, key string, content []byte) error {
	return b.send(ctx, key, content, url.Values{"ifGenerationMatch": {"0"}})
}

// object returns the URL of an object.
func (b *gcsBucket) object(key string, query string) string {
	return b.server + b.path + "/o/" + escape(key) + query
}

// upload returns the URL for an upload.
func (b *gcsBucket) upload(kind, key string, query url.Values) string {
	all := url.Values{"uploadType": {kind}, "name": {key}}
	maps.Copy(all, query)
	return b.server + "/upload" + b.path + "/o?" + all.Encode()
}

// send makes an object by one request, in which the server finds the checksum: of content that does not fit it makes none.
func (b *gcsBucket) send(ctx context.Context, key string, content []byte, query url.Values) error {
	sum := crc32.Checksum(content, castagnoli)
	_, body, err := b.ask(ctx, gcsRequest{http.MethodPost, b.upload("media", key, query), map[string]string{
		"Content-Type": "application/octet-stream", "X-Goog-Hash": "crc32c=" + checksum(sum),
	}, content})
	if err != nil {
		return inBucket(err)
	}
	return uploaded(body, int64(len(content)), sum)
}

// inBucket returns the error of a request which is for no object that is there: what is not found is the bucket.
func inBucket(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errNoBucket
	}
	return err
}

// uploaded holds an object that the server says it has made to what was sent.
func uploaded(body []byte, size int64, sum uint32) error {
	var made struct {
		Size int64  `json:"size,string"`
		Sum  string `json:"crc32c"`
	}
	if err := json.Unmarshal(body, &made); err != nil {
		return fmt.Errorf("what the server says of an upload: %w", err)
	}
	if made.Size != size || made.Sum != checksum(sum) {
		return fmt.Errorf("the server has %d bytes with checksum %s of what was sent, which is %d bytes with checksum %s", made.Size, made.Sum, size, checksum(sum))
	}
	return nil
}

// put sends a file of one part as such, and of a larger one part by part (a resumable upload): r cannot be read again, and a part that is in memory can be
// sent again, from where the server has it. An upload that is left is no object, and the server forgets it after a week.
func (b *gcsBucket) put(ctx context.Context, key string, size int64, r io.Reader) error {
	part := make([]byte, min(size, gcsPart))
	if size <= gcsPart {
		if _, err := io.ReadFull(r, part); err != nil {
			return err
		}
		if err := ended(r); err != nil {
			return err
		}
		return b.send(ctx, key, part, nil)
	}
	begun, _, err := b.ask(ctx, gcsRequest{http.MethodPost, b.upload("resumable", key, nil), map[string]string{"X-Upload-Content-Length": strconv.FormatInt(size, 10)}, nil})
	if err != nil {
		return inBucket(err)
	}
	u := resumable{b: b, url: begun.Header.Get("Location"), size: size}
	if u.url == "" {
		return errors.New("the server begins an upload, and does not say where it goes")
	}
	for held := 0; u.has < size; {
		part = part[:min(size-u.has, gcsPart)]
		if _, err := io.ReadFull(r, part[held:]); err != nil {
			return err
		}
		if u.has+int64(len(part)) == size {
			if err := ended(r); err != nil {
				return err
			}
		}
		u.sum = crc32.Update(u.sum, castagnoli, part[held:])
		begins := u.has
		if err := u.send(ctx, part); err != nil {
			return err
		}
		held = copy(part, part[u.has-begins:])
	}
	return nil
}

// A resumable is an upload part by part.
type resumable struct {
	b    *gcsBucket
	url  string
	size int64
	has  int64  // bytes that the server has
	sum  uint32 // of what was read, to the end of the part that is sent
}

// send sends a part until the server has some of it. What of it the server had when an answer was lost it does not take twice.
func (u *resumable) send(ctx context.Context, part []byte) error {
	begins, ends := u.has, u.has+int64(len(part))
	q := gcsRequest{http.MethodPut, u.url, map[string]string{"Content-Range": fmt.Sprintf("bytes %d-%d/%d", begins, ends-1, u.size)}, part}
	if ends == u.size {
		q.header["X-Goog-Hash"] = "crc32c=" + checksum(u.sum)
	}
	return repeat(ctx, func() (again bool, err error) {
		in, cancel := context.WithTimeout(ctx, requestTime)
		defer cancel()
		again, err = u.request(in, q)
		switch {
		case err != nil:
			return again, err
		case u.has == begins:
			return true, errors.New("the server keeps nothing of an upload")
		case u.has < begins || u.has > ends:
			return false, fmt.Errorf("bytes from %d to %d of an upload are sent, and the server says that it has %d", begins, ends, u.has)
		}
		return false, nil
	})
}

// request makes a request of an upload, and learns how far that is.
func (u *resumable) request(ctx context.Context, q gcsRequest) (again bool, err error) {
	answer, body, again, err := u.b.read(ctx, q)
	if errors.Is(err, fs.ErrNotExist) {
		return false, errors.New("the server does not know the upload any more")
	}
	if err != nil {
		return again, err
	}
	if answer.StatusCode != http.StatusPermanentRedirect {
		u.has = u.size
		return false, uploaded(body, u.size, u.sum)
	}
	u.has = 0
	if kept := answer.Header.Get("Range"); kept != "" { // bytes=0-41
		last, err := strconv.ParseInt(strings.TrimPrefix(kept, "bytes=0-"), 10, 64)
		if err != nil {
			return false, fmt.Errorf("the server says that of an upload it has %q", kept)
		}
		u.has = last + 1
	}
	return false, nil
}

func (b *gcsBucket) open(ctx context.Context, key string, at int64, version string) (o object, err error) {
	query := "?alt=media"
	if version != "" {
		query += "&ifGenerationMatch=" + url.QueryEscape(version)
	}
	q := gcsRequest{http.MethodGet, b.object(key, query), map[string]string{}, nil}
	if at > 0 {
		q.header["Range"] = fmt.Sprintf("bytes=%d-", at)
	}
	var answer *http.Response
	err = repeat(ctx, func() (again bool, err error) {
		answer, again, err = b.once(ctx, q)
		return again, err
	})
	if errors.Is(err, fs.ErrExist) {
		err = errReplaced
	}
	if err != nil {
		return object{}, err
	}
	o = object{ReadCloser: answer.Body, version: answer.Header.Get("X-Goog-Generation"), size: answer.ContentLength}
	if at > 0 {
		o.size, err = wholeOf(answer.Header.Get("Content-Range"), at)
	} else if o.size < 0 {
		err = errors.New("the server does not say how large it is")
	}
	for _, sums := range answer.Header.Values("X-Goog-Hash") {
		for sum := range strings.SplitSeq(sums, ",") {
			if sum, ok := strings.CutPrefix(strings.TrimSpace(sum), "crc32c="); ok {
				o.sum = sum
			}
		}
	}
	if err != nil {
		answer.Body.Close()
		return object{}, err
	}
	return o, nil
}

func (b *gcsBucket) list(ctx context.Context, prefix string, some int, yield func(key string) bool) error {
	query := url.Values{"prefix": {prefix}, "maxResults": {strconv.Itoa(cmp.Or(some, gcsPage))}, "fields": {"items(name),nextPageToken"}}
	for {
		_, body, err := b.ask(ctx, gcsRequest{http.MethodGet, b.server + b.path + "/o?" + query.Encode(), nil, nil})
		if err != nil {
			return inBucket(err)
		}
		var page struct {
			Items         []struct{ Name string }
			NextPageToken string
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return fmt.Errorf("a list of objects: %w", err)
		}
		for _, o := range page.Items {
			if !yield(o.Name) {
				return nil
			}
		}
		if page.NextPageToken == "" {
			return nil
		}
		query.Set("pageToken", page.NextPageToken)
	}
}

func (b *gcsBucket) remove(ctx context.Context, key string) error {
	_, _, err := b.ask(ctx, gcsRequest{http.MethodDelete, b.object(key, ""), nil, nil})
	return err
}
