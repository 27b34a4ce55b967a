package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"forage/archive"
	"forage/export"
	"forage/internal/listing"
	"forage/store"
	"forage/text"
)

// textsFlags are the flags of 'export text' alone.
type textsFlags struct {
	folder string
	format textFormat
}

func (t *textsFlags) add(f *pflag.FlagSet) {
	t.format = textFormat{text.Markdown}
	f.StringVar(&t.folder, "text", "", "text: folder of the texts that crawls have kept, if it is elsewhere now")
	f.Var(&t.format, "format", "text: as markdown or text")
}

// textPath reports whether texts can be written to a path.
func textPath(path string) bool {
	base := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	return path == "-" || strings.HasSuffix(base, ".jsonl") || strings.HasSuffix(path, textTable)
}

// textTable is what the path of a table of texts ends with.
const textTable = ".parquet"

func (x *exporting) text(v *store.View) (w export.Written, err error) {
	what := export.Texts{Format: x.texts.format.Format, Keep: x.heed.Keep(), Note: x.note}
	if x.site != "" {
		if what.Site, err = oneSite(v, x.site); err != nil {
			return w, err
		}
	}
	if s := x.from.Since; s != nil {
		if what.Since = s.Cycle; what.Since == 0 {
			if what.Since, err = v.TextsSince(max(s.Time, 1)); err != nil {
				return w, err
			}
		}
	}
	for _, f := range [...]struct{ name, path string }{{"text", x.texts.folder}, {"warc", x.archive}} {
		if f.path == "" {
			continue
		}
		if _, err := os.Stat(x.path(f.path)); err != nil {
			return w, usagef("--%s: %w", f.name, err)
		}
	}
	state, err := v.Archive(store.Texts)
	switch {
	case err == nil:
		if x.texts.folder != "" {
			x.texts.folder = x.path(x.texts.folder)
		}
		if what.Kept, err = archive.NewReader(x.texts.folder, state); err != nil {
			return w, err
		}
		defer what.Kept.Close()
	case !errors.Is(err, store.ErrNotFound):
		return w, err
	case x.texts.folder != "":
		return w, usagef("--text %s: no crawl of this store has kept texts", x.texts.folder)
	}
	switch _, err := v.Archive(store.Answers); {
	case err == nil:
		if what.Archive, err = x.reader(v); err != nil {
			return w, err
		}
		defer what.Archive.Close()
	case !errors.Is(err, store.ErrNotFound):
		return w, err
	case x.archive != "":
		return w, usagef("--warc %s: no crawl of this store has kept answers", x.archive)
	case what.Kept == nil:
		return w, usagef("the store has no texts, and no archive that they could be made of: 'forage crawl --text DIR' and 'forage revisit --text DIR' keep those of the pages that they fetch, --warc DIR their answers")
	}
	said, err := x.writeTexts(v, what)
	if of := (*export.FormatError)(nil); errors.As(err, &of) {
		return w, usagef("%w; --format %s writes it as it is, and what is fetched with --warc DIR can be written as either", err, of.Kept)
	}
	if errors.Is(err, fs.ErrExist) {
		return w, usagef("%w", err)
	}
	if err != nil {
		return w, err
	}
	x.more = map[string]any{"pages": said.Pages, "gone": said.Gone, "without_text": said.Without, "next_since": said.Next}
	if said.Without > 0 {
		x.note(fmt.Sprintf("%s without text: what is fetched with --text DIR or --warc DIR has some", plural(int64(said.Without), "page")))
	}
	return said.Written, listing.NotYet(v, x.ErrOrStderr(), "forage", x.from)
}

// writeTexts writes lines, or a table.
func (x *exporting) writeTexts(v *store.View, what export.Texts) (export.TextsWritten, error) {
	if strings.HasSuffix(x.output, textTable) {
		return export.TextTable(v, x.to.Path, what)
	}
	return export.TextLines(v, x.to, what)
}
