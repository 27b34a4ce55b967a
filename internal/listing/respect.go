package listing

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"forage/fetch/use"
	"forage/store"
)

// Respect is the flag --respect: which documents are left out of what is written because their site asks for it.
type Respect struct {
	use.Respect
	left, unknown int64 // documents left out, and those written of which it is not known what the site says
}

// Add adds the flag.
func (r *Respect) Add(f *pflag.FlagSet) {
	f.Var(r, "respect", "leave out what its site asks to: noindex, noarchive, tdm, separated by commas")
}

// Type implements pflag.Value.
func (r *Respect) Type() string { return "LIST" }

// Set implements pflag.Value.
func (r *Respect) Set(list string) (err error) {
	r.Respect, err = use.ParseRespect(list)
	return err
}

// Keep tells which documents are written; nil: all. It is to be asked once for each.
func (r *Respect) Keep() func(*store.Doc) bool {
	if r.Respect == 0 {
		return nil
	}
	return func(d *store.Doc) bool {
		switch {
		case r.LeavesOut(use.Parse(d.Use)):
			r.left++
			return false
		case !d.UseKnown && d.Visits > 0:
			r.unknown++
		}
		return true
	}
}

// Tell says what Keep has left out, and what it could not judge, each on a line that begins with the name of the program.
func (r *Respect) Tell(stderr io.Writer, program string) {
	if r.left > 0 {
		fmt.Fprintf(stderr, "%s: %s left out: --respect %s\n", program, documents(r.left), r.Respect)
	}
	if r.unknown > 0 {
		fmt.Fprintf(stderr, "%s: of %s it is not known what the site says of the use: a release fetched them that did not note it\n", program, documents(r.unknown))
	}
}

func documents(n int64) string {
	if n == 1 {
		return "1 document"
	}
	return fmt.Sprintf("%d documents", n)
}
