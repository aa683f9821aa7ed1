// Package corpus holds small cassettes, one case each, with the verdicts that policies must give them.
package corpus

import "github.com/mcptap/mcptap/har"

// List returns the cases' headers, sorted by name.
func List() ([]har.Case, error) { panic("stub") }

// Open reads the cassette of one case.
func Open(name string) (*har.Cassette, error) { panic("stub") }
