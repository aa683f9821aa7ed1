package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har/wire"
)

// A conformance is the check of all conversations against the revisions that they speak.
type conformance struct {
	rules    []ConformanceRule
	reported map[int][]int // by exchange: findings that exist already
	known    []Finding
	at       map[breachKey]int // findings of this check, by what they say
	counts   []int
	findings []Finding
}

// A breachKey is what findings that say the same have in common.
type breachKey struct {
	conv             *conversation
	id, what, detail string
}

// maxConformFindings bounds the findings of one run that say different things.
const maxConformFindings = 1000

// withConformance adds to the findings what breaks the revision that each exchange speaks. What another finding says of
// the same exchange is not said again.
func (a *analysis) withConformance(known []Finding, rules []ConformanceRule) []Finding {
	k := conformance{rules: rules, known: known, reported: map[int][]int{}, at: map[breachKey]int{}}
	for i := range known {
		for _, n := range known[i].Exchanges {
			k.reported[n] = append(k.reported[n], i)
		}
	}
	for _, v := range a.conversations {
		outputs := map[string]bool{}
		for _, c := range v.connects {
			k.connect(c, outputs)
		}
	}
	for i, n := range k.counts {
		if n > 1 {
			k.findings[i].Message += fmt.Sprintf(" (%d more like this)", n-1)
		}
	}
	return append(known, k.findings...)
}

// A spoken is one connect with what its handshake settled.
type spoken struct {
	*conformance
	c          *connect
	init       *facts // the initialize that was answered with success; nil if none was recorded
	negotiated set
	modern     bool // the server showed that it speaks a modern revision
	tokens     map[string]bool
	asked      map[string]string // server requests: id and method
	ids        map[pair]*facts   // requests by session and id
	outputs    map[string]bool   // tools that declare an outputSchema
	events     map[pair]*facts   // streams by session and last event id
}

func (k *conformance) connect(c *connect, outputs map[string]bool) {
	s := &spoken{conformance: k, c: c, tokens: map[string]bool{}, asked: map[string]string{}, ids: map[pair]*facts{}, outputs: outputs}
	s.settle()
	for _, f := range c.all {
		own := f.transport == overStdio && f.reqBytes == 0
		if f.class == other && f.conf != nil && f.conf.rpc20 {
			s.shapes(f) // JSON-RPC all the same, such as a request whose id is null
		}
		if (f.class == other || f.class == oauth) && !own {
			continue
		}
		if f.conf != nil {
			if f.conf.token != "" {
				s.tokens[f.conf.token] = true
			}
			for _, m := range f.conf.said {
				if m.byServer && m.kind == wire.Request {
					s.asked[m.key] = m.method
				}
			}
		}
		if !own {
			s.requestRules(f)
		}
		s.answerRules(f)
		if !own {
			s.shapes(f)
		}
	}
}

// settle finds the revision and the capabilities that the handshake agreed on.
func (s *spoken) settle() {
	if ini := decisive(s.c.inits); ini != nil && ini.kind == replyResult && len(ini.reply.versions) > 0 {
		s.init, s.negotiated = ini, revisionOf(ini.reply.versions[0])&^revisionOf(firstModern)
	}
	s.modern = slices.ContainsFunc(s.c.all, func(f *facts) bool {
		return f.reply.discover && f.kind == replyResult || f.conf != nil && f.conf.typed
	})
}

// spokenBy gives the revision that binds one side of an exchange, 0 where that is not known or not one of the tables.
func (s *spoken) spokenBy(server bool, f *facts) set {
	r := &f.req
	switch {
	case f.transport == overStdio && f.reqBytes == 0 && s.negotiated == 0 && s.modern:
		return revisionOf(firstModern)
	case r.era() == eraModern:
		if server && !s.modern {
			return 0
		}
		return f.inRevisions()
	case f.class == initialize && !server:
		return revisionOf(r.version) &^ revisionOf(firstModern)
	case f.class == initialize && len(f.reply.versions) > 0:
		return revisionOf(f.reply.versions[0]) &^ revisionOf(firstModern)
	case s.negotiated != 0:
		return s.negotiated
	}
	return revisionOf(r.header) &^ revisionOf(firstModern)
}

// breaks reports a breach of a rule, if the rule holds in the revision.
func (s *spoken) breaks(id string, in set, f *facts, detail string, evidence ...Evidence) {
	for i := range s.rules {
		r := &s.rules[i]
		if r.ID != id || r.in&in == 0 || r.Finding != "" || s.explainedBy(f.n, r.FindingID()) {
			continue
		}
		key := breachKey{s.c.conv, r.ID, f.req.method, ""}
		if !s.again(key, f, evidence) {
			s.add(key, r.finding(f, in, detail, evidence))
		}
	}
}

