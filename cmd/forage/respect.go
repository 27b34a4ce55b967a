package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"forage/fetch/use"
	"forage/store"
)

// respect is the flag --respect: which documents are left out of what is written because their site asks for it.
type respect struct {
	use.Respect
	left, unknown int64 // documents left out, and those written of which it is not known what the site says
}

func respectFlag(cmd *cobra.Command, r *respect) {
	cmd.Flags().Var(r, "respect", "leave out what its site asks to: noindex, noarchive, tdm, separated by commas")
}

func (r *respect) Type() string { return "LIST" }

func (r *respect) Set(list string) (err error) {
	r.Respect, err = use.ParseRespect(list)
	return err
}

// keep tells which documents are written; nil: all. It is to be asked once for each.
func (r *respect) keep() func(*store.Doc) bool {
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

// tell says what keep has left out, and what it could not judge.
func (r *respect) tell(stderr io.Writer) {
	if r.left > 0 {
		fmt.Fprintf(stderr, "forage: %s left out: --respect %s\n", plural(r.left, "document"), r.Respect)
	}
	if r.unknown > 0 {
		fmt.Fprintf(stderr, "forage: of %s it is not known what the site says of the use: a release fetched them that did not note it\n", plural(r.unknown, "document"))
	}
}
