package pcap

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// Captures of real clients and servers (testdata/lab), compared with what the servers say that they were asked.
func TestLabCaptures(t *testing.T) {
	text, err := os.ReadFile("testdata/lab/truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var truth []struct {
		File      string
		Exchanges int
		Snapped   bool     // no message fits the packets
		Requests  []string // METHOD, JSON-RPC method, id; sorted
		Ports     []int    // of the servers that say so, where there are several
	}
	if err := json.Unmarshal(text, &truth); err != nil || len(truth) < 19 {
		t.Fatalf("%d captures, %v", len(truth), err)
	}
	for _, tt := range truth {
		t.Run(tt.File, func(t *testing.T) {
			xs, _, _ := importedFile(t, "testdata/lab/"+tt.File)
			var got []string
			for _, x := range xs {
				if tt.Snapped && x.View().Complete == har.True {
					t.Errorf("exchange %d is called complete: %q", x.N, x.Notes)
				}
				port := x.Server[strings.LastIndexByte(x.Server, ':')+1:]
				n, _ := strconv.Atoi(port)
				switch {
				case len(tt.Ports) == 0:
					got = append(got, asked(x))
				case slices.Contains(tt.Ports, n):
					got = append(got, port+" "+asked(x))
				}
			}
			slices.Sort(got)
			if tt.Snapped {
				return
			}
			if len(xs) != tt.Exchanges || !slices.Equal(got, tt.Requests) {
				t.Errorf("%d exchanges, want %d:\n%s\nwant\n%s", len(xs), tt.Exchanges, strings.Join(got, "\n"), strings.Join(tt.Requests, "\n"))
			}
		})
	}
}

// asked writes a request as "METHOD JSON-RPC-method id".
func asked(x *har.Exchange) string {
	var message struct {
		Method string
		ID     any
	}
	_ = json.Unmarshal(x.View().RequestBody(), &message) // a GET has none
	words := []string{x.Method, message.Method}
	if message.ID != nil {
		words = append(words, fmt.Sprint(message.ID))
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}
