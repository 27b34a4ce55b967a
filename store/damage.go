package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A DamagedError tells that a file of the store is not what was written. Options.Repair keeps
// what can be kept.
type DamagedError struct {
	File   string // its path
	Offset int64  // of what is damaged; -1: not known
	What   string
}

func damaged(file, what string) *DamagedError {
	dir, name := filepath.Split(file)
	if dir = filepath.Clean(dir); strings.HasPrefix(filepath.Base(dir), copyPrefix) {
		dir = filepath.Join(filepath.Dir(dir), "documents") // the reader's copy will be gone
	}
	return &DamagedError{File: filepath.Join(dir, name), Offset: -1, What: what}
}

func (e *DamagedError) Error() string {
	at := ""
	if e.Offset >= 0 {
		at = fmt.Sprintf(" at offset %d", e.Offset)
	}
	return fmt.Sprintf("%s is damaged%s: %s", e.File, at, e.What)
}

var blockAt = regexp.MustCompile(`\bblock (\d+)/\d+: (.*)`)

// damagedAt is damaged, with the offset that a message of the database tells.
func damagedAt(file string, err error) *DamagedError {
	e := damaged(file, err.Error())
	if m := blockAt.FindStringSubmatch(e.What); m != nil {
		e.Offset, _ = strconv.ParseInt(m[1], 10, 64)
		e.What = m[2]
	}
	return e
}

// readError says what went wrong where the database read; nil: nothing.
func readError(err error) error {
	if err == nil {
		return nil
	}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return damagedAt(info.Path, info.Details)
	}
	return fmt.Errorf("read: %w", err)
}

// openError says what went wrong where the database in folder was opened: damage, unless the
// system could not do what it was asked.
func openError(folder string, err error) error {
	var (
		d     *DamagedError
		errno syscall.Errno
	)
	switch {
	case errors.As(err, &d):
		return d
	case errors.As(err, &errno):
		return err
	}
	return damaged(folder, err.Error())
}

// trusting runs f, in which the database takes what it reads on trust and panics where that is
// garbled, and makes the panic an error.
func trusting(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return f()
}

// A state is what the files of a database tell without the database being opened for writing,
// which may delete what it does not know.
type state struct {
	new      bool     // there is nothing yet
	manifest string   // the name of the list of tables; "": nothing leads to one
	all      []string // the names of the tables that are there, ascending
	tables   []string // of those in use; all, where that is not known
	flushed  uint64   // the last commit that is in them
	logs     logEnd
	synced   uint64 // the last commit that was on the disk, as COMMITS says

	broken  []*DamagedError // tables and what names them
	lost    []*DamagedError // of logs, which must be cut, and what else the tables can do without
	tail    bool            // lost is the end of the log, of which nothing is left
	counter *DamagedError   // COMMITS
}

// err returns the damage for which the database must not be opened.
func (s *state) err() error {
	for _, e := range append(s.broken, s.lost...) {
		return e
	}
	return nil
}

// openError is openError for a database of which this much is known: what it refuses although
// nothing is missing are logs.
func (s *state) openError(folder string, err error) error {
	var d *DamagedError
	if err = openError(folder, err); errors.As(err, &d) && s.logs.cut != nil {
		return s.logs.cut
	}
	return err
}

