package store

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"forage/internal/race"
)

// TestSound changes a sound store in hundreds of ways, with FORAGE_CRASH in thousands, one at a time: sound never passes what the check of
// each record finds, and doubts no store that nothing was done to.
func TestSound(t *testing.T) {
	race.Skip(t)
	db := mixed(t)
	each := func() (n int) {
		t.Helper()
		if err := db.View.checkEach(func(Problem) { n++ }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := each(); n > 0 || !db.View.sound() {
		t.Fatalf("an untouched store has %d problems, sound: %v", n, db.View.sound())
	}
	var keys, vals [][]byte
	var tables []byte
	rows := map[byte][]int{} // table → its rows in keys
	if err := db.View.scan([]byte{}, []byte{0}, func(k, val []byte) error {
		if rows[k[0]] == nil {
			tables = append(tables, k[0])
		}
		rows[k[0]] = append(rows[k[0]], len(keys))
		keys, vals = append(keys, slices.Clone(k)), append(vals, slices.Clone(val))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	seed := *seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	r := rand.New(rand.NewPCG(seed, 0))
	write := func(k, val []byte) {
		t.Helper()
		var err error
		if val == nil {
			err = db.db.Delete(k, pebble.NoSync)
		} else {
			err = db.db.Set(k, val, pebble.NoSync)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	found, changes := map[byte]int{}, 300
	if crash {
		changes = 6000
	}
	for range changes {
		table := rows[tables[r.IntN(len(tables))]] // first a table: some have three rows of hundreds
		i := table[r.IntN(len(table))]
		k, val := slices.Clone(keys[i]), slices.Clone(vals[i])
		was, had := vals[i], true // what the key held before
		switch r.IntN(3) {
		case 0:
			write(k, nil)
		case 1: // a bit of the value, or of the key where there is none
			if len(val) == 0 {
				continue
			}
			val[r.IntN(len(val))] ^= 1 << r.IntN(8)
			write(k, val)
		case 2: // the row under another key
			k[len(k)-1] ^= 1 << r.IntN(8)
			var err error
			if was, err = db.View.get(k); err != nil && !errors.Is(err, ErrNotFound) {
				t.Fatal(err)
			}
			had = err == nil
			write(k, append([]byte{}, val...))
		}
		n := 0
		if err := db.View.checkEach(func(Problem) { n++ }); err != nil {
			n++ // it says that it cannot go on
		}
		if n > 0 {
			found[keys[i][0]]++
			if db.View.sound() {
				t.Fatalf("seed %d: key %q, value %x: sound, but there are %d problems", seed, k, val, n)
			}
		}
		if had {
			write(k, append([]byte{}, was...))
		} else {
			write(k, nil)
		}
	}
	for _, table := range []byte{tableURL, tableDoc, tableSiteDoc, tableQueue, tableLinks, tableSite, tableSiteName, tableCounters} {
		if found[table] == 0 {
			t.Errorf("seed %d: no change of table %c was found, of %v", seed, table, found)
		}
	}
	if n := each(); n > 0 || !db.View.sound() {
		t.Errorf("seed %d: put right again, the store has %d problems, sound: %v", seed, n, db.View.sound())
	}
}
