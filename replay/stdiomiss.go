package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
)

// miss answers a line for which nothing recorded is left.
func (s *Stdio) miss(q *ask, out io.Writer) error {
	m := Miss{Request: cmp.Or(q.rpc, "a line that is no JSON-RPC message"), Differs: "nothing like it was recorded"}
	words := missWord + m.Request + ": " + m.Differs
	data := any(nil)
	if near, differs := s.nearest(q); near != nil {
		m.Nearest, m.Differs = near.x, differs
		words = fmt.Sprintf(missWord+"%s: nearest is exchange %d, %s: %s", m.Request, near.x.N, near.ask.rpc, differs)
		data = map[string]any{"nearest": near.x.N, "differs": differs}
	}
	if len(s.result.Misses) < maxMisses {
		s.result.Misses = append(s.result.Misses, m)
	}
	s.notice(words)
	for _, id := range q.values.ids {
		line, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "error": map[string]any{"code": -32603,
			"message": "mcptap replay: nothing recorded is left for " + m.Request + ": " + m.Differs, "data": data}})
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// nearest is the recorded line that is most like q, and in words what differs first; nil if none has its methods.
func (s *Stdio) nearest(q *ask) (near *written, differs string) {
	common := 0
	for _, a := range s.asks {
		if a.ask.rpc != q.rpc || q.rpc == "" {
			continue
		}
		if same := commonPrefix(a.ask.body, q.body); near == nil || near.taken && !a.taken || near.taken == a.taken && same > common {
			near, common = a, same
		}
	}
	switch {
	case near == nil:
		return nil, ""
	case near.ask.differs(q, s.Exact) != "":
		return near, near.ask.differs(q, s.Exact)
	case near.taken:
		return near, "all recordings of it have been served already"
	}
	return near, q.values.differ(near.ask.values) + ", and ids are not patched when bytes are to be exact"
}
