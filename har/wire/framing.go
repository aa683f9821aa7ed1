package wire

import (
	"math"
	"strings"
)

// frame decides how the message's body ends (RFC 9112 section 6.3). method is that of the request, "" if unknown.
//
// Transfer-Encoding wins over Content-Length, as the RFC has it for those who do not refuse the message: net/http and
// curl read it so, undici refuses it.
func (h *Head) frame(d Dir, method string, f *fault) {
	var lengths, codings []string
	for i := range h.Fields {
		fd := &h.Fields[i]
		switch {
		case len(fd.Name) == len("Content-Length") && strings.EqualFold(fd.Name, "Content-Length"):
			lengths = append(lengths, fd.Value)
		case len(fd.Name) == len("Transfer-Encoding") && strings.EqualFold(fd.Name, "Transfer-Encoding"):
			codings = append(codings, fd.Value)
		}
	}
	switch {
	case d == ToClient && h.bodiless(method):
		if codings != nil || lengths != nil && method != "HEAD" && h.Status != 304 {
			*f |= framedBodiless
		}
	case codings != nil:
		if lengths != nil {
			*f |= lengthAndEncoding
		}
		h.frameCodings(d, codings, f)
	case lengths != nil:
		h.frameLengths(lengths, f)
	case d == ToClient:
		h.Framing = ByClose
	}
}

// bodiless sets the framing of responses that end with their head, whatever their fields say.
func (h *Head) bodiless(method string) bool {
	switch {
	case h.Status == 101 || method == "CONNECT" && h.Status/100 == 2:
		h.Framing = Tunnel
	case h.Status < 200 || h.Status == 204 || h.Status == 304 || method == "HEAD":
		h.Framing = NoBody
	default:
		return false
	}
	return true
}

func (h *Head) frameCodings(d Dir, codings []string, f *fault) {
	if h.Proto == "HTTP/1.0" {
		*f |= encodingIn10
	}
	last, chunked := "", 0
	for _, line := range codings {
		for item := range strings.SplitSeq(line, ",") {
			if item = trimOWS(item); item == "" {
				continue
			}
			name, params, _ := strings.Cut(item, ";")
			if last = trimOWS(name); strings.EqualFold(last, "chunked") {
				chunked++
				if params != "" {
					*f |= chunkedParameters
				}
			}
		}
	}
	if chunked > 1 {
		*f |= chunkedTwice
	}
	switch {
	case strings.EqualFold(last, "chunked"):
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
func (h *Head) frameLengths(lengths []string, f *fault) {
	length, seen := int64(-1), false
	for _, line := range lengths {
		for item := range strings.SplitSeq(line, ",") {
			n := parseLength(trimOWS(item))
			switch {
			case n < 0:
				*f |= badLength
			case !seen:
			case n == length:
				*f |= repeatedLength
			default:
				*f |= conflictingLength
			}
			length, seen = n, true
		}
	}
	if *f&(badLength|conflictingLength) != 0 {
		h.Framing = Unframable
		return
	}
	h.Framing, h.Length = ByLength, length
}

// parseLength reads digits only: no sign, no prefix. It gives -1 for anything else and beyond 2^63-1.
func parseLength(s string) int64 {
	if s == "" {
		return -1
	}
	var n int64
	for i := range len(s) {
		if !isDigit(s[i]) || n > (math.MaxInt64-9)/10 {
			return -1
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n
}
