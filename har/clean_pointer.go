package har

import "bytes"

// pointed finds the JSON values that rules point at, in each JSON text of a region: a body, the data of an event, a line.
func (r *Redactor) pointed(ri int) {
	reg := &r.regions[ri]
	if reg.fields {
		return
	}
	t := reg.text
	for i := 0; i < len(t); {
		at := i
		if bytes.HasPrefix(t[at:], []byte("data:")) {
			at += len("data:")
		}
		for at < len(t) && (t[at] == ' ' || t[at] == '\t') {
			at++
		}
		if at < len(t) && (t[at] == '{' || t[at] == '[') {
			p := pointing{t: t}
			end, ok := p.value(at, r.deep.paths, r.deep.paths, 0)
			for _, f := range p.found {
				if f[2] == 1 {
					r.number(ri, f[0])
				} else {
					r.clipped(ri, f[0], f[1], rule)
				}
			}
			if ok {
				i = end
				continue
			}
		}
		i += lineLen(t[i:])
	}
}

// pointing reads JSON for the strings and numbers at and below the places that paths lead to.
type pointing struct {
	t     []byte
	found [][3]int // where they begin and end; 1 for a number
}

const pointingDepth = 128

// value reads the value at i, of which these are the rests of paths; batch are those for the elements of a list at the top.
func (p *pointing) value(i int, paths, batch [][]string, depth int) (end int, ok bool) {
	i = p.space(i)
	if i >= len(p.t) || depth > pointingDepth {
		return i, false
	}
	hit := false
	for _, path := range paths {
		hit = hit || len(path) == 0
	}
	switch p.t[i] {
	case '{', '[':
		return p.members(i, paths, batch, hit, depth)
	case '"':
		end = stringEnd(p.t, i+1, 0, '"')
		if hit {
			p.found = append(p.found, [3]int{i + 1, end, 0})
		}
		return end + 1, end < len(p.t) && p.t[end] == '"'
	}
	for end = i; end < len(p.t) && !isSpace(p.t[end]) && bytes.IndexByte([]byte(",]}"), p.t[end]) < 0; {
		end++
	}
	if hit {
		p.found = append(p.found, [3]int{i, end, 1})
	}
	return end, end > i
}

func (p *pointing) space(i int) int {
	for i < len(p.t) && isSpace(p.t[i]) {
		i++
	}
	return i
}

// members reads an object or a list.
func (p *pointing) members(i int, paths, batch [][]string, all bool, depth int) (end int, ok bool) {
	object := p.t[i] == '{'
	last := byte(']')
	if object {
		last = '}'
	}
	i = p.space(i + 1)
	if i < len(p.t) && p.t[i] == last {
		return i + 1, true
	}
	for n := 0; ; n++ {
		name := string(appendInt(nil, int64(n)))
		if object {
			i = p.space(i)
			if i >= len(p.t) || p.t[i] != '"' {
				return i, false
			}
			to := stringEnd(p.t, i+1, 0, '"')
			name = string(jsonDecode(p.t[i+1 : to]))
			if i = p.space(to + 1); i >= len(p.t) || p.t[i] != ':' {
				return i, false
			}
			i++
		}
		rest := below(paths, name, all)
		if !object && depth == 0 {
			rest = append(rest, batch...)
		}
		if i, ok = p.value(i, rest, nil, depth+1); !ok {
			return i, false
		}
		if i = p.space(i); i >= len(p.t) {
			return i, false
		}
		if p.t[i] == last {
			return i + 1, true
		}
		if p.t[i] != ',' {
			return i, false
		}
		i++
	}
}

// below gives what is left of the paths that go on through name. all: everything below is meant.
func below(paths [][]string, name string, all bool) (rest [][]string) {
	if all {
		return [][]string{{}}
	}
	for _, path := range paths {
		if len(path) > 0 && (path[0] == name || path[0] == "*") {
			rest = append(rest, path[1:])
		}
	}
	return rest
}
