package analyze

import "slices"

// A cause is a finding that says why, and the findings that only say that: of one exchange the first is enough.
type cause struct {
	id    string
	says  []string
	quiet bool // what it explains was no fault, so its severity is not taken over
}

var (
	refusals     = []string{"request-http-4xx", "initialize-http-error", "optional-method-refused", "notification-refused", "initialized-refused"}
	unreadable   = []string{"reply-invalid", "initialize-reply-invalid", "initialize-without-reply", "probe-reply-not-json", "probe-reply-empty", "sse-ended-without-reply", "probe-sse-no-reply", "reply-media-type", "probe-media-type"}
	uncorrelated = []string{"reply-uncorrelated", "initialize-without-reply", "probe-reply-uncorrelated"}
	outages      = []string{"request-http-5xx", "initialize-http-error", "optional-method-outage"}
	headerBreach = []string{"conform-name-header", "conform-method-header", "conform-version-header-body"}
	sessionLess  = []string{"conform-session-header", "session-id-lost"}
)

var causes = []cause{
	{id: "auth-credentials-refused", says: []string{"auth-required", "optional-method-auth"}},
	{id: "auth-scope-insufficient", says: []string{"auth-required", "optional-method-auth"}},
	{id: "edge-refused", says: append([]string{"auth-required", "auth-challenge-missing", "probe-auth", "optional-method-auth"}, refusals...)},
	{id: "stdio-byte-order-mark", says: []string{"request-unanswered", "stdio-probe-silence", "initialize-silence", "stdio-exit-before-reply"}},
	{id: "host-refused", says: append([]string{"auth-required", "probe-auth", "optional-method-auth"}, refusals...)},
	{id: "body-undecodable", says: unreadable},
	{id: "json-body-is-sse", says: unreadable},
	{id: "sse-body-is-json", says: unreadable},
	{id: "sse-event-odd", says: unreadable},
	{id: "smuggling-shape", says: []string{"request-failed", "initialize-failed"}},
	{id: "header-body-disagree", says: slices.Concat(refusals, headerBreach)},
	{id: "header-mismatch-unfounded", says: refusals},
	{id: "payload-too-large", says: refusals},
	{id: "head-too-large", says: refusals},
	{id: "rate-limited", says: refusals},
	{id: "proxy-auth-required", says: refusals},
	{id: "request-media-type", says: refusals},
	{id: "media-type-refused", says: refusals},
	{id: "gateway-timeout", says: outages},
	{id: "connection-reused-late", says: []string{"request-failed"}},
	{id: "reply-id-type", says: slices.Concat(uncorrelated, []string{"sse-ended-without-reply", "sse-open-without-reply", "probe-sse-no-reply", "reply-to-nobody"})},
	{id: "reply-to-nobody", says: []string{"conform-response-on-stream"}},
	{id: "reply-in-202-body", says: []string{"request-without-reply", "initialize-without-reply"}},
	{id: "notification-answered", says: []string{"notification-ack-nonconforming"}},
	{id: "notification-with-id", says: []string{nonconforming.id}},
	{id: "request-without-id", says: []string{nonconforming.id}},
	{id: "get-stream-media-type", says: []string{nonconforming.id}},
	{id: "id-in-use", says: []string{"conform-request-id"}},
	{id: "session-id-lost", says: append(slices.Clone(refusals), sessionLess[0])},
	{id: "session-header-not-exposed", says: slices.Concat(refusals, sessionLess, []string{"notification-answered"})},
	{id: "cors-origin-missing", says: []string{"conform-origin"}},
	{id: "transport-mismatch-post", says: refusals},
	{id: "constant-delay", says: []string{"reply-slow"}},
	{id: "stream-age-limit", says: []string{"stream-idle-cut"}},
	{id: "stdio-reply-id-type", says: []string{"request-unanswered", "stdio-probe-silence", "initialize-silence"}},
	{id: "cancelled-call", says: []string{"request-unanswered", "sse-open-without-reply"}, quiet: true},
}

// causeOf looks up what a finding explains, nil if nothing.
func causeOf(id string) *cause {
	for i := range causes {
		if causes[i].id == id {
			return &causes[i]
		}
	}
	return nil
}

// withoutEffects leaves out findings that another finding of the same exchange explains. That one takes over what they know more: the
// severity of the consequence, the rule, and the cost.
func withoutEffects(all []Finding) []Finding {
	whys := map[int][]int{} // by exchange: findings that explain others
	for i := range all {
		if causeOf(all[i].ID) != nil {
			for _, n := range all[i].Exchanges {
				whys[n] = append(whys[n], i)
			}
		}
	}
	if len(whys) == 0 {
		return all
	}
	gone := make([]bool, len(all))
	for g := range all {
		x := &all[g]
		for _, i := range whys[x.Exchanges[0]] {
			c, why := causeOf(all[i].ID), &all[i]
			if gone[i] || !slices.Contains(c.says, x.ID) {
				continue
			}
			if !c.quiet {
				why.takeOver(x)
			}
			gone[g] = true
			break
		}
	}
	kept := all[:0]
	for i := range all {
		if !gone[i] {
			kept = append(kept, all[i])
		}
	}
	return kept
}

func (x *Finding) takeOver(y *Finding) {
	if y.Severity == severe || x.Severity == note {
		x.Severity = y.Severity
	}
	if x.Rule == "" {
		x.Rule = y.Rule
	}
	x.Cost.MS, x.Cost.Requests = max(x.Cost.MS, y.Cost.MS), max(x.Cost.Requests, y.Cost.Requests)
}

// explainedBy tells whether a finding that exists says why an exchange has this one, too.
func (k *conformance) explainedBy(n int, id string) bool {
	for _, i := range k.reported[n] {
		if c := causeOf(k.known[i].ID); c != nil && slices.Contains(c.says, id) {
			return true
		}
	}
	return false
}
