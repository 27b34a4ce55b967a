package cover

// A Plan is what covering a family is expected to take. Memory is what the engines allocate at
// most; seconds come from one rate each, in elements a second, and are rough.
type Plan struct {
	Algorithm Algorithm `json:"algorithm"`
	OutOfCore bool      `json:"out_of_core"`
	Sets      uint64    `json:"sets"`
	Elements  uint64    `json:"elements"`
	Size      uint64    `json:"size"`
	Memory    uint64    `json:"memory"`      // bytes
	Limit     uint64    `json:"memory_free"` // bytes; the caller's to fill in, as the next
	Disk      uint64    `json:"disk"`        // bytes
	Free      uint64    `json:"disk_free"`   // in the folder for level files; 0: not known
	Seconds   float64   `json:"seconds"`
	Fits      bool      `json:"fits"`
}

// NewPlan returns what it takes to cover m sets of n elements with M = size elements in all by the
// engine a or, out of core, by External; improve is the time given to Improve, in seconds.
func NewPlan(a Algorithm, outOfCore bool, m, n, size uint64, o *Options, improve float64) *Plan {
	p := &Plan{Algorithm: a, OutOfCore: outOfCore, Sets: m, Elements: n, Size: size}
	if outOfCore {
		p.Memory = Bits(m, n, o) + 48<<20
		p.Disk = 3 * size
		p.Seconds = float64(size) / 25e6
		return p
	}
	p.Memory = Memory(a, m, n, size, o, improve > 0)
	p.Seconds = float64(size)/60e6 + improve
	return p
}

// Lacks tells what of a plan is more than there is: p.Limit of memory, p.Free of disk. It sets
// p.Fits.
func (p *Plan) Lacks() (memory, disk bool) {
	memory, disk = p.Memory > p.Limit, p.Disk > p.Free && p.Free > 0
	p.Fits = !memory && !disk
	return memory, disk
}

// Memory returns the bytes that an engine takes in memory for m sets of n elements with M = size
// elements in all, and Improve after it, if improve is set.
func Memory(a Algorithm, m, n, size uint64, o *Options, improve bool) uint64 {
	need := 4*size + 20*m + n/8 // lists, offsets, counts, queues, covered bits
	switch a {
	case NameGreedy:
		need += 4*size + 8*n + 12*m
	case NameFGreedy:
		need += 4 * m
	}
	if improve {
		need += 12*size + 32*m + 24*n
	}
	return need + extra(m, n, o)
}

// Bits returns the bytes that External must have for the state of m sets and n elements: two bits
// an element, and what the problem asks for beyond a plain cover.
func Bits(m, n uint64, o *Options) uint64 { return n/4 + extra(m, n, o) }

// extra returns the bytes for counting how often elements are covered, and for weights.
func extra(m, n uint64, o *Options) (b uint64) {
	if o.Multi > 1 {
		digits := uint64(0)
		for k := o.Multi; k > 0; k >>= 1 {
			digits++
		}
		b += n / 64 * digits * 8
	}
	if o.Weights != nil {
		b += 24 * m
	}
	return b
}
