package har

import (
	"bytes"
	"strings"
	"testing"
)

// example makes a key of that shape, with n characters behind the prefix.
func (s *keyShape) example(n int) string {
	chars := ""
	for c := range 128 {
		if class[c]&s.chars&letterOrDigit != 0 {
			chars = string(rune(c)) + chars
		}
	}
	chars += "0"
	return s.prefix + strings.Repeat(chars[len(chars)-9:], n/9+1)[:n]
}

// Each key is replaced whole, by a recorder at every cut, and what is shorter or stands within a word is none. Keys with a full
// stop are left to a Cleaner.
func TestKeyShapes(t *testing.T) {
	for i := range keyShapes {
		s := &keyShapes[i]
		t.Run(s.prefix, func(t *testing.T) {
			whole, short := s.example(s.least), s.example(s.least-1)
			req, resp := asPost("", "{}"), asAnswer(jsonType, `{"text":"it is `+whole+`, not `+short+` and not a`+whole+`"}`)
			want := strings.Replace(resp, whole, "redacted"+strings.Repeat("x", len(whole)-len("redacted")), 1)
			x := &Exchange{Request: Side{Raw: []byte(req)}, Response: Side{Raw: []byte(resp)}}
			NewCleaner(nil, false).Clean(&Cassette{Exchanges: []*Exchange{x}})
			if i := strings.Index(want, " not a"); !bytes.HasPrefix(x.Response.Raw, []byte(want[:i])) {
				t.Errorf("got  %q\nwant %q", x.Response.Raw, want)
			}
			if s.prefix[s.trigger] == '.' {
				return
			}
			for cut := range len(req) + len(resp) {
				_, stored := grow(t, NewRedactor(), req, resp, cut)
				if got := strings.ReplaceAll(string(stored[1]), "a"+whole, ""); strings.Contains(got, whole) {
					t.Fatalf("cut at byte %d: %q", cut, got)
				}
			}
		})
	}
}

// Words that begin as keys do.
func TestNoKeyShapes(t *testing.T) {
	for _, text := range []string{
		"import SG.js; ya29.example glrt-runner-2026-config whsec_test xai-grok-code-fast-1 ntn_identifier shpat_1 hvs.example.com",
		"lin_api_client_library ATATTRIBUTE pypi-server-2026-11-30 figd_x r8_model glsa_service_account npm_config_registry",
		"GOCSPX-short dop_v1_droplet xapp-version tvly-search-tool gsk_model_name dckr_pat_docs",
		"SG.very.long.name.of.a.package.without.any.figure.in.it.that.goes.on.and.on.and.on",
	} {
		raw := asAnswer("", text)
		x := &Exchange{Request: Side{Raw: []byte(asPost("", "{}"))}, Response: Side{Raw: []byte(raw)}}
		NewCleaner(nil, false).Clean(&Cassette{Exchanges: []*Exchange{x}})
		if string(x.Response.Raw) != raw {
			t.Errorf("%q became %q", raw, x.Response.Raw)
		}
	}
}

func TestOAuthStates(t *testing.T) {
	const value = "n0nce-0f-a-request"
	for _, tt := range []struct {
		name, text string
		found      bool
	}{
		{"an answer", "https://h.example/cb?code=abcdefgh&state=" + value + "#x", true},
		{"a request", "<https://h.example/authorize?response_type=code&client_id=c&state=" + value + ">", true},
		{"before the others", "https://h.example/authorize?state=" + value + "&amp;client_id=c", true},
		{"escaped for JSON", `{\"url\":\"https://h.example/cb?state=` + value + `\u0026code=abcdefgh\"}`, true},
		{"within another URL", "https://i.example/?next=https%3A%2F%2Fh.example%2Fcb%3Fstate%3D" + value + "%26code%3Dabcdefgh", true},
		{"no OAuth", "https://h.example/issues?state=" + value + "&zipcode=12345", false},
		{"another parameter", "https://h.example/cb?client_id=c&estate=" + value, false},
		{"a word", "https://h.example/cb?client_id=c&state=open", false},
		{"another URL beside it", "https://h.example/?state=" + value + " https://i.example/?client_id=c", false},
	} {
		x := &Exchange{Request: Side{Raw: []byte(asPost("", "{}"))}, Response: Side{Raw: []byte(asAnswer("", tt.text))}}
		NewCleaner(nil, false).Clean(&Cassette{Exchanges: []*Exchange{x}})
		if tt.found && bytes.Contains(x.Response.Raw, []byte(value)) || !tt.found && !bytes.Contains(x.Response.Raw, []byte(tt.text)) {
			t.Errorf("%s: %q", tt.name, x.Response.Raw)
		}
	}
}
