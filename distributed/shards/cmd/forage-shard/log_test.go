package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"forage/distributed/shards/checkpoint"
)

// TestNoCrawl asks for a crawl that is not there, and for one of which the broker tells nothing.
func TestNoCrawl(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	status := func(wantCode int, want string) {
		t.Helper()
		var out, msg bytes.Buffer
		code := run(t.Context(), &out, &msg, []string{"status", "--brokers", c.ListenAddrs()[0]})
		if code != wantCode || !strings.Contains(msg.String(), want) || strings.Contains(msg.String(), "no crawl") != (wantCode == exitUsage) {
			t.Errorf("exit code %d, %q; want %d, %q", code, msg.String(), wantCode, want)
		}
	}
	status(exitUsage, "there is no crawl of the name \"forage\"")
	c.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		asked := r.(*kmsg.MetadataRequest)
		if len(asked.Topics) == 0 {
			return nil, nil, false
		}
		answer := r.ResponseKind().(*kmsg.MetadataResponse)
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic, topic.ErrorCode = asked.Topics[0].Topic, kerr.TopicAuthorizationFailed.Code
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	status(exitFailed, "TOPIC_AUTHORIZATION_FAILED")
}

// TestNoCheckpoint reads partitions of a crawl that has no checkpoint yet.
func TestNoCheckpoint(t *testing.T) {
	folder := t.TempDir()
	if err := checkpoint.Folder(folder).Create(t.Context(), "forage/name", []byte("x\n")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"pages"}, {"pages", "--partition", "0"}} {
		var out, msg bytes.Buffer
		if code := run(t.Context(), &out, &msg, append(args, "--checkpoints", folder)); code != 0 || !strings.Contains(msg.String(), "there is no checkpoint yet") {
			t.Errorf("%q: exit code %d, %q", args, code, msg.String())
		}
	}
}
