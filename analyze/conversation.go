package analyze

import (
	"slices"
)

// A conversation is all that one client exchanged with one endpoint: one connect after the other.
type conversation struct {
	id       int
	connects []*connect
	client   recognised
	server   implementation
	served   recognised // what is known of the server beyond its name
}

func (v *conversation) first() *connect { return v.connects[0] }

// converse groups connects by client, clientInfo and endpoint. Connects that overlap in time with success are those of
// several clients of one name.
func converse(connects []*connect) []*conversation {
	var all []*conversation
	byKey := map[string][]*conversation{}
	for _, c := range connects {
		key := c.client + " " + c.info.name + " " + c.info.version + " " + c.endpoint
		var v *conversation
		for _, lane := range byKey[key] {
			if lane.connects[len(lane.connects)-1].over(c.first().n) {
				v = lane
			}
		}
		if v == nil {
			v = &conversation{}
			all, byKey[key] = append(all, v), append(byKey[key], v)
		}
		v.connects = append(v.connects, c)
		c.conv = v
	}
	for i, v := range all {
		v.id = i + 1
		v.client = recognise(v.first())
		v.server = v.serverInfo()
		v.served = v.recogniseServer()
		v.findRepeats()
	}
	return all
}

// over tells whether the connect was used no more from exchange n on. Requests that its dead session refused are the
// stragglers of a client that has moved on.
func (c *connect) over(n int) bool {
	for _, f := range slices.Backward(c.all) {
		if f.n < n {
			break
		}
		switch f.class {
		case request, optional, discover, notification:
			if f.status/100 == 2 || f.transport == overStdio && f.answer == whole {
				return false
			}
		}
	}
	return true
}

func (v *conversation) serverInfo() implementation {
	for _, c := range v.connects {
		for _, f := range c.all {
			if f.reply.info != (implementation{}) {
				return f.reply.info
			}
		}
	}
	return implementation{}
}

// findRepeats finds the calls that were repeated in a new session after the old one had expired: the first such call of
// the connect that follows. A client that repeats a call after 404 took it for that, whatever the body said.
func (v *conversation) findRepeats() {
	for i := 1; i < len(v.connects); i++ {
		prev, c := v.connects[i-1], v.connects[i]
		if len(c.inits) == 0 {
			continue
		}
		lost := map[callHash]*facts{}
		for _, f := range prev.requests {
			gone := f.sessionGone() || f.status == 404 && f.req.session != "" && f.req.era() == eraLegacy
			if gone && lost[f.req.call] == nil {
				lost[f.req.call] = f
			}
		}
		if len(lost) == 0 {
			continue
		}
		for _, f := range c.requests {
			if e := lost[f.req.call]; e != nil {
				f.again, f.repeats = true, e
				delete(lost, f.req.call)
			}
		}
	}
}

// sessionGone tells whether the answer says that the session is gone, in one of the ways that clients recognise. One that
// says that an optional method is missing does not (qwen-code #12500).
func (f *facts) sessionGone() bool {
	missing := f.class == optional && f.reply.rpc20 && f.reply.codeOK && f.reply.code == codeMethodNotFound
	if missing || f.req.era() != eraLegacy {
		return false
	}
	return f.status == 404 && f.req.session != "" || f.reply.gone && (f.status/100 == 2 || f.transport != overHTTP)
}
