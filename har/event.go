package har

import (
	"time"

	"github.com/mcptap/mcptap/har/wire"
)

// An Event is what one source (relay, pcap, stdio wrapper, player) saw of one connection at one instant: its opening,
// bytes, a gap, or an ending. Events of a connection are in the order in which the source saw them.
type Event struct {
	Conn uint64   // the connection, from 1 in the order of opening; unique within a recording
	Dir  wire.Dir // which way the bytes went, or who ended the connection: ToServer is the client, ToClient the server
	At   time.Time

	Open  *Conn  // the connection's first event
	Bytes []byte // owned by the receiver only until the call returns
	Edits []Edit // what the source changed before passing bytes on; Off counts from the first of Bytes, below 0 for earlier ones
	End   Ending // EndFIN, EndNoCloseNotify or EndRST in direction Dir; EndStopped or EndUnknown: the connection's last event
	Note  string // why there is nothing more to see, such as "upstream: refused"; with Lost, the word to note it by

	Stderr bool  // Bytes are those that a process wrote to its stderr
	Exit   *Exit // a process has ended

	// Lost is how many bytes went in direction Dir before what comes next, and were not seen; -1 if that is not known.
	Lost int64
}

// A Conn says between whom a connection was.
type Conn struct {
	Client, Server string // host:port as dialled or accepted
	Name           string // which of several servers, "" where there is one
	Base           string // origin of absolute URLs, such as "https://server.example"; the target of a request is appended
	Note           string // for each exchange on the connection, such as "inferred"; "" for none

	Command []string // the command line of a process whose pipes this is, without secrets; nil for a connection over TCP
}

// An Ending is how a connection ended, as it bears on its last exchange.
type Ending string

const (
	EndKeep          Ending = "keep"                // the answer is whole and the connection went on
	EndFIN           Ending = "fin"                 // the server closed; over TLS after a close_notify
	EndNoCloseNotify Ending = "fin-no-close-notify" // TLS: the server's FIN came without a close_notify
	EndRST           Ending = "rst"                 // the server reset
	EndClientFIN     Ending = "client-fin"          // the client closed first
	EndClientRST     Ending = "client-rst"          // the client reset first
	EndHang          Ending = "hang"                // the server stayed silent and open; how the client left is not known
	EndStopped       Ending = "capture-stopped"     // the recording ended first
	EndUnknown       Ending = "unknown"
)

// Open tells whether the server had not ended the connection: more might have come.
func (e Ending) Open() bool {
	return e == EndClientFIN || e == EndClientRST || e == EndHang || e == EndStopped || e == EndUnknown
}

// An Edit is a change that was made to bytes on their way: Len bytes at Off were replaced by New.
type Edit struct {
	Off, Len int
	New      string
}
