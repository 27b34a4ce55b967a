package topics

import (
	"fmt"

	"forage/revisit"
)

// A Demand tells in the topic of control what the sites of a partition would do with fetches of a day. The record of the latest epoch counts.
type Demand struct {
	Partition int32          `json:"partition"`
	Epoch     int64          `json:"epoch"`
	Bands     revisit.Demand `json:"bands"`
}

// Key returns the key of a demand in the topic.
func (d *Demand) Key() []byte { return fmt.Appendf(nil, "demand-%d", d.Partition) }

// AllotmentsKey is the key of Allotments in the topic of control.
const AllotmentsKey = "allotments"

// Allotments divide the fetches of a day among the partitions. The record of the latest epoch counts.
type Allotments struct {
	Epoch   int64   `json:"epoch"`   // of the owner of partition 0, who writes them
	Price   float64 `json:"price"`   // λ: new pages that the last fetch is expected to find
	Fetches []int   `json:"fetches"` // of each partition
}
