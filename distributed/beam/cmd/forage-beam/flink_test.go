package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forage/cover"
	"forage/cover/covertest"
	"forage/distributed/beam/files/filestest"
)

// patience is how long a process of Flink may take to be there, or a cover to be found.
const patience = 5 * time.Minute

// await returns when there is what was waited for.
func await(t *testing.T, what string, there func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if there() {
			return
		}
	}
	t.Fatalf("%s did not come within %v", what, patience)
}

// flink starts processes of Flink from the class path that make flink has fetched.
type flink struct {
	jars string
	dir  string
	rest int // port of the job manager
}

// java starts a class, which ends with the test.
func (f *flink) java(t *testing.T, class string, args ...string) *exec.Cmd {
	t.Helper()
	return f.javaOn(t, []string{"-cp", filepath.Join(f.jars, "*")}, class, args...)
}

// unseen returns arguments that put the jars on the class path in a way that the job server does not
// see. It sends what it sees to the cluster with each job, 152 MB, though each task manager has it.
func (f *flink) unseen(t *testing.T) (classPath []string) {
	t.Helper()
	if out, err := exec.Command("javac", "-d", f.dir, filepath.Join("testdata", "flink", "Agent.java")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	class, err := os.ReadFile(filepath.Join(f.dir, "Agent.class"))
	if err != nil {
		t.Fatal(err)
	}
	jars, err := filepath.Glob(filepath.Join(f.jars, "*.jar"))
	if err != nil || len(jars) == 0 {
		t.Fatalf("%s: no jars: %v", f.jars, err)
	}
	path := "Class-Path:"
	for _, jar := range jars {
		path += " file:" + jar
	}
	manifest := "Premain-Class: Agent\r\n"
	for len(path) > 70 { // a line has 72 bytes at most, and goes on after a blank
		manifest += path[:70] + "\r\n"
		path = " " + path[70:]
	}
	agent, empty := filepath.Join(f.dir, "agent.jar"), filepath.Join(f.dir, "empty.jar")
	writeJar(t, agent, map[string]string{"META-INF/MANIFEST.MF": manifest + path + "\r\n", "Agent.class": string(class)})
	writeJar(t, empty, map[string]string{"empty": ""})
	return []string{"-javaagent:" + agent, "-cp", empty}
}

func writeJar(t *testing.T, name string, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// javaOn starts a class of a class path.
func (f *flink) javaOn(t *testing.T, classPath []string, class string, args ...string) *exec.Cmd {
	t.Helper()
	java := append([]string{"-Xmx384m"}, classPath...)
	for _, p := range []string{"lang", "util", "net", "io", "nio"} {
		java = append(java, "--add-opens=java.base/java."+p+"=ALL-UNNAMED")
	}
	cmd := exec.Command("java", append(append(java, class), args...)...)
	log, err := os.Create(filepath.Join(f.dir, fmt.Sprintf("%s.%d.log", class[strings.LastIndex(class, ".")+1:], filestest.FreePort(t))))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s: %s", class, text)
		}
	})
	return cmd
}

