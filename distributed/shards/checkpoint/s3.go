package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// s3Bucket is a bucket of S3, or of what speaks its protocol.
type s3Bucket struct {
	client *s3.Client
	name   string
}

// newS3 finds endpoint, region and credentials as Amazon's own programs do.
func newS3(ctx context.Context, bucket string) (service, error) {
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("no credentials are found in the environment, a profile or a role: %w", err)
	}
	return &s3Bucket{s3.NewFromConfig(c, func(o *s3.Options) {
		o.UsePathStyle = o.BaseEndpoint != nil             // who names an endpoint has seldom a name for each bucket there
		o.DisableLogOutputChecksumValidationSkipped = true // our files have sums of their own
		if o.Region == "" && o.BaseEndpoint != nil {
			o.Region = "us-east-1" // which servers take that have no regions
		}
	}), bucket}, nil
}

// s3Error says in one line what an answer says.
func s3Error(err error) error {
	var api smithy.APIError
	var answer *smithyhttp.ResponseError
	var net *net.OpError
	code := 0
	if errors.As(err, &answer) {
		code = answer.HTTPStatusCode()
	}
	if errors.As(err, &api) {
		switch {
		case api.ErrorCode() == "NoSuchBucket":
			return errNoBucket
		case api.ErrorCode() == "NoSuchKey" || api.ErrorCode() == "NotFound" || code == http.StatusNotFound:
			return fs.ErrNotExist
		case code == http.StatusPreconditionFailed:
			return fs.ErrExist
		case code == http.StatusConflict:
			return errConflict
		case code == http.StatusNotImplemented:
			return fmt.Errorf("%w: %s: %s", errNotImplemented, api.ErrorCode(), api.ErrorMessage())
		}
		return fmt.Errorf("%s: %s", api.ErrorCode(), api.ErrorMessage())
	}
	if errors.As(err, &net) {
		return net
	}
	return err
}

// errNotImplemented tells that a server does not know what was asked for.
var errNotImplemented = errors.New("the server cannot make a file on condition that there is none")

func (b *s3Bucket) create(ctx context.Context, key string, content []byte) error {
	return b.putObject(ctx, key, content, aws.String("*"))
}

func (b *s3Bucket) putObject(ctx context.Context, key string, content []byte, ifNoneMatch *string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if _, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.name, Key: &key, Body: bytes.NewReader(content), IfNoneMatch: ifNoneMatch}); err != nil {
		return s3Error(err)
	}
	return nil
}

const (
	partSize  = 5 << 20 // of an upload, bytes: the least that S3 takes
	mostParts = 10_000  // of an upload
)

// put sends a file of one part as such, and a larger one part by part. Parts of an upload that a killed process has left nobody sees; the bucket's rules
// may remove them.
func (b *s3Bucket) put(ctx context.Context, key string, size int64, r io.Reader) (err error) {
	part := max(partSize, (size+mostParts-1)/mostParts)
	buffer := make([]byte, min(size, part))
	if size <= part {
		if _, err := io.ReadFull(r, buffer); err != nil {
			return err
		}
		if err := ended(r); err != nil {
			return err
		}
		return b.putObject(ctx, key, buffer, nil)
	}
	upload, err := b.begin(ctx, key)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // else its parts stay, and cost
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTime)
			defer cancel()
			b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.name, Key: &key, UploadId: upload})
		}
	}()
	var parts []types.CompletedPart
	for left := size; left > 0; left -= int64(len(buffer)) {
		buffer = buffer[:min(left, part)]
		if _, err := io.ReadFull(r, buffer); err != nil {
			return err
		}
		sent, err := b.sendPart(ctx, key, upload, int32(len(parts)+1), buffer)
		if err != nil {
			return err
		}
		parts = append(parts, sent)
	}
	if err := ended(r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, err = b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &b.name, Key: &key, UploadId: upload, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
	if err != nil {
		return s3Error(err)
	}
	return nil
}

func (b *s3Bucket) begin(ctx context.Context, key string) (upload *string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	out, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &b.name, Key: &key})
	if err != nil {
		return nil, s3Error(err)
	}
	return out.UploadId, nil
}

func (b *s3Bucket) sendPart(ctx context.Context, key string, upload *string, number int32, content []byte) (types.CompletedPart, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	out, err := b.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &b.name, Key: &key, UploadId: upload, PartNumber: &number, Body: bytes.NewReader(content)})
	if err != nil {
		return types.CompletedPart{}, s3Error(err)
	}
	return types.CompletedPart{
		PartNumber: &number, ETag: out.ETag,
		ChecksumCRC32: out.ChecksumCRC32, ChecksumCRC32C: out.ChecksumCRC32C, ChecksumCRC64NVME: out.ChecksumCRC64NVME, ChecksumSHA1: out.ChecksumSHA1, ChecksumSHA256: out.ChecksumSHA256,
	}, nil
}

func (b *s3Bucket) open(ctx context.Context, key string, at int64, version string) (object, error) {
	in := &s3.GetObjectInput{Bucket: &b.name, Key: &key}
	if at > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", at))
	}
	if version != "" {
		in.IfMatch = &version
	}
	out, err := b.client.GetObject(ctx, in)
	if err != nil {
		if err = s3Error(err); errors.Is(err, fs.ErrExist) {
			err = errReplaced
		}
		return object{}, err
	}
	size := aws.ToInt64(out.ContentLength)
	if at > 0 {
		if size, err = wholeOf(aws.ToString(out.ContentRange), at); err != nil {
			out.Body.Close()
			return object{}, err
		}
	}
	return object{ReadCloser: out.Body, version: aws.ToString(out.ETag), size: size}, nil
}

func (b *s3Bucket) list(ctx context.Context, prefix string, some int, yield func(key string) bool) error {
	in := &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix}
	if some > 0 {
		in.MaxKeys = aws.Int32(int32(some))
	}
	for pages := s3.NewListObjectsV2Paginator(b.client, in); pages.HasMorePages(); {
		in, cancel := context.WithTimeout(ctx, requestTime)
		page, err := pages.NextPage(in)
		cancel()
		if err != nil {
			return s3Error(err)
		}
		for _, o := range page.Contents {
			if !yield(aws.ToString(o.Key)) {
				return nil
			}
		}
	}
	return nil
}

func (b *s3Bucket) remove(ctx context.Context, key string) error {
	if _, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key}); err != nil {
		return s3Error(err)
	}
	return nil
}
