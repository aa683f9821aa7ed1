package analyze

import (
	"time"

	"github.com/mcptap/mcptap/har"
)

// A class says what an exchange is for; the words are those of the report.
type class uint8

const (
	other    class = iota
	probe          // server/discover before anything else of its connect
	discover       // a later server/discover
	initialize
	initialized
	request  // tools/call and ping
	optional // every other request
	notification
	response // the client answers a request of the server
	getStream
	resume // GET with Last-Event-ID
	deletion
	oauth
)

var classNames = names{"other", "probe", "discover", "initialize", "initialized", "request", "optional-method",
	"notification", "response", "get-stream", "resume", "delete", "oauth"}

// String gives the report's word.
func (c class) String() string { return classNames[c] }

// A set holds what a fact may be, one bit for each possibility: one bit is knowledge, several are "cannot tell", and the
// zero value is no knowledge at all.
type set uint16

// How much of the answer had come when the exchange ended.
const (
	unreachable set = 1 << iota // no connection to the server
	nothing                     // the server ended the connection before a response head
	malformed                   // bytes that are no HTTP, or whose end cannot be known
	silence                     // no response head when the client left
	cut                         // a head; the server broke off before the end of the body
	stalled                     // a head; the body was not whole when the client left
	whole                       // head and body
	anyAnswer   = whole<<1 - 1
)

var answerNames = names{"unreachable", "nothing", "malformed", "silence", "cut", "stalled", "whole"}

// The response's media type, as far as it matters to MCP.
const (
	mediaNone set = 1 << iota
	mediaJSON
	mediaStream
	mediaOther
	anyMedia = mediaOther<<1 - 1
)

var mediaNames = names{"none", "json", "event-stream", "other"}

// What the answer says to the request. For a body, only one that was received whole counts.
const (
	replyNone     set = 1 << iota // nothing that could be a message
	replyEmpty                    // a whole body without a byte
	replyNotJSON                  // a whole body that is no JSON
	replyInvalid                  // JSON that is no valid MCP message
	replyNo                       // valid messages, none of them a reply
	replyOtherID                  // a valid reply, to another id
	replyIDAbsent                 // a valid error without an id
	replyResult                   // the valid result
	replyError                    // the valid error
	anyReply      = replyError<<1 - 1
)

var replyNames = names{"none", "empty", "not-json", "invalid", "no-reply", "other-id", "id-absent", "result", "error"}

// Where the reply stood.
const (
	viaNothing set = 1 << iota
	viaBody        // in the JSON body
	viaEvent       // an event of the answer's own stream
	viaStream      // an event of another exchange's stream
	anyVia     = viaStream<<1 - 1
)

var viaNames = names{"none", "body", "event", "stream"}

// How the versions that the server names relate to those of a policy.
const (
	offerUnusable set = 1 << iota // no list of versions, or no such result
	offerLegacy                   // legacy versions only
	offerModern                   // a modern version, none in common
	offerCommon
	anyOffer = offerCommon<<1 - 1
)

var offerNames = names{"unusable", "legacy", "modern", "common"}

// What is wrong with data.supported of a -32022 that names no version.
const (
	listFilled set = 1 << iota
	listAbsent
	listEmpty
	listMalformed
	anyList = listMalformed<<1 - 1
)

var listNames = names{"filled", "absent", "empty", "malformed"}

// What the stream of HTTP+SSE said of where to send messages.
const (
	endpointAbsent set = 1 << iota
	endpointSame
	endpointForeign
	anyEndpoint = endpointForeign<<1 - 1
)

var endpointNames = names{"absent", "same-origin", "foreign"}

// How the event that carries the reply was ended and named; clients differ there.
const (
	eventPlain        set = 1 << iota // as the standard has it
	eventLoneCR                       // ended by a lone CR, with nothing behind it
	eventTyped                        // under an event type other than message
	eventUnterminated                 // without the blank line
	anyEvent          = eventUnterminated<<1 - 1
)

var eventNames = names{"plain", "lone-cr-at-end", "other-type", "unterminated"}

// names are the words of consecutive constants, in their order.
type names []string

// word gives the word of a set with one bit, "" for any other.
func (n names) word(s set) string {
	for i, w := range n {
		if s == 1<<i {
			return w
		}
	}
	return ""
}

