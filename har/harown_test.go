package har

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// importedAll reads a HAR file with the header that stands in it.
func importedAll(t *testing.T, text string) (h *Header, list []*Exchange, unused error) {
	t.Helper()
	err := ImportHAR(strings.NewReader(text), func(from *Header, why error) error {
		h, unused = from, why
		return nil
	}, func(x *Exchange) error {
		list = append(list, x)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return h, list, unused
}

// Every valid vector comes back from its HAR file exchange by exchange, long ones in several lines too.
func TestHARGivesBack(t *testing.T) {
	whole := map[string]*Cassette{}
	for name, b := range vectors(t, "valid") {
		whole[name] = mustRead(t, b)
	}
	long := exchange(post, "HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("\xffx", lineBytes/2+9), EndFIN)
	whole["long"] = mustRead(t, rewrite(t, &Cassette{Exchanges: []*Exchange{long}}, true))
	for name, c := range whole {
		t.Run(name, func(t *testing.T) {
			h, got, unused := importedAll(t, exported(t, c.Header, c.Exchanges))
			if unused != nil || !reflect.DeepEqual(*h, c.Header) {
				t.Errorf("header %+v, %v\nwant %+v", h, unused, c.Header)
			}
			if len(got) != len(c.Exchanges) {
				t.Fatalf("%d exchanges, want %d", len(got), len(c.Exchanges))
			}
			for i, x := range got {
				if !reflect.DeepEqual(x, c.Exchanges[i]) {
					t.Errorf("got  %.2000s\nwant %.2000s", fmt.Sprintf("%+v", x), fmt.Sprintf("%+v", c.Exchanges[i]))
				}
			}
		})
	}
}

// What was changed in a HAR file by hand counts only where there are no sound lines; notes say what differed.
func TestHAREdited(t *testing.T) {
	x := exchange(post, ok, EndFIN)
	x.EndAt = time.Second
	text := exported(t, Header{Tool: "mcptap"}, []*Exchange{x})
	const known = "har: bytes, cuts and ending are not known"
	for _, tt := range []struct {
		name, old, new string
		end            Ending
		notes          string
	}{
		{"url", `"url":"http://a.example/mcp","httpVersion"`, `"url":"http://b.example/","httpVersion"`, EndFIN, "[copy: the HAR file's url differed from the bytes]"},
		{"status", `"response":{"status":200,"statusText"`, `"response":{"status":1e300,"statusText"`, EndFIN, "[copy: the HAR file's status differed from the bytes]"},
		{"number", `"_n":1,"_conn":1,"_seq":1`, `"_n":3,"_conn":9007199254740991,"_seq":2`, EndFIN, "[copy: the HAR file's numbers, exchange 3 at place 2 of connection 9007199254740991, cannot be right]"},
		{"place", `"_seq":1`, `"_seq":4`, EndFIN, "[copy: exchange 1 has place 4 on its connection, and 3 before it are not in the HAR file]"},
		{"copied member", `"_seq":1,"startedDateTime":"2026-07-28T12:00:00.000000Z","request":{"method":"POST"`, `"_seq":1,"startedDateTime":"2026-07-28T12:00:00.000000Z","request":{"method":"PUT"`, EndFIN, "[copy: the file's copy of method differed from the bytes]"},
		{"ending", `"_end":"fin"`, `"_end":"x"`, EndUnknown, "[" + known + ` har: _mcptap is not used: lines: line 1: want one of the endings of the format: got "x"]`},
		{"no ending", `"_end":"fin","_endAt":1000000`, `"_x":1`, EndUnknown, "[" + known + " har: _mcptap is not used: lines: want an _end: there is none]"},
		{"a continuation", `"_n":1,"_conn"`, `"_more":true,"_conn"`, EndUnknown, "[" + known + " har: _mcptap is not used: lines: line 1: want the first line of one exchange and its continuations]"},
		{"twice", `"lines":[`, `"lines":[{"_n":1,"_conn":1,"_seq":1,"startedDateTime":"2026-07-28T12:00:00Z"},`, EndUnknown, "[" + known + " har: _mcptap is not used: lines: line 2: want the first line of one exchange and its continuations]"},
		{"no lines", `"lines":[`, `"lines":[],"other":[`, EndUnknown, "[" + known + " har: _mcptap is not used: lines: want the lines of an exchange: there is none]"},
		{"a negative number", `"_conn":1`, `"_conn":-1`, EndUnknown, "[" + known + " har: _mcptap is not used: lines: line 1: want a number that is not negative at byte 17]"},
		{"an end beyond the bytes", `"_endAt":1000000`, `"_endAt":1000000,"_endOff":99999`, EndUnknown, ""},
		{"not an object", `"_mcptap":{"n"`, `"_mcptap":7,"other":{"n"`, EndUnknown, ""},
		{"of another version", `cassette/1`, `cassette/9`, EndUnknown, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			edited := strings.Replace(text, tt.old, tt.new, 1)
			if edited == text {
				t.Fatalf("there is no %s in %s", tt.old, text)
			}
			_, got, _ := importedAll(t, edited)
			notes := fmt.Sprint(got[0].Notes)
			if len(got) != 1 || got[0].End != tt.end || tt.notes != "" && notes != tt.notes || tt.notes == "" && !strings.Contains(notes, "_mcptap is not used: ") {
				t.Errorf("%d exchanges, ending %s, notes %s\nwant %s, %s", len(got), got[0].End, notes, tt.end, tt.notes)
			}
			if tt.end == EndFIN && (string(got[0].Request.Raw) != post || string(got[0].Response.Raw) != ok) {
				t.Errorf("other bytes: %+v", got[0])
			}
			if got[0].N > 3 || got[0].Conn != 1 || got[0].Seq != 1 {
				t.Errorf("exchange %d at place %d of connection %d", got[0].N, got[0].Seq, got[0].Conn)
			}
		})
	}
}

// What an importer gives can be written as a cassette and read again, whatever numbers the file has.
func TestHARNumbers(t *testing.T) {
	var list []*Exchange
	for range 5 {
		list = append(list, exchange(post, ok, EndKeep))
	}
	list[1].Seq, list[2].N, list[2].Seq, list[3].Conn, list[4].N, list[4].Seq = 2, 7, 5, 4, 8, 6
	text := strings.Replace(exported(t, Header{}, list), `"_n":8,`, `"_n":0,`, 1)
	_, got, _ := importedAll(t, text)
	again, err := Read(strings.NewReader(string(rewrite(t, &Cassette{Exchanges: got}, true))), Limits{})
	if err != nil || len(again.Exchanges) != len(list) {
		t.Fatalf("%v, %d exchanges", err, len(again.Exchanges))
	}
}
