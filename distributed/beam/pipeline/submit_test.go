package pipeline_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"forage/distributed/beam/level"
	"forage/distributed/beam/pipeline"
)

// A jobServer takes jobs as far as it is told to, and never runs one.
type jobServer struct {
	jobpb.UnimplementedJobServiceServer
	jobpb.UnimplementedArtifactStagingServiceServer

	address string
	prepare func(ctx context.Context) error // nil: it prepares any job
	submit  error                           // of Run
	tell    func(jobpb.JobService_GetMessageStreamServer) error
	state   jobpb.JobState_Enum // what GetState says

	cancelled atomic.Int32
}

func (s *jobServer) Prepare(ctx context.Context, _ *jobpb.PrepareJobRequest) (*jobpb.PrepareJobResponse, error) {
	if s.prepare != nil {
		if err := s.prepare(ctx); err != nil {
			return nil, err
		}
	}
	return &jobpb.PrepareJobResponse{PreparationId: "p", ArtifactStagingEndpoint: &pipepb.ApiServiceDescriptor{Url: s.address}, StagingSessionToken: "t"}, nil
}

func (s *jobServer) ReverseArtifactRetrievalService(stream jobpb.ArtifactStagingService_ReverseArtifactRetrievalServiceServer) error {
	_, err := stream.Recv()
	return err // it wants no files
}

func (s *jobServer) Run(context.Context, *jobpb.RunJobRequest) (*jobpb.RunJobResponse, error) {
	return &jobpb.RunJobResponse{JobId: "j"}, s.submit
}

func (s *jobServer) GetMessageStream(_ *jobpb.JobMessagesRequest, stream jobpb.JobService_GetMessageStreamServer) error {
	return s.tell(stream)
}

func (s *jobServer) GetState(context.Context, *jobpb.GetJobStateRequest) (*jobpb.JobStateEvent, error) {
	return &jobpb.JobStateEvent{State: s.state}, nil
}

func (s *jobServer) Cancel(context.Context, *jobpb.CancelJobRequest) (*jobpb.CancelJobResponse, error) {
	s.cancelled.Add(1)
	return &jobpb.CancelJobResponse{}, nil
}

// serve starts the server, which ends with the test.
func (s *jobServer) serve(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	server := grpc.NewServer()
	jobpb.RegisterJobServiceServer(server, s)
	jobpb.RegisterArtifactStagingServiceServer(server, s)
	go server.Serve(l)
	t.Cleanup(server.Stop)
}

// telling returns a stream of states and, as texts, errors; then it ends, or, with no end, stays.
func telling(ends bool, messages ...any) func(jobpb.JobService_GetMessageStreamServer) error {
	return func(stream jobpb.JobService_GetMessageStreamServer) error {
		for _, m := range messages {
			r := &jobpb.JobMessagesResponse{}
			switch m := m.(type) {
			case jobpb.JobState_Enum:
				r.Response = &jobpb.JobMessagesResponse_StateResponse{StateResponse: &jobpb.JobStateEvent{State: m}}
			case string:
				r.Response = &jobpb.JobMessagesResponse_MessageResponse{MessageResponse: &jobpb.JobMessage{Importance: jobpb.JobMessage_JOB_MESSAGE_ERROR, MessageText: m}}
			}
			if err := stream.Send(r); err != nil {
				return err
			}
		}
		if !ends {
			<-stream.Context().Done()
		}
		return nil
	}
}

