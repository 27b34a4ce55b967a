package pipeline

import "time"

// SetSubmitTime changes how long a job server may take, until the test is over.
func SetSubmitTime(d time.Duration) (restore func()) {
	before := submitTime
	submitTime = d
	return func() { submitTime = before }
}
