package analyze

import (
	"slices"
	"strings"
	"time"
)

// A connect is one attempt of one client to reach one endpoint, and all that it exchanged there afterwards: probes, the
// handshake, requests, streams, until the same client begins anew.
type connect struct {
	client, origin, endpoint string
	transport                set
	info                     implementation
	infoKnown                bool

	all      []*facts
	probes   []*facts // in order, superseded ones included
	inits    []*facts
	inited   []*facts
	streams  []*facts // GET without Last-Event-ID
	requests []*facts // request, optional-method, and discover in mid-session
	strays   []stray  // replies on streams that answer nobody, or once more
	sessions []string // the first maxSessions ids that the server gave out or the client sent
	conv     *conversation
}

func (c *connect) first() *facts { return c.all[0] }
func (c *connect) last() *facts  { return c.all[len(c.all)-1] }

// add takes an exchange into the connect.
func (c *connect) add(f *facts) {
	f.connect = c
	c.all = append(c.all, f)
	switch f.class {
	case probe:
		c.probes = append(c.probes, f)
	case initialize:
		c.inits = append(c.inits, f)
	case initialized:
		c.inited = append(c.inited, f)
	case getStream:
		c.streams = append(c.streams, f)
	case request, optional, discover:
		c.requests = append(c.requests, f)
	}
	bridge := c.infoKnown && f.class == initialize && strings.HasPrefix(f.req.info.name, c.info.name+" (via ")
	if f.req.info != (implementation{}) && (!c.infoKnown || bridge) {
		c.info, c.infoKnown = f.req.info, true
	}
	for _, id := range [...]string{f.req.session, f.issued} {
		if id != "" && len(c.sessions) < maxSessions && !slices.Contains(c.sessions, id) {
			c.sessions = append(c.sessions, id)
		}
	}
}

// maxSessions bounds the session ids kept of one connect, which has one if client and server do as they should.
const maxSessions = 256

// decisive gives the last of a step's exchanges that was not followed up by the same step.
func decisive(list []*facts) *facts {
	for _, f := range slices.Backward(list) {
		if !f.superseded {
			return f
		}
	}
	return nil
}

// joiner puts exchanges, in the order of their requests, into connects.
type joiner struct {
	connects  []*connect
	latest    map[place]*connect
	byInfo    map[caller]*connect
	waiting   map[caller][]*connect // probed, and not initialized yet
	bySession map[pair]*connect     // by origin and session id
	byConn    map[uint64]*connect
	endpoints map[pair]*connect // by client and the messages URL that an HTTP+SSE stream named
	redirects map[pair]*facts   // by client and target: the redirect that awaits its follower
}

// A place is one client's host and one origin.
type place struct{ client, origin string }

// A caller is a client by its name at one place.
type caller struct {
	place
	info implementation
}

type pair [2]string

func newJoiner() *joiner {
	return &joiner{
		latest: map[place]*connect{}, byInfo: map[caller]*connect{}, waiting: map[caller][]*connect{}, bySession: map[pair]*connect{},
		byConn: map[uint64]*connect{}, endpoints: map[pair]*connect{}, redirects: map[pair]*facts{},
	}
}

func (f *facts) place() place { return place{f.client, f.origin} }

func (f *facts) caller() caller { return caller{f.place(), f.req.info} }

// join finds the connect of an exchange, or begins one.
func (j *joiner) join(f *facts) {
	c := j.redirected(f)
	if c == nil {
		c = j.find(f)
	}
	if c == nil {
		c = &connect{client: f.client, origin: f.origin, endpoint: f.url, transport: f.transport}
		j.connects = append(j.connects, c)
	}
	j.supersede(c, f)
	c.add(f)
	j.index(c, f)
}

func (j *joiner) index(c *connect, f *facts) {
	at := place{c.client, c.origin}
	j.latest[at] = c
	j.byConn[f.conn] = c
	if c.infoKnown {
		who := caller{at, c.info}
		j.byInfo[who] = c
		switch {
		case f.class == probe && len(c.probes) == 1:
			j.waiting[who] = append(j.waiting[who], c)
		case f.class == initialize && len(c.inits) == 1 || f.class == request || f.class == optional:
			j.waiting[who] = without(j.waiting[who], c)
		}
	}
	for _, id := range [...]string{f.issued, f.req.session} {
		if id != "" {
			j.bySession[pair{c.origin, id}] = c
		}
	}
	if f.endpointURL != "" {
		j.endpoints[pair{f.client, f.endpointURL}] = c
	}
	if f.location != "" {
		j.redirects[pair{f.client, f.location}] = f
	}
}

