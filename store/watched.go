package store

// What watches sites keeps its own records here, by name of site, in its own format: the store does not read
// them. They are written in the window, as all else.

func watchedKey(name string) []byte { return append([]byte{tableWatched}, name...) }

// PutWatched stores a record under a name, which may be empty.
func (db *DB) PutWatched(name string, record []byte) error {
	return db.set(watchedKey(name), record)
}

// DropWatched forgets the record of a name.
func (db *DB) DropWatched(name string) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.window().Delete(watchedKey(name), nil)
}

// Watched calls yield for each name and record, by name, until it returns false. The record is valid until
// yield returns.
func (v *View) Watched(yield func(name string, record []byte) bool) error {
	return v.scan([]byte{tableWatched}, nil, func(k, val []byte) error {
		return stopped(yield(string(k[1:]), val))
	})
}
