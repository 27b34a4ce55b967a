// Package report makes what is told of a store: the records that commands print and that the service
// answers with, with the keys of the contract, so that both say the same.
//
// Each record is made of a View, and is written by WriteJSON. A pointer is nil, null in JSON, where
// something is not known or there is none.
package report

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"forage/internal/printable"
	"forage/store"
)

// WriteJSON writes v as one line of JSON, which is safe to be looked at.
func WriteJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(printable.JSON(b.Bytes()))
	return err
}

// stamp is a time of the store as RFC 3339, nil for 0.
func stamp(t store.Time) *string {
	if t == 0 {
		return nil
	}
	s := time.Unix(t, 0).UTC().Format(time.RFC3339)
	return &s
}

// null is nil for the zero value.
func null[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
