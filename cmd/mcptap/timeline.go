package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A timeline is what a recording's exchanges mean and when they were, without their bytes. It takes memory by exchange and by
// event of a stream, as the report does.
type timeline struct {
	*analyze.Report
	spans  []timed           // by number
	digest [sha256.Size]byte // of all bytes and times
}

// A timed is one exchange with its times.
type timed struct {
	*analyze.Exchange
	conn           uint64
	client, server string
	began          time.Time
	lasted         time.Duration
	events         []instant
}

// An instant is an event of a stream.
type instant struct {
	at   time.Duration // since the exchange began
	kind string
	size int // bytes of its data
}

// mostWords is how many characters are kept of a name that a recording gives.
const mostWords = 120

// words makes text of a recording fit to be a name.
func words(s string) string { return clip(oneLine(s), mostWords) }

// timeline reads a recording twice, judging it by the policy recommended.
func (a *app) timeline(name string) (*timeline, error) {
	d, err := a.document([]string{name}, analyze.Options{Policies: []string{analyze.Recommended}, AllHTTP: true})
	if err != nil {
		return nil, err
	}
	in, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	t := &timeline{Report: d.Report}
	byN := map[int]timed{}
	sum := sha256.New()
	for x, err := range in.all {
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(sum, "%d %d %d %d ", x.N, x.Started.UnixMicro(), len(x.Request.Raw), len(x.Response.Raw))
		sum.Write(x.Request.Raw)
		sum.Write(x.Response.Raw)
		byN[x.N] = timedOf(x)
	}
	in.reportCut(a.notice)
	sum.Sum(t.digest[:0])
	for i := range d.Exchanges {
		if one, ok := byN[d.Exchanges[i].N]; ok {
			one.Exchange = &d.Exchanges[i]
			t.spans = append(t.spans, one)
		}
	}
	return t, nil
}

func timedOf(x *har.Exchange) timed {
	one := timed{conn: x.Conn, client: words(x.Client), server: words(x.Server), began: x.Started, lasted: duration(x)}
	v := x.View()
	if !v.SSE() {
		return one
	}
	for _, e := range v.Events() {
		raw, ok := v.At(wire.ToClient, e.Span)
		if !ok || !e.Dispatched() {
			continue
		}
		one.events = append(one.events, instant{writtenAt(x.Response, raw.End()), words(cmp.Or(e.Type, "message")), len(e.Data)})
	}
	return one
}

// title is the name of an exchange: what it asks, and of whom if it is no message.
func (x *timed) title() string {
	o := x.Observation()
	if o.RPCMethod != "" {
		return words(o.RPCMethod)
	}
	return words(cmp.Or(o.Method, "?") + " " + x.Class)
}

// verdict is that of the policy recommended.
func (x *timed) verdict() analyze.Verdict { return x.Verdicts[analyze.Recommended] }

// conversationTitle names a conversation by who speaks to whom.
func conversationTitle(c *analyze.Conversation) string {
	return words(cmp.Or(c.Client.Name, "a client") + " to " + cmp.Or(c.Endpoint, "?"))
}

// A jsonList writes the elements of a JSON array, one a line. Only one is in memory.
type jsonList struct {
	w     io.Writer
	wrote bool
	err   error
}

func (l *jsonList) add(v any) {
	if l.err != nil {
		return
	}
	var b bytes.Buffer
	if l.wrote {
		b.WriteByte(',')
	}
	b.WriteByte('\n')
	if l.err = json.NewEncoder(&b).Encode(v); l.err == nil {
		_, l.err = jsonSafe{l.w}.Write(bytes.TrimRight(b.Bytes(), "\n"))
	}
	l.wrote = true
}
