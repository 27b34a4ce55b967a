package asked

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMeasure: what is told of a process is its own.
func TestMeasure(t *testing.T) {
	if os.Getenv("ASKED_CHILD") != "" {
		held := make([]byte, 100<<20)
		for i := range held {
			held[i] = byte(i)
		}
		if held[12345] == 0 {
			t.Fatal("never")
		}
		io.ReadAll(os.Stdin)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestMeasure$")
	cmd.Env = append(os.Environ(), "ASKED_CHILD=1")
	u, err := Measure(cmd)
	if err != nil || u.Memory < 100<<20 || u.Memory > 1<<30 || u.CPU <= 0 {
		t.Errorf("%+v, %v, want 100 MiB and some CPU time", u, err)
	}
	if _, err := Measure(exec.Command(os.Args[0], "-there-is-no-such-flag")); err == nil || !strings.Contains(err.Error(), "there-is-no-such-flag") {
		t.Errorf("a process that fails: %v", err)
	}
	if Resident(0) != 0 {
		t.Error("there is a process 0")
	}
}
