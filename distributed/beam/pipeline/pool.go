package pipeline

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"sync"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"google.golang.org/grpc"
)

// ServePool starts workers whenever a runner asks for them, until ctx is done, and then ends them
// all. A worker is a process of the program at exe, which must call Init first. What workers
// write goes to log. One pool runs on each machine that has a task manager.
func ServePool(ctx context.Context, l net.Listener, exe string, log io.Writer) error {
	root, cancel := context.WithCancel(ctx)
	p := &pool{root: root, exe: exe, log: log, workers: map[string]context.CancelFunc{}}
	server := grpc.NewServer()
	fnpb.RegisterBeamFnExternalWorkerPoolServer(server, p)
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	err := server.Serve(l)
	cancel()
	p.running.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// pool implements the service of Beam by which runners ask for workers.
type pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer

	root context.Context
	exe  string
	log  io.Writer

	mu      sync.Mutex
	workers map[string]context.CancelFunc // by id; each ends one
	running sync.WaitGroup
}

func (p *pool) StartWorker(_ context.Context, r *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := r.GetWorkerId()
	refuse := func(format string, args ...any) (*fnpb.StartWorkerResponse, error) {
		return &fnpb.StartWorkerResponse{Error: fmt.Sprintf(format, args...)}, nil
	}
	control, logging := r.GetControlEndpoint(), r.GetLoggingEndpoint()
	switch {
	case p.root.Err() != nil:
		return refuse("the pool ends")
	case p.workers[id] != nil:
		return refuse("there is a worker %q already", id)
	case control.GetUrl() == "" || logging.GetUrl() == "":
		return refuse("worker %q: want endpoints for control and logs", id)
	case control.Authentication != nil || logging.Authentication != nil:
		return refuse("worker %q: endpoints with authentication are not supported", id)
	}
	ctx, end := context.WithCancel(p.root)
	cmd := exec.CommandContext(ctx, p.exe, workerFlag, "--id="+id, "--control_endpoint="+control.GetUrl(), "--logging_endpoint="+logging.GetUrl())
	cmd.Stdout, cmd.Stderr = p.log, p.log
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		end()
		return refuse("worker %q: %v", id, err)
	}
	p.workers[id] = end
	p.running.Go(func() {
		cmd.Wait() // how it ended is in the log of the runner
		end()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.workers, id)
	})
	return &fnpb.StartWorkerResponse{}, nil
}

func (p *pool) StopWorker(_ context.Context, r *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if end := p.workers[r.GetWorkerId()]; end != nil {
		end()
	}
	return &fnpb.StopWorkerResponse{}, nil // one that has ended by itself is stopped, too
}
