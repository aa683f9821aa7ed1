package main

import (
	"bufio"
	"fmt"
	"io"
	"time"
)

// A traceEvent is one of the Trace Event Format, which Perfetto and Chrome read. Times are microseconds.
type traceEvent struct {
	Phase string         `json:"ph"` // X a slice, i an instant, M a name
	Name  string         `json:"name"`
	Class string         `json:"cat,omitempty"`
	At    int64          `json:"ts"`
	Dur   *int64         `json:"dur,omitempty"`
	Pid   int            `json:"pid"` // the conversation, 0 for what belongs to none
	Tid   int            `json:"tid"` // the track
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// A track holds slices that do not overlap: those of a connection, or of one whose requests were not answered one by one.
type track struct {
	conversation int
	conn         uint64
	lane         int
}

// mostLanes is how many tracks a connection gets; beyond it slices lie on top of one another.
const mostLanes = 64

// tracks gives each exchange its track.
type tracks struct {
	ids  map[track]int
	free map[track]time.Time // when a track's last slice ends
}

func (t *tracks) of(x *timed) (id int, where track, first bool) {
	for where = (track{x.Conversation, x.conn, 1}); ; where.lane++ {
		until, used := t.free[where]
		if used && x.began.Before(until) && where.lane < mostLanes {
			continue
		}
		if !used {
			t.ids[where] = len(t.ids) + 1
		}
		t.free[where] = x.began.Add(x.lasted)
		return t.ids[where], where, !used
	}
}

// writePerfetto writes a recording as a trace whose times count from its first exchange.
func (a *app) writePerfetto(w io.Writer, name string) error {
	t, err := a.timeline(name)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	io.WriteString(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")
	list := &jsonList{w: out}
	list.add(traceEvent{Phase: "M", Name: "process_name", Args: map[string]any{"name": "no conversation"}})
	for i := range t.Conversations {
		c := &t.Conversations[i]
		list.add(traceEvent{Phase: "M", Name: "process_name", Pid: c.ID, Args: map[string]any{"name": fmt.Sprintf("conversation %d: %s", c.ID, conversationTitle(c))}})
	}
	var start time.Time
	for i := range t.spans {
		if b := t.spans[i].began; i == 0 || b.Before(start) {
			start = b
		}
	}
	places := &tracks{map[track]int{}, map[track]time.Time{}}
	for i := range t.spans {
		addSlice(list, places, &t.spans[i], start)
	}
	if list.err != nil {
		return list.err
	}
	io.WriteString(out, "\n]}\n")
	return out.Flush()
}

// addSlice adds an exchange and the events of its stream.
func addSlice(list *jsonList, places *tracks, x *timed, start time.Time) {
	id, where, first := places.of(x)
	if first {
		name := fmt.Sprintf("connection %d: %s > %s", where.conn, x.client, x.server)
		if where.lane > 1 {
			name = fmt.Sprintf("connection %d, at the same time (%d)", where.conn, where.lane)
		}
		list.add(traceEvent{Phase: "M", Name: "thread_name", Pid: where.conversation, Tid: id, Args: map[string]any{"name": name}})
	}
	o, v := x.Observation(), x.verdict()
	at, dur := x.began.Sub(start).Microseconds(), x.lasted.Microseconds()
	args := map[string]any{"n": x.N, "class": x.Class, "method": o.Method, "url": o.URL, "status": o.Status, "end": o.End,
		"verdict": v.Verdict, "rule": v.Rule, "why": v.Why, "request_bytes": o.Request, "response_bytes": o.Response}
	if o.RPCMethod != "" {
		args["rpc_method"] = o.RPCMethod
	}
	list.add(traceEvent{Phase: "X", Name: x.title(), Class: x.Class, At: at, Dur: &dur, Pid: where.conversation, Tid: id, Args: args})
	for _, e := range x.events {
		list.add(traceEvent{Phase: "i", Name: e.kind, Class: "event", At: at + e.at.Microseconds(), Pid: where.conversation, Tid: id, Scope: "t",
			Args: map[string]any{"n": x.N, "data_bytes": e.size}})
	}
}
