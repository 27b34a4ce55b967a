package crawl

import (
	"context"
	"net/netip"

	"forage/fetch"
	"forage/fetch/link"
)

// A job is one request on its way through the pool, and what came of it.
type job struct {
	item
	host *host
	site *site

	url                string
	etag, lastModified string
	digest             uint64   // of the body before
	list               bool     // should be a feed or sitemap: read whatever its type
	soft               bool     // the site has pages for what is not there: fingerprint the body
	ignore             []string // query parameters that do not count

	lookup bool       // look the host's address up, make no request
	addr   netip.Addr // what that found

	out     *fetch.Outcome
	err     error // the run was cancelled
	rules   *fetch.Robots
	content *content
}

// A reader is one goroutine of the pool with its buffers.
type reader struct {
	client    *fetch.Client
	extractor link.Extractor
	buf       []byte
}

// do makes the request of j and reads the answer.
func (r *reader) do(ctx context.Context, j *job) {
	if j.lookup {
		if as, err := r.client.Resolve(ctx, name(j.host.name)); err == nil && len(as) > 0 {
			j.addr = as[0]
		}
		return
	}
	if j.work == fetchRobots {
		j.rules, j.out, j.err = r.client.Robots(ctx, j.url)
		return
	}
	req := &fetch.Request{URL: j.url, Any: j.list, Buffer: r.buf[:0]}
	if j.work == fetchOld {
		req.ETag, req.LastModified = j.etag, j.lastModified
	}
	j.out, j.err = r.client.Fetch(ctx, req)
	if j.err != nil || j.out.Class != fetch.OK {
		return
	}
	j.content = r.read(j)
	if n := cap(j.out.Body); n > 1<<20 {
		*r = reader{client: r.client} // one large page must not hold memory for the rest of the run
	} else if n > cap(r.buf) {
		r.buf = j.out.Body[:0]
	}
	j.out.Body, j.out.Header = nil, "" // its place is held until the loop has worked its links off
}
