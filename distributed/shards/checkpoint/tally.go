package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
)

// A Tally is a number in a bucket that several processes change, each from what it is. It is kept in files that are numbered and made once,
//
//	tally/000000000007.json   {"taken": …}
//
// of which the one with the highest number counts. Whoever changes it makes the next one: of several who try one succeeds.
type Tally struct{ b Bucket }

// NewTally returns the one in b, which is 0 until somebody changes it.
func NewTally(b Bucket) *Tally { return &Tally{b} }

// tallied is what such a file has.
type tallied struct {
	Taken int64  `json:"taken"`
	By    string `json:"by"` // made up, so that no two files are equal: a bucket may know by it whose file a lost answer has left
}

func tallyName(n uint64) string { return fmt.Sprintf("tally/%012d.json", n) }

var tallies = regexp.MustCompile(`^tally/(\d{12,18})\.json$`)

// talliesKept is how many files stay. One who makes a file of a number that others are past by as many may make what was there and is removed.
const talliesKept = 50

// errOvertaken says that a change came so late that nobody knows whether it counts.
var errOvertaken = errors.New("others have changed the tally many times meanwhile")

// Change adds to the tally what by says of it, and returns what it is then. by may be called several times, the last of which counts; 0 adds
// nothing, and nothing is written. After an error the tally may be changed, or not: who wanted to take something has none of it, and who gave
// something back has given it back. Costs five requests to the bucket, more where others change it at the same time.
func (t *Tally) Change(ctx context.Context, by func(taken int64) int64) (taken int64, err error) {
	var known uint64 // a file that is there, whatever a list says that is late
	for {
		last, all, err := t.list(ctx)
		if err != nil {
			return 0, err
		}
		last = max(last, known)
		var now tallied
		if last > 0 {
			b, err := Load(ctx, t.b, tallyName(last))
			if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
				known = 0
				continue // others are past it
			}
			if err == nil {
				err = json.Unmarshal(b, &now)
			}
			if err != nil {
				return 0, fmt.Errorf("%s: %w", tallyName(last), err)
			}
		}
		add := by(now.Taken)
		if add == 0 {
			return now.Taken, nil
		}
		next := tallied{now.Taken + add, rand.Text()}
		b, err := json.Marshal(&next)
		if err != nil {
			return 0, err
		}
		switch err := t.b.Create(ctx, tallyName(last+1), b); {
		case errors.Is(err, fs.ErrExist):
			known = last + 1
			continue
		case err != nil:
			return 0, err
		}
		// While nobody was past it by so many, nobody had removed a file of that number: there was none.
		later, _, err := t.list(ctx)
		if err == nil && later >= last+1+talliesKept {
			err = errOvertaken
		}
		if err != nil {
			return 0, err
		}
		for _, n := range all {
			if n+talliesKept <= last+1 {
				if err := t.b.Delete(ctx, tallyName(n)); err != nil {
					break // whoever is next removes it
				}
			}
		}
		return next.Taken, nil
	}
}

// list returns the numbers of the files, and the highest of them, 0 where there are none.
func (t *Tally) list(ctx context.Context) (highest uint64, all []uint64, err error) {
	err = t.b.List(ctx, "tally/", func(name string) bool {
		if m := tallies.FindStringSubmatch(name); m != nil {
			n, _ := strconv.ParseUint(m[1], 10, 64)
			highest, all = max(highest, n), append(all, n)
		}
		return true
	})
	return highest, all, err
}