// TestJobServers: what goes wrong between this SDK and a job server is one line within seconds, which says
// what to look at; the job does not stay behind, and the run goes on with another runner.
func TestJobServers(t *testing.T) {
	t.Cleanup(pipeline.SetSubmitTime(500 * time.Millisecond))
	const java = "java.lang.RuntimeException: Error received from SDK harness\n\tat a.B.c(B.java:1)\nCaused by: java.lang.IllegalArgumentException: Unknown environment beam:env:external:v1\n\tat d.E.f(E.java:2)\n\t... 3 more\n"
	l := family(8)
	for _, tt := range []struct {
		name      string
		server    *jobServer
		input     bool
		want      string
		cancelled bool
	}{
		{"refuses the pipeline", &jobServer{prepare: func(context.Context) error {
			return status.Error(codes.InvalidArgument, "Unknown primitive transform beam:transform:x:v2\n\tat a.B.c(B.java:1)")
		}}, true, "does not prepare this job: Unknown primitive transform beam:transform:x:v2; this is Beam 2.", false},
		{"knows no such call", &jobServer{prepare: func(context.Context) error {
			return status.Error(codes.Unimplemented, "unknown method Prepare")
		}}, true, "unknown method Prepare; this is Beam 2.", false},
		{"is silent", &jobServer{prepare: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}, false, "does not answer when it is to prepare a job: it may take 500ms", false},
		{"gives up first", &jobServer{prepare: func(context.Context) error { return status.Error(codes.Canceled, "stream terminated") }}, false, "does not answer when it is to prepare a job: it may take 500ms", false},
		{"refuses to run it", &jobServer{submit: status.Error(codes.FailedPrecondition, "no such staging token")}, true, "does not run this job: no such staging token", false},
		{"fails the job", &jobServer{tell: telling(false, jobpb.JobState_RUNNING, java, jobpb.JobState_FAILED)}, false, "the job ended as FAILED: java.lang.IllegalArgumentException: Unknown environment beam:env:external:v1", false},
		{"fails it and tells later", &jobServer{tell: telling(false, jobpb.JobState_FAILED, "out of slots")}, false, "the job ended as FAILED: out of slots", false},
		{"fails it and ends", &jobServer{tell: telling(true, jobpb.JobState_FAILED)}, false, "the job ended as FAILED; the job server does not say why", false},
		{"cancels it", &jobServer{tell: telling(false, jobpb.JobState_CANCELLED)}, false, "the job ended as CANCELLED", true},
		{"says no more of it", &jobServer{tell: telling(true, jobpb.JobState_RUNNING), state: jobpb.JobState_RUNNING}, false, "the job ended as RUNNING", true},
		{"says it is done and did nothing", &jobServer{tell: telling(true, jobpb.JobState_DONE)}, false, "the runner says that the job is done, and", false},
		{"loses it", &jobServer{tell: func(jobpb.JobService_GetMessageStreamServer) error { return status.Error(codes.NotFound, "no job j") }}, false, "does not tell of the job any more: no job j", true},
		{"never starts it", &jobServer{tell: telling(false, jobpb.JobState_STARTING)}, false, "(STARTING), and no worker has begun on it within 300ms (--start-limit)", true},
		{"never has workers", &jobServer{tell: telling(false, jobpb.JobState_RUNNING)}, false, "(RUNNING), and no worker has begun on it within 300ms", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, l, 2, 2, level.Reducer)
			server := tt.server
			server.serve(t)
			o.Runner = &pipeline.Portable{Endpoint: server.address, Environment: "LOOPBACK", Start: 300 * time.Millisecond}
			began := time.Now()
			text := fails(t, o, tt.input)
			if !strings.Contains(text, tt.want) || strings.ContainsAny(text, "\n\t") || !strings.HasPrefix(text, "level 1, gains from ") {
				t.Error(text)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if got := server.cancelled.Load() > 0; got != tt.cancelled {
				t.Errorf("cancelled: %v, want %v", got, tt.cancelled)
			}
			o.Runner = pipeline.Prism{}
			r, err := pipeline.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			same(t, &o, r, l)
		})
	}
}

// TestInterruptedJob: who is interrupted leaves no job behind.
func TestInterruptedJob(t *testing.T) {
	server := &jobServer{tell: telling(false, jobpb.JobState_RUNNING)}
	server.serve(t)
	o := options(t, family(8), 2, 2, level.Reducer)
	o.Runner = &pipeline.Portable{Endpoint: server.address, Environment: "LOOPBACK"}
	ctx, cancel := context.WithCancel(t.Context())
	tell := server.tell
	server.tell = func(stream jobpb.JobService_GetMessageStreamServer) error {
		cancel()
		return tell(stream)
	}
	if _, err := pipeline.Run(ctx, o); !errors.Is(err, context.Canceled) || server.cancelled.Load() != 1 {
		t.Errorf("%v, cancelled %d times", err, server.cancelled.Load())
	}
}
