package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// maxMisses is how many misses a Result lists. Those behind them are refused and noticed like any other.
const maxMisses = 1000

// nearest finds the recording that is most like the request, and says in words what differs first. The caller holds
// Player.mu.
func (ix *index) nearest(a *ask, exact bool) (near *recording, differs string) {
	best, common := 0, 0
	for _, r := range ix.all {
		if r.ask == nil {
			continue
		}
		score := 0
		if r.ask.method == a.method {
			score += 7
		}
		if r.ask.target == a.target {
			score += 8
		} else if path(r.ask.target) == path(a.target) {
			score += 4
		}
		if r.ask.rpc == a.rpc {
			score += 6
		}
		if score < best || score == 0 {
			continue
		}
		same := commonPrefix(r.ask.body, a.body)
		if score > best || near.taken && !r.taken || near.taken == r.taken && same > common {
			near, best, common = r, score, same
		}
	}
	if near == nil {
		return nil, "nothing like it was recorded"
	}
	if d := near.ask.differs(a, exact); d != "" {
		return near, d
	}
	return ix.served(a, exact)
}

// served says in words why none of the recordings of a's very key could be served, and gives the last of them.
func (ix *index) served(a *ask, exact bool) (near *recording, why string) {
	n, left := 0, 0
	for _, r := range ix.all {
		if r.ask != nil && r.ask.differs(a, exact) == "" {
			if n++; !r.taken {
				left++
			}
			near = r
		}
	}
	switch {
	case left > 0:
		return near, "bytes of another answer had been sent before the request was whole"
	case n == 1:
		return near, "its only recording has been served already"
	}
	return near, fmt.Sprintf("all %d recordings of it have been served already", n)
}

func path(target string) string { p, _, _ := strings.Cut(target, "?"); return p }

// differs says in words what of the request now differs first from the recorded one, "" if nothing that matters does.
func (was *ask) differs(now *ask, exact bool) string {
	switch {
	case was.match == MatchOrder, was.match == MatchMethod && was.method == now.method && path(was.target) == path(now.target):
		return ""
	case was.method != now.method:
		return "HTTP method: " + recordedSent(was.method, now.method)
	case was.target != now.target:
		return "target: " + recordedSent(was.target, now.target)
	case !was.mcp && !now.mcp && was.rpc != now.rpc:
		return "Last-Event-ID: " + recordedSent(cmp.Or(was.rpc, "none"), cmp.Or(now.rpc, "none"))
	case was.rpc != now.rpc:
		return "JSON-RPC: " + recordedSent(cmp.Or(was.rpc, "none"), cmp.Or(now.rpc, "none"))
	case bytes.Equal(was.body, now.body), was.match == MatchRPC && was.mcp && now.mcp && len(was.responses)+len(now.responses) == 0:
		return ""
	case !was.mcp || !now.mcp:
		return bytesDiffer(was.body, now.body)
	}
	before, after := wire.ParseRPC(was.body), wire.ParseRPC(now.body)
	if before.Kind != wire.Batch {
		return messageDiffers(&before, &after, exact)
	}
	for i := range min(len(before.Items), len(after.Items)) {
		if d := messageDiffers(&before.Items[i], &after.Items[i], exact); d != "" {
			return fmt.Sprintf("message %d of the batch: %s", i+1, d)
		}
	}
	return ""
}

func messageDiffers(was, now *wire.RPC, exact bool) string {
	if (was.Kind == wire.Result || was.Kind == wire.Error) && !bytes.Equal(was.ID.Raw, now.ID.Raw) {
		return "id: " + recordedSent(string(was.ID.Raw), string(now.ID.Raw))
	}
	if was.Kind != now.Kind && (was.Kind == wire.Notification || now.Kind == wire.Notification) {
		return "id: " + recordedSent(cmp.Or(string(was.ID.Raw), "none"), cmp.Or(string(now.ID.Raw), "none"))
	}
	if was.Kind == wire.Result || was.Kind == wire.Error {
		return ""
	}
	a, _ := appendParams(nil, was.Params.Raw, was.Method, !exact)
	b, _ := appendParams(nil, now.Params.Raw, now.Method, !exact)
	if bytes.Equal(a, b) {
		return ""
	}
	x, errX := decode(a)
	y, errY := decode(b)
	if errX != nil || errY != nil {
		return bytesDiffer(a, b)
	}
	if d := valuesDiffer("params", x, y); d != "" {
		return d
	}
	return bytesDiffer(a, b)
}

// decode reads JSON of at most 1 MiB for a comparison in words.
func decode(text []byte) (v any, err error) {
	if len(text) == 0 {
		return map[string]any{}, nil
	}
	if len(text) > 1<<20 {
		return nil, fmt.Errorf("too long to compare member by member")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// valuesDiffer names the first place, members in order of their names, at which two JSON values differ.
func valuesDiffer(at string, was, now any) string {
	switch x := was.(type) {
	case map[string]any:
		y, ok := now.(map[string]any)
		if !ok {
			break
		}
		names := maps.Clone(x)
		maps.Copy(names, y)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			a, had := x[name]
			b, has := y[name]
			switch {
			case !has:
				return clip(at+"."+name) + ": recorded " + text(a) + ", not sent"
			case !had:
				return clip(at+"."+name) + ": not recorded, sent " + text(b)
			}
			if d := valuesDiffer(at+"."+name, a, b); d != "" {
				return d
			}
		}
		return ""
	case []any:
		y, ok := now.([]any)
		if !ok {
			break
		}
		for i := range min(len(x), len(y)) {
			if d := valuesDiffer(fmt.Sprintf("%s[%d]", at, i), x[i], y[i]); d != "" {
				return d
			}
		}
		if len(x) != len(y) {
			return fmt.Sprintf("%s: recorded %d elements, sent %d", clip(at), len(x), len(y))
		}
		return ""
	default:
		if was == now {
			return ""
		}
	}
	return clip(at) + ": recorded " + text(was) + ", sent " + text(now)
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return clip(string(b))
}

func bytesDiffer(was, now []byte) string {
	i := commonPrefix(was, now)
	return fmt.Sprintf("body at byte %d: %s", i, recordedSent(string(was[i:]), string(now[i:])))
}

func commonPrefix(a, b []byte) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

func recordedSent(was, now string) string {
	return "recorded " + clip(was) + ", sent " + clip(now)
}

// refuse answers a request that nothing recorded answers. Where its end is not known the connection is closed.
func (c *conn) refuse(q *request, miss *Miss) {
	id, text := json.RawMessage("null"), "nothing recorded answers these bytes"
	var data any
	if miss != nil {
		text = "nothing recorded is left for " + miss.Request + ": " + miss.Differs
		if miss.Nearest != nil {
			data = map[string]any{"nearest": miss.Nearest.N, "differs": miss.Differs}
		}
		if ids := q.values().ids; len(ids) > 0 {
			id = json.RawMessage(ids[0])
		}
	}
	whole := q != nil && len(c.found) > 0 && c.found[0].done
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id,
		"error": map[string]any{"code": -32603, "message": "mcptap replay: " + text, "data": data}})
	head := fmt.Sprintf("HTTP/1.1 501 Not Implemented\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	if !whole {
		head += "Connection: close\r\n"
		c.deaf, c.silent = true, true
		c.ending = ending{har.EndFIN, time.Now()}
	}
	out := append([]byte(head), "\r\n"...)
	if q == nil || q.head.Method != "HEAD" {
		out = append(out, body...)
	}
	c.write(out)
}
