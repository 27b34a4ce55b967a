package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forage/cover"
	"forage/cover/sets"
	"forage/distributed/beam/files"
	"forage/distributed/beam/level"
	"forage/distributed/beam/pipeline"
	"forage/distributed/beam/shard"
	"forage/graph/arcs"
	"forage/internal/machine"
	"forage/internal/units"
)

type coverFlags struct {
	runnerFlags
	p      float64
	form   string
	state  string
	out    string
	verify bool
	json   bool
}

func coverCmd() *cobra.Command {
	var f coverFlags
	cmd := &cobra.Command{
		Use:   "cover DIR",
		Short: "Cover the family in a folder of shards",
		Long: `Cover chooses few sets that together hold every element that any set holds, by spgreedy of
"Set Cover at Web Scale": levels of falling gain, each one pipeline on a runner of Apache Beam. The
list (-o) has a set number a line, in the order chosen.

--form reducer has one reducer take all sets: the list is that of 'forage cover --algorithm
spgreedy' with the same p, byte for byte. --form local lets mappers take sets that their own part
of the elements pays for, so that the reducer has less to do; the cover is another, with the same
guarantee.

What passes between machines lies in --state, a folder that all of them see under the same path. A
run that was killed goes on at the last complete level when the same command is given again.

--runner prism (default) runs in this process and needs nothing. --runner portable submits to the
job server at --endpoint, such as Flink's; --environment LOOPBACK has workers in this process,
EXTERNAL by the pool at --pool.`,
		Example: `  forage-beam cover /shared/web --p 2 -o cover.txt
  forage-beam cover /shared/web --form local --runner portable --endpoint flink:8099 --environment EXTERNAL --pool localhost:50000 --parallelism 64 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0])
		},
	}
	fs := cmd.Flags()
	fs.Float64Var(&f.p, "p", 1.2, "levels are the powers of p, above 1")
	fs.StringVar(&f.form, "form", "reducer", "who takes sets: reducer, or local (mappers, and a reducer what they leave)")
	f.runnerFlags.add(cmd)
	fs.StringVar(&f.state, "state", "", "folder for what passes between machines (default: DIR/cover-FORM-P)")
	fs.BoolVar(&f.verify, "verify", false, "check the cover with independent code")
	fs.StringVarP(&f.out, "output", "o", "", "file for the list of sets")
	fs.BoolVar(&f.json, "json", false, "one JSON object about the run")
	return cmd
}

// covered is what cover prints: the keys of forage cover where they mean the same.
type covered struct {
	Algorithm    cover.Algorithm `json:"algorithm"`
	Form         level.Form      `json:"form"`
	P            float64         `json:"p"`
	Sets         uint64          `json:"sets"`
	Elements     uint64          `json:"elements"`
	Size         uint64          `json:"size"`
	Largest      uint64          `json:"largest"`
	Coverable    uint64          `json:"coverable"`
	Cover        uint64          `json:"cover"`
	Local        uint64          `json:"cover_local"` // sets that mappers took
	Covered      uint64          `json:"covered"`
	Passes       int             `json:"passes"`
	Resumed      int             `json:"passes_before"` // that an earlier run had done
	Reads        uint64          `json:"reads"`
	ReadsReducer uint64          `json:"reads_reducer"` // of reads, what mappers had passed on
	ReadsPerSize float64         `json:"reads_per_size"`
	BytesRead    uint64          `json:"bytes_read"`
	BytesWritten uint64          `json:"bytes_written"`
	Guarantee    float64         `json:"guarantee"`
	Verified     bool            `json:"verified"`
	Seconds      float64         `json:"seconds"`
	PeakRSS      int64           `json:"peak_rss"`
}

// options checks the flags.
func (f *coverFlags) options(ctx context.Context, dir string) (o pipeline.Options, err error) {
	if err := checkP(f.p); err != nil {
		return o, err
	}
	form := level.Form(f.form)
	if form != level.Reducer && form != level.Local {
		return o, usagef("--form %q: want reducer or local", f.form)
	}
	state := f.state
	if state == "" {
		state = files.Join(strings.TrimSuffix(dir, "/"), fmt.Sprintf("cover-%s-%v", form, f.p))
	}
	o = pipeline.Options{P: f.p, Form: form}
	if o.Shards, o.Dir, err = folders(dir, state); err != nil {
		return o, err
	}
	o.Runner, err = f.choose(ctx)
	return o, err
}

func (f *coverFlags) run(ctx context.Context, stdout, stderr io.Writer, dir string) (err error) {
	began := time.Now()
	f.begin(stderr)
	o, err := f.options(ctx, dir)
	if err != nil {
		return err
	}
	o.Progress = func(p pipeline.Progress) {
		if p.Done {
			fmt.Fprintf(stderr, "forage-beam: level %d done: %d sets cover %d elements\n", p.Level, p.Taken, p.Covered)
			return
		}
		fmt.Fprintf(stderr, "forage-beam: level %d: gains from %d, %d shards\n", p.Level, p.Threshold, p.Shards)
	}
	remove, err := beamTemp()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r, err := pipeline.Run(ctx, o)
	if err != nil {
		return err
	}
	s, m := r.State, r.Manifest
	if m.Largest == 0 {
		return usagef("%s: every set is empty: there is nothing to cover", dir)
	}
	if f.verify {
		if err := verify(ctx, &o, r); err != nil {
			return err
		}
	}
	if f.out != "" {
		err := arcs.Create(f.out, func(w io.Writer) error {
			return sets.WriteList(w, func(take func(set, gain uint64) error) error { return s.EachPick(ctx, o.Dir, take) })
		})
		if err != nil {
			return err
		}
	}
	res := covered{
		Algorithm: cover.NameSPGreedy, Form: o.Form, P: o.P, Sets: m.Sets, Elements: m.Elements, Size: m.Size, Largest: m.Largest,
		Coverable: s.Covered, Cover: s.Taken, Local: s.Counts.Local, Covered: s.Covered, Passes: s.Levels, Resumed: r.Resumed,
		Reads: s.Counts.Reads, ReadsReducer: s.Counts.Reduced, ReadsPerSize: float64(s.Counts.Reads) / float64(m.Size), BytesRead: s.Counts.Read, BytesWritten: s.Counts.Written,
		Guarantee: o.P*math.Log(float64(m.Largest)) + 1, Verified: f.verify,
		Seconds: time.Since(began).Seconds(), PeakRSS: machine.PeakRSS(),
	}
	if f.json {
		return printJSON(stdout, res)
	}
	fmt.Fprintf(stdout, "%d of %d sets cover %d elements (%s, form %s, %d levels, %.2f s)\n", res.Cover, res.Sets, res.Covered, res.Algorithm, res.Form, res.Passes, res.Seconds)
	fmt.Fprintf(stdout, "elements looked at: %.2f times all; bytes of sets read: %s, written: %s\n", res.ReadsPerSize, units.Binary(res.BytesRead), units.Binary(res.BytesWritten))
	fmt.Fprintf(stdout, "guarantee: at most %.2f times the best cover\n", res.Guarantee)
	if res.Verified {
		fmt.Fprintln(stdout, "verified")
	}
	return nil
}

// verify checks the cover against the shards, which it reads anew.
func verify(ctx context.Context, o *pipeline.Options, r *pipeline.Result) error {
	c, err := r.State.Result(ctx, o.Dir)
	if err != nil {
		return err
	}
	return cover.Verify(shard.Family(ctx, o.Shards, r.Manifest), c, cover.Options{})
}
