package main

import (
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/analyze"
)

// The SARIF 2.1.0 log (OASIS sarif-v2.1.0): a rule per kind of finding, a result per finding. The recording is an
// artifact; each side of an exchange that is evidence is one nested in it, whose bytes the regions count.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool       `json:"tool"`
	ColumnKind string          `json:"columnKind"`
	Artifacts  []sarifArtifact `json:"artifacts"`
	Results    []sarifResult   `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	URI     string      `json:"informationUri"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string       `json:"id"`
	Short   sarifText    `json:"shortDescription"`
	Full    sarifText    `json:"fullDescription"`
	Help    sarifText    `json:"help"`
	Default sarifDefault `json:"defaultConfiguration"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifDefault struct {
	Level string `json:"level"`
}

type sarifArtifact struct {
	Location sarifArtifactLocation `json:"location"`
	Parent   *int                  `json:"parentIndex,omitempty"`
	Roles    []string              `json:"roles,omitempty"`
}

type sarifArtifactLocation struct {
	URI   string `json:"uri"`
	Index int    `json:"index"`
}

type sarifResult struct {
	RuleID     string          `json:"ruleId"`
	RuleIndex  int             `json:"ruleIndex"`
	Level      string          `json:"level"`
	Message    sarifText       `json:"message"`
	Locations  []sarifLocation `json:"locations"`
	Related    []sarifLocation `json:"relatedLocations,omitempty"`
	Properties map[string]any  `json:"properties"`
}

type sarifLocation struct {
	ID       *int           `json:"id,omitempty"`
	Message  *sarifText     `json:"message,omitempty"`
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifactLocation `json:"artifactLocation"`
	Region   *sarifRegion          `json:"region,omitempty"`
}

type sarifRegion struct {
	Offset  int        `json:"byteOffset"`
	Length  int        `json:"byteLength"`
	Snippet *sarifText `json:"snippet,omitempty"`
}

type sarifLogical struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

const (
	sarifSchema = "https://json.schemastore.org/sarif-2.1.0.json"
	projectURI  = "https://github.com/mcptap/mcptap"
)

// A sarifBuilder gathers rules and artifacts as results name them.
type sarifBuilder struct {
	*document
	run   sarifRun
	rules map[string]int
	at    map[string]int // artifacts by URI, for those within a recording by its URI and theirs
}

func writeSARIF(_ *app, w io.Writer, d *document) error {
	b := &sarifBuilder{document: d, rules: map[string]int{}, at: map[string]int{}}
	b.run = sarifRun{ColumnKind: "unicodeCodePoints", Artifacts: []sarifArtifact{}, Results: []sarifResult{}}
	b.run.Tool.Driver = sarifDriver{Name: "mcptap", Version: d.version, URI: projectURI, Rules: []sarifRule{}}
	for _, f := range d.files {
		b.recording(f.name)
	}
	b.addRules()
	for _, f := range worstFirst(d.Report) {
		b.run.Results = append(b.run.Results, b.result(f))
	}
	return indented(w, sarifLog{sarifSchema, "2.1.0", []sarifRun{b.run}})
}

// addRules describes the kinds of findings that the report has.
func (b *sarifBuilder) addRules() {
	for _, k := range analyze.FindingKinds() {
		if !slices.ContainsFunc(b.Findings, func(f analyze.Finding) bool { return f.ID == k.ID }) {
			continue
		}
		level := "note"
		for _, severity := range severities {
			if slices.Contains(k.Severity, severity) {
				level = severity
				break
			}
		}
		b.rules[k.ID] = len(b.run.Tool.Driver.Rules)
		b.run.Tool.Driver.Rules = append(b.run.Tool.Driver.Rules, sarifRule{
			k.ID, sarifText{strings.ReplaceAll(k.ID, "-", " ")}, sarifText{strings.Join(k.Message, "\n")},
			sarifText{strings.Join(k.Fix, "\n")}, sarifDefault{level},
		})
	}
}

func (b *sarifBuilder) result(f *analyze.Finding) sarifResult {
	r := sarifResult{
		RuleID: f.ID, RuleIndex: b.rules[f.ID], Level: f.Severity, Message: sarifText{oneLine(f.Message)},
		Properties: map[string]any{"fault": f.Fault, "exchanges": f.Exchanges, "fix": f.Fix, "rule": f.Rule, "cost": f.Cost},
	}
	n := f.Exchanges[0]
	at := sarifLocation{Physical: sarifPhysical{Artifact: b.recording(b.file(n))}}
	for _, m := range f.Exchanges {
		at.Logical = append(at.Logical, sarifLogical{fmt.Sprintf("exchange %d", m), "member"})
	}
	r.Locations = []sarifLocation{at}
	for i, e := range f.Evidence {
		id := i + 1
		r.Related = append(r.Related, sarifLocation{
			ID: &id, Message: &sarifText{fmt.Sprintf("exchange %d, %s", e.Exchange, e.Side)},
			Physical: sarifPhysical{b.side(e), &sarifRegion{e.Offset, e.Length, &sarifText{b.quotes[e]}}},
		})
	}
	return r
}

// recording is the artifact of a file.
func (b *sarifBuilder) recording(name string) sarifArtifactLocation {
	return b.artifact(fileURI(name), "", nil)
}

// side is the artifact, within its recording, of one side of an exchange: the bytes that `mcptap show --raw` writes.
func (b *sarifBuilder) side(e analyze.Evidence) sarifArtifactLocation {
	in := b.recording(b.file(e.Exchange))
	return b.artifact(fmt.Sprintf("/exchange/%d/%s", b.own(e.Exchange), e.Side), in.URI, &in.Index)
}

func (b *sarifBuilder) artifact(uri, in string, parent *int) sarifArtifactLocation {
	key := in + " " + uri
	i, ok := b.at[key]
	if !ok {
		i = len(b.run.Artifacts)
		b.at[key] = i
		a := sarifArtifact{Location: sarifArtifactLocation{uri, i}, Parent: parent}
		if parent == nil {
			a.Roles = []string{"analysisTarget"}
		}
		b.run.Artifacts = append(b.run.Artifacts, a)
	}
	return sarifArtifactLocation{uri, i}
}

// fileURI gives the URI of a recording as it was named: relative for a relative path, corpus:NAME and - as they are.
func fileURI(name string) string {
	switch {
	case !isPath(name):
		return (&url.URL{Path: strings.ReplaceAll(name, corpusName, "corpus/")}).String()
	case filepath.IsAbs(name):
		return (&url.URL{Scheme: "file", Path: path.Clean("/" + filepath.ToSlash(name))}).String()
	}
	return (&url.URL{Path: filepath.ToSlash(name)}).String()
}
