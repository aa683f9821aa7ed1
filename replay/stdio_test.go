package replay

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcptap/mcptap/har"
)

var processStart = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// lineAt makes an exchange of a process: the client's line at one time, the server's at another, in milliseconds.
func lineAt(n int, req string, asked int, resp string, off int64, answered int, end har.Ending) *har.Exchange {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	x := &har.Exchange{N: n, Conn: 1, Seq: n, URL: "stdio:server", Started: processStart.Add(ms(asked)), End: end, Off: off}
	if req != "" {
		x.Request = har.Side{Raw: []byte(req + "\n"), Writes: []har.Write{{Len: len(req) + 1}}}
	} else {
		x.Started = processStart.Add(ms(answered))
	}
	if resp != "" {
		at := processStart.Add(ms(answered)).Sub(x.Started)
		x.Response = har.Side{Raw: []byte(resp + "\n"), Writes: []har.Write{{At: at, Len: len(resp) + 1}}}
	}
	return x
}

func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
func pong(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }

func TestStdio(t *testing.T) {
	note := `{"jsonrpc":"2.0","method":"notifications/message"}`
	xs := []*har.Exchange{
		lineAt(1, ping("1"), 100, pong("1"), 6, 150, har.EndKeep),
		lineAt(2, "", 0, "ready", 0, 50, har.EndKeep),
		lineAt(3, "", 0, note, int64(6+len(pong("1"))+1), 200, har.EndKeep),
		lineAt(4, ping("2"), 300, pong("2"), int64(6+len(pong("1"))+1+len(note)+1), 400, har.EndFIN),
	}
	p := &har.Process{Conn: 1, Started: processStart, Command: []string{"server"}, Exit: &har.Exit{At: 450 * time.Millisecond, Code: 3},
		Stderr: har.Side{Raw: []byte("log\n"), Writes: []har.Write{{At: 120 * time.Millisecond, Len: 4}}}}
	const exactly = "id: recorded 1, sent 9, and ids are not patched when bytes are to be exact"
	all := "ready\n" + pong("1") + "\n" + note + "\n" + pong("2") + "\n"
	for _, tt := range []struct {
		name    string
		pace    float64
		exact   bool
		send    []string
		want    string
		took    time.Duration
		misses  int
		left    int
		patches int
	}{
		{"as recorded", 1, false, []string{ping("1"), ping("2")}, all, 200 * time.Millisecond, 0, 0, 0},
		{"twice as fast", 2, false, []string{ping("1"), ping("2")}, all, 100 * time.Millisecond, 0, 0, 0},
		{"fast", 0, false, []string{ping("1"), ping("2")}, all, 0, 0, 0, 0},
		{"other ids", 0, false, []string{ping(`"a"`), ping("22")}, "ready\n" + pong(`"a"`) + "\n" + note + "\n" + pong("22") + "\n", 0, 0, 0, 2},
		{"another id, exact", 0, true, []string{ping("9"), ping("1")}, "ready\n" + refused("9", `{"differs":"`+exactly+`","nearest":1}`, "ping: "+exactly) + pong("1") + "\n" + note + "\n", 0, 1, 1, 0},
		{"nothing recorded", 0, false, []string{strings.Replace(ping("1"), "ping", "tools/list", 1)}, "ready\n" + refused("1", "null", "tools/list: nothing like it was recorded"), 0, 1, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, client := io.Pipe()
				back, out := io.Pipe()
				var errs bytes.Buffer
				s := &Stdio{Exchanges: xs, Process: p, Pace: tt.pace, Exact: tt.exact}
				var exit *har.Exit
				began := time.Now()
				go func() {
					exit, _ = s.Serve(in, out, &errs)
					out.Close()
				}()
				r := bufio.NewReader(back)
				got, _ := r.ReadString('\n') // the server speaks first
				atFirst := time.Since(began)
				for _, line := range tt.send {
					fmt.Fprintln(client, line)
					if line, err := r.ReadString('\n'); err == nil {
						got += line
					}
				}
				if tt.left > 0 {
					client.Close()
				}
				rest, _ := io.ReadAll(r)
				client.Close()
				if got += string(rest); got != tt.want {
					t.Errorf("got %s\nwant %s", got, tt.want)
				}
				if took := time.Since(began) - atFirst; tt.pace > 0 && (took < tt.took-5*time.Millisecond || took > tt.took+5*time.Millisecond) {
					t.Errorf("it took %v behind the first line, want %v", took, tt.took)
				}
				if errs.String() != "log\n" && tt.left != 2 || exit == nil || exit.Code != 3 {
					t.Errorf("stderr %q, exit %v", errs.String(), exit)
				}
				if r := s.Result(); len(r.Misses) != tt.misses || len(r.Unserved) != tt.left || len(r.Patches) != tt.patches {
					t.Errorf("%d misses, %d left, %d patches", len(r.Misses), len(r.Unserved), len(r.Patches))
				}
			})
		})
	}
}