// finding writes down a breach.
func (r *ConformanceRule) finding(f *facts, in set, detail string, evidence []Evidence) Finding {
	message, behind, detailed := strings.Cut(r.Message, "{detail}")
	if message = f.say(message); detailed {
		message += excerpt(detail) + f.say(behind)
	}
	message += fmt.Sprintf(" (%s, %s, %s)", r.Level, revisionNames.word(in), r.Section)
	return Finding{ID: r.FindingID(), Severity: r.severity(), Fault: r.Fault, Exchanges: []int{f.n}, Message: oneLine(message),
		Fix: f.say(r.Fix), Rule: r.ID, Evidence: evidence}
}

// again adds an exchange to the finding that says the same, if there is one.
func (k *conformance) again(key breachKey, f *facts, evidence []Evidence) bool {
	i, ok := k.at[key]
	if !ok {
		return false
	}
	y := &k.findings[i]
	k.counts[i]++
	if len(y.Exchanges) < maxExchanges && y.Exchanges[len(y.Exchanges)-1] != f.n {
		y.Exchanges = append(y.Exchanges, f.n)
	}
	y.Evidence = append(y.Evidence, evidence[:min(len(evidence), maxEvidence-min(len(y.Evidence), maxEvidence))]...)
	return true
}

func (k *conformance) add(key breachKey, x Finding) {
	if len(k.findings) == maxConformFindings {
		return
	}
	if x.Evidence == nil {
		x.Evidence = []Evidence{}
	}
	k.at[key] = len(k.findings)
	k.findings, k.counts = append(k.findings, x), append(k.counts, 1)
}

// shapes reports the messages of an exchange that depart from the shape of the revision.
func (s *spoken) shapes(f *facts) {
	if f.conf == nil {
		return
	}
	for i := range f.conf.said {
		m := &f.conf.said[i]
		in := s.spokenBy(m.byServer, f)
		if in == 0 {
			continue
		}
		list, section, method := m.breaches, m.section, m.method
		if len(m.others) > 0 {
			if method = s.methodOf(m); method == "" && f.answers != nil {
				method = f.answers.req.method
			}
			if method == "" {
				continue
			}
			list, section = m.others[method], shapes().byMethod[method].Section
		}
		for _, b := range list {
			if b.in&in != 0 && !f.junkHolds(b.at) && !s.saidOf(f, m, &b) && !s.explainedBy(f.n, nonconforming.id) {
				s.departs(f, m, method, section, &b, in)
			}
		}
	}
}

// junkHolds tells whether the place lies in an event that is no JSON-RPC message at all, which is a finding of its own.
func (f *facts) junkHolds(at spanned) bool {
	return at.ok && f.saysJunk() && at.off >= f.flow.junk.off && at.off < f.flow.junk.off+f.flow.junk.len
}

// methodOf finds what a result on another exchange than its request's answers.
func (s *spoken) methodOf(m *said) string {
	if !m.byServer {
		return s.asked[m.key]
	}
	for _, f := range s.c.all {
		if f.req.key == m.key && f.req.requests > 0 {
			return f.req.method
		}
	}
	return ""
}

// saidOf tells whether another finding says already that the answer is not valid; the pointer is then added to it.
func (s *spoken) saidOf(f *facts, m *said, b *breach) bool {
	for _, i := range s.reported[f.n] {
		x := &s.known[i]
		if !strings.HasSuffix(x.ID, "-invalid") && x.ID != "probe-reply-id-null" || !m.byServer || x.Exchanges[0] != f.n {
			continue
		}
		if add := fmt.Sprintf("; %s is %s, want %s", b.pointer, b.found, b.want); !strings.Contains(x.Message, "; /") {
			x.Message += oneLine(add)
		}
		return true
	}
	return false
}

func (s *spoken) departs(f *facts, m *said, method, section string, b *breach, in set) {
	var evidence []Evidence
	side := "request"
	if m.byServer {
		side = "response"
	}
	if b.at.ok && b.at.len > 0 {
		evidence = []Evidence{{f.n, side, b.at.off, b.at.len}}
	}
	key := breachKey{s.c.conv, side + " " + strconv.Itoa(int(m.kind)), method, anyIndex(b.pointer) + " " + b.want}
	if s.again(key, f, evidence) {
		return
	}
	x := Finding{ID: nonconforming.id, Severity: nonconforming.severity, Fault: byClient, Exchanges: []int{f.n}, Fix: f.say(nonconforming.fix)}
	if m.byServer {
		x.Fault = byServer
	}
	x.Evidence = evidence
	what := cmp.Or(excerpt(method), "a message")
	switch m.kind {
	case wire.Result:
		what = "the result of " + what
	case wire.Error:
		what = "an error response"
	}
	found := "is " + b.found
	if b.found == "nothing" {
		found = "is missing"
	}
	x.Message = oneLine(fmt.Sprintf("%s departs from the shape of %s: %s %s, want %s (%s)", what, revisionNames.word(in), excerpt(b.pointer), found, b.want, section))
	s.add(key, x)
}

// anyIndex puts a star in place of the indexes of a pointer, so that elements with the same fault are one finding.
func anyIndex(pointer string) string {
	if !strings.ContainsAny(pointer, "0123456789") {
		return pointer
	}
	parts := strings.Split(pointer, "/")
	for i, p := range parts {
		if p != "" && strings.Trim(p, "0123456789") == "" {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}
