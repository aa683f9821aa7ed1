package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/analyze"
)

// maxMarkdown is how many bytes of Markdown are written: GitHub takes 65,536 characters in an issue.
const maxMarkdown = 60_000

// A markdownText is a report to be pasted into an issue. What comes from a recording stands in code spans and fenced
// blocks only, whose fences are longer than any run of backticks within: nothing there is markup, a mention or a link.
type markdownText struct {
	*document
	strings.Builder
	shown map[int]bool // exchanges whose answer is shown already
	left  int          // blocks that were left out for want of room
}

func writeMarkdown(_ *app, w io.Writer, d *document) error {
	t := &markdownText{document: d, shown: map[int]bool{}}
	t.WriteString("## mcptap: " + countText(d.Report) + "\n")
	for i := range t.Conversations {
		t.block(t.about(&t.Conversations[i]))
	}
	for _, f := range worstFirst(d.Report) {
		t.block(t.finding(f))
	}
	for i := range t.Conversations {
		c := &t.Conversations[i]
		t.table(fmt.Sprintf("\n### Timeline of conversation %d\n\n", c.ID), t.of(c.ID))
	}
	t.table("\n### Outside any conversation\n\n", t.of(0))
	if t.left > 0 {
		fmt.Fprintf(t, "\n%d parts are left out here: `mcptap analyze` has all.\n", t.left)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// block adds a part if there is room for it.
func (t *markdownText) block(s string) {
	if t.Len()+len(s) > maxMarkdown {
		t.left++
		return
	}
	t.WriteString(s)
}

func (t *markdownText) about(c *analyze.Conversation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### Conversation %d\n\n", c.ID)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, codeSpan(value))
		}
	}
	line("client", clientText(c.Client))
	line("server", serverText(c.Server))
	line("endpoint", c.Endpoint+" over "+c.Transport)
	line("policy", c.Client.Policy)
	line("observed", observedText(c))
	for _, name := range policyNames(c.Predicted) {
		line("predicted by "+name, predictionText(c.Predicted[name]))
	}
	sentences, _ := t.courseText(c)
	for _, s := range sentences {
		line("then", s)
	}
	line("mcptap", t.version)
	return b.String()
}

func (t *markdownText) finding(f *analyze.Finding) string {
	lines := append([]string{oneLine(f.Message)}, t.findingLines(f)...)
	s := fmt.Sprintf("\n### %s: %s\n\n%s", f.Severity, codeSpan(f.ID), fenced(strings.Join(lines, "\n")))
	n := f.Exchanges[0]
	if raw := t.answers[n]; raw != nil && !t.shown[n] {
		t.shown[n] = true
		s += fmt.Sprintf("\nThe answer to exchange %d:\n\n%s", n, fenced(answerLines(raw)))
	}
	return s
}

// maxRows is how many exchanges of a conversation are listed.
const maxRows = 50

// table lists exchanges, those of findings and the first ones if there are too many.
func (t *markdownText) table(heading string, rows []*analyze.Exchange) {
	if len(rows) == 0 {
		return
	}
	verdicts := map[string]bool{}
	for _, x := range rows {
		for p := range x.Verdicts {
			verdicts[p] = true
		}
	}
	policies := policyNames(verdicts)
	policies = policies[:min(len(policies), maxColumns)]
	var b strings.Builder
	b.WriteString(heading + "| n | at | took | class | method | answer |")
	for _, p := range policies {
		b.WriteString(" " + p + " |")
	}
	b.WriteString("\n|---|---|---|---|---|---|" + strings.Repeat("---|", len(policies)) + "\n")
	for _, x := range rows[:min(len(rows), maxRows)] {
		o := x.Observation()
		cells := []string{strconv.Itoa(x.N), millisText(x.At), millisText(o.Duration), x.Class, cellSpan(orDash(o.RPCMethod)), cellSpan(answerText(o))}
		for _, p := range policies {
			cells = append(cells, cellSpan(verdictText(x.Verdicts[p])))
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	if more := len(rows) - maxRows; more > 0 {
		fmt.Fprintf(&b, "\n%s more.\n", count(more, "exchange"))
	}
	t.block(b.String())
}

// maxSpan bounds a code span, in characters.
const maxSpan = 600

// codeSpan puts text into one code span, whatever it has.
func codeSpan(s string) string {
	s = clip(oneLine(s), maxSpan)
	if strings.TrimSpace(s) == "" {
		return "-"
	}
	fence := strings.Repeat("`", longestRun(s)+1)
	return fence + " " + s + " " + fence
}

// cellSpan is a code span in a table, where a bar ends the cell even within one.
func cellSpan(s string) string {
	return codeSpan(strings.ReplaceAll(s, "|", `\x7c`))
}

// fenced puts lines into a fenced code block.
func fenced(s string) string {
	fence := strings.Repeat("`", max(3, longestRun(s)+1))
	return fence + "text\n" + strings.TrimSuffix(s, "\n") + "\n" + fence + "\n"
}

// longestRun is the length of the longest run of backticks.
func longestRun(s string) int {
	runs := strings.FieldsFunc(s, func(r rune) bool { return r != '`' })
	longest := slices.MaxFunc(append(runs, ""), func(a, b string) int { return len(a) - len(b) })
	return len(longest)
}