// jobServer starts a job server and returns its address.
func (f *flink) jobServer(t *testing.T, master string) string {
	t.Helper()
	port := filestest.FreePort(t)
	f.javaOn(t, f.unseen(t), "org.apache.beam.runners.flink.FlinkJobServerDriver", "--flink-master="+master, "--job-host=localhost", fmt.Sprintf("--job-port=%d", port),
		fmt.Sprintf("--artifact-port=%d", filestest.FreePort(t)), fmt.Sprintf("--expansion-port=%d", filestest.FreePort(t)), "--artifacts-dir="+filepath.Join(f.dir, "artifacts"))
	address := fmt.Sprintf("localhost:%d", port)
	await(t, "the job server", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return address
}

// cluster starts a job manager.
func (f *flink) cluster(t *testing.T) {
	t.Helper()
	f.rest = filestest.FreePort(t)
	conf := fmt.Sprintf(`jobmanager.rpc.address: localhost
jobmanager.rpc.port: %d
jobmanager.bind-host: localhost
rest.address: localhost
rest.bind-address: localhost
rest.port: %d
taskmanager.host: localhost
taskmanager.bind-host: localhost
taskmanager.numberOfTaskSlots: 4
taskmanager.cpu.cores: 1
taskmanager.memory.task.heap.size: 256m
taskmanager.memory.task.off-heap.size: 64m
taskmanager.memory.managed.size: 128m
taskmanager.memory.network.min: 64m
taskmanager.memory.network.max: 64m
taskmanager.memory.framework.heap.size: 128m
taskmanager.memory.framework.off-heap.size: 128m
taskmanager.memory.jvm-metaspace.size: 256m
taskmanager.memory.jvm-overhead.min: 192m
taskmanager.memory.jvm-overhead.max: 192m
cluster.evenly-spread-out-slots: true
heartbeat.interval: 2000
heartbeat.timeout: 8000
restart-strategy.type: fixed-delay
restart-strategy.fixed-delay.attempts: 20
restart-strategy.fixed-delay.delay: 5 s
io.tmp.dirs: %s
`, filestest.FreePort(t), f.rest, f.dir)
	if err := os.WriteFile(filepath.Join(f.dir, "flink-conf.yaml"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	f.java(t, "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint", "--configDir", f.dir)
}

// taskManager starts a task manager.
func (f *flink) taskManager(t *testing.T) *exec.Cmd {
	t.Helper()
	return f.java(t, "org.apache.flink.runtime.taskexecutor.TaskManagerRunner", "--configDir", f.dir)
}

// awaitManagers returns when so many task managers are there.
func (f *flink) awaitManagers(t *testing.T, n int) {
	t.Helper()
	await(t, "a task manager", func() bool {
		r, err := http.Get(fmt.Sprintf("http://localhost:%d/overview", f.rest))
		if err != nil {
			return false
		}
		defer r.Body.Close()
		var o struct {
			TaskManagers int `json:"taskmanagers"`
		}
		return json.NewDecoder(r.Body).Decode(&o) == nil && o.TaskManagers == n
	})
}

// TestFlink: the covers that Flink finds are that of one machine: in the job server itself, with workers
// in this process; and on a cluster of two task managers and a pool, also after a task manager, the
// pool, or the driver was killed in mid-job.
func TestFlink(t *testing.T) {
	jars := os.Getenv("FORAGE_FLINK_JARS")
	if jars == "" {
		t.Skip("make flink fetches Flink and runs this")
	}
	dir := t.TempDir()
	l := covertest.Large(rand.New(rand.NewPCG(7, 8)), 4000, 3000)
	path, want := setFile(t, dir, l, 8)
	shards := filepath.Join(dir, "shards")
	must(t, "shard", path, "-o", shards, "--shards", "4", "--p", "8")
	r, err := cover.SPGreedy(t.Context(), l, cover.Options{P: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d levels", r.Passes)
	n := 0
	args := func(endpoint string, more ...string) (list string, all []string) {
		n++
		list = filepath.Join(dir, fmt.Sprint("list", n))
		return list, append([]string{"cover", shards, "--p", "8", "-o", list, "--state", filepath.Join(dir, fmt.Sprint("state", n)), "--runner", "portable", "--endpoint", endpoint}, more...)
	}
	t.Run("local", func(t *testing.T) {
		f := &flink{jars: jars, dir: t.TempDir()}
		began := time.Now()
		endpoint := f.jobServer(t, "[local]")
		list, all := args(endpoint)
		must(t, all...)
		if content(t, list) != want {
			t.Error("another cover than on one machine")
		}
		t.Logf("%.1f s with the start of the job server", time.Since(began).Seconds())
		// A pool that is not there: Flink cannot start a worker.
		began = time.Now()
		_, all = args(endpoint, "--environment", "EXTERNAL", "--pool", fmt.Sprintf("127.0.0.1:%d", filestest.FreePort(t)), "--start-limit", "30s")
		code, _, stderr := do(t, all...)
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		if code != 1 || len(lines) != 2 || !strings.Contains(lines[1], "run it again to go on from there") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		t.Logf("no pool: %.1f s: %s", time.Since(began).Seconds(), lines[len(lines)-1])
	})
	f := &flink{jars: jars, dir: t.TempDir()}
	f.cluster(t)
	first := f.taskManager(t)
	f.taskManager(t)
	f.awaitManagers(t, 2)
	endpoint := f.jobServer(t, fmt.Sprintf("localhost:%d", f.rest))
	poolAddress := fmt.Sprintf("127.0.0.1:%d", filestest.FreePort(t))
	pool := startPool(t, poolAddress)
	external := []string{"--environment", "EXTERNAL", "--pool", poolAddress, "--parallelism", "4"}
	for _, tt := range []struct {
		name string
		kill func(driver *exec.Cmd) // when the second level has begun
	}{
		{"cluster", nil},
		{"task manager killed", func(*exec.Cmd) {
			first.Process.Kill()
			f.taskManager(t)
		}},
		{"pool killed", func(*exec.Cmd) {
			pool.Process.Kill()
			pool.Wait()
			pool = startPool(t, poolAddress)
		}},
		{"driver killed", func(driver *exec.Cmd) { driver.Process.Kill() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, all := args(endpoint, external...)
			began, tries := time.Now(), 0
			var levels []string
			for done := false; !done; tries++ {
				if tries == 3 {
					t.Fatal("it did not end in three tries")
				}
				cmd := command(all...)
				stderr, err := cmd.StderrPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				deadline := time.AfterFunc(patience, func() { cmd.Process.Kill() })
				for lines := bufio.NewScanner(stderr); lines.Scan(); {
					t.Log(lines.Text())
					if strings.Contains(lines.Text(), "done: ") {
						levels = append(levels, fmt.Sprintf("%.1f", time.Since(began).Seconds()))
					}
					if tries == 0 && tt.kill != nil && strings.HasPrefix(lines.Text(), "forage-beam: level 2: ") {
						awaitFile(t, filepath.Join(dir, fmt.Sprint("state", n)), "level-00002-")
						tt.kill(cmd)
					}
				}
				done = cmd.Wait() == nil
				deadline.Stop()
			}
			if content(t, list) != want {
				t.Error("another cover than on one machine")
			}
			t.Logf("%d tries; levels were complete after %v s", tries, levels)
		})
	}
}
