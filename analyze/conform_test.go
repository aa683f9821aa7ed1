package analyze

import (
	"slices"
	"strings"
)

// beyondConformance leaves out findings of conformance, for tests of others whose scenes are terse.
func beyondConformance(list []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(list), ofConformance)
}

func ofConformance(f Finding) bool {
	return f.ID == nonconforming.id || strings.HasPrefix(f.ID, "conform-")
}