func without(list []*connect, c *connect) []*connect {
	if i := slices.Index(list, c); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

func (j *joiner) find(f *facts) *connect {
	if f.transport == overStdio {
		return j.findProcess(f)
	}
	if f.httpMethod == "POST" {
		if c := j.endpoints[pair{f.client, f.fullURL()}]; c != nil {
			f.transport = overSSE
			if f.class == discover && len(c.inits) == 0 && len(c.requests) == 0 {
				f.class = probe
			}
			return c
		}
	}
	switch f.class {
	case discover:
		return j.findDiscover(f)
	case initialize:
		return j.findInitialize(f)
	case getStream:
		return j.findStream(f)
	}
	return j.findLater(f)
}

// findProcess takes a line to the connect of its process, which has one client; a second handshake behind requests begins
// another.
func (j *joiner) findProcess(f *facts) *connect {
	c := j.byConn[f.conn]
	fresh := c == nil || len(c.inits) == 0 && len(c.requests) == 0
	if f.class == discover && f.req.version != "" && fresh {
		f.class = probe
	}
	if c != nil && f.class == initialize && len(c.inits) > 0 && len(c.requests) > 0 {
		return nil
	}
	return c
}

func (f *facts) fullURL() string {
	if f.query != "" {
		return f.url + "?" + f.query
	}
	return f.url
}

// redirected recognises the request that follows a redirect.
func (j *joiner) redirected(f *facts) *connect {
	key := pair{f.client, f.fullURL()}
	r := j.redirects[key]
	if r == nil || r.connect == nil {
		return nil
	}
	if f.httpMethod == "GET" && r.httpMethod == "POST" && f.req.session == r.req.session && f.conn == r.conn {
		delete(j.redirects, key)
		r.lostBody = f
		f.class = other // net/http asks again with GET after 301, 302 and 303: nobody's message
		return r.connect
	}
	if f.httpMethod != r.httpMethod || f.req.key != r.req.key || f.req.method != r.req.method {
		return nil
	}
	delete(j.redirects, key)
	f.class, r.followed, r.superseded = r.class, f, true
	return r.connect
}

// findDiscover tells a probe from a server/discover in mid-session (RULES of the probe: before any initialize and any
// other request of its connect, with a version in _meta).
func (j *joiner) findDiscover(f *facts) *connect {
	prev := j.byInfo[f.caller()]
	if c := j.byConn[f.conn]; c != nil && c != prev && c.callerIs(f) && len(c.requests) == 0 {
		prev = c
	}
	if prev == nil || f.req.version == "" {
		if f.req.version == "" {
			return j.findLater(f)
		}
		f.class = probe
		if c := j.latest[f.place()]; c != nil && c.onlyStreams() && c.endpoint == f.url {
			return c
		}
		return nil
	}
	fresh := len(prev.inits) == 0 && len(prev.requests) == 0
	if fresh && len(prev.probes) > 0 && prev.continues(f) && !prev.busy(f) {
		f.class = probe
		return prev
	}
	restarted := f.req.probeID || len(prev.probes) > 0 && prev.probes[0].req.key == f.req.key
	if !fresh && !restarted && len(prev.requests) > 0 {
		return prev
	}
	f.class = probe
	return nil
}

// continues tells whether a further probe belongs to the same connect: with credentials after a refusal, with another
// version after -32022, or once more after silence.
func (c *connect) continues(f *facts) bool {
	prev := c.probes[len(c.probes)-1]
	if refusedThenAuthorized(prev, f) || sentAgain(prev, f) {
		return true
	}
	return f.req.key != c.probes[0].req.key
}

func refusedThenAuthorized(prev, f *facts) bool {
	return (prev.status == 401 || prev.status == 403) && f.req.auth != "" && f.req.auth != prev.req.auth && f.req.method == prev.req.method
}

// sentAgain tells whether the HTTP library repeated a request by itself, on another connection: after 421 (Fetch standard,
// HTTP-network-or-cache fetch).
func sentAgain(prev, f *facts) bool {
	return prev.status == 421 && prev.req.key == f.req.key && prev.req.method == f.req.method && prev.req.method != ""
}

func (c *connect) onlyStreams() bool { return len(c.streams) == len(c.all) }

// callerIs tells whether a message that names its sender may come from the connect's client.
func (c *connect) callerIs(f *facts) bool {
	return c.client == f.client && c.origin == f.origin && (!c.infoKnown || c.info == f.req.info)
}

// busy tells whether the connect's client, which probes and shakes hands one step after the other, still waited for an
// answer when f was sent: f is then another client's of the same name.
func (c *connect) busy(f *facts) bool {
	const slack = 50 * time.Millisecond // from a client's leaving to its next step, as two connections see them
	last := c.step()
	return last != nil && last.conn != f.conn && last.known().Add(-slack).After(f.started)
}

// known is when a client knew enough of the answer to go on: its reply, the head of a refusal or of an answer in a
// media type that none reads, or the last that was seen of it.
func (f *facts) known() time.Time {
	unread := f.status/100 == 2 && f.media&(mediaNone|mediaOther) == f.media && f.media != 0
	if (f.status >= 400 || unread) && f.firstByte >= 0 {
		return f.started.Add(f.firstByte)
	}
	return f.until()
}

// step gives the last probe or initialize.
func (c *connect) step() *facts {
	switch {
	case len(c.inits) > 0:
		return c.inits[len(c.inits)-1]
	case len(c.probes) > 0:
		return c.probes[len(c.probes)-1]
	}
	return nil
}

// prober gives the connect whose probe led to this initialize: that of the same connection, else the one that waited
// longest of those whose probe was over.
func (j *joiner) prober(f *facts) *connect {
	list := j.waiting[f.caller()]
	if i := slices.IndexFunc(list, func(c *connect) bool { return c.step().conn == f.conn }); i >= 0 {
		return list[i]
	}
	for _, c := range list {
		if !c.busy(f) {
			return c
		}
	}
	return nil
}

func (j *joiner) findInitialize(f *facts) *connect {
	if c := j.prober(f); c != nil {
		return c
	}
	c := j.byInfo[f.caller()]
	if c == nil {
		c = j.bridged(f)
	}
	if c != nil && len(c.requests) == 0 && !c.busy(f) {
		last := decisive(c.inits)
		if last == nil || refusedThenAuthorized(last, f) || sentAgain(last, f) {
			return c
		}
	}
	if c = j.latest[f.place()]; c != nil && c.onlyStreams() && c.endpoint == f.url {
		return c
	}
	return nil
}

// bridged finds the connect of a probe that a bridge passed on as it was before it began the handshake under the host's
// name and its own (mcp-remote 0.15.1).
func (j *joiner) bridged(f *facts) *connect {
	host, _, bridge := strings.Cut(f.req.info.name, " (via ")
	if !bridge {
		return nil
	}
	c := j.byInfo[caller{f.place(), implementation{host, f.req.info.version}}]
	if c == nil || len(c.inits) > 0 {
		return nil
	}
	return c
}

// findStream takes a GET to the session it names, or to the connect that is under way at its URL; else it may be the
// first step of HTTP+SSE, whose every stream is a new session. One that follows a refused one is another try.
func (j *joiner) findStream(f *facts) *connect {
	if c := j.inSession(f); c != nil {
		return c
	}
	c := j.latest[f.place()]
	if onConn := j.byConn[f.conn]; onConn != nil && onConn.goesOn(f, c) {
		c = onConn
	}
	if c == nil || c.endpoint != f.url || c.transport == overSSE || c.namedEndpoint() {
		return nil
	}
	if c.onlyStreams() && (c.last().status/100 == 2 && !c.last().looksAround() || f.req.session != "") {
		return nil
	}
	return c
}

// looksAround tells whether a GET takes JSON too: a bridge looks at what is there, before any handshake (mcp-remote 0.15.1).
// Clients of HTTP+SSE ask for a stream alone.
func (f *facts) looksAround() bool { return strings.Contains(f.req.accept, "json") }

// namedEndpoint tells whether one of the connect's streams is that of HTTP+SSE.
func (c *connect) namedEndpoint() bool {
	return slices.ContainsFunc(c.streams, func(f *facts) bool { return f.endpointURL != "" })
}

// findLater takes what is neither probe nor handshake to the connect it belongs to: by session id, by clientInfo, by
// TCP connection if that one's connect is still active, else to the latest one of this client.
func (j *joiner) findLater(f *facts) *connect {
	if c := j.inSession(f); c != nil {
		return c
	}
	latest, onConn := j.latest[f.place()], j.byConn[f.conn]
	if f.req.info != (implementation{}) {
		if onConn != nil && onConn.callerIs(f) && onConn.goesOn(f, latest) {
			return onConn
		}
		return j.byInfo[f.caller()]
	}
	if onConn != nil && onConn.goesOn(f, latest) {
		return onConn
	}
	if latest == nil || latest.endpoint == f.url || latest.transport == overSSE || f.class == other || f.class == oauth {
		return latest
	}
	for _, c := range slices.Backward(j.connects[max(0, len(j.connects)-64):]) {
		if c.client == f.client && c.origin == f.origin && c.endpoint == f.url {
			return c
		}
	}
	return nil
}

// inSession gives the connect of the session that the request names. Of several with one id, which a server that gives
// every client the same makes, it is that of the connection.
func (j *joiner) inSession(f *facts) *connect {
	if f.req.session == "" {
		return nil
	}
	if c := j.byConn[f.conn]; c != nil && c.origin == f.origin && slices.Contains(c.sessions, f.req.session) {
		return c
	}
	return j.bySession[pair{f.origin, f.req.session}]
}

// goesOn tells whether f, which came on the connection that the connect used last, belongs to it although the same client,
// by its address, has begun a later connect: it was used since, or nothing had gone wrong in it, so that the later connect
// is another client's of the same host. A client that begins anew after a failure uses its old connections again.
func (c *connect) goesOn(f *facts, latest *connect) bool {
	switch {
	case c.origin != f.origin || f.req.session != "" && len(c.sessions) > 0:
		return false
	case c == latest || latest == nil || c.last().n > latest.first().n:
		return true
	}
	return c.endpoint == latest.endpoint && c.info == latest.info && len(c.inits)+len(c.probes) > 0 && c.trouble() == nil
}

// supersede marks the earlier exchange that this one follows up, and sees whether this is a corrective retry.
func (j *joiner) supersede(c *connect, f *facts) {
	list := c.requests
	switch f.class {
	case probe:
		list = c.probes
		if prev := decisive(list); prev != nil && prev.reply.code == codeUnsupportedVersion && prev.reply.codeOK {
			f.again = true
		}
	case initialize:
		list = c.inits
	case initialized:
		list = c.inited
	}
	for _, prev := range slices.Backward(list[max(0, len(list)-16):]) {
		if prev.superseded || prev.followed != nil {
			continue
		}
		authorized := refusedThenAuthorized(prev, f) && (f.class == probe || f.class == initialize || prev.req.call == f.req.call)
		if authorized || sentAgain(prev, f) {
			prev.superseded = true
			return
		}
		// A refused POST, then HTTP+SSE: the handshake on the stream's endpoint decides.
		if f.class == initialize && f.transport == overSSE && prev.transport == overHTTP {
			prev.superseded = true
			return
		}
	}
}

// settle finds the connect's transport and ties replies on streams to their requests.
func (c *connect) settle() {
	posts := slices.ContainsFunc(c.all, func(f *facts) bool { return f.httpMethod == "POST" && f.url == c.endpoint && f.transport == overHTTP })
	for _, f := range c.streams {
		named := f.endpointURL != ""
		if named || f == c.first() && !posts && f.req.session == "" {
			c.transport, c.endpoint, f.transport = overSSE, f.url, overSSE
		}
	}
	if c.transport == overSSE {
		for _, f := range c.all {
			if f.url != c.endpoint || f.httpMethod != "POST" {
				f.transport = overSSE
			}
		}
	}
	for _, f := range c.all {
		if f.transport == overSSE && f.via == viaBody {
			f.via, f.kind = viaNothing, replyNone // HTTP+SSE: nobody reads a reply in the body of a POST's answer
		}
	}
	c.tie()
	if c.transport == overStdio {
		c.pairByNumber()
		c.spoil()
	}
}

// tie gives requests that were not answered in their own response the reply that came on another stream.
func (c *connect) tie() {
	type found struct {
		streamReply
		n    int
		used bool
	}
	var replies map[string][]*found
	for _, f := range c.all {
		for _, r := range f.stream {
			if replies == nil {
				replies = map[string][]*found{}
			}
			replies[r.key] = append(replies[r.key], &found{streamReply: r, n: f.n})
		}
	}
	if replies == nil {
		return
	}
	for _, f := range c.all {
		if f.req.key == "" || f.req.requests == 0 || f.status/100 != 2 || f.via&(viaBody|viaEvent) != 0 && f.via != anyVia {
			continue
		}
		for _, r := range replies[f.req.key] {
			if r.used || r.at.Before(f.started) || r.n == f.n {
				continue
			}
			r.used = true
			f.reply, f.kind, f.via, f.replyN, f.eventEnd = r.msg, r.msg.kind, viaStream, r.n, eventPlain
			f.replyAt = r.at.Sub(f.started)
			break
		}
	}
	for _, f := range c.all {
		if f.class == resume {
			continue // the server may send once more what it sent before
		}
		for _, r := range f.stream {
			i := slices.IndexFunc(replies[r.key], func(x *found) bool { return x.n == f.n && x.at.Equal(r.at) })
			if !replies[r.key][i].used && len(c.strays) < maxExchanges {
				c.strays = append(c.strays, stray{r, f.n})
			}
		}
	}
}

// A stray is a reply on a stream that answers no request, or one that had been answered.
type stray struct {
	streamReply
	n int // exchange that carried it
}

// until is when a step of the connect was over: its reply, or the last that was seen of it.
func (f *facts) until() time.Time {
	if f.replyAt >= 0 && f.kind&(replyResult|replyError) != 0 {
		return f.started.Add(f.replyAt)
	}
	return f.finished
}
