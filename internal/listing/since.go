package listing

import (
	"fmt"
	"io"

	"forage/report"
	"forage/store"
)

// A Since is a flag value that is a cycle or a time.
type Since struct {
	*report.Since // nil: not given
	text          string
}

// Type implements pflag.Value.
func (s *Since) Type() string   { return "CYCLE|TIME" }
func (s *Since) String() string { return s.text }

// Set implements pflag.Value.
func (s *Since) Set(text string) (err error) {
	s.text = text
	s.Since, err = report.ParseSince(text)
	return err
}

// NotYet says so where a list is asked for since a cycle that there has not been: it is empty for that. The line begins with the name of the program.
func NotYet(v *store.View, stderr io.Writer, program string, asked ...Since) error {
	last, err := v.LastCycle()
	for _, s := range asked {
		if s.Since != nil && s.Cycle > last && err == nil {
			_, err = fmt.Fprintf(stderr, "%s: there is no cycle %d yet, the last one is %d\n", program, s.Cycle, last)
		}
	}
	return err
}
