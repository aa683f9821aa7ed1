package analyze

// A Finding is what a person should read.
type Finding struct {
	ID        string     `json:"id"`
	Severity  string     `json:"severity"` // error, warning, note
	Fault     string     `json:"fault"`    // client, server, intermediary, capture, unknown
	Exchanges []int      `json:"exchanges"`
	Message   string     `json:"message"`
	Fix       string     `json:"fix"`
	Rule      string     `json:"rule"` // "" if no rule of a policy is behind it
	Cost      Cost       `json:"cost"`
	Evidence  []Evidence `json:"evidence"`
}

// A Cost is what it cost the client.
type Cost struct {
	MS       int64 `json:"ms"`       // waited
	Requests int   `json:"requests"` // sent in vain or once more
}

// Evidence is a run of an exchange's raw bytes.
type Evidence struct {
	Exchange int    `json:"exchange"`
	Side     string `json:"side"` // request, response
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
}

func (a *analysis) find() []Finding { return nil }

func FindingIDs() []string { return nil }
