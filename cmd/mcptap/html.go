package main

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/mcptap/mcptap/analyze"
)

//go:embed report.html.tmpl
var htmlSource string

// htmlPage is the report as one page: no script, no reference to anything else. html/template escapes every value for
// its place; show makes what steers or hides text visible before that.
var htmlPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"show": visible, "millis": millisText, "client": clientText, "server": serverText, "observed": func(c analyze.Conversation) string { return observedText(&c) },
	"prediction": predictionText, "answer": answerText, "verdict": verdictText, "exchanges": exchangesText, "cost": costText,
	"policies": policyNames[analyze.Verdict], "predictors": policyNames[analyze.Prediction],
	"lines": answerLines,
}).Parse(htmlSource))

// An htmlReport is what the template sees.
type htmlReport struct {
	*document
	Release, Counts string
	Worst           []*analyze.Finding
	Loose           []*analyze.Exchange
}

func writeHTML(_ *app, w io.Writer, d *document) error {
	return htmlPage.Execute(w, &htmlReport{d, d.version, countText(d.Report), worstFirst(d.Report), d.of(0)})
}

// Of, Course, Rule, Evidence and Answer are what the template asks of a report.
func (h *htmlReport) Of(c analyze.Conversation) []*analyze.Exchange { return h.of(c.ID) }

func (h *htmlReport) Course(c analyze.Conversation) []string {
	sentences, _ := h.courseText(&c)
	return sentences
}

func (h *htmlReport) Rule(f *analyze.Finding) string { return h.ruleText(f) }

func (h *htmlReport) Evidence(e analyze.Evidence) string { return h.evidenceText(e) }

func (h *htmlReport) Answer(f *analyze.Finding) []byte { return h.answers[f.Exchanges[0]] }
