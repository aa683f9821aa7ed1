package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Bounds of a comparison.
const (
	maxChanges = 50       // per exchange
	maxShown   = 200      // bytes of a value
	maxCompare = 16 << 20 // bytes of a JSON text that is compared member by member
)

// A comparer collects how two answers to one request differ.
type comparer struct {
	o       *Options
	changes []Change
	hidden  []string // what redaction has put in place of values, on either side
	kind    string
	opaque  []string // paths of values that the server makes anew each time: only that there is one is compared
}

func (c *comparer) add(kind, path, was, now string) {
	if len(c.changes) < maxChanges && !c.o.ignores(path) {
		c.changes = append(c.changes, Change{kind, path, clip(was), clip(now)})
	}
}

func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}

// values compares two JSON values at a path. Objects are compared member by member; arrays of objects with names of their
// own (name, uri, uriTemplate) by these, other arrays place by place.
func (c *comparer) values(path string, was, now any) {
	if c.o.ignores(path) {
		return
	}
	switch x := was.(type) {
	case map[string]any:
		if y, ok := now.(map[string]any); ok {
			c.objects(path, x, y)
			return
		}
	case []any:
		if y, ok := now.([]any); ok {
			c.arrays(path, x, y)
			return
		}
	case string:
		if y, ok := now.(string); ok && (x == y || c.alike(x, y) || slices.Contains(c.opaque, path)) {
			return
		}
	default:
		if was == now {
			return
		}
	}
	c.add(c.kindAt(path), path, text(was), text(now))
}

func (c *comparer) objects(path string, was, now map[string]any) {
	all := maps.Clone(was)
	maps.Copy(all, now)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at := path + "/" + escape(name)
		x, had := was[name]
		y, has := now[name]
		c.member(at, x, y, had, has)
	}
}

func (c *comparer) member(at string, was, now any, had, has bool) {
	switch {
	case !has:
		c.add(c.kindAt(at), at, text(was), "")
	case !had:
		c.add(c.kindAt(at), at, "", text(now))
	default:
		c.values(at, was, now)
	}
}

func (c *comparer) arrays(path string, was, now []any) {
	if before, after := names(was), names(now); before != nil && after != nil {
		c.named(path, was, now, before, after)
		return
	}
	for i := range max(len(was), len(now)) {
		var x, y any
		if i < len(was) {
			x = was[i]
		}
		if i < len(now) {
			y = now[i]
		}
		c.member(path+"/"+strconv.Itoa(i), x, y, i < len(was), i < len(now))
	}
}

// named compares arrays whose elements have names. Another order of the same names is one change.
func (c *comparer) named(path string, was, now []any, before, after []string) {
	for i, name := range before {
		j := slices.Index(after, name)
		var y any
		if j >= 0 {
			y = now[j]
		}
		c.member(path+"/"+escape(name), was[i], y, true, j >= 0)
	}
	for j, name := range after {
		if !slices.Contains(before, name) {
			c.member(path+"/"+escape(name), nil, now[j], false, true)
		}
	}
	common := func(list, other []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !slices.Contains(other, s) })
	}
	if x, y := common(before, after), common(after, before); !slices.Equal(x, y) {
		c.add("order", path, strings.Join(x, " "), strings.Join(y, " "))
	}
}

// names are those of an array's elements, nil unless each has one of its own. At most 4096 are looked at.
func names(list []any) []string {
	seen, out := map[string]bool{}, make([]string, 0, len(list))
	for _, v := range list {
		o, _ := v.(map[string]any)
		name := ""
		for _, member := range []string{"name", "uri", "uriTemplate"} {
			if s, ok := o[member].(string); ok && name == "" {
				name = s
			}
		}
		if name == "" || seen[name] || len(out) == wire.MaxBatch {
			return nil
		}
		seen[name] = true
		out = append(out, name)
	}
	return out
}

// alike tells whether two strings differ only in what redaction has replaced in either.
func (c *comparer) alike(was, now string) bool {
	for _, h := range c.hidden {
		for _, s := range [][2]string{{was, now}, {now, was}} {
			if before, after, ok := strings.Cut(s[0], h); ok && strings.HasPrefix(s[1], before) && strings.HasSuffix(s[1], after) &&
				len(s[1]) >= len(before)+len(after) {
				return true
			}
		}
	}
	return false
}

// hiddenIn are the values that redaction has put into the answer, and the request, of an exchange.
func hiddenIn(x *har.Exchange) (list []string) {
	for _, r := range x.Redacted {
		raw := x.Request.Raw
		if r.Dir == wire.ToClient {
			raw = x.Response.Raw
		}
		if r.Len >= 4 && r.Off >= 0 && r.Off <= len(raw)-r.Len && len(list) < 100 {
			list = append(list, string(raw[r.Off:r.Off+r.Len]))
		}
	}
	return list
}

// decode reads a JSON text that has passed the gate; ok is false where it has not, or is too long.
func decode(text []byte) (v any, ok bool) {
	if len(text) > maxCompare || !wire.ParseRPC(text).JSON {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

func text(v any) string {
	if v == nil {
		return "null"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// escape writes a reference token of a JSON pointer (RFC 6901 section 3).
func escape(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }
