package store

// A Host is what is remembered of an origin between runs: its robots.txt, and until when it
// must be left alone.
type Host struct {
	Origin        string // scheme://host:port
	LastRequest   int64  // when a request was last sent, milliseconds since the epoch
	NotBefore     int64  // milliseconds since the epoch: Retry-After, backoff
	Failures      int    // in a row
	RobotsAt      Time   // when robots.txt was fetched; 0: never
	RobotsStatus  int    // HTTP status; 0: unreachable
	RobotsBody    []byte // at most 500 KiB
	RobotsProblem string // why everything is disallowed although nothing says so
}

func (h *Host) encode() []byte {
	var w writer
	w.int(1, h.LastRequest)
	w.int(2, h.NotBefore)
	w.uint(3, uint64(h.Failures))
	w.int(4, h.RobotsAt)
	w.uint(5, uint64(h.RobotsStatus))
	w.string(6, string(h.RobotsBody))
	w.string(7, h.RobotsProblem)
	return w.b
}

func decodeHost(origin string, b []byte) (*Host, error) {
	h := &Host{Origin: origin}
	err := fields(b, func(f field) error {
		switch f.tag {
		case 1:
			h.LastRequest = f.int()
		case 2:
			h.NotBefore = f.int()
		case 3:
			h.Failures = int(f.v)
		case 4:
			h.RobotsAt = f.int()
		case 5:
			h.RobotsStatus = int(f.v)
		case 6:
			h.RobotsBody = append([]byte(nil), f.bytes...)
		case 7:
			h.RobotsProblem = string(f.bytes)
		}
		return nil
	})
	return h, err
}
