package analyze

import (
	"slices"
	"strings"
	"time"
)

// A History is what happened in a conversation beside its outcome, without any policy's view of it. Numbers are those of
// exchanges; each list holds at most 100 entries, in the order of its exchanges.
type History struct {
	Sessions       []Session       `json:"sessions,omitempty"`
	Streams        []Stream        `json:"streams,omitempty"` // of GET, resumed ones included
	ServerRequests []ServerRequest `json:"server_requests,omitempty"`
	Cancellations  []Cancellation  `json:"cancellations,omitempty"`
	Subscriptions  []int           `json:"subscriptions,omitempty"` // resources/subscribe, subscriptions/listen
	Pages          []Pages         `json:"pages,omitempty"`
	Restarts       []Restart       `json:"restarts,omitempty"`
	Loops          []Loop          `json:"loops,omitempty"`
	Pings          int             `json:"pings,omitempty"`          // of the client
	Progress       int             `json:"progress,omitempty"`       // notifications of progress
	Updates        int             `json:"updates,omitempty"`        // notifications of changed lists and resources
	Unanswered     []int           `json:"unanswered,omitempty"`     // requests without a reply
	Elsewhere      int             `json:"replies_elsewhere"`        // replies that came on another exchange's stream
	Duplicates     int             `json:"duplicate_replies"`        // replies that answer nobody, or once more
	AfterLeaving   int             `json:"replies_after_the_client"` // answers that came when the client had left
}

// A Session is one session id's life.
type Session struct {
	ID      string `json:"id"`
	Issued  int    `json:"issued,omitempty"` // 0: not in the recording
	Uses    int    `json:"uses"`
	Lost    int    `json:"lost,omitempty"`    // the first answer that it is gone
	Renewed int    `json:"renewed,omitempty"` // the initialize that followed
	Deleted int    `json:"deleted,omitempty"`
}

// A Stream is one GET of an event stream.
type Stream struct {
	Exchange int    `json:"exchange"`
	After    string `json:"after,omitempty"` // Last-Event-ID: it resumes
	Status   int    `json:"status"`
	Events   int    `json:"events"`
	MS       int64  `json:"ms"`
	End      string `json:"end"`
}

// A ServerRequest is a request that the server sent on a stream.
type ServerRequest struct {
	Exchange int    `json:"exchange"` // whose stream carried it
	Method   string `json:"method"`
	Answer   int    `json:"answer,omitempty"` // the client's POST; 0 if none was recorded
}

// A Cancellation is one of the client's.
type Cancellation struct {
	Exchange int  `json:"exchange"`
	Of       int  `json:"of,omitempty"` // 0: no such request
	Answered bool `json:"answered"`     // before it was cancelled
}

// Pages are the pages of a list that was asked for with cursors.
type Pages struct {
	Method string `json:"method"`
	From   int    `json:"from"`
	Pages  int    `json:"pages"`
}

// A Restart is a place where the server was started anew.
type Restart struct {
	Before int    `json:"before"` // the exchange that met the new one
	Why    string `json:"why"`
}

// A Loop is a client that connects again and again.
type Loop struct {
	Connects int    `json:"connects"`
	PeriodMS int64  `json:"period_ms"`
	Cause    int    `json:"cause"`
	Answered string `json:"answered"`
}

const maxHistory = 100

// put adds to a list of a History while there is room.
func put[T any](list *[]T, x T) {
	if len(*list) < maxHistory {
		*list = append(*list, x)
	}
}

// history sums a conversation up.
func (a *analysis) history(v *conversation) *History {
	out := &History{}
	for _, c := range v.connects {
		out.sessions(v, c)
		for _, f := range c.all {
			out.take(c, f)
		}
		out.Duplicates += len(c.strays)
	}
	for _, r := range v.restarts() {
		put(&out.Restarts, Restart{r.after.n, r.why})
	}
	for _, l := range loops(a.turns(v)) {
		var starts []*facts
		for _, t := range l {
			starts = append(starts, t.start)
		}
		put(&out.Loops, Loop{len(l), period(starts).Milliseconds(), l[0].cause.n, l[0].cause.answered()})
	}
	return out
}

func (o *History) sessions(v *conversation, c *connect) {
	for _, id := range c.sessions {
		s := Session{ID: id}
		for _, f := range c.all {
			switch {
			case f.issued == id && s.Issued == 0:
				s.Issued = f.n
			case f.req.session != id:
				continue
			case f.class == deletion && f.status/100 == 2:
				s.Deleted = f.n
			case f.sessionGone() && s.Lost == 0:
				s.Lost = f.n
			}
			if f.req.session == id {
				s.Uses++
			}
		}
		if i := slices.Index(v.connects, c); s.Lost > 0 && i+1 < len(v.connects) && len(v.connects[i+1].inits) > 0 {
			s.Renewed = v.connects[i+1].inits[0].n
		}
		put(&o.Sessions, s)
	}
}

// take adds what one exchange shows.
func (o *History) take(c *connect, f *facts) {
	switch {
	case f.class == getStream || f.class == resume:
		put(&o.Streams, Stream{f.n, f.req.lastEvent, f.status, f.events, f.finished.Sub(f.started).Milliseconds(), string(f.end)})
	case f.req.method == "ping":
		o.Pings++
	case f.req.method == "resources/subscribe" || f.req.method == "subscriptions/listen":
		put(&o.Subscriptions, f.n)
	case strings.HasSuffix(f.req.method, "/list") && f.req.requests > 0:
		o.page(f)
	case f.req.cancels != "":
		o.cancelled(c, f)
	}
	if f.req.requests > 0 && !f.superseded && f.kind&(replyResult|replyError) == 0 && f.status < 400 && f.followed == nil {
		put(&o.Unanswered, f.n)
	}
	if f.via == viaStream {
		o.Elsewhere++
	}
	if f.late > 0 {
		o.AfterLeaving++
	}
	if w := f.flow; w != nil {
		o.Progress += w.progress
		o.Updates += w.updates
		if w.doubled.ok {
			o.Duplicates++
		}
		for _, q := range w.asked {
			put(&o.ServerRequests, ServerRequest{f.n, q.method, c.answerTo(q)})
		}
	}
}

// page counts a further page of the list that was asked for last.
func (o *History) page(f *facts) {
	if k := len(o.Pages) - 1; f.req.cursor && k >= 0 && o.Pages[k].Method == f.req.method {
		o.Pages[k].Pages++
		return
	}
	put(&o.Pages, Pages{f.req.method, f.n, 1})
}

func (o *History) cancelled(c *connect, f *facts) {
	x := Cancellation{Exchange: f.n}
	for _, g := range c.all {
		if g.n < f.n && g.req.requests > 0 && g.req.key == f.req.cancels {
			x.Of, x.Answered = g.n, g.kind&(replyResult|replyError) == g.kind && g.kind != 0 && !g.until().After(f.started)
		}
	}
	put(&o.Cancellations, x)
}

// answerTo gives the exchange in which the client answered the server's request, 0 if there is none.
func (c *connect) answerTo(q ask) int {
	const skew = time.Millisecond // the stream and the answer are seen by different connections
	for _, f := range c.all {
		if f.class == response && f.req.key == q.key && !f.started.Add(skew).Before(q.at) {
			return f.n
		}
	}
	return 0
}
