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
	Level  int    // from 1
	Run    string // names the driver's try
}

// place returns where a new attempt runs.
func (j *Job) place() *level.Place {
	return &level.Place{Shards: j.Shards, Dir: j.Dir, Level: j.Level, Attempt: j.Run + "-" + files.Unique()}
}

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
	in, err := input(ctx, &f.Job)
	if err != nil {
		return fault(err)
	}
	record, err := level.Map(ctx, f.Job.place(), in, i)
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
	in, err := input(ctx, &f.Job)
	if err != nil {
		return fault(err)
	}
	var names []string
	for name := ""; records(&name); {
		names = append(names, name)
	}
	record, err := level.Commit(ctx, f.Job.place(), in, names)
	if err != nil {
		return fault(err)
	}
	emit(0, record)
	return nil
}

// held is the input of the level that this process works on: it is read once, and all bundles
// share it.
var held struct {
	sync.Mutex
	job Job
	in  *level.Input
}

// input returns what the level reads.
func input(ctx context.Context, j *Job) (*level.Input, error) {
	held.Lock()
	defer held.Unlock()
	if held.in != nil && held.job == *j {
		return held.in, nil
	}
	in := &level.Input{Manifest: &shard.Manifest{}, State: &level.State{}}
	_, err := shard.ReadRecord(ctx, files.Join(j.Shards, shard.ManifestName), in.Manifest)
	if err == nil {
		_, err = shard.ReadRecord(ctx, level.StatePath(j.Dir, j.Level-1), in.State)
	}
	if err == nil {
		in.Bits, err = in.State.ReadBits(ctx, j.Dir, in.Manifest.Elements)
	}
	if errors.Is(err, fs.ErrNotExist) {
		host, _ := os.Hostname()
		return nil, fmt.Errorf("the worker on %s does not see the shared folder: %w; every machine must have %s and %s under these paths", host, err, j.Shards, j.Dir)
	}
	if err != nil {
		return nil, err
	}
	held.job, held.in = *j, in
	return in, nil
}
