package corpus

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// field.json holds wire shapes that public bug reports tell of, retyped: hosts, ids and tokens are made up. Those over
// HTTP/2 are left out, since a cassette holds none.
//
//go:embed testdata/field.json
var fieldJSON []byte

// lab.json holds answers, to a probe and behind it, that were served to released clients, one for each shape that any policy tells from the
// others, with how their connect was measured to end.
//
//go:embed testdata/lab.json
var labJSON []byte

// A fieldCase is one report, or one measured answer.
type fieldCase struct {
	ID, Source, Story, Transport string
	Exchanges                    []fieldExchange
	Expect                       []har.Expect
}

type fieldExchange struct {
	Request struct {
		Method, Path, Body string
		Headers            [][2]string
	}
	Response fieldAnswer
}

// A fieldAnswer has a body, or what it is written in: Chunks or Events, one chunk each. Over stdio Body is all; a body that
// is said to be chunked is written as it is.
type fieldAnswer struct {
	Status     int // 0: nothing comes
	Reason     string
	Headers    [][2]string
	Body       chunkText
	Chunks     []chunkText
	Events     []chunkText
	Delays     []int  // in milliseconds, before each event
	Wait       int    // in milliseconds: before the status line; of a hang: until the client leaves
	End        string // "complete", "fin-early", "rst", "hang"
	NewProcess bool
}

// A chunkText is a string, or an object with bytes in base64 where a cut goes through a character.
type chunkText string

func (c *chunkText) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = chunkText(text)
		return nil
	}
	var raw struct{ B64 string }
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	bytes, err := base64.StdEncoding.DecodeString(raw.B64)
	*c = chunkText(bytes)
	return err
}

// fieldCases are the reports as entries, and the measured answers.
func fieldCases() (all []entry) {
	for _, kind := range []struct {
		row  string
		data []byte
	}{{"field", fieldJSON}, {"lab", labJSON}} {
		var cases []fieldCase
		if err := json.Unmarshal(kind.data, &cases); err != nil {
			panic(err)
		}
		for _, c := range cases {
			all = append(all, entry{kind.row + "-" + c.ID, kind.row, c.Story, c.Source, c.Expect, c.play})
		}
	}
	return all
}

func (c fieldCase) play(s *scene) {
	if c.Transport == "stdio" {
		c.playLines(s)
		return
	}
	host := ""
	for _, h := range c.Exchanges[0].Request.Headers {
		if strings.EqualFold(h[0], "Host") {
			host = h[1]
		}
	}
	s.origin, s.entrance = "http://"+host, c.Exchanges[0].Request.Path
	var held []heldPiece
	for i, x := range c.Exchanges {
		q, a := x.Request, x.Response.answer(s)
		stays := x.Response.End == "hang" && x.Response.Status != 0 && i+1 < len(c.Exchanges)
		if stays {
			a.end = ""
			a.wire, held = c.hold(a.wire, i)
		}
		got := s.exchange(q.Method, q.Path, headOf(q.Method+" "+q.Path+" HTTP/1.1", q.Headers)+q.Body, a)
		if stays {
			s.broken[got.N] = true
			s.stream, s.line = s.line, nil
		}
		for len(held) > 0 && held[0].behind <= i {
			g := s.stream.last
			add(&g.Response, start.Add(s.now+held[0].after).Sub(g.Started), held[0].bytes)
			s.now += held[0].after + s.jitter(2*time.Millisecond)
			held = held[1:]
		}
	}
}

// A heldPiece of an open stream replies to a later request.
type heldPiece struct {
	piece
	behind int // index of that request's exchange
}

// hold keeps back what the stream of exchange i says after it replies to later requests.
func (c fieldCase) hold(all []piece, i int) (now []piece, held []heldPiece) {
	behind := i
	for k, p := range all {
		for _, id := range replyIDs(p.bytes) {
			for j := i + 1; j < len(c.Exchanges); j++ {
				if slices.Contains(har.RequestIDs([]byte(c.Exchanges[j].Request.Body)), id) {
					behind = j
				}
			}
		}
		if behind > i {
			held = append(held, heldPiece{p, behind})
			continue
		}
		now = all[:k+1]
	}
	return now, held
}

// replyIDs are those of a chunk's events.
func replyIDs(chunk string) (ids []string) {
	_, text, _ := strings.Cut(chunk, "\r\n")
	for _, e := range wire.SplitEvents([]byte(text)) {
		ids = append(ids, har.ReplyIDs(e.Data)...)
	}
	return ids
}

func headOf(first string, fields [][2]string) string {
	var b strings.Builder
	b.WriteString(first + "\r\n")
	for _, f := range fields {
		b.WriteString(f[0] + ": " + f[1] + "\r\n")
	}
	return b.String() + "\r\n"
}

// answer writes the response's bytes and ending down.
func (r fieldAnswer) answer(s *scene) answer {
	wait := time.Duration(r.Wait) * time.Millisecond
	if r.Status == 0 {
		return answer{end: map[string]har.Ending{"hang": har.EndClientFIN, "rst": har.EndRST, "fin-early": har.EndFIN}[r.End], wait: wait}
	}
	a := answer{wire: []piece{{wait, headOf(fmt.Sprintf("HTTP/1.1 %d %s", r.Status, r.Reason), r.Headers)}}, broken: r.End != "complete"}
	texts := slices.Concat(r.Chunks, r.Events)
	for i, text := range texts {
		p := piece{bytes: chunk(string(text))}
		if i < len(r.Delays) {
			p.after = time.Duration(r.Delays[i]) * time.Millisecond
		}
		a.wire = append(a.wire, p)
	}
	switch chunked := r.has("Transfer-Encoding", "chunked"); {
	case !chunked, r.Body != "":
		a.wire[0].bytes += string(r.Body)
	case r.End == "complete":
		a.wire = append(a.wire, piece{bytes: "0\r\n\r\n"})
	}
	switch r.End {
	case "hang":
		a.end, a.wait, a.wire[0].after = har.EndClientFIN, wait, 0
	case "rst":
		a.end = har.EndRST
	case "fin-early":
		a.end = har.EndFIN
	default:
		unframed := r.Status != 204 && !r.has("Content-Length", "") && !r.has("Transfer-Encoding", "")
		if unframed || r.has("Connection", "close") {
			a.end = har.EndFIN
		}
	}
	return a
}

func (r fieldAnswer) has(name, value string) bool {
	return slices.ContainsFunc(r.Headers, func(h [2]string) bool {
		return strings.EqualFold(h[0], name) && strings.Contains(strings.ToLower(h[1]), value)
	})
}

// playLines plays a case over stdio. A line that replies to nothing is an exchange of its own.
func (c fieldCase) playLines(s *scene) {
	s.spawn("demo-server")
	for _, x := range c.Exchanges {
		if x.Response.NewProcess {
			s.spawn("demo-server")
		}
		ask, say := x.Request.Body, string(x.Response.Body)
		asked, said := har.RequestIDs([]byte(ask)), har.ReplyIDs([]byte(say))
		s.speaks(ask, say, len(said) > 0 && slices.Contains(asked, said[0]), time.Duration(x.Response.Wait)*time.Millisecond)
	}
}