// inspect finds out whether the database in folder holds all that was synced. It reads the logs,
// and of the tables what names them. The error is one of reading.
func inspect(files vfs.FS, folder string) (*state, error) {
	s := new(state)
	names, err := files.List(folder)
	if errors.Is(err, fs.ErrNotExist) {
		s.new = true
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	format := false
	for _, name := range names {
		format = format || strings.HasPrefix(name, "marker.format-version.")
		if value, ok := strings.CutPrefix(name, "marker.manifest."); ok {
			_, s.manifest, _ = strings.Cut(value, ".")
		}
		if strings.HasSuffix(name, ".sst") {
			s.all = append(s.all, name)
		}
	}
	s.tables = s.all
	// COMMITS first: whatever it promises must be in what is read after it.
	if s.synced, err = readCommits(files, folder); errors.Is(err, fs.ErrNotExist) {
		s.counter = damaged(files.PathJoin(folder, commitsName), "it is missing")
	} else if err != nil && !errors.As(err, &s.counter) {
		return nil, err
	}
	if s.manifest != "" {
		if err := s.lookTables(files, folder); err != nil {
			return nil, err
		}
	}
	if s.logs, err = readLogs(files, folder, s.flushed, false, nil); err != nil {
		return nil, err
	}
	numbered := s.flushed > 0 || s.synced > 0 || s.logs.last > 0 || s.logs.behind > 0
	if !numbered {
		s.counter = nil // nothing was committed, or by a version that did not number it
	}
	switch {
	case s.manifest != "" && format:
		s.findLost(files, folder)
	case len(s.all) == 0 && !numbered:
		s.new = true // its making was interrupted before there was anything in it
	case s.manifest == "":
		s.broken = []*DamagedError{damaged(files.PathJoin(folder, "marker.manifest.*"), "it is missing, though there are files that it should lead to")}
	default:
		s.broken = []*DamagedError{damaged(files.PathJoin(folder, "marker.format-version.*"), "it is missing, though there is something in the database")}
	}
	return s, nil
}

// findLost finds out which commits are missing.
func (s *state) findLost(files vfs.FS, folder string) {
	if len(s.broken) > 0 {
		return // they may be in there
	}
	e, end := s.logs.cut, s.logs
	if e == nil {
		e = damaged(files.PathJoin(folder, "*.log"), "one was cut or is missing")
	}
	switch {
	case end.behind > 0:
		e.What += fmt.Sprintf("; commits %d to %d are missing, later ones are there", end.last+1, end.behind-1)
	case end.last < s.synced:
		e.What += fmt.Sprintf("; %d commits had been synced, the last %d are missing", s.synced, s.synced-end.last)
		s.tail = end.cut == nil
	default:
		return
	}
	s.lost = append(s.lost, e)
	// An older list of the tables may be what makes them look lost.
	path := files.PathJoin(folder, s.manifest)
	if e := manifestDamage(files, path); e != nil {
		s.broken, s.tables = append(s.broken, e), s.all
	} else if s.isOld() {
		s.broken, s.tables = append(s.broken, oldList(path)), s.all
	}
}

// newest is the name of the newest table that is there, "" if there is none.
func (s *state) newest() string {
	if len(s.all) == 0 {
		return ""
	}
	return s.all[len(s.all)-1]
}

// isOld reports whether the list of tables may have been cut between two records: it does not name the newest table. A table that a process
// which ended was still writing is not named either, and is no damage by itself.
func (s *state) isOld() bool { return s.newest() != "" && !slices.Contains(s.tables, s.newest()) }

func oldList(path string) *DamagedError {
	return damaged(path, "it is older than the tables that are there")
}

// tablesOnly is a file system that shows of the files in a folder those that name the tables,
// and the tables.
type tablesOnly struct {
	vfs.FS
	missing []string // tables shown though they are not there
}

func (f tablesOnly) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	names = slices.DeleteFunc(names, func(s string) bool {
		return strings.HasSuffix(s, ".log") || strings.HasPrefix(s, "OPTIONS-")
	})
	return append(names, f.missing...), err
}

func (f tablesOnly) Unwrap() vfs.FS { return f.FS }

var tableOf = regexp.MustCompile(`L\d+: (\d+)(.*)`)

// lookTables reads which tables are in use, and the last commit in them.
func (s *state) lookTables(files vfs.FS, folder string) error {
	open := func(view tablesOnly, unchecked bool) error {
		db, err := openEngine(folder, newDisk(unlocked{view}), Options{ReadOnly: true}, func(o *pebble.Options) {
			o.CacheSize = 1 << 20
			o.DisableConsistencyCheck = unchecked
		})
		if err != nil {
			return err
		}
		names, err := tableNames(db)
		if err == nil {
			s.tables = names
			v := View{r: db}
			var b []byte
			if b, err = v.get(metaKey("commits")); errors.Is(err, ErrNotFound) {
				err = nil
			} else if err == nil && len(b) == 8 {
				s.flushed = binary.BigEndian.Uint64(b)
			}
		}
		return errors.Join(err, db.Close())
	}
	err := open(tablesOnly{FS: files}, false)
	if err == nil {
		return nil
	}
	var d *DamagedError
	err = openError(folder, err)
	if !errors.As(err, &d) {
		return err
	}
	view := tablesOnly{FS: files}
	for _, m := range tableOf.FindAllStringSubmatch(d.What, -1) {
		n, _ := strconv.ParseUint(m[1], 10, 64)
		name := tableName(n)
		what := "it does not have the size that was written"
		if _, err := files.Stat(files.PathJoin(folder, name)); errors.Is(err, fs.ErrNotExist) {
			what = "it is missing"
			view.missing = append(view.missing, name)
		}
		s.broken = append(s.broken, damaged(files.PathJoin(folder, name), what))
	}
	if e := manifestDamage(files, files.PathJoin(folder, s.manifest)); e != nil {
		s.broken, s.tables = slices.Insert(s.broken, 0, e), s.all
	} else {
		open(view, true)                                                                 // it may tell the tables in use all the same
		if len(view.missing) > 0 && s.newest() > slices.Max(view.missing) && s.isOld() { // they were made into others
			s.broken, s.tables = []*DamagedError{oldList(files.PathJoin(folder, s.manifest))}, s.all
		}
	}
	if len(s.broken) == 0 {
		s.broken = append(s.broken, d)
	}
	return nil
}

