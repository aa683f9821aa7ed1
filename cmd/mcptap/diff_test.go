package main

import (
	"testing"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/diff"
)

// No recording differs from itself, whatever is odd about it.
func TestCorpusDiffersNotFromItself(t *testing.T) {
	for name, k := range corpusCases(t) {
		for _, o := range []diff.Options{{Factor: 2}, {Bytes: true, Policies: []string{analyze.Recommended, "ts-1.32.2"}}} {
			if r, err := diff.Compare(k.Exchanges, k.Exchanges, o); err != nil || !r.Same() || r.Compared != len(k.Exchanges) {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
	}
}
