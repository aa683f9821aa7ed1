package analyze

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// A sample is one valid message with about all that its shape may hold.
type sample struct {
	Name    string          `json:"name"`
	Method  string          `json:"method"`
	As      string          `json:"as"` // request, notification, result, failure
	Message json.RawMessage `json:"message"`
}

func samples(t testing.TB) []sample {
	t.Helper()
	text, err := os.ReadFile("testdata/conform/messages.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		var s sample
		if err := json.Unmarshal(sc.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		t.Fatal("no samples")
	}
	return all
}

func (s *sample) shape(tab *tables) *shape {
	m := tab.byMethod[s.Method]
	switch {
	case s.As == "failure":
		return tab.failure
	case m == nil:
		return &shape{}
	case s.As == "result" && m.result != nil:
		return m.result
	}
	return m.message
}

// A mutant is a sample with one member gone, or of another type.
type mutant struct{ what, text string }

// mutants gives the sample itself and, for each member at any depth, the message without it and with other values in its
// place.
func (s *sample) mutants(t testing.TB) []mutant {
	t.Helper()
	all := []mutant{{"as it is", string(s.Message)}}
	var tree any
	if err := json.Unmarshal(s.Message, &tree); err != nil {
		t.Fatal(err)
	}
	write := func(what string) {
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, mutant{what, string(text)})
	}
	var visit func(node any, at string)
	visit = func(node any, at string) {
		switch n := node.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(n)) {
				was, here := n[k], at+"/"+pointerEscapes.Replace(k)
				delete(n, k)
				write("-" + here)
				for _, v := range others(was) {
					n[k] = v
					write(fmt.Sprintf("%s=%v", here, v))
				}
				n[k] = was
				visit(was, here)
			}
		case []any:
			for i, was := range n {
				here := fmt.Sprintf("%s/%d", at, i)
				n[i] = nil
				write(here + "=<nil>")
				n[i] = was
				visit(was, here)
			}
		}
	}
	visit(tree, "")
	return all
}

// others are values of the kinds that a value is not of.
func others(v any) []any {
	switch v.(type) {
	case string:
		return []any{7.0, "other"}
	case float64:
		return []any{"7", -1.5}
	}
	return []any{"7"}
}

// verdictsOf says which revisions a message breaks, and where: one line for each mutant that breaks any.
func verdictsOf(s *sample, all []mutant, tab *tables) string {
	var b strings.Builder
	for i := range all {
		if v := verdictOf(s, &all[i], tab); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", all[i].what, v)
		}
	}
	return b.String()
}

func verdictOf(s *sample, x *mutant, tab *tables) string {
	in := allRevisions
	if m := tab.byMethod[s.Method]; m != nil {
		in = m.in
	}
	var parts []string
	for _, br := range match([]byte(x.text), s.shape(tab), in) {
		parts = append(parts, fmt.Sprintf("%05b %s want %s", br.in, br.pointer, br.want))
	}
	return strings.Join(parts, "; ")
}

// Every message of the table, with each member left out and changed, gets the verdict that is written down. A bit stands
// for a revision, the oldest last.
func TestShapeVerdicts(t *testing.T) {
	var b bytes.Buffer
	covered := map[string]bool{}
	for _, s := range samples(t) {
		covered[s.Method+" "+s.As] = true
		fmt.Fprintf(&b, "== %s (%s)\n%s\n", s.Name, s.As, verdictsOf(&s, s.mutants(t), shapes()))
	}
	golden(t, "testdata/conform/verdicts.txt", b.Bytes())
	for _, m := range shapes().messages {
		want := []string{" notification"}
		if m.result != nil {
			want = []string{" request", " result"}
		}
		for _, as := range want {
			if !covered[m.Method+as] {
				t.Errorf("no sample of %s%s", m.Method, as)
			}
		}
	}
}

// Each row of the tables, left out or turned into another, changes the verdict of some message: no row is there for
// nothing, and none can be lost unseen.
func TestEveryShapeRowCounts(t *testing.T) {
	w := newRowWitness(t)
	for name, rows := range w.types {
		for i, row := range rows {
			for _, changed := range rowChanges(row) {
				rows[i] = changed
				w.check(t, name, row, changed)
				rows[i] = row
			}
		}
	}
	for i := range w.messages {
		m := &w.messages[i]
		for j, row := range m.Params {
			for _, changed := range rowChanges(row) {
				m.Params[j] = changed
				w.check(t, m.Method, row, changed)
				m.Params[j] = row
			}
		}
		if was := m.Result; was != "" {
			m.Result = "PlainError"
			w.check(t, m.Method, was, m.Result)
			m.Result = was
		}
		for _, other := range []string{"", "from 2025-06-18", "until 2025-11-25"} {
			if was := m.In; was != other {
				m.In = other
				w.check(t, m.Method, was, other)
				m.In = was
			}
		}
	}
	if w.tried < 800 {
		t.Errorf("only %d changes were tried", w.tried)
	}
}

