package main

import (
	"bytes"
	"testing"

	"github.com/mcptap/mcptap/analyze"
)

// TestJSONReportByElement holds that a report written by element is the same text as one that is written at once.
func TestJSONReportByElement(t *testing.T) {
	a := &app{stderr: &bytes.Buffer{}}
	full, err := a.document([]string{"corpus:probe-error-id-null", "corpus:optional-422-method-not-found"}, analyze.Options{})
	if err != nil {
		t.Fatal(err)
	}
	empty := &analyze.Report{Format: analyze.Format, Conversations: []analyze.Conversation{}, Exchanges: []analyze.Exchange{}, Findings: []analyze.Finding{}}
	for name, r := range map[string]*analyze.Report{"full": full.Report, "empty": empty} {
		var got, want bytes.Buffer
		if err := writeReport(&got, r); err != nil {
			t.Fatal(err)
		}
		if err := indented(&want, r); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%s:\n%s\nwant\n%s", name, got.String(), want.String())
		}
	}
}
