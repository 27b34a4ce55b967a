package warc

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// Records without a body have some 500 bytes, as few as the state that a compressor sets up for each: that would be a third of what it
// takes to compress a page of 10 kB with its records. They are written by one Huffman code for all, made for the
// heads of records, as members that any reader of gzip reads [measured: BenchmarkSmall].

// mostSmall is up to how many bytes a record is small.
const mostSmall = 1 << 10

// A headCode is a Huffman code [RFC 1951, 3.2.7] of bytes, of the end of a block, and of matches: of lengths and of distances.
type headCode struct {
	symbols, distances code
	start              bitWriter // what a member begins with
}

// A code has the bits of each symbol, the first lowest, and how many they are.
type code struct {
	bits []uint16
	size []uint8
}

// Symbols from 257 on are lengths of matches: those up to 10 each have one, and two share one, told by a further bit, up to longest.
const (
	endOfBlock = 256
	shortest   = 4
	longest    = 18
	symbols    = 269
	distances  = 20 // up to mostSmall
)

// typical has each byte about as often as the heads of records do.
const typical = "WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: <urn:uuid:0a1b2c3d-4e5f-4a6b-8c7d-90e1f2a3b4c5>\r\nWARC-Target-URI: https://www.example.org/2026/11/some-page.html\r\n" +
	"WARC-Date: 2026-11-25T08:09:37.146Z\r\nWARC-Concurrent-To: <urn:uuid:5c4b3a2f-1e09-4d7c-8b6a-f5e4d3c2b1a0>\r\nContent-Type: application/http;msgtype=request\r\n" +
	"WARC-Block-Digest: sha1:ABCDEFGHIJKLMNOPQRSTUVWXYZ234567\r\nContent-Length: 208\r\n\r\nGET /2026/11/some-page.html HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: forage/1 (+https://example.org/bot)\r\n" +
	"Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nAccept-Encoding: gzip, br, zstd\r\n\r\n\r\n\r\nWARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:uuid:6d5e4f3a-2b1c-4098-a7b6-c5d4e3f2a1b0>\r\n" +
	"WARC-Target-URI: https://www.example.org/2026/11/some-page.html\r\nWARC-Date: 2026-11-25T08:09:37.146Z\r\nWARC-Concurrent-To: <urn:uuid:5c4b3a2f-1e09-4d7c-8b6a-f5e4d3c2b1a0>\r\n" +
	"Content-Type: application/warc-fields\r\nWARC-Block-Digest: sha1:234567ABCDEFGHIJKLMNOPQRSTUVWXYZ\r\nContent-Length: 145\r\n\r\n" +
	"via: https://www.example.org/news/\r\nhopsFromSeed: LL\r\nlink: anchor\r\nfetchTimeMs: 54\r\ncycle: 3\r\nvisit: first\r\nsite: example.org\r\n\r\n\r\n"

// theHeadCode is made at the first record: most commands write none.
var theHeadCode = sync.OnceValue(func() *headCode {
	weight, far := make([]int, symbols), make([]int, distances)
	for i := range weight {
		weight[i] = 1 // any may come
	}
	for i := range far {
		far[i] = 1
	}
	for _, record := range strings.SplitAfter(typical, "\r\n\r\n\r\n\r\n") {
		for _, t := range tokens(nil, []byte(record)) {
			if t.length == 0 {
				weight[t.literal] += 4
				continue
			}
			s, _, _ := lengthSymbol(t.length)
			weight[s] += 4
			s, _, _ = distanceSymbol(t.distance)
			far[s] += 4
		}
	}
	c := &headCode{symbols: newCode(weight), distances: newCode(far)}
	c.start.bytes = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255} // no name, no time, an unknown system [RFC 1952, 2.3]
	c.start.table(c.symbols.size, c.distances.size)
	return c
})

// A token is a byte, or bytes as they stand some distance before.
type token struct {
	literal  byte
	length   uint8 // 0: a byte
	distance uint16
}

// tokens appends those of a text of mostSmall bytes at most: of each byte the longest match with the last place that has the same four.
func tokens(to []token, text []byte) []token {
	var last [512]uint16 // by hash of four bytes: where they stood, and 1
	for i := 0; i < len(text); {
		n, distance := 0, 0
		if i+shortest <= len(text) {
			h := binary.LittleEndian.Uint32(text[i:]) * 2654435761 >> 23
			if at := int(last[h]) - 1; at >= 0 {
				for most := min(longest, len(text)-i); n < most && text[at+n] == text[i+n]; {
					n++
				}
				distance = i - at
			}
			last[h] = uint16(i + 1)
		}
		if n < shortest {
			to = append(to, token{literal: text[i]})
			i++
			continue
		}
		to = append(to, token{length: uint8(n), distance: uint16(distance)})
		i += n
	}
	return to
}

// lengthSymbol returns the symbol of a length, and the bits after it [RFC 1951, 3.2.5].
func lengthSymbol(n uint8) (symbol, more uint16, bits uint8) {
	if n <= 10 {
		return 257 + uint16(n) - 3, 0, 0
	}
	return 265 + uint16(n-11)/2, uint16(n-11) & 1, 1
}

