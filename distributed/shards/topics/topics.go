// Package topics says what stands in the log that joins the processes: which topics there are, what their records hold, and to which partition
// a host belongs. All records are JSON, for anybody who reads them.
//
//	GROUP-urls     URLs of hosts of the partition: seeds, and what was found in other partitions (URL); key: the URL
//	GROUP-events   the events of the partition's store (report.Event); key: their site
//	GROUP-control  how each partition is (Status; key: the partition), what its sites would do with fetches (Demand), and how many it has (Allotments);
//	               the name of the folder of checkpoints (PutFolder), of which the first counts; else the latest record of a key does
package topics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"forage/crawl/scope"
	"forage/store"
)

// Names are those of the topics of a group.
type Names struct{ URLs, Events, Control string }

// Of returns the topics of a group.
func Of(group string) Names { return Names{group + "-urls", group + "-events", group + "-control"} }

// Partition returns to which of n partitions a host, or host:port, belongs, as a URL in normal form has it: all hosts below one registered domain to the same. It is the hash
// of the domain, XXH64, modulo n, and stays what it is for the life of a crawl.
func Partition(host string, n int32) int32 {
	return int32(xxhash.Sum64String(scope.Domain(host)) % uint64(n))
}

// PartitionOf returns to which of n partitions a site belongs, by its name: a host, or for scope prefix a URL.
func PartitionOf(site string, n int32) int32 {
	if strings.Contains(site, "://") {
		site = store.HostOf(site)
	}
	return Partition(site, n)
}

// A URL is a record of the topic of URLs.
type URL struct {
	URL      string          `json:"url"`
	Seed     bool            `json:"seed,omitempty"`     // a site is to begin there
	Settings json.RawMessage `json:"settings,omitempty"` // of that site, as the API of the service has them
	From     string          `json:"from,omitempty"`     // the document that led there
	Via      store.LinkKind  `json:"via,omitempty"`
	NoFollow bool            `json:"nofollow,omitempty"`
	At       store.Time      `json:"at,omitempty"` // when it became known, in seconds of Unix time
	Depth    int             `json:"depth,omitempty"`
	MaybeOld bool            `json:"maybe_old,omitempty"` // nothing shows that the link is new
}

// A Status tells how a partition is.
type Status struct {
	Partition  int32  `json:"partition"`
	Epoch      int64  `json:"epoch"`
	Owner      string `json:"owner"`             // name of the process
	Address    string `json:"address,omitempty"` // where the process serves what it has; "": it does not
	State      string `json:"state"`             // crawls, ended
	At         string `json:"at"`
	Sites      int64  `json:"sites"`
	Pages      int64  `json:"pages"`
	Queued     int64  `json:"queued"`
	Received   int64  `json:"received"`            // URLs from other partitions that were taken in by this owner
	NoSite     int64  `json:"no_site"`             // of these, such as belong to no site that is watched
	Sent       int64  `json:"sent"`                // URLs to other partitions
	Told       uint64 `json:"told"`                // events that are in the log
	Offset     int64  `json:"offset"`              // up to where URLs are taken in
	LagMillis  int64  `json:"lag_ms"`              // from the log into the store, of 99 in 100 of the last thousand
	Checkpoint string `json:"checkpoint"`          // when the last one was written; "": none yet
	Allotted   *int   `json:"allotted,omitempty"`  // of limits.fetches_per_day; nil: there is no limit
	MaxTotal   int64  `json:"max_total,omitempty"` // fetches of all partitions; 0: there is no limit
	Taken      *int64 `json:"taken,omitempty"`     // of MaxTotal, by all processes, as the owner saw last; nil: there is no limit
}

// Key returns the key of a status in the topic.
func (s *Status) Key() []byte { return []byte(strconv.Itoa(int(s.Partition))) }

// Seed has sites watched: each URL, in normal form, goes to the partition that its host belongs to, of n. client is one with kgo.ManualPartitioner. When it returns they are in the log,
// each once; after an error some may be.
func Seed(ctx context.Context, client *kgo.Client, names Names, n int32, urls []URL) error {
	records := make([]*kgo.Record, len(urls))
	for i, u := range urls {
		url, err := scope.Normalise(u.URL, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", u.URL, err)
		}
		u.URL, u.Seed = url, true
		b, err := json.Marshal(u)
		if err != nil {
			return err
		}
		records[i] = &kgo.Record{Topic: names.URLs, Partition: Partition(store.HostOf(u.URL), n), Key: []byte(u.URL), Value: b}
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

// Ensure makes the topics of a group that are not there, with n partitions and the broker's default of replicas for replicas=-1.
// Errors: a *PartitionsError where one is there with another number of partitions; what the broker says.
func Ensure(ctx context.Context, client *kgo.Client, names Names, n int32, replicas int16) error {
	r := kmsg.NewPtrCreateTopicsRequest()
	r.TimeoutMillis = 10_000
	for _, t := range []struct {
		name    string
		n       int32
		configs map[string]string
	}{
		{names.URLs, n, map[string]string{"retention.ms": "-1"}}, // what no checkpoint has yet must stay: operators may choose a limit
		{names.Events, n, nil},
		// It is read from its beginning: what is out of date must not stay for long.
		{names.Control, 1, map[string]string{"cleanup.policy": "compact", "segment.bytes": "16777216", "segment.ms": "3600000"}},
	} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = t.name, t.n, replicas
		for key, value := range t.configs {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = key, &value
			topic.Configs = append(topic.Configs, c)
		}
		r.Topics = append(r.Topics, topic)
	}
	answer, err := r.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("topic %s cannot be made: %w", t.Topic, err)
		}
	}
	return check(ctx, client, map[string]int32{names.URLs: n, names.Events: n, names.Control: 1})
}

// A PartitionsError says that a topic has another number of partitions than it should have.
type PartitionsError struct {
	Topic      string
	Have, Want int32
}

func (e *PartitionsError) Error() string {
	return fmt.Sprintf("topic %s has %d partitions, want %d: the number is fixed when a crawl begins; give --partitions %d, or another --group", e.Topic, e.Have, e.Want, e.Have)
}

// check compares the numbers of partitions.
func check(ctx context.Context, client *kgo.Client, want map[string]int32) error {
	for topic, n := range want {
		if have, err := count(ctx, client, topic); err != nil {
			return err
		} else if have != n {
			return &PartitionsError{topic, have, n}
		}
	}
	return nil
}

// Partitions returns how many partitions the crawl of these topics has.
func Partitions(ctx context.Context, client *kgo.Client, names Names) (int32, error) {
	return count(ctx, client, names.URLs)
}

// count returns how many partitions a topic has.
func count(ctx context.Context, client *kgo.Client, topic string) (int32, error) {
	r := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &topic
	r.Topics = append(r.Topics, t)
	answer, err := r.RequestWith(ctx, client)
	if err != nil {
		return 0, err
	}
	if len(answer.Topics) != 1 {
		return 0, fmt.Errorf("asked for topic %s, the broker tells of %d topics", topic, len(answer.Topics))
	}
	if err := kerr.ErrorForCode(answer.Topics[0].ErrorCode); err != nil {
		return 0, fmt.Errorf("topic %s: %w", topic, err)
	}
	return int32(len(answer.Topics[0].Partitions)), nil
}
