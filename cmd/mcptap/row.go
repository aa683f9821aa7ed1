package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A row is what `show` says of one exchange; its JSON form is a contract: fields are only added.
type row struct {
	N             int             `json:"n"`
	Conversation  int             `json:"conversation"` // 0: none
	Conn          uint64          `json:"conn"`
	Started       time.Time       `json:"started"`
	DurationMS    float64         `json:"duration_ms"` // to the last byte of the answer, without one to the ending
	Class         string          `json:"class"`
	RPCMethod     *string         `json:"rpc_method"`
	RPCID         json.RawMessage `json:"rpc_id,omitempty"` // as sent; absent if the request has none
	Method        string          `json:"method"`
	URL           string          `json:"url"`
	Status        int             `json:"status"`
	MediaType     string          `json:"media_type"`
	End           har.Ending      `json:"end"`
	Complete      *bool           `json:"complete"` // null: cannot tell
	RequestBytes  int             `json:"request_bytes"`
	ResponseBytes int             `json:"response_bytes"`
	Events        int             `json:"events"` // those that an event stream dispatches
	Notes         []string        `json:"notes"`

	duration time.Duration
}

// rowOf describes an exchange and keeps none of its bytes.
func rowOf(x *har.Exchange) row {
	v := x.View()
	r := row{
		N: x.N, Conn: x.Conn, Started: x.Started, duration: duration(x),
		Method: x.Method, URL: x.URL, Status: x.Status, MediaType: x.MediaType, End: x.End, Complete: triPointer(v.Complete),
		RequestBytes: len(x.Request.Raw), ResponseBytes: len(x.Response.Raw), Notes: append([]string{}, x.Notes...),
	}
	r.DurationMS = float64(r.duration.Microseconds()) / 1000
	if rpc := requestRPC(v); rpc != nil {
		r.RPCID = bytes.Clone(rpc.ID.Raw)
		if rpc.Method != "" {
			method := strings.Clone(rpc.Method)
			r.RPCMethod = &method
		}
	}
	if v.SSE() {
		for _, e := range v.Events() {
			if e.Dispatched() {
				r.Events++
			}
		}
	}
	return r
}

// requestRPC is the JSON-RPC message that the request carries, the first of a batch, nil if there is none. Of a line that a
// server wrote by itself it is that.
func requestRPC(v *har.View) *wire.RPC {
	body := v.RequestBody()
	if v.Stdio && len(v.X.Request.Raw) == 0 {
		body, _ = v.ResponseBody()
	}
	if v.Request == nil && !v.Stdio || len(body) == 0 {
		return nil
	}
	rpc := wire.ParseRPC(body)
	switch {
	case rpc.Kind == wire.Batch && len(rpc.Items) > 0:
		return &rpc.Items[0]
	case rpc.Kind == wire.Batch || !rpc.JSON:
		return nil
	}
	return &rpc
}

// duration lasts from the first byte of the request to the last one of the answer, or without an answer to the ending.
func duration(x *har.Exchange) time.Duration {
	if n := len(x.Response.Writes); n > 0 {
		return x.Response.Writes[n-1].At
	}
	if x.EndAt > 0 {
		return x.EndAt
	}
	if n := len(x.Request.Writes); n > 0 {
		return x.Request.Writes[n-1].At
	}
	return 0
}

func triPointer(t har.Tri) *bool {
	if t == har.Unknown {
		return nil
	}
	b := t == har.True
	return &b
}

// what says in a word or two what the exchange was for.
func (r *row) what() string {
	switch {
	case r.RPCMethod == nil:
		return orDash(r.Class)
	case r.Class == "probe":
		return *r.RPCMethod + " (probe)"
	}
	return *r.RPCMethod
}

// remarks sums up what the columns do not show.
func (r *row) remarks() string {
	var s []string
	if r.Events > 0 {
		s = append(s, count(r.Events, "event"))
	}
	switch {
	case r.ResponseBytes == 0 && (r.Complete == nil || !*r.Complete):
		s = append(s, "no answer")
	case r.Complete != nil && !*r.Complete:
		s = append(s, "incomplete")
	}
	return strings.Join(append(s, r.Notes...), "; ")
}

func conversationText(id int) string {
	if id == 0 {
		return "-"
	}
	return strconv.Itoa(id)
}

// sortRows brings rows into order of N.
func sortRows(rows []row) {
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.N, b.N) })
}