// Lines keep their recorded order at any pace: a reply waits for the replies that came before it, if the client asks for those soon, and
// for the client's answer to what the server asked in between.
func TestStdioOrder(t *testing.T) {
	ask := `{"jsonrpc":"2.0","id":"s1","method":"roots/list"}`
	answer := `{"jsonrpc":"2.0","id":"s1","result":{"roots":[]}}`
	crossed := []*har.Exchange{ // the second is answered first
		lineAt(1, ping("1"), 100, pong("1"), int64(len(pong("2")))+1, 200, har.EndKeep),
		lineAt(2, ping("2"), 110, pong("2"), 0, 150, har.EndFIN),
	}
	asking := []*har.Exchange{ // the reply needs the client's answer
		lineAt(1, ping("1"), 100, pong("1"), int64(len(ask))+1, 200, har.EndFIN),
		lineAt(2, "", 0, ask, 0, 120, har.EndKeep),
		lineAt(3, answer, 150, "", 0, 0, har.EndFIN),
	}
	for _, tt := range []struct {
		name string
		xs   []*har.Exchange
		send []string
		gap  time.Duration // between the client's lines
		want string
		took time.Duration // until the last line
	}{
		{"together", crossed, []string{ping("1"), ping("2")}, 0, pong("2") + "\n" + pong("1") + "\n", 0},
		{"apart", crossed, []string{ping("1"), ping("2")}, 300 * time.Millisecond, pong("2") + "\n" + pong("1") + "\n", 300 * time.Millisecond},
		{"too far apart", crossed, []string{ping("1"), ping("2")}, 2 * time.Second, pong("1") + "\n" + pong("2") + "\n", 2 * time.Second},
		{"the other way", crossed, []string{ping("2"), ping("1")}, 2 * time.Second, pong("2") + "\n" + pong("1") + "\n", 2 * time.Second},
		{"an answer is needed", asking, []string{ping("1"), answer}, 2 * time.Second, ask + "\n" + pong("1") + "\n", 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, client := io.Pipe()
				var got bytes.Buffer
				s := &Stdio{Exchanges: tt.xs, Process: &har.Process{Conn: 1, Started: processStart}}
				began := time.Now()
				done := make(chan error, 1)
				go func() {
					_, err := s.Serve(in, &got, io.Discard)
					done <- err
				}()
				for i, line := range tt.send {
					if i > 0 {
						time.Sleep(tt.gap)
					}
					fmt.Fprintln(client, line)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
				client.Close()
				if got.String() != tt.want {
					t.Errorf("got %s\nwant %s", got.String(), tt.want)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// What is refused says what was like it and how it differs, to the client and to the user.
func TestStdioMiss(t *testing.T) {
	named := func(id, name string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `"}}`
	}
	for _, tt := range []struct{ name, send, says string }{
		{"other params", named("7", "c"), `miss: tools/call: nearest is exchange 2, tools/call: params.name: recorded "b", sent "c"`},
		{"served already", named("2", "b") + "\n" + named("7", "a"), "miss: tools/call: nearest is exchange 1, tools/call: all recordings of it have been served already"},
		{"another method", ping("7"), "miss: ping: nothing like it was recorded"},
		{"no message", "garbage", "miss: a line that is no JSON-RPC message: nothing like it was recorded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			xs := []*har.Exchange{lineAt(1, named("1", "a"), 0, pong("1"), 0, 1, har.EndKeep), lineAt(2, named("2", "b"), 2, pong("2"), int64(len(pong("1"))+1), 3, har.EndKeep)}
			var said []string
			s := &Stdio{Exchanges: xs, Notice: func(words string) { said = append(said, words) }}
			var out bytes.Buffer
			if _, err := s.Serve(strings.NewReader(named("1", "a")+"\n"+tt.send+"\n"), &out, io.Discard); err != nil {
				t.Fatal(err)
			}
			if len(said) != 1 || said[0] != tt.says {
				t.Errorf("got %q\nwant %q", said, tt.says)
			}
			if got := out.String(); tt.name == "other params" && !strings.Contains(got, `"data":{"differs":"params.name: recorded \"b\", sent \"c\"","nearest":2}`) {
				t.Errorf("the client was sent %s", got)
			}
		})
	}
}

// refused is what a client gets for a request that is missed.
func refused(id, data, why string) string {
	return `{"error":{"code":-32603,"data":` + data + `,"message":"mcptap replay: nothing recorded is left for ` + why + `"},"id":` + id + `,"jsonrpc":"2.0"}` + "\n"
}
