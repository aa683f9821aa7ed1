package main

import (
	"fmt"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

// bypass says which URL of OAuth leads a client of the reverse door past it, "" if none does.
func bypass(v *har.View) string {
	name, to := analyze.OAuthPastProxy(v)
	if to == nil {
		return ""
	}
	return fmt.Sprintf("%s names %s: clients go there past this recording; record --forward has that too", name, safeURL(to))
}
