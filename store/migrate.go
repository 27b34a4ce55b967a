package store

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
)

// Format is the version of the store's tables and records. A store of an older version is
// brought up to date when it is opened for writing; one of a newer version is refused. A field
// added to a record does not change it: absent it reads as zero, and older programs skip it.
const Format = 1

// migrations[v] turns a store of version v into one of version v+1. A migration may be
// killed and run again.
var migrations = map[int]func(*DB) error{}

// migrate brings the store to Format.
func (db *DB) migrate(readOnly bool) error {
	b, err := db.get(metaKey("format"))
	if errors.Is(err, ErrNotFound) {
		if readOnly {
			return fmt.Errorf("%w: it has no format version", ErrNotStore)
		}
		return db.db.Set(metaKey("format"), []byte(strconv.Itoa(Format)), pebble.Sync)
	}
	if err != nil {
		return err
	}
	have, err := strconv.Atoi(string(b))
	if err != nil {
		return fmt.Errorf("format version: %w", errCorrupt)
	}
	switch {
	case have > Format:
		return fmt.Errorf("its format is version %d, this program knows %d: use a newer forage", have, Format)
	case have < Format && readOnly:
		return fmt.Errorf("its format is version %d, older than %d: open it once with 'forage check --repair'", have, Format)
	}
	for ; have < Format; have++ {
		step, ok := migrations[have]
		if !ok {
			return fmt.Errorf("its format is version %d, which this program cannot bring to %d", have, Format)
		}
		if err := step(db); err != nil {
			return fmt.Errorf("migrate from format %d: %w", have, err)
		}
		if err := db.db.Set(metaKey("format"), []byte(strconv.Itoa(have+1)), pebble.Sync); err != nil {
			return err
		}
	}
	return nil
}
