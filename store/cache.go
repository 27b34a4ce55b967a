package store

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// A Cache is the memory that several stores of a process have together: of what they read as much as one store would have, and of what
// they wrote what waits in each to be flushed.
type Cache struct {
	blocks   *pebble.Cache
	memTable uint64 // bytes
	stores   int    // for so many at once there is room

	mu   sync.Mutex
	open int
	room []func() // for what waits in stores that are not open; call one to give it free
}

// NewCache returns one for so many stores, open at the same time, in each of which memTable bytes are written before a flush. More may be
// open: then they have less for what they read. Close it when they are closed.
func NewCache(stores int, memTable uint64) *Cache {
	c := &Cache{blocks: pebble.NewCache(blockCache + int64(stores)*int64(2*memTable)), memTable: memTable, stores: stores}
	for range stores {
		c.room = append(c.room, c.reserve())
	}
	return c
}

// reserve takes the room for what waits in one store, of which there are two at most.
func (c *Cache) reserve() func() { return c.blocks.Reserve(int(2 * c.memTable)) }

// enter gives free the room for what waits in one more store: the engine takes it.
func (c *Cache) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.room); n > 0 {
		c.room[n-1]()
		c.room = c.room[:n-1]
	}
	c.open++
}

// exit takes it back.
func (c *Cache) exit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.open < c.stores {
		c.room = append(c.room, c.reserve())
	}
}

// Close gives the memory back.
func (c *Cache) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, free := range c.room {
		free()
	}
	c.room = nil
	c.blocks.Unref()
}
