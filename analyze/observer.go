package analyze

import (
	"bytes"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// An observer reads exchanges one after the other. Texts that many of them have in common, such as URLs, header values and
// names, it keeps once.
type observer struct {
	texts     map[string]string
	addresses map[string]address
	heads     map[headFacts]*headFacts
	lax       map[laxKey]laxReading
	view      har.View // of the exchange at hand
	head      headFacts
}

// maxShared bounds the texts that an observer knows; beyond, it begins to gather anew.
const maxShared = 1 << 13

func newObserver() *observer {
	return &observer{texts: map[string]string{}, addresses: map[string]address{}, heads: map[headFacts]*headFacts{}, lax: map[laxKey]laxReading{}}
}

// text is clip, with one copy for equal texts.
func (o *observer) text(s string) string {
	if s == "" {
		return ""
	}
	if t, ok := o.texts[s]; ok {
		return t
	}
	return o.keep(clip(s), len(s))
}

func (o *observer) keep(t string, size int) string {
	if len(t) != size {
		return t // it was clipped
	}
	if len(o.texts) == maxShared {
		clear(o.texts)
	}
	o.texts[t] = t
	return t
}

// value is text for the value of a JSON string, "" for anything else.
func (o *observer) value(m wire.Member) string {
	if n := len(m.Raw); n >= 2 && m.Raw[0] == '"' && bytes.IndexByte(m.Raw, '\\') < 0 {
		if t, ok := o.texts[string(m.Raw[1:n-1])]; ok {
			return t
		}
	}
	s, _ := m.String()
	return o.text(s)
}

// place is clipLong, with one copy for equal texts that are not long.
func (o *observer) place(s string) string {
	if len(s) > maxText {
		return clipLong(s)
	}
	return o.text(s)
}

// info reads clientInfo.
func (o *observer) info(raw []byte) implementation {
	var said [2]wire.Member
	wire.Select(raw, []string{"name", "version"}, said[:])
	return implementation{o.value(said[0]), o.value(said[1])}
}

// sharedHead gives the head at hand to keep: the places of fields are the same in most exchanges of a session.
func (o *observer) sharedHead() *headFacts {
	if h := o.heads[o.head]; h != nil {
		return h
	}
	h := o.head
	if len(o.heads) == maxShared {
		clear(o.heads)
	}
	o.heads[h] = &h
	return &h
}

// noHead is that of lines.
var noHead = &headFacts{}

// shareHead puts a head that does not change any more in place, in other readings of the exchange, too.
func (f *facts) shareHead(h *headFacts) {
	f.head = h
	if f.ifClosed != nil {
		f.ifClosed.head = h
	}
	for _, other := range f.lax {
		if other != nil {
			other.head = h
		}
	}
}

// An address is a URL in its parts; origin is scheme and host.
type address struct{ url, query, origin string }

func (o *observer) address(s string) address {
	if a, ok := o.addresses[s]; ok {
		return a
	}
	a := addressOf(s)
	if len(o.addresses) == maxShared {
		clear(o.addresses)
	}
	if len(s) <= maxText {
		o.addresses[strings.Clone(s)] = a
	}
	return a
}
