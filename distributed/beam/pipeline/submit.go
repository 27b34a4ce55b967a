package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/runnerlib"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// submitTime is how long each of the calls by which a job server takes a job may be.
var submitTime = 30 * time.Second

const (
	reasonTime = 5 * time.Second // from the end of a job that failed until it says why
	pollTime   = 2 * time.Second // between looks for a worker that has begun
)

// DefaultStart is how long it may take until the first worker begins on a job: on two cores that a test
// loaded heavily, a job manager took 78 s.
const DefaultStart = 3 * time.Minute

// submission is one job at a job server. Beam's SDK would wait without end for what does not come, takes a
// job that was cancelled, or of which the server says no more, for one that was done, and leaves jobs
// behind when its caller goes.
type submission struct {
	r      *Portable
	client jobpb.JobServiceClient
	id     string

	state  jobpb.JobState_Enum // the last that the server told
	reason string              // the last error that it told
}

// submit runs a pipeline at the job server, until it is done or surely will not be.
func (r *Portable) submit(ctx context.Context, p *beam.Pipeline, worker string, begun func(context.Context) bool) error {
	proto, stop, err := r.encode(ctx, p, worker)
	if err != nil {
		return err
	}
	defer stop()
	cc, err := grpc.NewClient(r.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return err
	}
	defer cc.Close()
	s := &submission{r: r, client: jobpb.NewJobServiceClient(cc)}
	if err := s.hand(ctx, proto, worker); err != nil {
		return err
	}
	err = s.wait(ctx, begun)
	if s.state != jobpb.JobState_DONE && s.state != jobpb.JobState_FAILED {
		s.cancel(ctx)
	}
	return err
}

// encode returns the pipeline as runners read it; stop ends the service that starts workers here.
func (r *Portable) encode(ctx context.Context, p *beam.Pipeline, worker string) (proto *pipepb.Pipeline, stop func(), err error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, nil, err
	}
	stop = func() {}
	config := jobopts.GetEnvironmentConfig
	if jobopts.IsLoopback() {
		workers, err := extworker.StartLoopback(ctx, 0)
		if err != nil {
			return nil, nil, err
		}
		stop = func() { workers.Stop(context.WithoutCancel(ctx)) }
		config = workers.EnvironmentConfig
	}
	environment, err := graphx.CreateEnvironment(ctx, jobopts.GetEnvironmentUrn(ctx), config)
	if err == nil {
		proto, err = graphx.Marshal(edges, &graphx.Options{Environment: environment, PipelineResourceHints: jobopts.GetPipelineResourceHints()})
	}
	if err == nil {
		err = runnerlib.UpdateGoEnvironmentWorker(worker, proto)
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return proto, stop, nil
}

// hand gives the job to the server. What it refuses is an *InputError: the two do not fit.
func (s *submission) hand(ctx context.Context, proto *pipepb.Pipeline, worker string) error {
	call := func(what string, do func(ctx context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, submitTime)
		defer cancel()
		err := do(ctx)
		why := answer(err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() == context.DeadlineExceeded, ctx.Err() == nil && (why.Code() == codes.DeadlineExceeded || why.Code() == codes.Canceled): // the server knows the deadline too, and its clock may be first
			return fmt.Errorf("the job server at %s does not answer when it is to %s a job: it may take %v", s.r.Endpoint, what, submitTime)
		case ctx.Err() != nil:
			return ctx.Err()
		case why.Code() == codes.Unavailable:
			return fmt.Errorf("the job server at %s does not answer any more: %s", s.r.Endpoint, brief(why.Message()))
		}
		return &InputError{fmt.Errorf("the job server at %s does not %s this job: %s; this is Beam %s, which version is that?", s.r.Endpoint, what, brief(why.Message()), core.SdkVersion)}
	}
	var prepared, artifacts, staging, token string
	err := call("prepare", func(ctx context.Context) (err error) {
		prepared, artifacts, staging, err = runnerlib.Prepare(ctx, s.client, proto, &runnerlib.JobOptions{
			Name: jobopts.GetJobName(), Experiments: jobopts.GetExperiments(), Worker: worker, Parallelism: *jobopts.Parallelism, Loopback: jobopts.IsLoopback(),
		})
		return err
	})
	if err != nil {
		return err
	}
	err = call("take the files of", func(ctx context.Context) (err error) {
		token, err = runnerlib.Stage(ctx, prepared, artifacts, worker, staging)
		return err
	})
	if err != nil {
		return err
	}
	return call("run", func(ctx context.Context) (err error) {
		s.id, err = runnerlib.Submit(ctx, s.client, prepared, token)
		return err
	})
}

// wait returns when the job is done, or surely will not be.
func (s *submission) wait(ctx context.Context, begun func(context.Context) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.client.GetMessageStream(ctx, &jobpb.JobMessagesRequest{JobId: s.id})
	if err != nil {
		return s.lost(err)
	}
	type told struct {
		*jobpb.JobMessagesResponse
		err error
	}
	messages := make(chan told)
	go func() { // ends with ctx
		for {
			m, err := stream.Recv()
			select {
			case messages <- told{m, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	limit := s.r.Start
	if limit == 0 {
		limit = DefaultStart
	}
	start := time.NewTimer(limit)
	defer start.Stop()
	look := time.NewTicker(min(pollTime, limit/4))
	defer look.Stop()
	var reason <-chan time.Time // the job has failed, and why may still be said
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-messages:
			switch {
			case m.err == io.EOF:
				return s.ended(ctx)
			case m.err != nil:
				return s.lost(m.err)
			}
			if s.note(m.JobMessagesResponse) && s.reason == "" && s.state == jobpb.JobState_FAILED {
				reason = time.After(reasonTime)
			} else if s.over() {
				return s.outcome()
			}
		case <-reason:
			return s.outcome()
		case <-look.C:
			if begun(ctx) {
				look.Stop()
				start.Stop()
			}
		case <-start.C:
			if begun(ctx) {
				look.Stop()
				continue
			}
			where := "the runner has to reach this process"
			if s.r.Pool != "" {
				where = fmt.Sprintf("a pool has to answer at %s on each machine of a worker", s.r.Pool)
			}
			return fmt.Errorf("the job server at %s has the job (%s), and no worker has begun on it within %v (--start-limit): the runner needs free slots, %s, and workers the shared folder%s", s.r.Endpoint, s.state, limit, where, s.because())
		}
	}
}

// note takes down what the server tells, and reports whether it is a state.
func (s *submission) note(m *jobpb.JobMessagesResponse) (state bool) {
	if m := m.GetMessageResponse(); m != nil && m.GetImportance() >= jobpb.JobMessage_JOB_MESSAGE_ERROR {
		s.reason = m.GetMessageText()
	}
	if st := m.GetStateResponse(); st != nil {
		s.state = st.GetState()
		return true
	}
	return false
}

// over reports whether the job is at its end, and it is known why.
func (s *submission) over() bool {
	switch s.state {
	case jobpb.JobState_DONE, jobpb.JobState_CANCELLED, jobpb.JobState_DRAINED:
		return true
	case jobpb.JobState_FAILED:
		return s.reason != ""
	}
	return false
}

// outcome returns the error of a job that is over.
func (s *submission) outcome() error {
	if s.state == jobpb.JobState_DONE {
		return nil
	}
	if strings.Contains(s.reason, markBegin) {
		return errors.New(s.reason)
	}
	return fmt.Errorf("the job ended as %s%s", s.state, s.because())
}

// because tells the reason, if there is one.
func (s *submission) because() string {
	if s.reason == "" {
		return "; the job server does not say why"
	}
	return ": " + brief(s.reason)
}

// ended asks for the state of a job of which the server says no more.
func (s *submission) ended(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if !s.over() && s.state != jobpb.JobState_FAILED {
		st, err := s.client.GetState(ctx, &jobpb.GetJobStateRequest{JobId: s.id})
		if err != nil {
			return s.lost(err)
		}
		s.state = st.GetState()
	}
	return s.outcome()
}

func (s *submission) lost(err error) error {
	return fmt.Errorf("the job server at %s does not tell of the job any more: %s", s.r.Endpoint, brief(status.Convert(err).Message()))
}

// cancel ends a job that nobody waits for.
func (s *submission) cancel(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	s.client.Cancel(ctx, &jobpb.CancelJobRequest{JobId: s.id}) // a server that does not answer has no use for it
}

// answer returns what a server said, in an error that the SDK has wrapped.
func answer(err error) *status.Status {
	var said interface{ GRPCStatus() *status.Status }
	if errors.As(err, &said) {
		return said.GRPCStatus()
	}
	return status.Convert(err)
}

// brief returns the line of a message that tells most: of an error in Java that is its last cause.
func brief(text string) string {
	const longest = 400
	if at := strings.LastIndex(text, "Caused by: "); at >= 0 {
		text = text[at+len("Caused by: "):]
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "at ") {
			break
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	text = strings.Join(lines, " ")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// workerFile makes the file that is sent as the program of workers; they are not started from it.
func workerFile() (name string, remove func(), err error) {
	f, err := os.CreateTemp("", "forage-beam-worker-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.Remove(f.Name()) }
	return f.Name(), remove, f.Close()
}
