package main

import (
	"net"
	"net/url"
	"slices"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

// Bounds of what verdicts of a live view rest on.
const (
	courtFirst  = 12       // exchanges of one client with one server from its beginning, where the connect is
	courtLast   = 8        // and up to now
	courtRooms  = 64       // clients with their servers; the one that was quiet longest is forgotten
	courtBytes  = 32 << 20 // of all that is kept
	courtNotice = 256      // notices that are remembered as said
)

// A court judges exchanges while they come: each together with the first ones and the last ones of the same client and server. A
// verdict is provisional where some between them are not looked at any more, or bytes are missing.
type court struct {
	rooms []*room // the last one used stands last
	bytes int
	said  map[string]bool
}

// A room is one client with one server.
type room struct {
	client, origin string
	first, last    []*har.Exchange
	gap            bool // exchanges between them were dropped
}

// A judgement is what is said of an exchange when it ends: the verdict of recommended, and that of the client's policy
// where the client is recognised and its verdict is another.
type judgement struct {
	class, verdict string
	own, policy    string // "" if there is none of its own
	provisional    bool
	elsewhere      bool // the answer may have come on a stream that has not ended, as over HTTP+SSE
}

// words is the judgement as a line ends with it.
func (j *judgement) words() string {
	if j.verdict == "" {
		return ""
	}
	words := "-> " + analyze.Recommended + ": " + j.verdict
	if j.provisional {
		words = "~" + words[1:]
	}
	if j.policy != "" {
		words += "; " + j.policy + ": " + j.own
	}
	if j.elsewhere {
		words += ", unless its answer is on a stream that goes on"
	}
	return words
}

// judge keeps x, which must not change from now on.
func (c *court) judge(x *har.Exchange) judgement {
	r := c.enter(x)
	if len(r.last) > 0 && connects(x) {
		c.leave(len(c.rooms) - 1)
		r = c.enter(x)
	}
	r.keep(c, x)
	for c.bytes > courtBytes && len(c.rooms) > 1 {
		c.leave(0)
	}
	report, err := analyze.Analyze(func(yield func(*har.Exchange, error) bool) {
		for _, y := range slices.Concat(r.first, r.last) {
			if !yield(y, nil) {
				return
			}
		}
	}, analyze.Options{AllHTTP: true})
	if err != nil {
		return judgement{}
	}
	j := judgement{provisional: r.gap || slices.ContainsFunc(x.Notes, isLiveNote)}
	for i := range report.Exchanges {
		if y := &report.Exchanges[i]; y.N == x.N {
			j.class, j.verdict = y.Class, y.Verdicts[analyze.Recommended].Verdict
			for name, own := range y.Verdicts { // recommended and at most one more
				if own.Verdict != j.verdict {
					j.own, j.policy = own.Verdict, name
				}
			}
		}
	}
	if j.verdict == "timeout" && x.Status == 202 {
		j.provisional, j.elsewhere = true, true
	}
	return j
}

func (c *court) isNews(words string) bool {
	if c.said[words] || len(c.said) >= courtNotice {
		return false
	}
	if c.said == nil {
		c.said = map[string]bool{}
	}
	c.said[words] = true
	return true
}

// connects tells whether x begins to connect: what was before does not bear on it.
func connects(x *har.Exchange) bool {
	rpc := requestRPC(x.View())
	return rpc != nil && (rpc.Method == "initialize" || rpc.Method == "server/discover")
}

// enter finds the room of x's client and server.
func (c *court) enter(x *har.Exchange) *room {
	client, origin := x.Client, x.URL
	if host, _, err := net.SplitHostPort(client); err == nil {
		client = host
	}
	if u, err := url.Parse(x.URL); err == nil && u.Host != "" {
		origin = u.Scheme + "://" + u.Host
	}
	for i, r := range c.rooms {
		if r.client == client && r.origin == origin {
			c.rooms = append(slices.Delete(c.rooms, i, i+1), r)
			return r
		}
	}
	if len(c.rooms) == courtRooms {
		c.leave(0)
	}
	r := &room{client: client, origin: origin}
	c.rooms = append(c.rooms, r)
	return r
}

// leave forgets a room.
func (c *court) leave(i int) {
	for _, x := range slices.Concat(c.rooms[i].first, c.rooms[i].last) {
		c.bytes -= len(x.Request.Raw) + len(x.Response.Raw)
	}
	c.rooms = slices.Delete(c.rooms, i, i+1)
}

func (r *room) keep(c *court, x *har.Exchange) {
	c.bytes += len(x.Request.Raw) + len(x.Response.Raw)
	if len(r.first) < courtFirst {
		r.first = append(r.first, x)
		return
	}
	if r.last = append(r.last, x); len(r.last) > courtLast {
		c.bytes -= len(r.last[0].Request.Raw) + len(r.last[0].Response.Raw)
		r.last, r.gap = slices.Delete(r.last, 0, 1), true
	}
}
