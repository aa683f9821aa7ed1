package har

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
)

// cleanValues is how many values a Cleaner remembers: it knows the whole recording before it replaces anything.
const cleanValues = 8192

// A Cleaner replaces secrets in recordings that have been made, with the time that a recorder does not have. It finds all that a
// Redactor finds, and beyond that
//
//   - values in exchanges before the one that shows what they are;
//   - both known values and shapes in base64, in percent-encoding and in the escapes of JSON, up to three on top of one another;
//   - compressed bodies, which are compressed again: only their length changes, and that of what counts it;
//   - credentials behind the word Basic in any text, and what members and variables hold whose names are those of secrets;
//   - what its rules ask for, and with strict e-mail addresses, owners of homes, hosts and IP addresses, which get pseudonyms.
//
// Cleaning twice changes nothing. It is not safe for concurrent use.
type Cleaner struct {
	redactor *Redactor
	found    []Replaced
}

// Replaced is a range that a Cleaner replaced, as the cleaned recording has it.
type Replaced struct {
	Place    string // as "exchange 3: request", "exchange 3: response body, unpacked", "header: to"
	Off, Len int    // bytes of the place; Len is 0 where the place is a short text, of which no more is said
	Kind     string
}

// NewCleaner returns a Cleaner for one recording.
func NewCleaner(rules []Rule, strict bool) *Cleaner {
	c := &Cleaner{redactor: NewRedactor()}
	c.redactor.deep = newDeep(rules, strict)
	c.redactor.values.room = cleanValues
	return c
}

// Clean replaces the secrets of a whole recording in place. Its header says no longer that they were kept.
func (c *Cleaner) Clean(k *Cassette) {
	for _, x := range k.Exchanges {
		c.exchange(x.copied())
	}
	for _, p := range k.Processes {
		q := *p
		q.Stderr.Raw = bytes.Clone(p.Stderr.Raw)
		c.process(&q)
	}
	c.redactor.lastURL, c.redactor.lastEdit = redactedString{}, redactedString{}
	c.found = nil
	for _, p := range k.Processes {
		c.process(p)
	}
	for _, x := range k.Exchanges {
		c.exchange(x)
	}
	c.header(&k.Header)
	if k.End != nil {
		c.text("end line", &k.End.Error)
		k.End.Redacted = 0
	}
}

// Replaced gives what the last Clean replaced: processes, exchanges and the header, each in its order. What an exchange repeats of
// its bytes, as its URL, is not counted.
func (c *Cleaner) Replaced() []Replaced { return c.found }

// copied is a copy of all that a Redactor changes.
func (x *Exchange) copied() *Exchange {
	y := *x
	y.Request.Raw, y.Response.Raw = bytes.Clone(x.Request.Raw), bytes.Clone(x.Response.Raw)
	y.Edits, y.Redacted, y.Notes = slices.Clone(x.Edits), slices.Clone(x.Redacted), slices.Clone(x.Notes)
	return &y
}

func (c *Cleaner) exchange(x *Exchange) {
	place := fmt.Sprintf("exchange %d: ", x.N)
	for i := range x.Edits {
		c.text(place+"what was sent in place of the Host", &x.Edits[i].New)
	}
	for i, note := range x.Notes {
		word, details := noteDetails(note)
		c.text(place+"note", &details)
		x.Notes[i] = word + details
	}
	c.recode(x, place)
	had := x.Redacted
	x.Redacted = nil
	c.redactor.Pass(x, [2]int{}, true)
	for _, f := range x.Redacted {
		c.found = append(c.found, Replaced{place + f.Dir.String(), f.Off, f.Len, f.Kind})
	}
	x.Redacted = append(had, x.Redacted...)
	slices.SortStableFunc(x.Redacted, func(a, b Redaction) int {
		if a.Dir != b.Dir {
			return int(a.Dir) - int(b.Dir)
		}
		return a.Off - b.Off
	})
	x.URL = c.redactor.redactString(x.URL)
	c.text(place+"client", &x.Client)
	c.text(place+"server", &x.Server)
}

