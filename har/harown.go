package har

import (
	"encoding/json"
	"fmt"
	"strings"
)

// linesOf is the exchange as lines of a cassette, nil if the format cannot hold it.
func linesOf(x *Exchange) (lines []json.RawMessage) {
	if _, err := check(x, extent{}); err != nil || x.End == "" {
		return nil
	}
	rest := newRemains(x)
	for response, last := 0, false; !last; {
		first := len(lines) == 0
		p := part{x: x, more: !first, method: first && (x.Method != "" || x.URL != ""), status: first && (x.Status != 0 || x.MediaType != "")}
		p.request, p.response, last = rest.next()
		response += len(p.response.Raw)
		p.last, p.allBytes, p.off = last, response, response == len(p.response.Raw)
		lines = append(lines, appendPart(nil, &p))
	}
	return lines
}

// exchangeOf joins lines that an entry has to its exchange, by the rules of cassettes but for its place in the file. Its numbers
// and copied members are as the lines say; nothing of them has been compared.
func exchangeOf(lines []json.RawMessage) (x *Exchange, err error) {
	var p parser
	l := newLedger()
	for i, raw := range lines {
		if len(raw) > defaultLine {
			return nil, onLine(want(fmt.Sprintf("at most %d bytes", defaultLine), ""), i+1)
		}
		line, err := p.line(raw)
		switch {
		case err != nil:
		case i == 0 && line.kind == firstLine:
			x = line.x
			l.last[x.Conn] = tip{seq: x.Seq - 1}
			_, err = l.first(x, line.endOffOK)
		case i > 0 && line.kind == moreLine:
			_, err = l.more(line.x, line.endOffOK)
		default:
			err = want("the first line of one exchange and its continuations", "")
		}
		if err != nil {
			return nil, onLine(err, i+1)
		}
	}
	switch {
	case x == nil:
		return nil, want("the lines of an exchange", "there is none")
	case x.End == "":
		return nil, want("an _end", "there is none")
	}
	return x, nil
}

// An importer makes exchanges of the entries of one HAR file.
type importer struct {
	foreign error // why no _mcptap of an entry is used
	used    map[int]bool
	last    map[uint64]tip
	n       int    // the highest N
	conn    uint64 // the highest Conn
}

// maxHARNumber is the highest number of an exchange or a connection that is taken from a file.
const maxHARNumber = 1 << 30

// header reads the log's own member, nil if it has none that holds a header line.
func (im *importer) header(own json.RawMessage) (*Header, error) {
	if own == nil {
		return nil, nil
	}
	var log harOwnLog
	if json.Unmarshal(own, &log) != nil || log.Header == nil {
		return nil, nil
	}
	if len(log.Header) > maxHeader {
		im.foreign = want(fmt.Sprintf("a header of at most %d bytes", maxHeader), "")
	} else if h, err := parseHeader(log.Header); err != nil {
		im.foreign = err
	} else {
		return &h, nil
	}
	return nil, fmt.Errorf("_mcptap is not used: header: %w", im.foreign)
}

// exchange gives an entry's exchange: by its own lines if it has any that are sound, else by the fields of HAR.
func (im *importer) exchange(e *harIn) *Exchange {
	x, err := im.own(e)
	if x == nil {
		x = e.exchange()
		if err != nil {
			x.Notes = append(x.Notes, NoteHAR+": _mcptap is not used: "+headText(err.Error()))
		}
		im.number(x)
		return x
	}
	x.correct()
	x.compare(e)
	im.place(x)
	return x
}

func (im *importer) own(e *harIn) (*Exchange, error) {
	if len(e.Own) == 0 || string(e.Own) == "null" {
		return nil, nil
	}
	var own struct {
		Lines []json.RawMessage `json:"lines"`
	}
	switch err := json.Unmarshal(e.Own, &own); {
	case err != nil:
		return nil, err
	case own.Lines == nil:
		return nil, nil
	case im.foreign != nil:
		return nil, fmt.Errorf("header: %w", im.foreign)
	}
	x, err := exchangeOf(own.Lines)
	if err != nil {
		err = fmt.Errorf("lines: %w", err)
	}
	return x, err
}

// compare notes where the fields of HAR differ from the bytes, which are right.
func (x *Exchange) compare(e *harIn) {
	var differ []string
	if e.Request.Method != x.Method {
		differ = append(differ, "method")
	}
	if e.Request.URL != x.URL {
		differ = append(differ, "url")
	}
	if s := e.Answer.Status; s > 0 && s != float64(x.Status) { // 0: no response, or none that the client can have seen
		differ = append(differ, "status")
	}
	if differ != nil {
		x.Notes = append(x.Notes, NoteCopy+": the HAR file's "+strings.Join(differ, ", ")+" differed from the bytes")
	}
}

// place keeps the numbers of an exchange if they are free, and closes the gap that entries leave which are not in the file.
func (im *importer) place(x *Exchange) {
	last := im.last[x.Conn]
	if im.used[x.N] || x.N <= last.n || x.Seq <= last.seq || x.N > maxHARNumber || x.Conn > maxHARNumber {
		x.Notes = append(x.Notes, fmt.Sprintf("%s: the HAR file's numbers, exchange %d at place %d of connection %d, cannot be right", NoteCopy, x.N, x.Seq, x.Conn))
		im.number(x)
		return
	}
	if missing := x.Seq - last.seq - 1; missing > 0 {
		x.Notes = append(x.Notes, fmt.Sprintf("%s: exchange %d has place %d on its connection, and %d before it are not in the HAR file", NoteCopy, x.N, x.Seq, missing))
		x.Seq = last.seq + 1
	}
	im.took(x)
}

// number gives an exchange numbers, and a connection of its own.
func (im *importer) number(x *Exchange) {
	x.N, x.Conn, x.Seq = im.n+1, im.conn+1, 1
	im.took(x)
}

func (im *importer) took(x *Exchange) {
	im.used[x.N], im.last[x.Conn] = true, tip{x.Seq, x.N}
	im.n, im.conn = max(im.n, x.N), max(im.conn, x.Conn)
}
