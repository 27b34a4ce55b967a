package pipeline

import (
	"errors"
	"fmt"
	"strings"
)

// mark encloses what a worker says of an error, so that the driver finds it in what the runner
// makes of it, which is pages long.
const (
	markBegin = "[forage-beam: "
	markEnd   = " :forage-beam]"
)

// fault marks the error of a worker.
func fault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s%w%s", markBegin, err, markEnd)
}

// said returns what a worker said, or else the error as it is.
func said(err error) error {
	text := err.Error()
	at := strings.LastIndex(text, markBegin)
	if at < 0 {
		return err
	}
	text = text[at+len(markBegin):]
	if end := strings.Index(text, markEnd); end >= 0 {
		text = text[:end]
	}
	return errors.New(text)
}
