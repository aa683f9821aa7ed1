package analyze

// A FindingKind is what all findings of one ID have in common, as docs/findings.md has it. Words in capitals stand for
// what was recorded.
type FindingKind struct {
	ID       string
	Severity []string // error, warning, note
	Message  []string // each thing that it can say
	Fix      []string
}

// FindingKinds lists the findings that a report can have, by ID.
func FindingKinds() []FindingKind {
	var kinds []FindingKind
	for _, r := range findingTable() {
		kinds = append(kinds, FindingKind{r.id, r.severity, r.message, r.fix})
	}
	return kinds
}
