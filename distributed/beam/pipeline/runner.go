package pipeline

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// A Runner runs a pipeline to its end. begun tells whether a worker has begun on it.
type Runner interface {
	Run(ctx context.Context, p *beam.Pipeline, begun func(context.Context) bool) error
}

// workerFlag begins the arguments of a worker.
const workerFlag = "--worker"

// Init prepares Beam; it must come first in main. Where the arguments are those that a pool, or a
// runner, starts a worker with, it is that worker and does not return. What Beam and its runner
// log is dropped, unless Log says otherwise.
func Init(args []string) {
	if len(args) > 0 && strings.HasPrefix(args[0], workerFlag) {
		flag.CommandLine.Parse(args)
		beam.Init()
		os.Exit(0)
	}
	if !flag.Parsed() {
		flag.CommandLine.Parse(nil) // Beam's flags are not ours
	}
	beam.Init()
	Log(io.Discard)
}

// Log sends what Beam and its runner log to w.
func Log(w io.Writer) {
	slog.SetDefault(slog.New(slog.NewTextHandler(w, nil)))
}

// Prism is the runner that comes with Beam's SDK. It runs in this process and needs nothing.
type Prism struct{}

// prismEndpoint is where Prism's job server listens in this process; "": it has not been started.
var prismEndpoint string

// Run implements Runner.
func (Prism) Run(ctx context.Context, p *beam.Pipeline, _ func(context.Context) bool) error {
	set(prismEndpoint, "LOOPBACK", "", "", 0)
	_, err := prism.Execute(ctx, p) // starts a job server where there is no endpoint, and notes its own
	prismEndpoint = *jobopts.Endpoint
	return err
}

// set sets all of Beam's options, which are global, that a runner depends on.
func set(endpoint, environment, config, worker string, parallelism int) {
	if parallelism == 0 {
		parallelism = -1
	}
	*jobopts.Endpoint, *jobopts.EnvironmentType, *jobopts.EnvironmentConfig = endpoint, environment, config
	*jobopts.WorkerBinary, *jobopts.Parallelism = worker, parallelism
}

// Portable is a runner behind a job server, such as Flink's or Spark's.
type Portable struct {
	Endpoint    string // HOST:PORT of the job server
	Environment string // how workers are started: LOOPBACK (in this process) or EXTERNAL (by a pool)
	Pool        string // HOST:PORT of the pool, for EXTERNAL
	Parallelism int    // so many shards at a time; 0: what the runner is set to

	Start time.Duration // within which a worker must have begun on a job; 0: DefaultStart
}

// answerTime is how long a job server may take to say that it is one.
const answerTime = 10 * time.Second

// Check asks the job server whether it is there; what it finds is an *InputError.
func (r *Portable) Check(ctx context.Context) error {
	if err := r.reach(ctx); err != nil {
		return &InputError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	cc, err := grpc.NewClient(r.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return &InputError{fmt.Errorf("%s: %w", r.Endpoint, err)}
	}
	defer cc.Close()
	_, err = jobpb.NewJobServiceClient(cc).GetJobs(ctx, &jobpb.GetJobsRequest{})
	if err != nil && status.Code(err) != codes.Unimplemented {
		return &InputError{fmt.Errorf("what answers at %s is no job server of Beam: %s", r.Endpoint, status.Convert(err).Message())}
	}
	return nil
}

// reach connects to the job server and says nothing. Beam's SDK would try for two minutes.
func (r *Portable) reach(ctx context.Context) error {
	d := net.Dialer{Timeout: answerTime}
	conn, err := d.DialContext(ctx, "tcp", r.Endpoint)
	if err != nil {
		return fmt.Errorf("no job server answers at %s: %w", r.Endpoint, err)
	}
	return conn.Close()
}

// Run implements Runner. The caller has called Check.
func (r *Portable) Run(ctx context.Context, p *beam.Pipeline, begun func(context.Context) bool) error {
	if err := r.reach(ctx); err != nil {
		return err
	}
	// Pools start the program that they are. Without a file of its own here the SDK would send this
	// program to the job server at each level.
	worker, remove, err := workerFile()
	if err != nil {
		return err
	}
	defer remove()
	set(r.Endpoint, r.Environment, r.Pool, worker, r.Parallelism)
	return r.submit(ctx, p, worker, begun)
}
