package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"forage/store/record"
)

// What sends events to others keeps its own records here, by name of the target, in its own format: one of the target,
// under the number 0, and one of each event about which there is something to say. The store does not read them.
// They are written in the window, as all else.

// deliveryKey is the key of a target's record for seq=0, else of that of an event. A name has no 0 byte in it.
func deliveryKey(target string, seq uint64) []byte {
	k := append([]byte{tableDelivery}, target...)
	k = append(k, 0)
	if seq == 0 {
		return k
	}
	return binary.BigEndian.AppendUint64(k, seq)
}

// PutDelivery stores a record of a target, for seq=0, or of an event for it. The name of a target must not be empty or
// have a 0 byte in it.
func (db *DB) PutDelivery(target string, seq uint64, rec []byte) error {
	return db.set(deliveryKey(target, seq), rec)
}

// DropDelivery forgets such a record.
func (db *DB) DropDelivery(target string, seq uint64) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.window().Delete(deliveryKey(target, seq), nil)
}

// Deliveries calls yield for each record, by name of the target and number of the event, that of the target
// first, until it returns false. The record is valid until yield returns.
func (v *View) Deliveries(yield func(target string, seq uint64, rec []byte) bool) error {
	return v.scan([]byte{tableDelivery}, nil, func(k, val []byte) error {
		name, number, ok := bytes.Cut(k[1:], []byte{0})
		if !ok || len(number) != 0 && len(number) != 8 {
			return fmt.Errorf("key %x: %w", k, record.ErrCorrupt)
		}
		seq := uint64(0)
		if len(number) == 8 {
			seq = binary.BigEndian.Uint64(number)
		}
		return stopped(yield(string(name), seq, val))
	})
}
