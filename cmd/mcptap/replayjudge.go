package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/har"
)

// maxJudged is how many bytes of packed traffic are kept for --expect.
const maxJudged = 512 << 20

// A judge keeps a replay's traffic in memory and compares what the client did with what --expect and --expect-finding want.
type judge struct {
	wants []string
	file  judged
	rec   *capture.Recorder
}

type judged struct{ bytes.Buffer }

func (b *judged) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxJudged {
		return 0, fmt.Errorf("more than %d MiB of traffic: --expect does not judge that much", maxJudged>>20)
	}
	return b.Buffer.Write(p)
}

// newJudge checks the expectations; it is nil if there are none.
func (o *replayOptions) newJudge(c *cobra.Command) (*judge, error) {
	j := &judge{wants: slices.Concat(o.expect, o.expectFindings)}
	if len(j.wants) == 0 {
		return nil, nil
	}
	for _, w := range o.expect {
		if err := analyze.Expectable(w); err != nil {
			return nil, usage(c, "--expect: %v", err)
		}
	}
	for _, w := range o.expectFindings {
		if !slices.Contains(analyze.FindingIDs(), w) {
			return nil, usage(c, "--expect-finding %s: no finding has that ID (docs/findings.md)", w)
		}
	}
	w, err := har.NewWriter(&j.file, har.Header{Tool: "mcptap " + version(), Mode: "replay", KeepSecrets: true}, false)
	if err != nil {
		return nil, err
	}
	j.rec = capture.NewRecorder(w, nil)
	return j, nil
}

// A ruling is what became of one expectation.
type ruling struct {
	want string
	err  error // nil if it was met
}

// rule judges all expectations, when the traffic is over.
func (j *judge) rule() ([]ruling, error) {
	if j == nil {
		return nil, nil
	}
	if err := j.rec.Close(); err != nil {
		return nil, fmt.Errorf("--expect: %w", err)
	}
	r, err := har.NewReader(&j.file.Buffer, har.Limits{})
	if err != nil {
		return nil, fmt.Errorf("--expect: %w", err)
	}
	report, err := analyze.Analyze(r.All(), analyze.Options{})
	if err != nil {
		return nil, fmt.Errorf("--expect: %w", err)
	}
	var all []ruling
	for _, w := range j.wants {
		all = append(all, ruling{w, report.Expect(w)})
	}
	return all, nil
}
