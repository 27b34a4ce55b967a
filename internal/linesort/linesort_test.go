package linesort

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLines compares lines sorted out of core with those sorted at once.
func TestLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for _, held := range []int{1 << 20, 1000, 10} {
		l := New(filepath.Join(t.TempDir(), "out"), held)
		var want []string
		for range 500 {
			line := fmt.Sprintf("%d %s\n", rng.IntN(300), strings.Repeat("x", rng.IntN(40)))
			want = append(want, line)
			if err := l.Add([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(want)
		var got bytes.Buffer
		if err := l.Write(&got); err != nil {
			t.Fatal(err)
		}
		l.Close()
		if got.String() != strings.Join(want, "") {
			t.Errorf("with %d bytes in memory the lines are others, or in another order", held)
		}
		if left, err := os.ReadDir(filepath.Dir(l.path)); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}
