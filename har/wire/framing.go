package wire

import (
	"math"
	"strings"
)

// frame decides how the message's body ends (RFC 9112 section 6.3). req is the method of the request.
//
// Transfer-Encoding wins over Content-Length, as the RFC has it for those who do not refuse the message: net/http and
// curl read it so, undici refuses it.
func (h *Head) frame(d Dir, req method, f *fault) {
	lengths, codings := 0, 0
	var length string
	for i := range h.Fields {
		switch fd := &h.Fields[i]; {
		case len(fd.Name) < len("Content-Length"):
		case fd.named("Content-Length"):
			lengths++
			length = fd.Value
		case fd.named("Transfer-Encoding"):
			codings++
		}
	}
	h.Framing, h.Length = NoBody, 0
	switch {
	case d == ToClient && h.bodiless(req):
		if lengths+codings > 0 && req != headMethod && h.Status != 304 {
			*f |= framedBodiless
		}
	case codings > 0:
		if lengths > 0 {
			*f |= lengthAndEncoding
		}
		h.frameCodings(d, f)
	case lengths > 0:
		if h.Framing, h.Length = ByLength, parseLength(length); lengths > 1 || h.Length < 0 {
			h.frameLengths(f)
		}
	case d == ToClient:
		h.Framing = ByClose
	}
}

// A method is what of a request's method matters to the framing of its response.
type method uint8

const (
	otherMethod method = iota
	headMethod
	connectMethod
)

func methodOf(name string) method {
	switch name {
	case "HEAD":
		return headMethod
	case "CONNECT":
		return connectMethod
	}
	return otherMethod
}

// items calls yield for each member of the list that the fields of that name make together (RFC 9110 section 5.6.1),
// empty members included.
func (h *Head) items(name string, yield func(item string)) {
	for i := range h.Fields {
		if fd := &h.Fields[i]; fd.named(name) {
			for item := range strings.SplitSeq(fd.Value, ",") {
				yield(strings.Trim(item, " \t"))
			}
		}
	}
}

// bodiless sets the framing of responses that end with their head, whatever their fields say.
func (h *Head) bodiless(req method) bool {
	switch {
	case h.Status == 101 || req == connectMethod && h.Status/100 == 2:
		h.Framing = Tunnel
	case h.Status < 200 || h.Status == 204 || h.Status == 304 || req == headMethod:
		h.Framing = NoBody
	default:
		return false
	}
	return true
}

func (h *Head) frameCodings(d Dir, f *fault) {
	if h.Proto == "HTTP/1.0" {
		*f |= encodingIn10
	}
	last, chunked, others := false, 0, 0
	h.items("Transfer-Encoding", func(item string) {
		if item == "" {
			return
		}
		name, params, _ := strings.Cut(item, ";")
		if last = strings.EqualFold(strings.TrimRight(name, " \t"), "chunked"); last {
			chunked++
			if params != "" {
				*f |= chunkedParameters
			}
		} else {
			others++
		}
	})
	if chunked > 1 {
		*f |= chunkedTwice
	}
	if last && others > 0 {
		*f |= codingBefore
	}
	switch {
	case last:
		h.Framing = ByChunks
	case d == ToClient:
		*f |= notChunkedLast
		h.Framing = ByClose
	default:
		*f |= notChunkedLast
		h.Framing = Unframable
	}
}

// frameLengths takes lists and repeated fields as one length if all members are equal (RFC 9112 section 6.3, rule 5).
func (h *Head) frameLengths(f *fault) {
	seen := 0
	h.items("Content-Length", func(item string) {
		n := parseLength(item)
		switch {
		case n < 0:
			*f |= badLength
		case seen == 0:
			h.Length = n
		case n == h.Length:
			*f |= repeatedLength
		default:
			*f |= conflictingLength
		}
		seen++
	})
	h.Framing = ByLength
	if *f&(badLength|conflictingLength) != 0 {
		h.Framing, h.Length = Unframable, 0
	}
}

// parseLength reads digits only: no sign, no prefix. It gives -1 for anything else and beyond 2^63-1.
func parseLength(s string) int64 {
	if s == "" {
		return -1
	}
	var n int64
	for i := range len(s) {
		digit := int64(s[i] - '0')
		if !isDigit(s[i]) || n > (math.MaxInt64-digit)/10 {
			return -1
		}
		n = n*10 + digit
	}
	return n
}
