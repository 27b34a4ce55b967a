package store

import (
	"errors"
	"fmt"
	"forage/store/record"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
)

// Format is the version of the store's tables and records. A store of an older version is
// brought up to date when it is opened for writing; one of a newer version is refused. A field
// added to a record does not change it: absent it reads as zero, and older programs skip it.
//
//	1  a cycle is one round over all sites: table 'c' holds it as JSON by its number, table
//	   'y' what it came to at each site
//	2  a cycle belongs to one site: see tableCycle, tableCycleIndex; sites are found by name
//	3  the document tells of its latest visit, see DB.PutVisit; what was stored before stays as it is
const Format = 3

// firstReadable is the oldest version that is read as it is. Only writing makes a later one of it.
const firstReadable = 2

// migrations[v] turns a store of version v into one of version v+1. It is run again from its
// beginning if it was interrupted anywhere.
var migrations = map[int]func(*DB, *migration) error{
	1: fromFormat1,
	2: func(*DB, *migration) error { return nil },
}

// migrationRows bounds the rows that a migration writes at once; tests lower it.
var migrationRows = 10_000

// A migration writes rows, some at a time.
type migration struct {
	db    *DB
	batch *pebble.Batch
	step  func() error // called before each write; tests end the migration there
}

func (m *migration) put(k, val []byte) error {
	return m.full(m.batch.Set(k, val, nil))
}

func (m *migration) drop(k []byte) error {
	return m.full(m.batch.Delete(k, nil))
}

func (m *migration) full(err error) error {
	if err == nil && int(m.batch.Count()) >= migrationRows {
		err = m.flush()
	}
	return err
}

func (m *migration) flush() error {
	if m.batch.Empty() {
		return nil
	}
	if m.step != nil {
		if err := m.step(); err != nil {
			return err
		}
	}
	err := m.db.write(m.batch)
	m.batch = m.db.db.NewBatch()
	return err
}

// migrate brings the store to Format. A migration begins with one write that names the new
// version, so that older programs stay away from then on, and the one that it starts from,
// under "migrating"; its last write takes that away.
func (db *DB) migrate(opt Options) error {
	have, err := db.version("format")
	if errors.Is(err, ErrNotFound) {
		if opt.ReadOnly {
			empty := true
			if err := db.scan([]byte{}, []byte{0}, func([]byte, []byte) error { empty = false; return errStop }); err != nil {
				return err
			}
			if empty { // the format is the first that is written
				return ErrUnfinished
			}
			return fmt.Errorf("%w: it has no format version", ErrNotStore)
		}
		b := db.db.NewBatch()
		return errors.Join(b.Set(metaKey("format"), []byte(strconv.Itoa(Format)), nil), db.write(b))
	}
	if err != nil {
		return err
	}
	if have > Format {
		return fmt.Errorf("its format is version %d, this program knows %d: use a newer forage", have, Format)
	}
	from, err := db.version("migrating")
	switch {
	case errors.Is(err, ErrNotFound):
		from = have
	case err != nil:
		return err
	}
	if from == Format || opt.ReadOnly && from >= firstReadable {
		return nil
	}
	if opt.ReadOnly {
		return fmt.Errorf("its format is version %d, older than %d: open it once for writing, as 'forage check --repair' does", from, Format)
	}
	m := &migration{db: db, batch: db.db.NewBatch(), step: opt.step}
	defer func() { m.batch.Close() }()
	for ; from < Format; from++ {
		step, ok := migrations[from]
		if !ok {
			return fmt.Errorf("its format is version %d, which this program cannot bring to %d", from, Format)
		}
		err := errors.Join(
			m.put(metaKey("format"), []byte(strconv.Itoa(Format))),
			m.put(metaKey("migrating"), []byte(strconv.Itoa(from))),
			m.flush(),
		)
		if err == nil {
			err = step(db, m)
		}
		if err == nil {
			err = m.flush()
		}
		if err != nil {
			return fmt.Errorf("migrate from format %d: %w", from, err)
		}
	}
	return errors.Join(m.drop(metaKey("migrating")), m.flush())
}

// version reads a number of a format.
func (db *DB) version(name string) (int, error) {
	b, err := db.get(metaKey(name))
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return 0, fmt.Errorf("format version: %w", record.ErrCorrupt)
	}
	return n, nil
}
