// Package race tells tests whether the race detector runs. What only computes, in one goroutine,
// takes five to twenty times as long under it and has no race to show: such tests take a tenth
// of their cases then. What runs in several goroutines does all of its work.
package race

// Fewer returns n, or a tenth of it under the race detector.
func Fewer(n int) int {
	if Enabled {
		return max(1, n/10)
	}
	return n
}

// Skip leaves a test out under the race detector: one that takes minutes there, and whose code other tests run in
// several goroutines, if it does at all.
func Skip(t interface {
	Helper()
	Skip(args ...any)
}) {
	if Enabled {
		t.Helper()
		t.Skip("it takes minutes under the race detector, and has nothing to show there")
	}
}
