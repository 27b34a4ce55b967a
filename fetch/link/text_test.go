package link

import (
	"slices"
	"testing"
)

func blocksOf(body string) ([]uint64, uint64) {
	return Extract([]byte(body), Options{URL: "http://a.test/"}).Blocks(nil)
}

func TestBlocks(t *testing.T) {
	blocks, shape := blocksOf("<title>The page</title><style>p{}</style><h1>A <a href=x>new</a> one</h1><p>12 items<br>and<script>x()</script></p><td>two words</td>")
	var words []int
	for _, b := range blocks {
		words = append(words, int(b&0xff))
	}
	if want := []int{2, 3, 2, 1, 2}; !slices.Equal(words, want) {
		t.Errorf("blocks of %v words, want %v", words, want)
	}
	again, same := blocksOf("<title>the PAGE</title><h2>A new <b>one</b></h2><ul><li>13 items</li><li>and</li></ul>two, words")
	if same != shape {
		t.Error("case, elements and numbers change the shape")
	}
	for i := range blocks {
		if (blocks[i] == again[i]) != (i != 2) {
			t.Errorf("block %d: %x and %x", i, blocks[i], again[i])
		}
	}
	if _, other := blocksOf("<title>the page</title>one new"); other == shape {
		t.Error("other words have the same shape")
	}
}

func FuzzBlocks(f *testing.F) {
	f.Add("<p>a<b>c</b>1")
	f.Fuzz(func(t *testing.T, body string) {
		a, s := blocksOf(body)
		b, u := blocksOf(body)
		if !slices.Equal(a, b) || s != u {
			t.Error("not the same twice")
		}
		for _, h := range a {
			if h&0xff == 0 {
				t.Error("a block without words")
			}
		}
	})
}

// TestSays: what a page says for its address is the same whatever the address is, if it is the same
// but for that.
func TestSays(t *testing.T) {
	says := func(body string, addresses ...string) uint64 {
		return Extract([]byte(body), Options{URL: "http://a.test/"}).Says(addresses...)
	}
	const one, two = "http://a.test/?id=space%3ASome-page", "http://a.test/?id=17"
	missing := says("<title>some page</title><p>The topic Some Page does not exist", one, two)
	if other := says("<title>17</title><p>The topic 17 does not <b>exist</b>", two, one); other != missing {
		t.Error("an address that is repeated changes what is said")
	}
	if other := says("<title>some page</title><p>The topic Some Page does exist", one, two); other == missing {
		t.Error("other words say the same")
	}
	if says("") == 0 {
		t.Error("nothing is 0, which is not known")
	}
}
