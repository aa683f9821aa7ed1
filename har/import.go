package har

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxHAREntry bounds one entry of a HAR file.
const maxHAREntry = 256 << 20

// ImportHAR reads HAR 1.2 and calls yield for each entry, in order. An entry that ExportHAR wrote gives the exchange that it was
// written from: the lines in its _mcptap count, and a note says where other fields differ. Other HAR has no bytes of the wire: heads
// are written anew from its fields, bodies stand as their text says, with neither transfer nor content coding, at one instant each,
// with the note NoteHAR and the ending EndUnknown. So does an entry whose _mcptap breaks the rules of cassettes, and a note says how.
// A member of another kind than HAR says is taken as missing, and a note names the first one.
//
// Before the first entry begin is called with the header that ExportHAR wrote, nil if there is none in front of the entries, and why
// one that is there is not used. Entries that stand before damage or the end of a cut file are yielded before the error.
func ImportHAR(r io.Reader, begin func(h *Header, unused error) error, yield func(*Exchange) error) error {
	b := &boundedReader{r: skipBOM(r), left: maxHAREntry}
	d := json.NewDecoder(b)
	im := importer{used: map[int]bool{}, last: map[uint64]tip{}}
	own, err := descend(d, "log", "entries")
	if err != nil {
		return harFault(d, err)
	}
	if err := begin(im.header(own)); err != nil {
		return err
	}
	for n := 1; d.More(); n++ {
		var e harIn
		b.left = maxHAREntry
		err := d.Decode(&e)
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) && kind.Field != "" {
			e.wrong, err = fmt.Sprintf("no %s that can be read: it is %s", kind.Field, article(kind.Value)), nil // all others were read
		}
		if err != nil {
			return fmt.Errorf("entry %d: %w", n, harFault(d, err))
		}
		if err := yield(im.exchange(&e)); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return harFault(d, err)
	}
	return nil
}

// ErrHARCut tells that a HAR file ends inside its log.
var ErrHARCut = errors.New("the HAR file was cut")

func harFault(d *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w at offset %d", ErrHARCut, d.InputOffset())
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		err = fmt.Errorf("got %s in place of an object", article(kind.Value))
	}
	return fmt.Errorf("offset %d: want HAR 1.2: %w", d.InputOffset(), err)
}

// article puts the article before the name of a kind of JSON value.
func article(kind string) string {
	if strings.HasPrefix(kind, "array") || strings.HasPrefix(kind, "object") {
		return "an " + kind
	}
	return "a " + kind
}

// descend goes into the members of that name, up to the first element of a list, and returns the _mcptap that it passed.
func descend(d *json.Decoder, names ...string) (own json.RawMessage, err error) {
	for _, name := range names {
		if err := want1(d, '{'); err != nil {
			return nil, err
		}
		for {
			if !d.More() {
				if _, err := d.Token(); err != nil {
					return nil, err
				}
				return nil, fmt.Errorf("there is no member %q", name)
			}
			t, err := d.Token()
			if err != nil {
				return nil, err
			}
			if t == name {
				break
			}
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return nil, err
			}
			if t == "_mcptap" {
				own = skipped
			}
		}
	}
	return own, want1(d, '[')
}

func want1(d *json.Decoder, delim json.Delim) error {
	t, err := d.Token()
	if err == nil && t != delim {
		err = fmt.Errorf("got %v in place of %v", t, delim)
	}
	return err
}

