// Package filestest starts stores on loopback for tests: servers that speak the protocols of S3 and of
// Google Cloud Storage, and, where its class path is, an HDFS. A process has one of each, since it has
// one client of each; programs that it starts find them by the environment.
package filestest

import (
	"bytes"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"forage/distributed/beam/files"
)

// A Store is a kind of store.
type Store struct {
	Name string
	// Folder returns the path of a folder in it that no other test has.
	Folder func(t testing.TB) string
}

// Stores are all stores, and this machine's disk.
func Stores() []Store {
	return []Store{
		{"local", func(t testing.TB) string { return filepath.Join(t.TempDir(), "folder") }},
		{"s3", func(t testing.TB) string { return startS3() + folder() }},
		{"gs", func(t testing.TB) string { return startGCS(t) + folder() }},
		{"hdfs", func(t testing.TB) string { return startHDFS(t) + folder() }},
	}
}

var folders atomic.Int64

func folder() string { return fmt.Sprintf("/a folder/%d", folders.Add(1)) }

// startS3 returns the path of a bucket.
var startS3 = sync.OnceValue(func() string {
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		panic(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		os.Setenv(name, value)
	}
	return "s3://bucket"
})

var gcs struct {
	sync.Mutex
	server *fakestorage.Server
}

// startGCS returns the path of a bucket.
func startGCS(t testing.TB) string {
	gcs.Lock()
	defer gcs.Unlock()
	if gcs.server == nil {
		port := FreePort(t)
		server, err := fakestorage.NewServerWithOptions(fakestorage.Options{Scheme: "http", Host: "127.0.0.1", Port: uint16(port), PublicHost: fmt.Sprintf("127.0.0.1:%d", port)})
		if err != nil {
			t.Fatal(err)
		}
		server.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: "bucket"})
		os.Setenv("STORAGE_EMULATOR_HOST", fmt.Sprintf("127.0.0.1:%d", port))
		gcs.server = server
	}
	return "gs://bucket"
}

// FreePort returns a port on which nothing listens.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

var cluster struct {
	sync.Mutex
	root  string
	nodes []*exec.Cmd
	dir   string
}

// Stop ends the HDFS, if there is one. TestMain calls it when all tests have run.
func Stop() {
	for _, node := range cluster.nodes {
		node.Process.Kill()
		node.Wait()
	}
	if cluster.dir != "" {
		os.RemoveAll(cluster.dir)
	}
}

// startHDFS returns the root of an HDFS of a name node and a data node; without the class path that
// make hdfs fetches the test is skipped.
func startHDFS(t testing.TB) string {
	t.Helper()
	jars := os.Getenv("FORAGE_HDFS_JARS")
	if jars == "" {
		t.Skip("make hdfs fetches HDFS and runs this")
	}
	cluster.Lock()
	defer cluster.Unlock()
	if cluster.root != "" {
		return cluster.root
	}
	if cluster.dir != "" {
		t.Fatal("HDFS did not come before")
	}
	dir, err := os.MkdirTemp("", "forage-hdfs-")
	if err != nil {
		t.Fatal(err)
	}
	cluster.dir = dir
	root := fmt.Sprintf("hdfs://127.0.0.1:%d", FreePort(t))
	var conf strings.Builder
	conf.WriteString("<configuration>\n")
	for name, value := range map[string]string{
		"fs.defaultFS": root, "dfs.replication": "1", "dfs.permissions.enabled": "false",
		"dfs.namenode.name.dir": "file://" + dir + "/name", "dfs.datanode.data.dir": "file://" + dir + "/data", "hadoop.tmp.dir": dir,
		"dfs.namenode.http-address": "127.0.0.1:0", "dfs.datanode.address": "127.0.0.1:0", "dfs.datanode.http.address": "127.0.0.1:0", "dfs.datanode.ipc.address": "127.0.0.1:0",
		"dfs.namenode.safemode.extension": "0", "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "50",
	} {
		fmt.Fprintf(&conf, "<property><name>%s</name><value>%s</value></property>\n", name, value)
	}
	conf.WriteString("</configuration>\n")
	const log4j = "log4j.rootLogger=WARN,out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\nlog4j.appender.out.layout=org.apache.log4j.PatternLayout\nlog4j.appender.out.layout.ConversionPattern=%p %c: %m%n\n"
	for name, text := range map[string]string{"core-site.xml": conf.String(), "hdfs-site.xml": conf.String(), "log4j.properties": log4j} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, pages := range []string{"hdfs", "datanode"} { // without folders for them the nodes do not start
		if err := os.MkdirAll(filepath.Join(dir, "webapps", pages), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	java := func(class string, args ...string) (*exec.Cmd, *bytes.Buffer) {
		all := []string{"-Xmx256m", "-cp", dir + string(os.PathListSeparator) + filepath.Join(jars, "*")}
		for _, p := range []string{"lang", "util", "net", "io", "nio"} {
			all = append(all, "--add-opens=java.base/java."+p+"=ALL-UNNAMED")
		}
		cmd := exec.Command("java", append(append(all, class), args...)...)
		log := &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = log, log
		return cmd, log
	}
	const nameNode = "org.apache.hadoop.hdfs.server.namenode.NameNode"
	if cmd, log := java(nameNode, "-format", "-nonInteractive"); cmd.Run() != nil {
		t.Fatal(log)
	}
	for _, class := range []string{nameNode, "org.apache.hadoop.hdfs.server.datanode.DataNode"} {
		cmd, _ := java(class)
		log, err := os.Create(filepath.Join(dir, class+".log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cluster.nodes = append(cluster.nodes, cmd)
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		if err = files.Write(t.Context(), root+"/there", []byte("x")); err == nil {
			break
		}
		if time.Now().After(end) {
			logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
			for _, log := range logs {
				text, _ := os.ReadFile(log)
				t.Logf("%s", text)
			}
			t.Fatalf("HDFS did not come: %v", err)
		}
	}
	cluster.root = root
	return root
}