// facts are what is known of one exchange without any policy. They hold no bytes of it.
type facts struct {
	n    int
	conn uint64

	transport              set
	answer, media          set
	kind                   set // reply*
	via                    set
	eventEnd               set
	endpoint               set
	class                  class
	complete               har.Tri
	alien                  alien    // what headless looks like
	requestAlien           alien    // the protocol that the client spoke instead of HTTP/1.1
	clientLine, serverLine lineForm // over stdio: the client's line, the server's
	mcp                    bool     // by itself evidence that its origin speaks MCP
	mislabelled            bool     // the body is plain although Content-Encoding names a coding
	browser                bool     // the request was made by a web page
	jsonInStream           bool     // what calls itself an event stream is plain JSON
	badUTF8                bool     // the body is JSON but for bytes that are not UTF-8
	odd                    bool     // the answer has something that some clients choke on: a BOM, an array, an event to skip
	eventID                bool     // an event id came
	batch                  bool     // the body is an array
	badEvent               bool     // an event that is no valid message came before the reply
	superseded             bool     // followed redirects, and refusals repeated with credentials: another exchange decides
	again                  bool     // the corrective retry of a probe, or the one repetition of a call in a new session

	client, server string // host of the client, host:port of the server
	url, origin    string // without query; scheme and host
	query          string
	httpMethod     string
	location       string // of a redirect, absolute

	started, finished time.Time // first byte; the answer was whole, or the exchange ended
	firstByte         time.Duration

	req        reqFacts
	status     int
	reason     string
	interim    []int // statuses of 1xx responses before the final one
	headBytes  int
	mediaType  string
	served     *serverMark // the mark of a server's library in the response's header
	encoding   string      // Content-Encoding, "" if none
	undecoded  string      // why the body could not be decoded, "" if it was
	faults     []string
	faultAt    []faultAt
	reqFaults  []string
	reqFaultAt []faultAt
	head       *headFacts    // shared by exchanges that have the same
	date       time.Time     // Date of the answer; zero if none
	idle       time.Duration // of the connection before the request
	flow       *flowFacts    // of an event stream
	reqBody    spanned       // the request's body
	reqHead    int           // bytes of the request's head

	extra     spanned // bytes behind the end of the answer
	end       har.Ending
	notes     []string
	late      int
	headless  spanned // bytes that came where a response head was awaited, and are none
	limit     string  // which limit of the analysis kept the body from being read, "" if none
	body      string  // empty, json, not-json, html, text, event-stream, opaque
	bodyAt    spanned
	bom       spanned // a byte order mark before the JSON body or the event stream
	statusAt  spanned // the final response's status line
	retry     string  // Retry-After
	challenge string  // WWW-Authenticate
	cause     int     // of an exchange of OAuth: the exchange whose refusal of credentials it follows from, 0 if that cannot be told
	issued    string  // Mcp-Session-Id of the answer

	reply   message       // what answers the request, wherever it stood
	replyN  int           // exchange that carried it, if via is viaStream
	replyAt time.Duration // since started; when the reply was whole

	events, comments int
	lastEventID      string
	retryMS          int
	endpointURL      string
	endpointPast     bool // it is absolute and the server's own, and the client had asked a proxy at another address
	serverRequests   int
	stream           []streamReply
	dropped          int // replies beyond maxStreamReplies

	reqBytes, respBytes int

	ifClosed *facts          // the same, with a reset of a close-delimited body taken for its end
	lax      [readers]*facts // the same as the lenient readers see it; nil where that changes nothing
	followed *facts          // the request that followed this redirect
	lostBody *facts          // the GET that followed this redirect of a POST
	answers  *facts          // over stdio: the request that this line replies to, under its id in another type
	repeats  *facts          // the exchange that this one repeats in a new session
	connect  *connect
	conf     *conformed // what the message shapes and rules of the revisions ask, nil for none
}

// reqFacts are what the request says.
type reqFacts struct {
	method    string   // JSON-RPC
	id        string   // raw JSON; "" if absent
	key       string   // id for comparison: strings unescaped, numbers as sent
	batchIDs  []string // of the requests of a batch, as keys
	version   string   // protocol version in the body
	header    string   // MCP-Protocol-Version
	session   string   // Mcp-Session-Id
	auth      string   // fingerprint of Authorization, "" if absent
	lastEvent string   // Last-Event-ID
	accept    string
	agent     string
	info      implementation
	shape     string // member order, such as "jsonrpc,id,method"
	params    string // first member of params
	call      callHash
	kind      string // request, notification, result, error, batch, invalid, ""
	dup       []duplicate
	requests  int    // JSON-RPC requests in it
	cancels   string // requestId of notifications/cancelled, for comparison
	cursor    bool   // params has a cursor

	marks   set // of how it is written
	batch   bool
	probeID bool // the id has the TypeScript client's probe prefix
	json    bool
}

// An implementation is a name with its version, as clientInfo and serverInfo give them.
type implementation struct{ name, version string }

// spanned is a place in one direction's raw bytes. ok is false where none can be named.
type spanned struct {
	off, len int
	ok       bool
}

// A faultAt is a departure from RFC 9112 and the bytes that show it.
type faultAt struct {
	name string
	at   spanned
}

// A streamReply is a reply on an event stream to a request of another exchange.
type streamReply struct {
	key string
	at  time.Time
	msg message
}

// maxStreamReplies bounds the replies kept per stream.
const maxStreamReplies = 1 << 16

// modern tells whether a version string names a revision without a handshake. Clients compare as strings.
func modern(version string) bool { return version >= firstModern }

const firstModern = "2026-07-28"

// era gives the era of the request: by the version in its body, else by its header.
func (r *reqFacts) era() set {
	v := r.version
	if v == "" {
		v = r.header
	}
	if r.method != "initialize" && modern(v) {
		return eraModern
	}
	return eraLegacy
}

const (
	eraLegacy set = 1 << iota
	eraModern
	anyEra = eraModern<<1 - 1
)

var eraNames = names{"legacy", "modern"}

const (
	overHTTP set = 1 << iota
	overSSE
	overStdio
	anyTransport = overStdio<<1 - 1
)

var transportNames = names{"streamable-http", "http+sse", "stdio"}
