package store

import (
	"encoding/binary"
	"fmt"
	"slices"

	"forage/graph"
	"forage/store/record"
)

// A LinkKind tells by what a document led to another.
type LinkKind uint8

// The kinds of links.
const (
	ViaNone      LinkKind = iota // no link: given by hand, or named by robots.txt
	ViaAnchor                    // a, area
	ViaFrame                     // frame, iframe
	ViaRel                       // link rel=next, prev, …, and Link headers
	ViaCanonical                 // rel=canonical
	ViaAlternate                 // rel=alternate to a page
	ViaFeedLink                  // rel=alternate to a feed
	ViaRefresh                   // meta refresh
	ViaRedirect                  // HTTP redirect
	ViaFeed                      // an item or channel link of a feed
	ViaSitemap                   // an entry of a sitemap
	numLinkKinds
)

var linkKindNames = [...]string{"seed", "a", "frame", "rel", "canonical", "alternate", "feed-link", "refresh", "redirect", "feed", "sitemap"}

func (k LinkKind) String() string {
	if int(k) < len(linkKindNames) {
		return linkKindNames[k]
	}
	return fmt.Sprintf("link(%d)", uint8(k))
}

// ParseLinkKind reads what String returns; false: it is the name of no kind.
func ParseLinkKind(name string) (LinkKind, bool) {
	i := slices.Index(linkKindNames[:], name)
	return LinkKind(max(i, 0)), i >= 0
}

// A Link leads from one document to another.
type Link struct {
	To       graph.Node
	Kind     LinkKind
	NoFollow bool
	Off      bool   // To lies outside the scope of the site
	Place    uint32 // hash of the place in the page: links of one list share it; 0: no place
}

// appendLinks encodes links in their order: uvarint count; then for each the difference of
// To to the link before as varint, uvarint(Kind<<3 | Off<<2 | samePlace<<1 | NoFollow) and, unless the
// place is that of the link before, its four bytes.
func appendLinks(b []byte, links []Link) []byte {
	b = binary.AppendUvarint(b, uint64(len(links)))
	last, place := int64(0), uint32(0)
	for _, l := range links {
		b = binary.AppendVarint(b, int64(l.To)-last)
		last = int64(l.To)
		head := uint64(l.Kind) << 3
		if l.Place == place {
			head |= 2
		}
		if l.NoFollow {
			head |= 1
		}
		if l.Off {
			head |= 4
		}
		b = binary.AppendUvarint(b, head)
		if l.Place != place {
			b = binary.LittleEndian.AppendUint32(b, l.Place)
			place = l.Place
		}
	}
	return b
}

func decodeLinks(b []byte) ([]Link, error) { return decodeLinksTo(nil, b) }

// decodeLinksTo is decodeLinks into the memory of links, which it grows as needed.
func decodeLinksTo(links []Link, b []byte) ([]Link, error) {
	bad := func(what string) ([]Link, error) { return nil, fmt.Errorf("links: %w: %s", record.ErrCorrupt, what) }
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)) {
		return bad("count")
	}
	b = b[k:]
	links = slices.Grow(links[:0], int(n))[:n]
	last, place := int64(0), uint32(0)
	for i := range links {
		d, k := binary.Varint(b)
		if k <= 0 {
			return bad("target")
		}
		last += d
		if last < 0 || last >= graph.MaxNodes {
			return bad("target out of range")
		}
		head, j := binary.Uvarint(b[k:])
		if j <= 0 || head>>3 >= uint64(numLinkKinds) {
			return bad("kind")
		}
		b = b[k+j:]
		if head&2 == 0 {
			if len(b) < 4 {
				return bad("place")
			}
			place, b = binary.LittleEndian.Uint32(b), b[4:]
		}
		links[i] = Link{To: graph.Node(last), Kind: LinkKind(head >> 3), NoFollow: head&1 != 0, Off: head&4 != 0, Place: place}
	}
	if len(b) != 0 {
		return bad("bytes left over")
	}
	return links, nil
}