// distanceSymbol returns the symbol of a distance, and the bits after it.
func distanceSymbol(d uint16) (symbol, more uint16, size uint8) {
	if d--; d < 4 {
		return d, 0, 0
	}
	n := uint8(bits.Len16(d)) - 2
	return uint16(n)*2 + d>>n, d & (1<<n - 1), n
}

// newCode returns a Huffman code for these weights. What has none gets no code.
func newCode(weight []int) code {
	size := codeSizes(weight)
	return code{codes(size), size}
}

// codeSizes returns how many bits each symbol takes in a Huffman code for these weights: none those of weight 0.
func codeSizes(weight []int) []uint8 {
	type tree struct {
		weight  int
		symbols []int
	}
	var trees []tree
	for s, w := range weight {
		if w > 0 {
			trees = append(trees, tree{w, []int{s}})
		}
	}
	size := make([]uint8, len(weight))
	for len(trees) > 1 {
		slices.SortStableFunc(trees, func(a, b tree) int { return b.weight - a.weight })
		n := len(trees) - 2
		a, b := trees[n], trees[n+1]
		both := tree{a.weight + b.weight, slices.Concat(a.symbols, b.symbols)}
		for _, s := range both.symbols {
			size[s]++
		}
		trees = append(trees[:n], both)
	}
	return size
}

// codes returns the code of each symbol, by length and in the order of symbols [RFC 1951, 3.2.2]. It is sent from its highest bit on, and
// so turned around.
func codes(size []uint8) []uint16 {
	bits := make([]uint16, len(size))
	code := uint16(0)
	for length := uint8(1); length <= 15; length++ {
		for s, n := range size {
			if n == length {
				for i := range n {
					bits[s] |= code >> i & 1 << (n - 1 - i)
				}
				code++
			}
		}
		code <<= 1
	}
	return bits
}

// A bitWriter appends bits to bytes, the lowest first.
type bitWriter struct {
	bytes []byte
	acc   uint64 // bits that make no byte yet
	n     uint8  // of them
}

func (w *bitWriter) put(bits uint16, n uint8) {
	w.acc |= uint64(bits) << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.bytes = append(w.bytes, byte(w.acc))
		w.acc >>= 8
	}
}

// table puts the header of a last block with codes of these sizes [RFC 1951, 3.2.7].
func (w *bitWriter) table(symbols, distances []uint8) {
	const again = 16 // the symbol: the size before, 3 to 6 times
	type symbol struct {
		s    uint8
		more uint16 // of again: how many times, less 3
	}
	var all []symbol
	for size := slices.Concat(symbols, distances); len(size) > 0; {
		all = append(all, symbol{s: size[0]})
		run := 0
		for size = size[1:]; run < len(size) && size[run] == all[len(all)-1].s; {
			run++
		}
		for run >= 3 {
			n := min(run, 6)
			all = append(all, symbol{again, uint16(n - 3)})
			size, run = size[n:], run-n
		}
	}
	weight := make([]int, 19)
	for _, s := range all {
		weight[s.s]++
	}
	c := newCode(weight)
	w.put(1, 1) // the last block
	w.put(2, 2) // with codes of its own
	w.put(uint16(len(symbols)-257), 5)
	w.put(uint16(len(distances)-1), 5)
	w.put(uint16(len(c.size)-4), 4)
	for _, s := range []int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15} {
		w.put(uint16(c.size[s]), 3)
	}
	for _, s := range all {
		w.put(c.bits[s.s], c.size[s.s])
		if s.s == again {
			w.put(s.more, 2)
		}
	}
}

// appendMember appends a text of mostSmall bytes at most as a member of gzip. O(len(text)).
func (c *headCode) appendMember(to, text []byte) []byte {
	var buffer [mostSmall]token
	to = append(to, c.start.bytes...)
	acc, n := c.start.acc, c.start.n
	for _, t := range tokens(buffer[:0], text) {
		s := uint16(t.literal)
		if t.length > 0 {
			var more uint16
			var size uint8
			s, more, size = lengthSymbol(t.length)
			acc |= uint64(c.symbols.bits[s]) << n
			n += c.symbols.size[s]
			acc |= uint64(more) << n
			n += size
			d, more, size := distanceSymbol(t.distance)
			acc |= uint64(c.distances.bits[d]) << n
			n += c.distances.size[d]
			acc |= uint64(more) << n
			n += size
		} else {
			acc |= uint64(c.symbols.bits[s]) << n
			n += c.symbols.size[s]
		}
		if n >= 32 { // with what a match may take, 64 at most
			to = binary.LittleEndian.AppendUint32(to, uint32(acc))
			acc >>= 32
			n -= 32
		}
	}
	w := bitWriter{to, acc, n}
	w.put(c.symbols.bits[endOfBlock], c.symbols.size[endOfBlock])
	w.put(0, -w.n&7)
	to = binary.LittleEndian.AppendUint32(w.bytes, crc32.ChecksumIEEE(text))
	return binary.LittleEndian.AppendUint32(to, uint32(len(text)))
}
