// Package pipeline runs a set cover over shards on Apache Beam, a pipeline a level.
//
// An element is the number of a shard, never a set: the mappers read and write the sets themselves,
// in a folder that all machines see, and hand on the names of their records. Run is the driver: it
// starts the pipeline of each level, finds the record of the reducer and saves the state, from
// which it goes on after a kill.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"forage/distributed/beam/files"
	"forage/distributed/beam/level"
	"forage/distributed/beam/shard"
)

func init() {
	beam.RegisterDoFn(&mapFn{})
	beam.RegisterDoFn(&commitFn{})
}

// A Job is one level as the workers are told of it.
type Job struct {
	Shards string // folder of the shards
	Dir    string // of the state
	Level  int    // from 1; 0: the selection that comes before
	Run    string // names the driver's try
	Select string // record of the selection, for level 0
	Tell   bool   // workers tell when they begin
}

// place returns where a new attempt runs.
func (j *Job) place() *level.Place {
	return &level.Place{Shards: j.Shards, Dir: j.Dir, Level: j.Level, Attempt: j.Run + "-" + files.Unique()}
}

// begun begins the names of the files by which workers tell that they have begun.
func (j *Job) begun() string { return level.Begun(j.Level, j.Run) }

// build returns the pipeline of the level, which reads these shards.
func (j *Job) build(shards []int) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	numbers := beam.Reshuffle(s, beam.CreateList(s, shards)) // else one worker had all of them
	records := beam.ParDo(s, &mapFn{*j}, numbers)
	// Nothing reads what the reducer emits. But Prism spins while it waits for a stage that has no output,
	// a fifth of all the time on a web graph of 3·10⁶ links.
	beam.GroupByKey(s, beam.ParDo(s, &commitFn{*j}, beam.GroupByKey(s, records)))
	return p
}

// mapFn looks at the sets of a shard.
type mapFn struct{ Job Job }

// ProcessElement emits the name of the record of what it made of shard i.
func (f *mapFn) ProcessElement(ctx context.Context, i int, emit func(int, string)) error {
	w, err := take(ctx, &f.Job)
	if err != nil {
		return fault(err)
	}
	record, err := w.look(ctx, f.Job.place(), i)
	if err != nil {
		return fault(err)
	}
	emit(0, record)
	return nil
}

// commitFn takes sets from what the mappers left.
type commitFn struct{ Job Job }

// ProcessElement reads the names of the mappers' records, once, and emits the name of the record of
// the level.
func (f *commitFn) ProcessElement(ctx context.Context, _ int, records func(*string) bool, emit func(int, string)) error {
	w, err := take(ctx, &f.Job)
	if err != nil {
		return fault(err)
	}
	var names []string
	for name := ""; records(&name); {
		names = append(names, name)
	}
	record, err := w.commit(ctx, f.Job.place(), names)
	if err != nil {
		return fault(err)
	}
	emit(0, record)
	return nil
}

// work is what mappers and reducer do.
type work struct {
	look   func(ctx context.Context, p *level.Place, shard int) (record string, err error)
	commit func(ctx context.Context, p *level.Place, records []string) (record string, err error)
}

// held is the work that this process has in hand: its input is read once, and all bundles share it.
var held struct {
	sync.Mutex
	job  Job
	work *work
}

// take returns the work of a job.
func take(ctx context.Context, j *Job) (*work, error) {
	held.Lock()
	defer held.Unlock()
	if held.work != nil && held.job == *j {
		return held.work, nil
	}
	w, err := j.work(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		host, _ := os.Hostname()
		return nil, fmt.Errorf("the worker on %s does not see the shared folder: %w; every machine must have %s and %s under these paths", host, err, j.Shards, j.Dir)
	}
	if err != nil {
		return nil, err
	}
	if j.Tell { // once a process: the driver cannot see whether a runner has workers
		if err := files.Write(ctx, files.Join(j.Dir, j.begun()+"-"+files.Unique())); err != nil {
			return nil, err
		}
	}
	held.job, held.work = *j, w
	return w, nil
}

// work reads the input of a job.
func (j *Job) work(ctx context.Context) (*work, error) {
	m := &shard.Manifest{}
	var err error
	if m.Sum, err = shard.ReadRecord(ctx, files.Join(j.Shards, shard.ManifestName), m); err != nil {
		return nil, err
	}
	if j.Select != "" {
		in, err := level.ReadPart(ctx, j.Dir, j.Select, m)
		return &work{
			func(ctx context.Context, p *level.Place, i int) (string, error) { return level.Pick(ctx, p, in, i) },
			func(ctx context.Context, p *level.Place, records []string) (string, error) {
				return level.Gather(ctx, p, in, records)
			},
		}, err
	}
	in := &level.Input{Manifest: m, State: &level.State{}}
	if _, err := shard.ReadRecord(ctx, level.StatePath(j.Dir, j.Level-1), in.State); err != nil {
		return nil, err
	}
	in.Bits, err = in.State.ReadBits(ctx, j.Dir, m.Elements)
	return &work{
		func(ctx context.Context, p *level.Place, i int) (string, error) { return level.Map(ctx, p, in, i) },
		func(ctx context.Context, p *level.Place, records []string) (string, error) {
			return level.Commit(ctx, p, in, records)
		},
	}, err
}
