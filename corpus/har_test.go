package corpus

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// Every case comes back from its HAR file: header and exchanges, over stdio too. What a process wrote to its stderr, its exit and
// the end line stay in the cassette.
func TestCasesThroughHAR(t *testing.T) {
	for _, k := range listed(t) {
		c := opened(t, k.Name)
		var file bytes.Buffer
		if err := har.ExportHAR(&file, c.Header, c.All()); err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		var got har.Cassette
		begin := func(h *har.Header, unused error) error {
			if unused != nil {
				t.Errorf("%s: %v", k.Name, unused)
			} else {
				got.Header = *h
			}
			return nil
		}
		err := har.ImportHAR(&file, begin, func(x *har.Exchange) error {
			got.Exchanges = append(got.Exchanges, x)
			return nil
		})
		if err != nil || !reflect.DeepEqual(got.Header, c.Header) || len(got.Exchanges) != len(c.Exchanges) {
			t.Errorf("%s: %v, %d exchanges of %d, header %+v", k.Name, err, len(got.Exchanges), len(c.Exchanges), got.Header)
			continue
		}
		for i, x := range c.Exchanges {
			if !reflect.DeepEqual(got.Exchanges[i], x) {
				t.Errorf("%s: got  %+v\nwant %+v", k.Name, got.Exchanges[i], x)
			}
		}
	}
}
