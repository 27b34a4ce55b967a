package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"forage/distributed/beam/files"
	"forage/distributed/beam/level"
	"forage/distributed/beam/shard"
	"forage/internal/filelock"
)

// Options say what is to be covered, and how.
type Options struct {
	Shards string // folder that shard.Write made; absolute
	Dir    string // folder of the state, absolute; made if it is not there
	P      float64
	Form   level.Form
	Runner Runner

	Progress func(Progress) // if set, called before and after each level
}

// Progress is how far a run has come.
type Progress struct {
	Level     int // from 1
	Threshold uint64
	Shards    int    // that the level reads
	Done      bool   // the level is complete
	Taken     uint64 // sets, of all levels so far
	Covered   uint64 // elements
}

// A Result is a cover, and what it took.
type Result struct {
	Manifest *shard.Manifest
	State    *level.State // after the last level
	Resumed  int          // levels that an earlier run had done
}

// An InputError says that what the user gave is wrong, and not that the run failed.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// Run covers the family in a folder of shards. It goes on where an earlier run with the same state
// folder stopped: at the last level that was complete. Errors: *InputError for what is wrong with
// the input, the state or the endpoint; of the runner; of the disk; of ctx. After each of them a
// new run goes on.
func Run(ctx context.Context, o Options) (r *Result, err error) {
	m, err := shard.Open(ctx, o.Shards)
	if err != nil {
		return nil, badFile(err)
	}
	if err := files.Mkdir(ctx, o.Dir); err != nil {
		return nil, err
	}
	unlock, err := lock(o.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	s, err := begin(ctx, &o, m)
	if err != nil {
		return nil, err
	}
	r = &Result{Manifest: m, Resumed: s.Levels}
	r.State, err = o.levels(ctx, m, s)
	return r, err
}

// levels runs the levels after s and returns the state after the last.
func (o *Options) levels(ctx context.Context, m *shard.Manifest, s *level.State) (*level.State, error) {
	for {
		plan, ok := s.Plan(m.Largest)
		if !ok {
			return s, nil
		}
		progress := Progress{s.Levels + 1, plan.Threshold, len(plan.Shards), false, s.Taken, s.Covered}
		o.tell(progress)
		c, err := o.level(ctx, s, &plan)
		if err != nil {
			return nil, err
		}
		s = s.After(c)
		if err := s.Save(ctx, o.Dir); err != nil {
			return nil, badFile(err)
		}
		progress.Done, progress.Taken, progress.Covered = true, s.Taken, s.Covered
		o.tell(progress)
	}
}

func (o *Options) tell(p Progress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}

// badFile makes an error about a file that is not what it should be one of the input.
func badFile(err error) error {
	var damaged *shard.Error
	if errors.As(err, &damaged) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, level.ErrOther) {
		return &InputError{err}
	}
	return err
}

// lock keeps a second driver away from the folder of a state. Stores have no locks: there a second
// driver is found out when it saves a level.
func lock(dir string) (unlock func() error, err error) {
	if !files.Local(dir) {
		return func() error { return nil }, nil
	}
	f, err := os.OpenFile(files.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := filelock.Try(f, true); err != nil {
		f.Close()
		if errors.Is(err, filelock.ErrLocked) {
			return nil, &InputError{fmt.Errorf("%s: %w", dir, level.ErrOther)}
		}
		return nil, err
	}
	return f.Close, nil
}

// begin returns the state to go on from.
func begin(ctx context.Context, o *Options, m *shard.Manifest) (*level.State, error) {
	s, err := level.Latest(ctx, o.Dir)
	if err != nil {
		return nil, badFile(err)
	}
	switch {
	case s == nil:
		s = level.Begin(m, o.P, o.Form)
		return s, badFile(s.Save(ctx, o.Dir))
	case s.Shards != m.Sum:
		return nil, &InputError{fmt.Errorf("%s is the state of a cover of other shards than those in %s: remove it, or name another folder", o.Dir, o.Shards)}
	case s.P != o.P || s.Form != o.Form:
		return nil, &InputError{fmt.Errorf("%s is the state of a cover with p = %v in form %s, not p = %v in form %s: name another folder", o.Dir, s.P, s.Form, o.P, o.Form)}
	}
	return s, nil
}

// level runs the pipeline of the level after s and returns what the reducer made of it.
func (o *Options) level(ctx context.Context, s *level.State, plan *level.Plan) (*level.Committed, error) {
	job := Job{Shards: o.Shards, Dir: o.Dir, Level: s.Levels + 1, Run: files.Unique()}
	return o.submit(ctx, &job, plan.Shards, fmt.Sprintf("level %d, gains from %d", job.Level, plan.Threshold))
}

// submit runs the pipeline of a job and returns what its reducer made of it.
func (o *Options) submit(ctx context.Context, job *Job, shards []int, what string) (*level.Committed, error) {
	_, job.Tell = o.Runner.(*Portable)
	begun := func(ctx context.Context) bool {
		there, err := files.List(ctx, o.Dir, job.begun())
		return err == nil && len(there) > 0
	}
	if err := o.Runner.Run(ctx, job.build(shards), begun); err != nil {
		var input *InputError
		if errors.As(err, &input) {
			return nil, &InputError{fmt.Errorf("%s: %w", what, err)}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if latest, lerr := level.Latest(ctx, o.Dir); lerr == nil && latest != nil && latest.Levels >= job.Level {
			return nil, badFile(fmt.Errorf("%s: %w", o.Dir, level.ErrOther)) // which has removed what this one had written
		}
		return nil, fmt.Errorf("%s: %w; run it again to go on from there", what, said(err))
	}
	c, err := level.FindCommitted(ctx, o.Dir, job.Level, job.Run)
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return nil, fmt.Errorf("%s: the runner says that the job is done, and %s holds no record of it: does every worker see this folder, and not another under the same path?", what, o.Dir)
	case c.Fault != "":
		return nil, &InputError{fmt.Errorf("%s: %s", what, c.Fault)}
	}
	return c, nil
}
