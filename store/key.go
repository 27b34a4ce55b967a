package store

import (
	"encoding/binary"
	"fmt"
	"strings"

	"forage/graph"
	"forage/store/record"
)

// The first byte of a key tells the table. Numbers are big-endian, so that a table's order is
// that of its numbers; a cycle in the table of links is inverted, so that the latest version
// comes first.
const (
	tableMeta       = 'm' // name → value: "format", "migrating", "next", "sites", "cycle", "kept", "events", "archive", "texts", "outgoing"
	tableURL        = 'u' // URL → id (4 bytes)
	tableDoc        = 'p' // id → document
	tableSiteDoc    = 'd' // site, id → nothing
	tableQueue      = 'q' // site, host, 0, id → nothing
	tableLinks      = 'l' // id, ^cycle → links as of that cycle
	tableVisit      = 'v' // id, cycle → visit, unless the document tells of it
	tableSite       = 's' // site → site
	tableSiteName   = 'i' // name → site (4 bytes)
	tableCounters   = 'k' // site → counters
	tableCycle      = 'y' // site, cycle → cycle
	tableCycleIndex = 'c' // cycle, site → nothing
	tablePast       = 'z' // site → cycles that were condensed
	tableNew        = 'n' // site, cycle, id → kind: documents that answered first in a later cycle
	tableRefetch    = 'o' // site, cycle, id → refetch of an old document
	tableRecord     = 'w' // site, cycle → what revisit policies are told, in their own format
	tableRecords    = 'x' // site, first cycle → such records of several cycles, see condense.go
	tableState      = 't' // site → what its latest policy knew after a cycle, see PutState; site, n → further pieces
	tableSummary    = 'g' // site → what the crawl made of all its documents, see summary.go
	tableChanged    = 'a' // site, id → document as it was then; site → the latest cycle that it knows of
	tableHost       = 'h' // origin → host
	tableRobots     = 'r' // origin → robots.txt
	tableRefusal    = 'R' // host → why it was not adopted
	tableDigest     = 'b' // site, digest (8 bytes) → id of the first page with this body
	tableEvent      = 'e' // number (8 bytes) → event
	tableTold       = 'f' // id → number of the event (8 bytes) that told it as new
	tableWatched    = 'j' // name of a site, or nothing → record of what watches it
	tablePayload    = 'A' // SHA-1 of a body (20 bytes) → where in the archive it is
	tableCapture    = 'B' // id → where in the archive its body is, as of its last answer that had one
	tableText       = 'C' // id → where among the texts that of its last answer is
	tableRequisite  = 'E' // site, host, 0, id of a page, hash (12 bytes) → what it needs and that waits to be fetched
	tableKnown      = 'D' // hash (12 bytes) → nothing: what a page has needed at some time
	tableOutgoing   = 'O' // number (8 bytes) → URL that another store may want
	tableDelivery   = 'W' // name of a target, 0 → record of it; name of a target, 0, number (8 bytes) → of an event for it
)

func key(table byte, n ...uint32) []byte {
	k := make([]byte, 1, 1+4*len(n))
	k[0] = table
	for _, v := range n {
		k = binary.BigEndian.AppendUint32(k, v)
	}
	return k
}

func urlKey(url string) []byte   { return append([]byte{tableURL}, url...) }
func metaKey(name string) []byte { return append([]byte{tableMeta}, name...) }
func hostKey(origin string) []byte {
	return append([]byte{tableHost}, origin...)
}

func robotsKey(origin string) []byte { return append([]byte{tableRobots}, origin...) }
func nameKey(name string) []byte     { return append([]byte{tableSiteName}, name...) }

func visitKey(id graph.Node, c Cycle) []byte    { return key(tableVisit, uint32(id), uint32(c)) }
func cycleKey(site SiteID, c Cycle) []byte      { return key(tableCycle, uint32(site), uint32(c)) }
func cycleIndexKey(c Cycle, site SiteID) []byte { return key(tableCycleIndex, uint32(c), uint32(site)) }

func uint32Bytes(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func queueKey(site SiteID, host string, id graph.Node) []byte {
	k := append(queueHost(site, host), 0)
	return binary.BigEndian.AppendUint32(k, uint32(id))
}

func queueHost(site SiteID, host string) []byte {
	return append(key(tableQueue, uint32(site)), host...)
}

func digestKey(site SiteID, digest uint64) []byte {
	return binary.BigEndian.AppendUint64(key(tableDigest, uint32(site)), digest)
}

// numbers reads the n numbers behind the table's byte of a key that holds nothing else.
func numbers(k []byte, n int) ([]uint32, error) {
	if len(k) != 1+4*n {
		return nil, fmt.Errorf("key %x: %w: %d numbers wanted", k, record.ErrCorrupt, n)
	}
	v := make([]uint32, n)
	for i := range v {
		v[i] = binary.BigEndian.Uint32(k[1+4*i:])
	}
	return v, nil
}

// parseQueueKey splits a key of the queue.
func parseQueueKey(k []byte) (site SiteID, host string, id graph.Node, err error) {
	if len(k) < 1+4+1+4 || k[len(k)-5] != 0 {
		return 0, "", 0, fmt.Errorf("key %x: %w", k, record.ErrCorrupt)
	}
	return SiteID(binary.BigEndian.Uint32(k[1:])), string(k[5 : len(k)-5]), graph.Node(binary.BigEndian.Uint32(k[len(k)-4:])), nil
}

// after is the least key that is greater than all keys with this prefix.
func after(prefix []byte) []byte {
	k := append([]byte(nil), prefix...)
	for i := len(k) - 1; i >= 0; i-- {
		if k[i]++; k[i] != 0 {
			return k[:i+1]
		}
	}
	return nil
}

// HostOf returns the host and port of a normalised URL, "" where it has none. The queue and
// the crawl's politeness are sorted by it.
func HostOf(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	for i := range len(rest) { // strings.IndexAny takes three times as long for so few bytes
		switch rest[i] {
		case '/', '?', '#':
			return rest[:i]
		}
	}
	return rest
}
