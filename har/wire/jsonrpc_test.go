package wire

import (
	"fmt"
	"strings"
	"testing"
)

var messages = []struct {
	name string
	text string
	want string
}{
	{"request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `request id=1 method=ping`},
	{"request with params", `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}`, `request id="a" method=tools/call params={"name":"x"}`},
	{"params by position", `{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`, `request id=1 method=m params=[1]`},
	{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `notification method=notifications/initialized`},
	{"result", `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, `result id=1 result={"tools":[]}`},
	{"result null", `{"jsonrpc":"2.0","id":1,"result":null}`, `result id=1 result=null`},
	{"error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found","data":{"a":1}}}`, `error id=1 code=-32601 message="Method not found" data={"a":1}`},
	{"error without an id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}`, `error code=-32700 message="Parse error"`},
	{"error with id null", `{"error":{"code":-32700,"message":"Parse Error"},"id":null,"jsonrpc":"2.0"}`, `invalid: id is null; id=null code=-32700 message="Parse Error"`},
	{"error with more members of its own", `{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"","x":1}}`, `error id=1 code=0 message=""`},
	{"error with more members beside it", `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"v","data":{"supported":["2026-07-28"]}},"status":400}`,
		`invalid: undefined member "status"; id=1 code=-32022 message="v" data={"supported":["2026-07-28"]} extra=status`},
	{"error without jsonrpc", `{"id":1,"error":{"code":-32601,"message":"m"}}`, `invalid: jsonrpc is missing; id=1 code=-32601 message="m"`},
	{"error is a string", `{"jsonrpc":"2.0","id":1,"error":"Unknown session"}`, `invalid: error is not an object; id=1 error="Unknown session"`},
	{"error is null", `{"jsonrpc":"2.0","id":1,"error":null}`, `invalid: error is not an object; id=1 error=null`},
	{"error without a code", `{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}`, `invalid: error.code is not an integer; id=1 message="m"`},
	{"code in quotes", `{"jsonrpc":"2.0","id":1,"error":{"code":"-32601","message":"m"}}`, `invalid: error.code is not an integer; id=1 message="m"`},
	{"code with a fraction", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}`, `invalid: error.code is not an integer; id=1 message="m"`},
	{"code with an empty fraction", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601.0,"message":"m"}}`, `error id=1 code=-32601 message="m"`},
	{"code with an exponent", `{"jsonrpc":"2.0","id":1,"error":{"code":-3.2e4,"message":"m"}}`, `error id=1 code=-32000 message="m"`},
	{"code out of range", `{"jsonrpc":"2.0","id":1,"error":{"code":1e400,"message":"m"}}`, `invalid: error.code is not an integer; id=1 message="m"`},
	{"message not a string", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":{}}}`, `invalid: error.message is not a string; id=1 code=1`},
	{"duplicate code", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"code":2,"message":"m"}}`, `error id=1 code=2 message="m"`},
	{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, `invalid: both result and error; id=1 result={} code=1 message="m"`},
	{"result and error null", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, `invalid: both result and error; id=1 result={} error=null`},
	{"method and result", `{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, `invalid: method together with result or error; id=1 method=m result={}`},
	{"nothing", `{"jsonrpc":"2.0","id":1}`, `invalid: neither method, result nor error; id=1`},
	{"empty object", `{}`, `invalid: jsonrpc is missing`},
	{"version 1.0", `{"jsonrpc":"1.0","id":1,"result":{}}`, `invalid: jsonrpc is not "2.0"; id=1 result={}`},
	{"version as a number", `{"jsonrpc":2.0,"id":1,"result":{}}`, `invalid: jsonrpc is not "2.0"; id=1 result={}`},
	{"result without an id", `{"jsonrpc":"2.0","result":{}}`, `invalid: a result without an id; result={}`},
	{"result with id null", `{"jsonrpc":"2.0","id":null,"result":{}}`, `invalid: id is null; id=null result={}`},
	{"request with id null", `{"jsonrpc":"2.0","id":null,"method":"m"}`, `invalid: id is null; id=null method=m`},
	{"id with a fraction", `{"jsonrpc":"2.0","id":1.5,"result":{}}`, `invalid: id is neither a string nor an integer; id=1.5 result={}`},
	{"id as another spelling of 1", `{"jsonrpc":"2.0","id":1.0,"result":{}}`, `result id=1.0 result={}`},
	{"id of 2^53+1", `{"jsonrpc":"2.0","id":9007199254740993,"result":{}}`, `result id=9007199254740993 result={}`},
	{"id is an object", `{"jsonrpc":"2.0","id":{},"method":"m"}`, `invalid: id is neither a string nor an integer; id={} method=m`},
	{"id is true", `{"jsonrpc":"2.0","id":true,"method":"m"}`, `invalid: id is neither a string nor an integer; id=true method=m`},
	{"method is a number", `{"jsonrpc":"2.0","id":1,"method":5}`, `invalid: method is not a string; id=1`},
	{"params is a string", `{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, `invalid: params is neither an object nor an array; id=1 method=m params="x"`},
	{"params is null", `{"jsonrpc":"2.0","method":"m","params":null}`, `invalid: params is neither an object nor an array; method=m params=null`},
	{"params in a response", `{"jsonrpc":"2.0","id":1,"result":{},"params":{}}`, `invalid: params in a response; id=1 params={} result={}`},
	{"member of another case", `{"JSONRPC":"2.0","id":1,"Result":{}}`, `invalid: jsonrpc is missing; id=1 extra=JSONRPC,Result`},
	{"duplicate id", `{"jsonrpc":"2.0","id":1,"result":{},"id":2,"id":3}`, `result id=3 result={} duplicate id: 1 at 22, 3 at 48`},
	{"duplicate in another spelling", `{"jsonrpc":"2.0","id":1,"result":{},"\u0069d":2}`, `result id=2 result={} duplicate id: 1 at 22, 2 at 46`},
	{"duplicate error and result", `{"jsonrpc":"2.0","id":1,"result":1,"result":2}`, `result id=1 result=2 duplicate result: 1 at 33, 2 at 44`},
	{"duplicate undefined member", `{"jsonrpc":"2.0","id":1,"result":1,"x":1,"x":2}`, `invalid: undefined member "x"; id=1 result=1 extra=x duplicate x: 1 at 39, 2 at 45`},
	{"white space", " \r\n\t{ \"jsonrpc\" : \"2.0\" , \"id\" : 1 , \"result\" : [ 1 ] } \n", `result id=1 result=[ 1 ]`},
	{"escapes in a method", `{"jsonrpc":"2.0","method":"a\/b\u00e9"}`, `notification method=a/bé`},

	{"empty", "", `no JSON: empty`},
	{"only white space", " \n", `no JSON: empty`},
	{"text", "Method not found", `no JSON: not JSON`},
	{"HTML", "<html></html>", `no JSON: not JSON`},
	{"number", "1", `invalid: not an object`},
	{"string", `"{}"`, `invalid: not an object`},
	{"null", "null", `invalid: not an object`},
	{"cut", `{"jsonrpc":"2.0","id":1,"res`, `no JSON: not JSON`},
	{"two texts", `{"jsonrpc":"2.0","id":1,"result":{}}{}`, `no JSON: not JSON`},
	{"trailing comma", `{"jsonrpc":"2.0","id":1,"result":{},}`, `no JSON: not JSON`},
	{"leading zeros", `{"jsonrpc":"2.0","id":007,"result":{}}`, `no JSON: not JSON`},
	{"NaN", `{"jsonrpc":"2.0","id":NaN,"result":{}}`, `no JSON: not JSON`},
	{"BOM", "\ufeff{}", `no JSON: not JSON`},
	{"control character in a string", "{\"jsonrpc\":\"2.0\",\"id\":\"\x01\",\"result\":{}}", `no JSON: not JSON`},
	{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"result\":{}}", `no JSON: not UTF-8`},
	{"lone surrogate", `{"jsonrpc":"2.0","id":"\ud800","result":{}}`, `result id="\ud800" result={}`},
	{"just deep enough", strings.Repeat("[", 256) + strings.Repeat("]", 256), `batch of 1: [invalid: an array inside a batch]`},
	{"too deep", strings.Repeat("[", 257) + strings.Repeat("]", 257), `no JSON: nested deeper than 256 levels`},
	{"brackets in a string", `{"jsonrpc":"2.0","id":"` + strings.Repeat(`[\"`, 300) + `","method":"m"}`, `request id="` + strings.Repeat(`[\"`, 300) + `" method=m`},
	{"ten million brackets", strings.Repeat("[", 10_000_000), `no JSON: nested deeper than 256 levels`},

	{"empty batch", `[]`, `batch of 0:`},
	{"batch", `[{"jsonrpc":"2.0","id":1,"result":{}}, {"jsonrpc":"2.0","method":"m"},1,[],{"id":1}]`,
		`batch of 5: [result id=1 result={}] [notification method=m] [invalid: not an object] [invalid: an array inside a batch] [invalid: jsonrpc is missing; id=1]`},
}

var kindNames = map[Kind]string{Invalid: "invalid", Request: "request", Notification: "notification", Result: "result", Error: "error", Batch: "batch"}

func rpcText(t testing.TB, text []byte, r *RPC) string {
	t.Helper()
	switch {
	case !r.JSON:
		return "no JSON: " + r.Why
	case r.Kind == Batch:
		var sb strings.Builder
		fmt.Fprintf(&sb, "batch of %d:", len(r.Items))
		for i := range r.Items {
			fmt.Fprintf(&sb, " [%s]", rpcText(t, text, &r.Items[i]))
		}
		return sb.String()
	}
	var parts []string
	add := func(name string, m Member) {
		if m.Present() {
			checkMember(t, text, m)
			parts = append(parts, fmt.Sprintf("%s=%s", name, m.Raw))
		}
	}
	add("id", r.ID)
	if r.Method != "" {
		parts = append(parts, "method="+r.Method)
	}
	add("params", r.Params)
	add("result", r.Result)
	if e := r.Error; e != nil {
		if e.Raw[0] != '{' {
			add("error", e.Member)
		}
		if e.CodeOK {
			parts = append(parts, fmt.Sprintf("code=%d", e.Code))
		}
		if e.MessageOK {
			parts = append(parts, fmt.Sprintf("message=%q", e.Message))
		}
		add("data", e.Data)
	}
	if r.Extra != nil {
		parts = append(parts, "extra="+strings.Join(r.Extra, ","))
	}
	for _, d := range r.Duplicates {
		checkMember(t, text, d.First)
		checkMember(t, text, d.Last)
		parts = append(parts, fmt.Sprintf("duplicate %s: %s at %d, %s at %d", d.Name, d.First.Raw, d.First.Off, d.Last.Raw, d.Last.Off))
	}
	kind := kindNames[r.Kind]
	if r.Why != "" {
		kind += ": " + r.Why
		if len(parts) > 0 {
			kind += ";"
		}
	}
	return strings.TrimSpace(kind + " " + strings.Join(parts, " "))
}

// checkMember checks that the member's bytes stand where it says.
func checkMember(t testing.TB, text []byte, m Member) {
	t.Helper()
	if m.Off < 0 || m.Off+len(m.Raw) > len(text) || string(text[m.Off:m.Off+len(m.Raw)]) != string(m.Raw) {
		t.Fatalf("member %q is not at %d", m.Raw, m.Off)
	}
}

func TestParseRPC(t *testing.T) {
	for _, tt := range messages {
		t.Run(tt.name, func(t *testing.T) {
			text := []byte(tt.text)
			rpc := ParseRPC(text)
			if got := rpcText(t, text, &rpc); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if rpc.Kind != Invalid && rpc.Why != "" || rpc.Kind == Invalid && rpc.Why == "" {
				t.Errorf("kind %d with the reason %q", rpc.Kind, rpc.Why)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	big := []byte(`"` + strings.Repeat("x", MaxJSON) + `"`)
	if rpc := ParseRPC(big); rpc.JSON || rpc.Why != "longer than 64 MiB" {
		t.Errorf("a text of %d bytes: %q", len(big), rpc.Why)
	}
	batch := []byte("[" + strings.Repeat("1,", MaxBatch) + "1]")
	if rpc := ParseRPC(batch); rpc.Kind != Batch || len(rpc.Items) != MaxBatch {
		t.Errorf("a batch of %d has %d items", MaxBatch+1, len(rpc.Items))
	}
	array := []byte("[" + strings.Repeat("1,", MaxElements) + "1]")
	if got := Elements(array); len(got) != MaxElements {
		t.Errorf("an array of %d has %d elements", MaxElements+1, len(got))
	}
	var many strings.Builder
	for i := range MaxExtra + 1 {
		fmt.Fprintf(&many, `"x%d":1,"x%d":2,`, i, i)
	}
	rpc := ParseRPC([]byte("{" + many.String() + `"jsonrpc":"2.0"}`))
	if len(rpc.Extra) != MaxExtra || len(rpc.Duplicates) != MaxExtra {
		t.Errorf("%d undefined members: %d named, %d duplicates", MaxExtra+1, len(rpc.Extra), len(rpc.Duplicates))
	}
}

func TestLookupJSON(t *testing.T) {
	text := []byte(` {"a":{"b":[1,{"c":2}],"b":"x\u0041"},"a.b":3,"":{"":4},"*":null}`)
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{nil, string(text)},
		{[]string{"a", "b"}, `"x\u0041"`},
		{[]string{"a.b"}, "3"},
		{[]string{"", ""}, "4"},
		{[]string{"*"}, "null"},
		{[]string{"?"}, ""},
		{[]string{"a", "c"}, ""},
		{[]string{"a.b", "c"}, ""},
	} {
		m := Lookup(text, tt.names...)
		if string(m.Raw) != tt.want || m.Present() != (tt.want != "") {
			t.Errorf("%q: got %q, want %q", tt.names, m.Raw, tt.want)
		}
		checkMember(t, text, m)
	}
	if !Lookup(text, "*").Null() || Lookup(text, "?").Null() {
		t.Error("null and absent are not told apart")
	}
	if Lookup([]byte(`["a",{"a":1}]`), "a").Present() {
		t.Error("a member was found in an array")
	}
}

func TestElements(t *testing.T) {
	text := []byte(" [ 1 ,\"a\", {\"b\":[2]},[3],null ] ")
	var got []string
	for _, m := range Elements(text) {
		checkMember(t, text, m)
		got = append(got, string(m.Raw))
	}
	if want := `1 "a" {"b":[2]} [3] null`; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Elements([]byte("[]")); got == nil || len(got) != 0 {
		t.Errorf("an empty array gives %v", got)
	}
	for _, text := range []string{`{"a":1}`, `"a"`, "1", ""} {
		if got := Elements([]byte(text)); got != nil {
			t.Errorf("%s: got %v, want nil", text, got)
		}
	}
}

func TestString(t *testing.T) {
	for _, tt := range []struct {
		raw, want string
		ok        bool
	}{
		{`"a\n\u00e9\ud83d\ude00\/"`, "a\né😀/", true},
		{`""`, "", true},
		{`"\ud800"`, "\ufffd", true},
		{`1`, "", false},
		{`null`, "", false},
		{`{"a":"b"}`, "", false},
		{``, "", false},
		{`"`, "", false},
		{`"a`, "", false},
		{`"a"b"`, "", false},
	} {
		if s, ok := (Member{Raw: []byte(tt.raw)}).String(); s != tt.want || ok != tt.ok {
			t.Errorf("%s: got %q, %v; want %q, %v", tt.raw, s, ok, tt.want, tt.ok)
		}
	}
}