// rowChanges are a row's other forms: gone, its need turned round, its type open, its revisions others.
func rowChanges(row string) []string {
	f := strings.Fields(row)
	changes := []string{""}
	put := func(g ...string) {
		if s := strings.Join(g, " "); s != row {
			changes = append(changes, s)
		}
	}
	switch {
	case f[0] == "=":
		return []string{"= any"}
	case f[0] == "by":
		put("by", "never")
		return changes[1:]
	case strings.HasPrefix(f[0], "+"), f[0] == "else":
		return changes
	case f[0] == "need":
	case strings.HasSuffix(f[0], "?"):
		put(append([]string{strings.TrimSuffix(f[0], "?")}, f[1:]...)...)
	case strings.ContainsAny(f[0], "/-") && !strings.HasPrefix(f[0], "io."), len(f) > 1 && f[1][0] >= 'A' && f[1][0] <= 'Z' && f[0] == strings.ToLower(f[0]):
	default:
		put(append([]string{f[0] + "?"}, f[1:]...)...)
	}
	if f[0] != "need" && (f[1][0] < 'A' || f[1][0] > 'Z') && f[1] != "any" {
		put(append([]string{f[0], "any"}, f[2:]...)...)
	}
	if len(f) > 2 {
		put(f[:2]...)
		put(f[0], f[1], "until", "2025-03-26")
	}
	return changes
}

// A rowWitness knows the verdicts of all samples, and which types each sample's shape reaches.
type rowWitness struct {
	types    map[string][]string
	messages []messageRow
	samples  []sample
	mutants  [][]mutant
	want     [][]string
	reach    []map[string]bool
	tried    int
}

func newRowWitness(t *testing.T) *rowWitness {
	t.Helper()
	w := &rowWitness{types: map[string][]string{}, samples: samples(t)}
	var raw map[string]any
	if err := json.Unmarshal(shapeFile("types.json"), &raw); err != nil {
		t.Fatal(err)
	}
	for name, v := range raw {
		switch v := v.(type) {
		case string:
			w.types[name] = []string{"= " + v}
		case []any:
			for _, row := range v {
				w.types[name] = append(w.types[name], row.(string))
			}
		}
	}
	if err := json.Unmarshal(shapeFile("messages.json"), &w.messages); err != nil {
		t.Fatal(err)
	}
	for i := range w.samples {
		s := &w.samples[i]
		all := s.mutants(t)
		var want []string
		for j := range all {
			want = append(want, verdictOf(s, &all[j], shapes()))
		}
		w.mutants, w.want = append(w.mutants, all), append(w.want, want)
		w.reach = append(w.reach, w.reachedBy(s))
	}
	return w
}

func (w *rowWitness) reachedBy(s *sample) map[string]bool {
	reached := map[string]bool{s.Method: true}
	var visit func(text string)
	visit = func(text string) {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" +[]{}|\"", r) }) {
			if w.types[word] != nil && !reached[word] {
				reached[word] = true
				visit(strings.Join(w.types[word], " "))
			}
		}
	}
	if s.As == "failure" {
		visit("Error")
	}
	for _, m := range w.messages {
		if m.Method == s.Method {
			visit(strings.Join(m.Params, " ") + " " + m.Result)
		}
	}
	return reached
}

// check wants the changed tables to give some sample another verdict.
func (w *rowWitness) check(t *testing.T, where, row, changed string) {
	t.Helper()
	w.tried++
	gone := func(row string) bool { return row == "" }
	lists := map[string][]string{}
	for name, list := range w.types {
		lists[name] = slices.DeleteFunc(slices.Clone(list), gone)
	}
	var messages []*messageRow
	for _, m := range w.messages {
		m.Params = slices.DeleteFunc(slices.Clone(m.Params), gone)
		messages = append(messages, &m)
	}
	tab, err := buildTables(lists, messages)
	if err != nil {
		return
	}
	for i := range w.samples {
		if !w.reach[i][where] {
			continue
		}
		for j := range w.mutants[i] {
			if verdictOf(&w.samples[i], &w.mutants[i][j], tab) != w.want[i][j] {
				return
			}
		}
	}
	t.Errorf("%s: %q turned into %q changes nothing", where, row, changed)
}
