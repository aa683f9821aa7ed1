package replay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A Fault makes a recorded server misbehave: it says which answers are disturbed and how (docs/faults.md). ParseFault
// makes one.
type Fault struct {
	who   string // a class, a JSON-RPC method, "exchange" or "any"
	n     int    // of exchange
	nth   int    // only the n-th request that who names, from 1; 0 for all
	what  string // the action's first word
	code  int64  // of status and error
	text  string // body, message, media type, header name or id
	after int    // recorded bytes that are sent before an ending
	delay time.Duration
}

// maxFault bounds the text of a fault, maxDelay the time that one may hold an answer back.
const (
	maxFault = 64 << 10
	maxDelay = time.Hour
)

// The classes that a selector may name, beside JSON-RPC methods.
var faultClasses = []string{"any", "probe", "initialize", "initialized", "request", "notification", "response", "get-stream", "resume", "delete", "other"}

// The actions, by their first word. Those that stand before "delay" make an answer of their own.
const (
	doStatus  = "status"
	doSession = "404"
	doError   = "error"
	doFIN     = "fin"
	doRST     = "rst"
	doHang    = "hang"
	doDelay   = "delay"
	doBody    = "body"
	doID      = "id"
	doType    = "type"
	doDrop    = "drop"
)

var faultActions = []string{"status CODE [BODY]", "404 session", "error CODE [MESSAGE]", "fin|rst|hang [after N bytes]", "delay DURATION",
	"body TEXT", "id JSON", "type MEDIA-TYPE", "drop HEADER"}

// ParseFault reads "SELECTOR: ACTION". An error says what was expected.
func ParseFault(text string) (Fault, error) {
	var f Fault
	if len(text) > maxFault {
		return f, fmt.Errorf("a fault of %d bytes: want at most %d", len(text), maxFault)
	}
	who, what, ok := strings.Cut(text, ":")
	if !ok {
		return f, fmt.Errorf("fault %q: want SELECTOR: ACTION, such as \"probe: status 503\"", clip(text))
	}
	if err := f.parseSelector(strings.TrimSpace(who)); err != nil {
		return f, fmt.Errorf("fault %q: %w", clip(text), err)
	}
	if err := f.parseAction(strings.TrimSpace(what)); err != nil {
		return f, fmt.Errorf("fault %q: %w", clip(text), err)
	}
	return f, nil
}

func (f *Fault) parseSelector(s string) error {
	word, nth, counted := strings.Cut(s, "#")
	if counted {
		n, err := strconv.Atoi(nth)
		if err != nil || n < 1 {
			return fmt.Errorf("%q: want a number from 1 behind #", clip(s))
		}
		f.nth = n
	}
	f.who = word
	if n, ok := strings.CutPrefix(word, "exchange "); ok {
		number, err := strconv.Atoi(strings.TrimSpace(n))
		if err != nil || number < 1 || counted {
			return fmt.Errorf("%q: want exchange N, the number that mcptap show prints", clip(s))
		}
		f.who, f.n = "exchange", number
		return nil
	}
	if slices.Contains(faultClasses, word) || word == "ping" || strings.Contains(word, "/") && !strings.ContainsAny(word, " \t") {
		return nil
	}
	return fmt.Errorf("%q selects nothing: want %s, exchange N, or a JSON-RPC method such as tools/call; #2 behind it for the second only",
		clip(s), strings.Join(faultClasses, ", "))
}

func (f *Fault) parseAction(s string) error {
	word, rest, _ := strings.Cut(s, " ")
	rest = strings.TrimSpace(rest)
	f.what = word
	switch word {
	case doStatus:
		return f.parseCode(rest, 200, 599, "status CODE [BODY] with a code from 200 to 599")
	case doError:
		return f.parseCode(rest, -1<<31, 1<<31, "error CODE [MESSAGE] with an integer code")
	case doSession:
		if rest != "session" {
			return fmt.Errorf("want 404 session; other answers are made by status CODE")
		}
		return nil
	case doFIN, doRST, doHang:
		return f.parseAfter(word, rest)
	case doDelay:
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > maxDelay {
			return fmt.Errorf("delay %q: want a duration such as 2s or 150ms, at most %v", clip(rest), maxDelay)
		}
		f.delay = d
		return nil
	case doID:
		if f.text = rest; !json.Valid([]byte(rest)) {
			return fmt.Errorf("id %q: want a JSON value such as null or 7", clip(rest))
		}
		return nil
	case doBody:
		f.text = rest
		return nil
	case doType, doDrop:
		if f.text = rest; rest == "" || strings.ContainsAny(rest, "\r\n") || word == doDrop && strings.ContainsAny(rest, ": \t") {
			return fmt.Errorf("want type MEDIA-TYPE or drop HEADER")
		}
		return nil
	}
	return fmt.Errorf("%q is no action: want %s", clip(word), strings.Join(faultActions, ", "))
}

