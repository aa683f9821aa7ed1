package har

import (
	"bytes"
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
	counts   map[string]int
}

// NewCleaner returns a Cleaner for one recording.
func NewCleaner(rules []Rule, strict bool) *Cleaner {
	c := &Cleaner{redactor: NewRedactor(), counts: map[string]int{}}
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
	clear(c.counts)
	for _, p := range k.Processes {
		c.process(p)
	}
	for _, x := range k.Exchanges {
		c.exchange(x)
	}
	c.header(&k.Header)
	if k.End != nil {
		k.End.Error, k.End.Redacted = c.text(k.End.Error), 0
	}
}

// Counts gives how many ranges were replaced by the last Clean, by kind; those in compressed bodies included.
func (c *Cleaner) Counts() map[string]int { return c.counts }

// copied is a copy of all that a Redactor changes.
func (x *Exchange) copied() *Exchange {
	y := *x
	y.Request.Raw, y.Response.Raw = bytes.Clone(x.Request.Raw), bytes.Clone(x.Response.Raw)
	y.Edits, y.Redacted, y.Notes = slices.Clone(x.Edits), slices.Clone(x.Redacted), slices.Clone(x.Notes)
	return &y
}

func (c *Cleaner) exchange(x *Exchange) {
	c.recode(x)
	had := len(x.Redacted)
	c.redactor.Pass(x, [2]int{}, true)
	for _, f := range x.Redacted[had:] {
		c.counts[f.Kind]++
	}
	slices.SortStableFunc(x.Redacted, func(a, b Redaction) int {
		if a.Dir != b.Dir {
			return int(a.Dir) - int(b.Dir)
		}
		return a.Off - b.Off
	})
	if x.URL = c.text(x.URL); x.Client != "" || x.Server != "" {
		x.Client, x.Server = c.text(x.Client), c.text(x.Server)
	}
	for i := range x.Notes {
		x.Notes[i] = c.text(x.Notes[i])
	}
}

func (c *Cleaner) process(p *Process) {
	p.Command = c.redactor.RedactCommand(p.Command)
	x := &Exchange{URL: StdioScheme, Response: p.Stderr}
	c.redactor.Pass(x, [2]int{}, true)
	for _, f := range x.Redacted {
		c.counts[f.Kind]++
	}
	p.Redacted = append(p.Redacted, x.Redacted...)
}

func (c *Cleaner) header(h *Header) {
	h.KeepSecrets = false
	h.To, h.Tool, h.Minimized = c.text(h.To), c.text(h.Tool), c.text(h.Minimized)
	h.Servers = slices.Clone(h.Servers)
	for i := range h.Servers {
		h.Servers[i].To = c.text(h.Servers[i].To)
	}
	if h.Case != nil {
		k := *h.Case
		k.Name, k.Row, k.Story, k.Source = c.text(k.Name), c.text(k.Row), c.text(k.Story), c.text(k.Source)
		h.Case = &k
	}
}

func (c *Cleaner) text(s string) string { return c.redactor.redactString(s) }

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
	c.recode(y)
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
