package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A kafka is a broker of Apache Kafka, in a process of its own.
type kafka struct {
	t    testing.TB
	jars string
	dir  string
	addr string
	cmd  *exec.Cmd
	out  bytes.Buffer
}

// startKafka starts a broker, at an address of this machine, of the jars that FORAGE_KAFKA_JARS names ('make kafka').
func startKafka(t testing.TB, host string) *kafka {
	t.Helper()
	jars := os.Getenv("FORAGE_KAFKA_JARS")
	if jars == "" {
		t.Skip("FORAGE_KAFKA_JARS is not set: 'make kafka' fetches a broker of Apache Kafka and sets it")
	}
	k := &kafka{t: t, jars: filepath.Join(jars, "*"), dir: t.TempDir(), addr: freeAddr(t, host)}
	control := freeAddr(t, "127.0.0.1")
	config := fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[2]s
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[1]s
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=%[3]s
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
`, k.addr, control, filepath.Join(k.dir, "log"))
	if err := os.WriteFile(k.config(), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	format := k.java("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", k.config())
	if out, err := format.CombinedOutput(); err != nil {
		t.Fatalf("the broker's storage: %v: %s", err, out)
	}
	t.Cleanup(func() {
		k.kill()
		if t.Failed() {
			t.Logf("the broker:\n%.20000s", k.out.Bytes())
		}
	})
	k.start()
	return k
}

func freeAddr(t testing.TB, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (k *kafka) config() string { return filepath.Join(k.dir, "server.properties") }

func (k *kafka) java(args ...string) *exec.Cmd {
	return exec.Command("java", append([]string{"-Xmx384m", "-XX:+UseSerialGC", "-cp", k.jars}, args...)...)
}

// start starts the broker, and returns when it answers.
func (k *kafka) start() {
	k.t.Helper()
	k.cmd = k.java("kafka.Kafka", k.config())
	k.cmd.Stdout, k.cmd.Stderr = &k.out, &k.out
	if err := k.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(k.addr))
	if err != nil {
		k.t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for client.Ping(ctx) != nil {
		if ctx.Err() != nil {
			k.t.Fatal("the broker does not answer within a minute")
		}
	}
}

// kill kills the broker.
func (k *kafka) kill() {
	k.cmd.Process.Kill()
	k.cmd.Wait()
}

// TestKafka is TestTrouble with a broker of Apache Kafka, which is killed, too.
func TestKafka(t *testing.T) {
	k := startKafka(t, "127.0.0.1")
	t.Setenv("FORAGE_KAFKA", k.addr)
	troubled(t, func(tr *trial) {
		began := time.Now()
		k.kill()
		k.start()
		tr.goesOn(began)
		t.Logf("the broker is killed, and starts again: all partitions are crawled again after %v", time.Since(began).Round(100*time.Millisecond))
	})
}
