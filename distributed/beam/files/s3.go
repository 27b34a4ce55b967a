package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// s3System is S3 and what speaks its protocol.
type s3System struct{ client *s3.Client }

// newS3 finds endpoint, region and credentials as Amazon's own programs do.
func newS3() (system, error) {
	c, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		return nil, fmt.Errorf("s3://: %w", err)
	}
	return &s3System{s3.NewFromConfig(c, func(o *s3.Options) {
		o.UsePathStyle = o.BaseEndpoint != nil             // who names an endpoint has seldom a name for each bucket there
		o.DisableLogOutputChecksumValidationSkipped = true // our files have sums of their own
	})}, nil
}

// s3Error says in one line what an answer says.
func s3Error(path string, err error) error {
	var api smithy.APIError
	var answer *smithyhttp.ResponseError
	code := 0
	if errors.As(err, &answer) {
		code = answer.HTTPStatusCode()
	}
	if errors.As(err, &api) {
		switch {
		case api.ErrorCode() == "NoSuchBucket":
			return asked(path, noBucket{})
		case api.ErrorCode() == "NoSuchKey" || api.ErrorCode() == "NotFound" || code == http.StatusNotFound:
			return missing(path)
		case code == http.StatusPreconditionFailed || api.ErrorCode() == "ConditionalRequestConflict":
			return exists(path)
		}
		return asked(path, fmt.Errorf("%s: %s", api.ErrorCode(), api.ErrorMessage()))
	}
	return asked(path, err)
}

func (s *s3System) open(ctx context.Context, path string, at, n int64) (io.ReadCloser, int64, error) {
	return openRange(ctx, s, path, at, n)
}

func (s *s3System) readAt(ctx context.Context, path string, b []byte, at int64) (n int, size int64, err error) {
	bucket, key := bucketAndKey(path)
	for range 3 { // the client tries requests again, not answers that break off
		var out *s3.GetObjectOutput
		out, err = s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key, Range: aws.String(fmt.Sprintf("bytes=%d-%d", at, at+int64(max(len(b), 1))-1))})
		var api smithy.APIError
		if errors.As(err, &api) && api.ErrorCode() == "InvalidRange" { // the file ends before
			var head *s3.HeadObjectOutput
			if head, err = s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key}); err != nil {
				return 0, 0, s3Error(path, err)
			}
			return 0, aws.ToInt64(head.ContentLength), nil
		}
		if err != nil {
			return 0, 0, s3Error(path, err)
		}
		size, err = total(out)
		if err == nil {
			n, err = io.ReadFull(out.Body, b[:max(0, min(int64(len(b)), size-at))])
		}
		out.Body.Close()
		if err == nil {
			return n, size, nil
		}
	}
	return 0, 0, asked(path, err)
}

// total returns how long the file is of which an answer has a part.
func total(out *s3.GetObjectOutput) (int64, error) {
	of := aws.ToString(out.ContentRange) // bytes 0-9/100
	if of == "" {
		return aws.ToInt64(out.ContentLength), nil
	}
	return strconv.ParseInt(of[strings.LastIndexByte(of, '/')+1:], 10, 64)
}

func (s *s3System) commit(ctx context.Context, path string, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return s.put(ctx, path, b, aws.String("*"))
}

func (s *s3System) put(ctx context.Context, path string, b []byte, ifNoneMatch *string) error {
	bucket, key := bucketAndKey(path)
	if _, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(b), IfNoneMatch: ifNoneMatch}); err != nil {
		return s3Error(path, err)
	}
	return nil
}

func (s *s3System) list(ctx context.Context, dir, prefix string) (found []Info, err error) {
	bucket, begin, folder := below(dir, prefix)
	for pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &begin}); pages.HasMorePages(); {
		ctx, cancel := context.WithTimeout(ctx, requestTime)
		page, err := pages.NextPage(ctx)
		cancel()
		if err != nil {
			return nil, s3Error(dir, err)
		}
		for _, o := range page.Contents {
			found = append(found, Info{aws.ToString(o.Key)[folder:], aws.ToInt64(o.Size)})
		}
	}
	sortByName(found)
	return found, nil
}

func (s *s3System) remove(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	bucket, key := bucketAndKey(path)
	if _, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &key}); err != nil {
		return s3Error(path, err)
	}
	return nil
}

func (s *s3System) mkdir(context.Context, string) error { return nil }

func (s *s3System) create(ctx context.Context, path string) (Writer, error) {
	return &s3Writer{ctx: ctx, s: s, path: path}, nil
}

// Parts of an upload have at least 5 MiB, but for the last, and there are 10,000 at most: every
// thousandth doubles them, so that the largest file is the largest that S3 takes.
const leastPart = 5 << 20

// s3Writer writes a file of one part as such, and a larger one part by part.
type s3Writer struct {
	ctx    context.Context // of Create: the writer is part of that call
	s      *s3System
	path   string
	buffer []byte
	upload *string // nil: nothing was sent
	parts  []types.CompletedPart
	closed bool
}

func (w *s3Writer) Write(b []byte) (written int, err error) {
	for len(b) > 0 {
		size := leastPart << (len(w.parts) / 1000)
		n := min(len(b), size-len(w.buffer))
		w.buffer = append(w.buffer, b[:n]...)
		b = b[n:]
		written += n
		if len(w.buffer) == size {
			if err := w.send(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// send sends what is there as the next part.
func (w *s3Writer) send() error {
	ctx, cancel := context.WithTimeout(w.ctx, requestTime)
	defer cancel()
	bucket, key := bucketAndKey(w.path)
	if w.upload == nil {
		out, err := w.s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: &key})
		if err != nil {
			return s3Error(w.path, err)
		}
		w.upload = out.UploadId
	}
	number := int32(len(w.parts) + 1)
	out, err := w.s.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &bucket, Key: &key, UploadId: w.upload, PartNumber: &number, Body: bytes.NewReader(w.buffer)})
	if err != nil {
		return s3Error(w.path, err)
	}
	w.parts = append(w.parts, types.CompletedPart{
		PartNumber: &number, ETag: out.ETag,
		ChecksumCRC32: out.ChecksumCRC32, ChecksumCRC32C: out.ChecksumCRC32C, ChecksumCRC64NVME: out.ChecksumCRC64NVME, ChecksumSHA1: out.ChecksumSHA1, ChecksumSHA256: out.ChecksumSHA256,
	})
	w.buffer = w.buffer[:0]
	return nil
}

func (w *s3Writer) Close() error {
	ctx, cancel := context.WithTimeout(w.ctx, requestTime)
	defer cancel()
	if w.upload == nil {
		err := w.s.put(ctx, w.path, w.buffer, nil)
		w.closed = err == nil
		return err
	}
	if len(w.buffer) > 0 {
		if err := w.send(); err != nil {
			return err
		}
	}
	bucket, key := bucketAndKey(w.path)
	_, err := w.s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &bucket, Key: &key, UploadId: w.upload, MultipartUpload: &types.CompletedMultipartUpload{Parts: w.parts}})
	if err != nil {
		return s3Error(w.path, err)
	}
	w.closed = true
	return nil
}

func (w *s3Writer) Sync() error { return nil }

// Discard ends an upload whose parts would else stay and cost.
func (w *s3Writer) Discard() {
	if w.closed || w.upload == nil {
		return
	}
	w.closed = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), requestTime)
	defer cancel()
	bucket, key := bucketAndKey(w.path)
	w.s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: &key, UploadId: w.upload})
}
