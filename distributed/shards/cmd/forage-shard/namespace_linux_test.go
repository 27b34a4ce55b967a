package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"golang.org/x/sys/unix"
)

// A namespace is a network of its own, which a link joins to that of the test. Its loopback is not that of the test.
type namespace struct {
	t      testing.TB
	name   string
	host   string // address of the test's end of the link
	inside string // that of the other end
	outer  string // the test's end
}

// newNamespace makes a namespace, or skips the test where that is not permitted.
func newNamespace(t testing.TB) *namespace {
	t.Helper()
	pid := os.Getpid()
	net := fmt.Sprintf("198.18.%d.", pid/64%256) // RFC 2544: for tests; processes have different ones
	n := &namespace{t: t, name: fmt.Sprintf("forage-%d", pid), host: fmt.Sprint(net, pid%64*4+1), inside: fmt.Sprint(net, pid%64*4+2), outer: fmt.Sprintf("fg%d", pid)}
	if err := n.ip("netns", "add", n.name); err != nil {
		t.Skipf("no network namespace can be made: %v", err)
	}
	t.Cleanup(func() {
		if err := n.ip("netns", "del", n.name); err != nil {
			t.Error(err)
		}
	})
	for _, args := range [][]string{
		{"link", "add", n.outer, "type", "veth", "peer", "name", "broker", "netns", n.name},
		{"addr", "add", n.host + "/30", "dev", n.outer},
		{"link", "set", n.outer, "up"},
		{"-n", n.name, "addr", "add", n.inside + "/30", "dev", "broker"},
		{"-n", n.name, "link", "set", "lo", "up"},
		{"-n", n.name, "link", "set", "broker", "up"},
	} {
		if err := n.ip(args...); err != nil {
			t.Skipf("a network namespace cannot be joined to another one: %v", err)
		}
	}
	t.Cleanup(func() { // the namespace goes some time after its name does, and the link with it: the next test wants it gone
		if err := n.ip("link", "del", n.outer); err != nil {
			t.Error(err)
		}
	})
	return n
}

func (n *namespace) ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %q: %w: %s", args, err, out)
	}
	return nil
}

// A cut is how a link fails.
type cut string

const (
	down   cut = "down"   // nothing is reached, and who tries hears of it
	silent cut = "silent" // packets vanish, both ways, and who sends waits for an answer
)

// cut has the link fail.
func (n *namespace) cut(how cut) {
	n.t.Helper()
	if how == down {
		n.must("-n", n.name, "link", "set", "broker", "down")
		return
	}
	// To an address of the link layer that nobody has.
	n.must("neigh", "replace", n.inside, "lladdr", "02:00:00:00:00:01", "nud", "permanent", "dev", n.outer)
	n.must("-n", n.name, "neigh", "replace", n.host, "lladdr", "02:00:00:00:00:01", "nud", "permanent", "dev", "broker")
}

// mend has the link work again.
func (n *namespace) mend(how cut) {
	n.t.Helper()
	if how == down {
		n.must("-n", n.name, "link", "set", "broker", "up")
		return
	}
	n.must("neigh", "del", n.inside, "dev", n.outer)
	n.must("-n", n.name, "neigh", "del", n.host, "dev", "broker")
}

func (n *namespace) must(args ...string) {
	n.t.Helper()
	if err := n.ip(args...); err != nil {
		n.t.Fatal(err)
	}
}

// do calls f in the namespace: what it opens and starts belongs there.
func (n *namespace) do(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks it: the thread ends with the goroutine
		done <- func() error {
			file, err := os.Open(filepath.Join("/run/netns", n.name))
			if err != nil {
				return err
			}
			defer file.Close()
			if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			return f()
		}()
	}()
	return <-done
}

// servedIn has the web be on the loopback of a namespace, too, whatever becomes of the link.
func (w *web) servedIn(n *namespace) {
	n.t.Helper()
	var l net.Listener
	if err := n.do(func() (err error) { l, err = net.Listen("tcp", "0.0.0.0"+w.addr); return err }); err != nil {
		n.t.Fatal(err)
	}
	go w.server.Serve(l)
}

// brokerAt starts a broker in memory at an address.
func brokerAt(t testing.TB, host string) string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "100"}),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) { return net.Listen(network, net.JoinHostPort(host, "0")) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()[0]
}
