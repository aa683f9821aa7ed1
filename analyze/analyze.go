// Package analyze says what recorded exchanges mean under the negotiation rules of the specification and of each client.
// It is a pure function: no clock, no network, no files.
package analyze

import (
	"iter"

	"github.com/mcptap/mcptap/har"
)

// Options choose what is judged.
type Options struct {
	Policies []string // names, or "all"; nil: recommended and the recognised client's
	AllHTTP  bool     // include exchanges that are not MCP
}

// A Report is what `analyze --format json` prints (format mcptap-analysis/1).
type Report struct {
	Format string `json:"format"`
}

// Analyze judges exchanges, given in any order. An error comes from the sequence or from an unknown policy's name.
func Analyze(exchanges iter.Seq2[*har.Exchange, error], o Options) (*Report, error) { panic("stub") }
