package wire

// Limits of the JSON gate.
const (
	MaxJSON  = 64 << 20 // bytes of one JSON text
	MaxDepth = 256      // levels of nesting
)

// A Kind is what a JSON text is in JSON-RPC 2.0, read strictly: jsonrpc is "2.0", params is an object or an array, an error
// has an integer code and a string message, no other member stands at the top level, and an id is a string or an integer,
// never null, as in the MCP schema (2026-07-28), where only an error may lack it.
type Kind uint8

const (
	Invalid      Kind = iota // not JSON, or JSON that is no JSON-RPC 2.0 message; Why says which
	Request                  // method and id
	Notification             // method, id absent
	Result                   // result and id
	Error                    // error, with an id or without
	Batch                    // an array; Items holds its elements
)

// An RPC is what the strict gate found in one JSON text. Raw members are slices of the input; offsets are relative to
// its first byte.
type RPC struct {
	Kind Kind
	JSON bool   // the whole input is one valid JSON text
	Why  string // for Invalid: the first reason, in words

	Version string // the jsonrpc member if it is a string
	ID      Member // as sent; `1` and `1.0` and `"1"` differ
	Method  string
	Params  Member
	Result  Member
	Error   *RPCError // the readable error member, also of a message that is Invalid for other reasons

	Extra      []string // the first MaxExtra top-level members that JSON-RPC does not define
	Duplicates []Duplicate
	Items      []RPC // of a batch, at most MaxBatch
}

// MaxBatch is how many elements of a batch are looked at.
const MaxBatch = 4096

// A Member is one member's value as sent. Raw is nil if the member is absent, `null` if it is null.
type Member struct {
	Raw []byte
	Off int
}

// Present tells whether the member is there, null included.
func (m Member) Present() bool { return m.Raw != nil }

// Null tells whether the member is there and null.
func (m Member) Null() bool { return string(m.Raw) == "null" }

// An RPCError is the error member of a response.
type RPCError struct {
	Member
	Code      int64 // valid iff CodeOK
	CodeOK    bool  // code is a number without fraction that fits
	Message   string
	MessageOK bool // message is a string
	Data      Member
}

// A Duplicate is a member name that stands more than once in an object (compared unescaped), with the values of its first
// and last appearance. Clients take the last.
type Duplicate struct {
	Name        string
	First, Last Member
}
