// Package pcap turns packet captures into the events that a proxy on the wire would have recorded. It reads pcap and pcapng
// files, puts the bytes of TCP connections back in order, and says what the capture does not show.
package pcap

import (
	"fmt"
	"time"
)

// A Link is a link-layer header type of the tcpdump registry (LINKTYPE_ values).
type Link uint32

// A Packet is one record of a capture.
type Packet struct {
	At   time.Time // UTC, years 1970 to 9999
	Link Link
	Data []byte // what was captured; valid until the next packet is read
	Len  int    // bytes on the wire, as the capture says; never less than len(Data)
}

// MaxPacket is how many bytes a record may have; a longer one is damage.
const MaxPacket = 16 << 20

// A DamageError says where a capture cannot be read any further. What stood before it is good.
type DamageError struct {
	Offset int64  // of the record or block, in the capture as it is without compression
	Want   string // what was expected there
	Got    string
	Cut    bool // the file ends inside the record
}

func (e *DamageError) Error() string {
	if e.Cut {
		return fmt.Sprintf("the capture was cut at offset %d, inside %s", e.Offset, e.Want)
	}
	return fmt.Sprintf("offset %d: want %s, %s", e.Offset, e.Want, e.Got)
}

// latest is the last second that a time of a cassette can hold.
const latest = 253402300799

// stamp is the time that many seconds and nanoseconds after 1970, forced into the years that can be written.
func stamp(sec int64, ns int64) time.Time {
	return time.Unix(min(max(sec, 0), latest), ns).UTC()
}
