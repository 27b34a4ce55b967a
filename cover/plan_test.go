package cover

import "testing"

func TestPlan(t *testing.T) {
	const m, n, size = 1000, 6400, 100000
	plain := Memory(NamePGreedy, m, n, size, &Options{}, false)
	if want := uint64(4*size + 20*m + n/8); plain != want {
		t.Errorf("Memory(pgreedy) = %d, want %d", plain, want)
	}
	for _, c := range []struct {
		a       Algorithm
		o       Options
		improve bool
	}{{NameGreedy, Options{}, false}, {NameFGreedy, Options{}, false}, {NamePGreedy, Options{Multi: 2}, false}, {NamePGreedy, Options{Weights: []float64{}}, false}, {NamePGreedy, Options{}, true}} {
		if got := Memory(c.a, m, n, size, &c.o, c.improve); got <= plain {
			t.Errorf("Memory(%s, %+v, %v) = %d, want more than %d", c.a, c.o, c.improve, got, plain)
		}
	}
	if got := Bits(m, n, &Options{Multi: 3}); got != n/4+n/64*2*8 {
		t.Errorf("Bits with multiplicity 3 = %d", got)
	}
	p := NewPlan(NameSPGreedy, true, m, n, size, &Options{}, 0)
	p.Limit, p.Free = p.Memory, p.Disk-1
	if memory, disk := p.Lacks(); memory || !disk || p.Fits {
		t.Errorf("a byte of disk is missing: %v, %v, %+v", memory, disk, p)
	}
	p.Limit, p.Free = p.Memory-1, 0
	if memory, disk := p.Lacks(); !memory || disk || p.Fits {
		t.Errorf("a byte of memory is missing, the disk is not known: %v, %v, %+v", memory, disk, p)
	}
	if p.Limit++; p.Fits {
		t.Error("fits before it is asked")
	}
	if p.Lacks(); !p.Fits {
		t.Errorf("all is there: %+v", p)
	}
}
