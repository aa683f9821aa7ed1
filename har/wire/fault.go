package wire

// A fault is a set of departures from RFC 9112 that did not keep a message from being read.
type fault uint32

const (
	bareLF fault = 1 << iota
	bareCR
	leadingEmptyLine
	startSpacing
	noReasonSpace
	oddVersion
	obsFold
	orphanFold
	noColon
	badFieldName
	spaceBeforeColon
	controlCharacter
	lengthAndEncoding
	repeatedLength
	conflictingLength
	badLength
	notChunkedLast
	chunkedTwice
	chunkedParameters
	codingBefore
	encodingIn10
	framedBodiless
	badChunkSize
	chunkSpacing
	badChunkEnd
	longChunkLine
	longTrailers
)

// faultNames are in the order of the constants.
var faultNames = [...]string{
	"bare LF",
	"bare CR",
	"empty line before the start line",
	"white space in the start line",
	"no space after the status code",
	"HTTP version neither 1.0 nor 1.1",
	"obs-fold",
	"continuation line without a field",
	"field line without a colon",
	"invalid character in a field name",
	"space before colon",
	"control character",
	"Content-Length and Transfer-Encoding",
	"repeated Content-Length",
	"conflicting Content-Length",
	"invalid Content-Length",
	"Transfer-Encoding without chunked at its end",
	"chunked twice",
	"parameters of chunked",
	"transfer coding before chunked",
	"Transfer-Encoding in HTTP/1.0",
	"framing field in a message without a body",
	"malformed chunk size",
	"white space after a chunk size",
	"chunk data not followed by CRLF",
	"chunk-size line too long",
	"trailer section too long",
}

// names lists the faults in a fixed order, nil if there are none.
func (f fault) names() []string {
	var out []string
	for i, name := range faultNames {
		if f&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}