func (c *Cleaner) process(p *Process) {
	place := fmt.Sprintf("process %d: ", p.Conn)
	clean := c.redactor.RedactCommand(p.Command)
	for i, arg := range p.Command {
		if arg != clean[i] {
			c.found = append(c.found, Replaced{Place: place + "command", Kind: kindNames[apiKey]})
		}
	}
	p.Command = clean
	x := &Exchange{URL: StdioScheme, Response: p.Stderr}
	c.redactor.Pass(x, [2]int{}, true)
	for _, f := range x.Redacted {
		c.found = append(c.found, Replaced{place + "stderr", f.Off, f.Len, f.Kind})
	}
	p.Redacted = append(p.Redacted, x.Redacted...)
}

func (c *Cleaner) header(h *Header) {
	h.KeepSecrets = false
	c.text("header: to", &h.To)
	c.text("header: tool", &h.Tool)
	c.text("header: minimized", &h.Minimized)
	h.Servers = slices.Clone(h.Servers)
	for i := range h.Servers {
		c.text("header: servers", &h.Servers[i].To)
	}
	if h.Case != nil {
		k := *h.Case
		for _, s := range []*string{&k.Name, &k.Row, &k.Story, &k.Source} {
			c.text("header: case", s)
		}
		h.Case = &k
	}
}

// text replaces the secrets of a text that stands beside the bytes.
func (c *Cleaner) text(place string, s *string) {
	out := c.redactor.redactString(*s)
	if out == *s {
		return
	}
	c.found = append(c.found, Replaced{Place: place, Kind: kindNames[c.redactor.hits[0].kind]})
	*s = out
}

// A Leak is where a secret stands in a text.
type Leak struct {
	Off  int
	Kind string
}

// Leaks looks for all that this Cleaner knows in a text that is to be written, such as a report, and for what has the shape of a
// secret.
func (c *Cleaner) Leaks(text []byte) []Leak {
	r := c.redactor
	r.begin(r.raw)
	r.addRegion(region{text: text, stream: true})
	r.scanText(0)
	r.lookDeep()
	if r.values.any() {
		r.findKnown()
	}
	return r.leaks(func(h *hit) bool {
		return !isReplacement(chunkLine.ReplaceAll(r.regions[h.region].text[h.off:h.end], nil), false)
	})
}

// chunkLine is what stands between two chunks of a raw answer, as reports show it: line ends as they are or as \r and \n.
var chunkLine = regexp.MustCompile(`(?:\r|\\r)?(?:\n|\\n)[0-9A-Fa-f]{1,8}(?:\r|\\r)?(?:\n|\\n)`)

// Known looks for the values that this Cleaner has recognised in a text, such as the lines of a cassette, in all forms: it finds
// what could not be replaced where it stood, as in a field that frames a message.
func (c *Cleaner) Known(text []byte) []Leak {
	r := c.redactor
	r.begin(r.raw)
	r.addRegion(region{text: text})
	r.lookDeep()
	if r.values.any() {
		r.findKnown()
	}
	return r.leaks(func(h *hit) bool {
		return h.spelling >= 0 && r.values.spellings[h.spelling].instead == "" || h.kind == session
	})
}

// Left looks for what Clean would replace in an exchange, which stays as it is.
func (c *Cleaner) Left(x *Exchange) []Leak {
	y := x.copied()
	found := len(c.found)
	c.recode(y, "")
	c.found = c.found[:found]
	had := len(x.Redacted)
	if len(y.Notes) > len(x.Notes) {
		had = 0
	}
	c.redactor.Pass(y, [2]int{}, true)
	var leaks []Leak
	for _, f := range y.Redacted[min(had, len(y.Redacted)):] {
		leaks = append(leaks, Leak{f.Off, f.Kind})
	}
	return leaks
}

// leaks lists the hits that count, once for each place.
func (r *Redactor) leaks(counts func(*hit) bool) (list []Leak) {
	r.sortHits()
	for i := range r.hits {
		h := &r.hits[i]
		_, off, _ := r.root(h.region, h.off, h.end)
		if n := len(list); counts(h) && (n == 0 || list[n-1].Off != off) {
			list = append(list, Leak{off, kindNames[h.kind]})
		}
	}
	return list
}
