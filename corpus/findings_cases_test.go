package corpus

import "strings"

// findings are what a person must be told, by the finding's ID: names of cases, apart by white space.
var findings = map[string]string{
	"answer-too-late":                 `probe-answered-too-late`,
	"get-stream-refused":              `get-stream-403 get-stream-500 get-stream-503`,
	"get-stream-unsupported":          `get-stream-400 get-stream-404 get-stream-422 get-stream-501`,
	"optional-method-auth":            `optional-401-method-not-found optional-403-method-not-found http-sse-optional-401-method-not-found http-sse-optional-403-method-not-found`,
	"optional-method-outage":          `optional-500-method-not-found optional-502-method-not-found optional-503-method-not-found http-sse-optional-503-method-not-found outage-502-quoted`,
	"probe-accepted-202":              `probe-202`,
	"probe-auth":                      `probe-401-bearer probe-401-method-not-found probe-401-unsupported probe-403-empty probe-403-html probe-403-method-not-found`,
	"probe-body-stalled":              `probe-body-stalls`,
	"probe-http-5xx":                  `probe-500-empty probe-500-method-not-found probe-502-html probe-503-empty pinned-probe-503`,
	"probe-media-type":                `probe-html-page probe-text-plain probe-no-media-type pinned-probe-html-page`,
	"probe-no-common-version":         `probe-no-common-version pinned-probe-no-common-version`,
	"probe-not-http":                  `probe-not-http`,
	"probe-reply-empty":               `probe-json-empty`,
	"probe-reply-id-null":             `probe-error-id-null pinned-probe-error-id-null probe-404-error-id-null probe-unsupported-id-null`,
	"probe-reply-invalid":             `probe-error-extra-member`,
	"probe-reply-not-json":            `probe-json-broken`,
	"probe-reply-uncorrelated":        `probe-batch-empty probe-foreign-id probe-notification-body probe-error-id-absent`,
	"probe-reset":                     `probe-reset`,
	"probe-reset-mid-body":            `probe-json-reset probe-json-short`,
	"probe-result-invalid":            `probe-result-not-discover`,
	"probe-silence":                   `probe-silence`,
	"probe-sse-no-reply":              `probe-sse-comments probe-sse-ends probe-sse-reset probe-sse-silence`,
	"probe-sse-reply-invalid":         `probe-sse-error-id-null`,
	"probe-unsupported-list-unusable": `probe-unsupported-list-empty probe-unsupported-list-missing probe-unsupported-list-not-strings`,
	"probe-versions-legacy-only":      `probe-unsupported-legacy-only`,
	"probe-version-refused-twice":     `probe-unsupported-refused-twice`,
	"probe-versions-disjoint":         `probe-unsupported-disjoint`,
	"reconnect-loop":                  `optional-404-reconnect-loop`,
	"request-failed":                  `call-reset optional-reset optional-json-reset`,
	"request-http-4xx":                `call-404-no-session`,
	"request-http-5xx":                `outage-502-html`,
	"request-without-reply":           `discover-202-mid-session`,
	"server-unreachable":              `probe-refused probe-tls-failed probe-name-not-found`,
	"session-call-not-repeated":       `session-404-not-repeated`,
	"session-not-renewed":             `session-404-kept`,
	"session-renewed-with-old-id":     `session-404-old-id-sent`,
	"session-repeated-more-than-once": `session-404-retried-again`,
	"session-retry-failed":            `session-404-twice session-expired-in-band-twice`,

	"session-or-method": `optional-400-method-not-found optional-404-method-not-found optional-404-unknown-method
		optional-405-method-not-found optional-422-method-not-found optional-501-method-not-found`,
	"optional-method-missing": `optional-404-method-not-found-no-session http-sse-optional-400-method-not-found
		http-sse-optional-404-method-not-found http-sse-optional-405-method-not-found http-sse-optional-422-method-not-found
		http-sse-optional-501-method-not-found`,
	"optional-method-refused": `optional-404-session-not-found-no-session optional-400-internal-error optional-404-no-jsonrpc
		optional-404-html optional-404-quoted optional-404-text http-sse-optional-404-quoted http-sse-optional-404-empty`,
	"session-expired": `session-404-expired session-404-rpc-error session-404-empty session-expired-in-band
		session-expired-in-band-text optional-404-session-not-found http-sse-session-expired http-sse-session-404 stdio-session-expired`,
}

// withFindings puts each finding into the first expectation of its cases.
func withFindings(all []entry) []entry {
	of := map[string]string{}
	for id, names := range findings {
		for _, name := range strings.Fields(names) {
			of[name] = id
		}
	}
	for i := range all {
		all[i].expect[0].Finding = of[all[i].name]
	}
	return all
}
