package har

// The first words of an Exchange's Notes: a word alone, or with details behind a colon. docs/format.md lists them.
const (
	NoteUpstream  = "upstream"  // "upstream: refused", "tls", "dns", "unreachable", "timeout", "other origin": the server was never reached
	NoteTunnel    = "tunnel"    // a CONNECT whose tunnel was not opened, as in "tunnel: not in --only"; what went through it is not here
	NoteGap       = "gap"       // bytes are missing, as in "gap: 1460 bytes before byte 2920 of the response"
	NoteSnaplen   = "snaplen"   // the capture kept only the beginning of packets
	NoteStart     = "start"     // the capture began in the middle of the connection
	NoteConflict  = "conflict"  // the capture holds two copies of some bytes, and they differ
	NoteInferred  = "inferred"  // which end is the client was told by the bytes alone
	NoteHAR       = "har"       // imported from a HAR file, which has no bytes, cuts or endings
	NoteExit      = "exit"      // stdio: the server's process has ended, as in "exit: 1" or "exit: SIGKILL"
	NoteStdout    = "stdout"    // stdio: the server closed its stdout and ran on
	NoteLimit     = "limit"     // bytes were left out on purpose, as in "limit: 1460 bytes of the response were not kept"
	NoteRotated   = "rotated"   // the exchange goes on in the next file of the recording
	NoteCut       = "cut"       // the file ends before the exchange did
	NoteLost      = "lost"      // exchanges before this one were lost with damage, as in "lost: 2 exchanges before it on its connection"
	NoteMinimized = "minimized" // parts of the exchange were left out: these are not the bytes of the wire
	NoteRecoded   = "recoded"   // a compressed body held secrets and was compressed again, as in "recoded: the compressed body of the response had 90 bytes, and has 84"
	NoteCopy      = "copy"      // copied members of the file differed from the bytes, which the reader corrected
)
