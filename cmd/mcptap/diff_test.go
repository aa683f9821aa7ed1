package main

import (
	"testing"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/corpus"
	"github.com/mcptap/mcptap/diff"
)

// No recording differs from itself, whatever is odd about it.
func TestCorpusDiffersNotFromItself(t *testing.T) {
	cases, err := corpus.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		k, err := corpus.Open(c.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []diff.Options{{Factor: 2}, {Bytes: true, Policies: []string{analyze.Recommended, "ts-1.32.2"}}} {
			if r, err := diff.Compare(k.Exchanges, k.Exchanges, o); err != nil || !r.Same() || r.Compared != len(k.Exchanges) {
				t.Errorf("%s: %+v, %v", c.Name, r, err)
			}
		}
	}
}