func tableName(n uint64) string { return fmt.Sprintf("%06d.sst", n) }

// manifestDamage tells where the list of the tables ends other than by its end, which damage
// may be, or the end of a process that was writing it. nil: nowhere.
func manifestDamage(files vfs.FS, path string) *DamagedError {
	f, err := files.Open(path)
	if err != nil {
		return damaged(path, "it is missing")
	}
	defer f.Close()
	for r := record.NewReader(f, 0); ; {
		at := r.Offset()
		rec, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			_, err = io.Copy(io.Discard, rec)
		}
		if err != nil {
			return recordError(path, at, err)
		}
	}
}

// recordError is the damage of the record at an offset of a log, or of the list of tables.
func recordError(path string, at int64, err error) *DamagedError {
	e := damaged(path, "its record there cannot be read ("+strings.TrimPrefix(err.Error(), "pebble/record: ")+")")
	e.Offset = at
	return e
}

// verify is inspect, and reads every block of every table besides. It adds what it finds to
// what inspect found.
func verify(files vfs.FS, folder string) (*state, error) {
	s, err := inspect(files, folder)
	if err != nil || s.new {
		return s, err
	}
	known := map[string]bool{}
	for _, e := range s.broken {
		known[e.File] = true
	}
	for _, name := range s.tables {
		path := files.PathJoin(folder, name)
		if known[filepath.Clean(path)] {
			continue
		}
		e, err := verifyTable(files, path)
		if err != nil {
			return nil, err
		}
		if e != nil {
			s.broken = append(s.broken, e)
		}
	}
	names, err := files.List(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "OPTIONS-") {
			continue
		}
		b, err := readFile(files, files.PathJoin(folder, name))
		if err != nil {
			return nil, err
		}
		if err := trusting(func() error {
			o := options(newDisk(files), Options{})
			o.EnsureDefaults()
			return errors.Join(new(pebble.Options).Parse(string(b), nil), o.CheckCompatibility(folder, string(b)))
		}); err != nil {
			s.lost = append(s.lost, damaged(files.PathJoin(folder, name), err.Error()))
		}
	}
	if s.err() == nil { // the database may still find fault with its logs
		db, err := openEngine(folder, newDisk(unlocked{files}), Options{ReadOnly: true}, nil)
		if err == nil {
			err = db.Close()
		} else {
			var d *DamagedError
			if err = s.openError(folder, err); errors.As(err, &d) {
				s.lost, err = append(s.lost, d), nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// checkFiles reports the damage in the files of a database that nobody writes to.
func checkFiles(files vfs.FS, folder string, report func(Problem)) error {
	s, err := verify(files, folder)
	if err != nil {
		return err
	}
	for _, e := range append(s.broken, s.lost...) {
		report(Problem{Text: e.Error()})
	}
	if s.counter != nil {
		report(Problem{Text: s.counter.Error()})
	}
	return nil
}

// checkTables reports the damage in the tables of the database while it is written to. It ends
// with ErrClosed when g closes.
func (db *DB) checkTables(folder string, g *gate, report func(Problem)) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	names, err := tableNames(db.db)
	if err != nil {
		return err
	}
	for _, name := range names {
		e, err := verifyTable(db.disk, db.disk.PathJoin(folder, name))
		if err = cmp.Or(g.step(), err); err != nil {
			return err
		}
		if e == nil {
			continue
		}
		// A table that was made into others has gone by now.
		now, err := tableNames(db.db)
		if err != nil {
			return err
		}
		if slices.Contains(now, name) {
			report(Problem{Text: e.Error()})
		}
	}
	return nil
}

// tableNames returns the names of the tables in use, ascending.
func tableNames(db *pebble.DB) (names []string, err error) {
	levels, err := db.SSTables()
	for _, level := range levels {
		for _, t := range level {
			names = append(names, tableName(uint64(t.BackingSSTNum)))
		}
	}
	slices.Sort(names)
	return names, err
}

// verifyTable reads all of a table. The error is one of reading.
func verifyTable(files vfs.FS, path string) (*DamagedError, error) {
	r, err := openTable(files, path)
	if err == nil {
		err = errors.Join(r.ValidateBlockChecksums(), r.Close())
	}
	var errno syscall.Errno
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &errno):
		return nil, err
	}
	return damagedAt(path, err), nil
}

func openTable(files vfs.FS, path string) (*sstable.Reader, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	o := options(newDisk(files), Options{})
	o.EnsureDefaults()
	r, err := sstable.NewReader(context.Background(), readable, o.MakeReaderOptions())
	if err != nil {
		return nil, errors.Join(err, readable.Close())
	}
	return r, nil
}