// A boundedReader fails once more was read than one entry may take.
type boundedReader struct {
	r    io.Reader
	left int
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("an entry has more than %d bytes", maxHAREntry)
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

// skipBOM passes over a byte order mark.
func skipBOM(r io.Reader) io.Reader {
	bom := make([]byte, 3)
	n, _ := io.ReadFull(r, bom)
	if string(bom[:n]) == "\xEF\xBB\xBF" {
		return r
	}
	return io.MultiReader(bytes.NewReader(bom[:n]), r)
}

// What is read of an entry. Members may be missing or null, and -1 stands for what is not known.
type (
	harIn struct {
		Started string     `json:"startedDateTime"`
		Request harInSide  `json:"request"`
		Answer  harInSide  `json:"response"`
		Server  string     `json:"serverIPAddress"`
		Timings harInTimes `json:"timings"`

		Own json.RawMessage `json:"_mcptap"`

		wrong string // the first member of another kind than it should have
	}
	harInSide struct {
		Method  string     `json:"method"`
		URL     string     `json:"url"`
		Headers []harPair  `json:"headers"`
		Post    *harInBody `json:"postData"`
		Status  float64    `json:"status"`
		Reason  string     `json:"statusText"`
		Content *harInBody `json:"content"`
		Error   string     `json:"_error"`
	}
	harInBody struct {
		Size      *float64  `json:"size"`
		Text      *string   `json:"text"`
		Encoding  string    `json:"encoding"`
		Encoding2 string    `json:"_encoding"`
		Params    []harPair `json:"params"`
	}
	harInTimes struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
)

// exchange builds an exchange of the fields of HAR, without numbers: a HAR file's connection numbers cannot be relied on.
func (e *harIn) exchange() *Exchange {
	x := &Exchange{End: EndUnknown, Notes: []string{NoteHAR + ": bytes, cuts and ending are not known"}}
	if t, err := time.Parse(time.RFC3339, e.Started); err == nil && t.Year() >= 0 && t.Year() <= 9999 {
		x.Started = t.UTC().Truncate(time.Microsecond)
	} else {
		x.Started = time.Unix(0, 0).UTC()
	}
	u, _ := url.Parse(e.Request.URL)
	if u == nil {
		u = &url.URL{}
	}
	x.Request = whole(e.Request.requestBytes(u), 0)
	x.Server = serverOf(e.Server, u)
	if e.Answer.Status > 0 {
		raw, missing := e.Answer.responseBytes(e.Request.Method)
		x.Response = whole(raw, milliseconds(e.Timings.Send, e.Timings.Wait))
		if missing != "" {
			x.Notes = append(x.Notes, missing)
		}
	} else {
		reason := e.Answer.Error
		if reason == "" {
			reason = e.Answer.Reason
		}
		x.Notes = append(x.Notes, strings.TrimSuffix(NoteHAR+": no response: "+headText(reason), ": "))
	}
	if e.wrong != "" {
		x.Notes = append(x.Notes, NoteHAR+": "+headText(e.wrong))
	}
	x.EndOff = len(x.Response.Raw)
	base := ""
	if u.Host != "" {
		base = u.Scheme + "://" + u.Host
	}
	FillDerived(x, base)
	return x
}

func whole(raw []byte, at time.Duration) Side {
	if len(raw) == 0 {
		return Side{}
	}
	return Side{Raw: raw, Writes: []Write{{At: at, Len: len(raw)}}}
}

func milliseconds(parts ...float64) time.Duration {
	sum := 0.0
	for _, p := range parts {
		if p > 0 && p < 1e12 {
			sum += p
		}
	}
	return time.Duration(sum*1000) * time.Microsecond
}

func serverOf(ip string, u *url.URL) string {
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	if ip = strings.Trim(ip, "[]"); ip != "" {
		host = ip
	}
	if host == "" {
		return ""
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return headText(host + ":" + port)
}

// headText makes text fit into one line of a head.
func headText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return -1
		}
		return r
	}, s)
}

func (s *harInSide) requestBytes(u *url.URL) []byte {
	method := strings.ReplaceAll(headText(s.Method), " ", "")
	if method == "" {
		method = "GET"
	}
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\n", method, u.RequestURI())
	b = s.head(b, u.Host)
	body := s.Post.bytes()
	if len(body) > 0 {
		b = fmt.Appendf(b, "Content-Length: %d\r\n", len(body))
	}
	return append(append(b, "\r\n"...), body...)
}

// responseBytes gives the response, and a note if the file says that its body is not all of it.
func (s *harInSide) responseBytes(method string) (raw []byte, missing string) {
	status := min(max(int(s.Status), 100), 999)
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", status, headText(s.Reason))
	b = s.head(b, "")
	body := s.Content.bytes()
	bodiless := method == "HEAD" || status < 200 || status == 204 || status == 304
	if !bodiless && !s.stream() {
		b = fmt.Appendf(b, "Content-Length: %d\r\n", len(body))
	}
	b = append(b, "\r\n"...)
	if bodiless {
		return b, ""
	}
	if c := s.Content; c != nil && c.Text == nil && c.Size != nil && *c.Size > 0 && *c.Size < 1<<53 {
		missing = fmt.Sprintf("%s: %s bytes before byte %d of the response", NoteGap, strconv.FormatInt(int64(*c.Size), 10), len(b))
	}
	return append(b, body...), missing
}

// stream tells whether the response is an event stream, of which no length was known.
func (s *harInSide) stream() bool {
	for _, h := range s.Headers {
		if strings.EqualFold(h.Name, "Content-Type") {
			return mediaType(h.Value) == "text/event-stream"
		}
	}
	return false
}

// head writes the fields, but for pseudo-fields of HTTP/2 and for those that speak of codings which HAR has undone.
func (s *harInSide) head(b []byte, host string) []byte {
	for _, h := range s.Headers {
		name := strings.ReplaceAll(headText(h.Name), " ", "")
		switch strings.ToLower(name) {
		case "content-length", "transfer-encoding", "content-encoding", "":
			continue
		case "host":
			host = ""
		}
		if !strings.HasPrefix(name, ":") {
			b = fmt.Appendf(b, "%s: %s\r\n", name, headText(h.Value))
		}
	}
	if host != "" {
		b = fmt.Appendf(b, "Host: %s\r\n", headText(host))
	}
	return b
}

// bytes gives a body: its text, decoded where it is base64, or form parameters.
func (c *harInBody) bytes() []byte {
	if c == nil {
		return nil
	}
	if c.Text == nil || *c.Text == "" && len(c.Params) > 0 {
		form := url.Values{}
		for _, p := range c.Params {
			form.Add(p.Name, p.Value)
		}
		return []byte(form.Encode())
	}
	if strings.EqualFold(c.Encoding, "base64") || strings.EqualFold(c.Encoding2, "base64") {
		if b, err := base64.StdEncoding.DecodeString(*c.Text); err == nil {
			return b
		}
	}
	return []byte(*c.Text)
}