func (f *Fault) parseCode(s string, least, most int64, want string) error {
	code, text, _ := strings.Cut(s, " ")
	n, err := strconv.ParseInt(code, 10, 64)
	if err != nil || n < least || n > most {
		return fmt.Errorf("want %s", want)
	}
	f.code, f.text = n, strings.TrimSpace(text)
	return nil
}

func (f *Fault) parseAfter(word, s string) error {
	if s == "" {
		return nil
	}
	number, ok := strings.CutPrefix(s, "after ")
	number, more := strings.CutSuffix(number, " bytes")
	n, err := strconv.Atoi(number)
	if !ok || !more || err != nil || n < 0 {
		return fmt.Errorf("want %s, or %s after N bytes", word, word)
	}
	f.after = n
	return nil
}

// String is the fault as ParseFault reads it.
func (f Fault) String() string {
	who := f.who
	if f.n > 0 {
		who += " " + strconv.Itoa(f.n)
	}
	if f.nth > 0 {
		who += "#" + strconv.Itoa(f.nth)
	}
	what := f.what
	switch f.what {
	case doStatus, doError:
		what += " " + strconv.FormatInt(f.code, 10)
	case doSession:
		what += " session"
	case doDelay:
		what += " " + f.delay.String()
	}
	if f.text != "" {
		what += " " + f.text
	}
	if f.after > 0 {
		what += fmt.Sprintf(" after %d bytes", f.after)
	}
	return who + ": " + what
}

// selects tells whether the fault is meant for what a client asks; r is the recording that answers it, or nil.
func (f *Fault) selects(a *ask, r *recording) bool {
	switch f.who {
	case "any":
		return true
	case "exchange":
		return r != nil && r.x.N == f.n
	case "probe":
		return a.rpc == "server/discover"
	case "initialized":
		return a.rpc == "notifications/initialized"
	case "get-stream":
		return a.method == http.MethodGet && a.rpc == ""
	case "resume":
		return a.method == http.MethodGet && a.rpc != ""
	case "delete":
		return a.method == http.MethodDelete
	case "request":
		return len(a.values.ids) > 0 && a.rpc != "initialize" && a.rpc != "server/discover"
	case "notification":
		return a.mcp && len(a.values.ids)+len(a.responses) == 0 && a.rpc != "notifications/initialized"
	case "response":
		return len(a.responses) > 0
	case "other":
		return !a.mcp && a.method != http.MethodGet && a.method != http.MethodDelete
	}
	return slices.Contains(strings.Fields(a.rpc), f.who)
}

// replaces tells whether the fault needs nothing of a recording.
func (f *Fault) replaces() bool {
	switch f.what {
	case doStatus, doSession, doError:
		return true
	}
	return f.ends() != "" && f.after == 0
}

// ends is the ending that the fault brings about, "" if none.
func (f *Fault) ends() har.Ending {
	switch f.what {
	case doFIN:
		return har.EndFIN
	case doRST:
		return har.EndRST
	case doHang:
		return har.EndHang
	}
	return ""
}

// sessionLost is what servers of the official SDKs say of a session that they do not know.
const sessionLost = `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`

// answer makes the bytes of an answer of the fault's own, for a request under that raw id.
func (f *Fault) answer(id string) []byte {
	switch f.what {
	case doStatus:
		media := "text/plain; charset=utf-8"
		switch {
		case f.text == "":
			media = ""
		case json.Valid([]byte(f.text)):
			media = "application/json"
		case strings.HasPrefix(f.text, "<"):
			media = "text/html; charset=utf-8"
		}
		return httpAnswer(int(f.code), media, f.text)
	case doSession:
		return httpAnswer(http.StatusNotFound, "application/json", sessionLost)
	case doError:
		if id == "" {
			id = "null"
		}
		message := f.text
		if message == "" {
			message = "fault"
		}
		quoted, _ := json.Marshal(message)
		return httpAnswer(http.StatusOK, "application/json",
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, f.code, quoted))
	}
	return nil
}

func httpAnswer(status int, media, body string) []byte {
	reason := http.StatusText(status)
	if reason == "" {
		reason = "Fault"
	}
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\n", status, reason)
	if media != "" {
		head += "Content-Type: " + media + "\r\n"
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		head += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	} else {
		body = ""
	}
	return []byte(head + "\r\n" + body)
}
