package replay

import (
	"cmp"
	"hash/maphash"

	"github.com/mcptap/mcptap/har"
)

// Asked gives the key by which a replay would match the exchange's request to a recording, but for who the client is, and
// what it asks for in words, such as "POST /mcp tools/call". Exchanges with equal keys ask for the same. What redaction has
// replaced in a request counts as equal to whatever it has replaced in another. key is "" without a whole request head.
func Asked(x *har.Exchange) (key, label string) {
	if x.Stdio() {
		line := x.View().RequestBody()
		if len(line) == 0 {
			line, _ = x.View().ResponseBody()
		}
		a := lineAsk(line)
		return a.loose, a.rpc
	}
	r := newRecording(x, &asks{maphash.MakeSeed(), map[uint64]*ask{}, MatchParams})
	if r.ask == nil {
		return "", ""
	}
	return cmp.Or(r.loosePattern, r.ask.loose), r.ask.label()
}
