package har

import "bytes"

// oauthBeside are the parameters beside which state is that of an OAuth request or its answer (RFC 6749, sections 4.1.1 and 4.1.2).
var oauthBeside = [][]byte{[]byte("code="), []byte("client_id="), []byte("response_type="), []byte("redirect_uri="), []byte("grant_type=")}

// queryMost is how far off they may stand.
const queryMost = 2 << 10

// oauthStates finds the state of OAuth requests, in URLs and forms: elsewhere the parameter holds ordinary words.
func (r *Redactor) oauthStates(ri int, t []byte) {
	const name = "state="
	target := r.regions[ri].target
	for i := 0; ; {
		n := bytes.Index(t[i:], []byte(name))
		if n < 0 {
			return
		}
		off := i + n
		i = off + len(name)
		if !beginsParameter(t, off) {
			continue
		}
		end := i
		for end < len(t) && !endsParameter(t[end], target[0] <= off && off < target[1]) {
			end++
		}
		if end-i >= valueLeast && isOAuthQuery(queryAround(t, off)) {
			r.clipped(ri, i, end, query)
		}
	}
}

func beginsParameter(t []byte, off int) bool {
	return off == 0 || bytes.IndexByte([]byte("?&#;\n"), t[off-1]) >= 0
}

// queryAround gives the query, or the form, that the parameter at off is of.
func queryAround(t []byte, off int) []byte {
	inQuery := func(c byte) bool {
		return c > ' ' && c < 0x7f && c != '"' && c != '\'' && c != '<' && c != '>' && c != '`'
	}
	from, to := off, off
	for from > 0 && off-from < queryMost && inQuery(t[from-1]) {
		from--
	}
	for to < len(t) && to-off < queryMost && inQuery(t[to]) {
		to++
	}
	return t[from:to]
}

func isOAuthQuery(q []byte) bool {
	for _, name := range oauthBeside {
		for i := 0; ; {
			n := bytes.Index(q[i:], name)
			if n < 0 {
				break
			}
			if beginsParameter(q, i+n) {
				return true
			}
			i += n + len(name)
		}
	}
	return false
}
