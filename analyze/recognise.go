package analyze

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Confidence says how sure the naming of a client or server is.
type Confidence string

const (
	// Unsure is for a client or server that nothing in the traffic names.
	Unsure Confidence = "unknown"
	// Guess rests on a mark of what is underneath, such as the HTTP library, or on a version far from those measured.
	Guess Confidence = "guess"
	// Likely rests on one mark: a name, or the way in which messages are written.
	Likely Confidence = "likely"
	// Certain rests on a mark that nothing else leaves, or on two that agree, and on a version that was measured.
	Certain Confidence = "certain"
)

// lower is one step less sure.
func (c Confidence) lower() Confidence {
	switch c {
	case Certain:
		return Likely
	case Likely:
		return Guess
	}
	return c
}

// recognised is what is known of a client beyond what it says of itself.
type recognised struct {
	sdk, host, policy, why string
	confidence             Confidence
}

// clients are the marks by which clients and servers are told apart; the first that fits decides.
type clients struct {
	Hosts   []*clientMark `json:"hosts"`
	SDKs    []*clientMark `json:"sdks"`
	Servers []*serverMark `json:"servers"`
}

// A clientMark is one way to recognise a host or a library. All that is stated must hold; of a list of patterns, one.
type clientMark struct {
	Host       string            `json:"host"`
	SDK        string            `json:"sdk"`      // "" leaves it to the marks of libraries
	Names      []string          `json:"names"`    // patterns of the name in clientInfo; * stands for any text
	Agents     []string          `json:"agents"`   // patterns of User-Agent
	Marks      []string          `json:"marks"`    // words of marks.words
	Confirm    []string          `json:"confirm"`  // where these hold too, it is certain
	Version    string            `json:"version"`  // where the host's version stands: client, name, agent; "" if nowhere
	Policies   map[string]string `json:"policies"` // by measured version
	Policy     string            `json:"policy"`   // of a library
	Confidence Confidence        `json:"confidence"`
	Why        string            `json:"why"`
}

//go:embed clients.json
var clientsFile []byte

var knownClients = sync.OnceValue(func() *clients {
	c := &clients{}
	if err := json.Unmarshal(clientsFile, c); err != nil {
		panic("analyze: clients.json: " + err.Error())
	}
	return c
})

// recognise names the host and the library behind a connect and chooses the policy that stands for it: of the host if it
// was measured, else of the library.
func recognise(c *connect) recognised {
	m := marksOf(c)
	r := recognised{sdk: "unknown", confidence: Unsure, why: "nothing in the traffic tells one library from another"}
	for _, k := range knownClients().SDKs {
		if k.fits(&m) {
			r = recognised{k.SDK, "", k.Policy, k.Why, k.confidence(&m)}
			break
		}
	}
	if r.policy == "ts-2.4.0" && c.pinned() {
		r.policy, r.confidence = "ts-2.4.0-pin", Likely
		r.why += "; no initialize followed an answer from which mode auto falls back, so its version is pinned"
	}
	for _, k := range knownClients().Hosts {
		if !k.fits(&m) {
			continue
		}
		r.host = k.Host
		if len(k.Policies) > 0 {
			r.sdk, r.confidence, r.why = k.SDK, k.confidence(&m), k.because(&m)
			r.choose(k, k.version(&m))
		}
		break
	}
	return r
}

// choose takes the policy of the host's version, or of the nearest one that was measured.
func (r *recognised) choose(k *clientMark, version string) {
	at := nearest(version, slices.Collect(maps.Keys(k.Policies)))
	r.policy = k.Policies[at]
	switch {
	case version == "":
		r.confidence = r.confidence.lower()
		r.why += "; its version is not in the traffic, " + at + " was measured"
	case version != at:
		r.confidence = r.confidence.lower()
		r.why += fmt.Sprintf("; version %s was not measured, %s is the nearest that was", version, at)
	}
}

// nearest gives the newest of the measured versions that is not newer, else the oldest; for "" the newest.
func nearest(version string, measured []string) string {
	slices.SortFunc(measured, compareVersions)
	best := measured[0]
	for _, v := range measured {
		if version == "" || compareVersions(v, version) <= 0 {
			best = v
		}
	}
	return best
}

// compareVersions compares dotted numbers; what is no number counts as 0.
func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		var x, y int
		if i < len(as) {
			x, _ = strconv.Atoi(as[i])
		}
		if i < len(bs) {
			y, _ = strconv.Atoi(bs[i])
		}
		if x != y {
			return cmp.Compare(x, y)
		}
	}
	return 0
}

// pinned tells whether a TypeScript client that probed gave up where its mode auto would have sent initialize.
func (c *connect) pinned() bool {
	f := decisive(c.probes)
	if f == nil || len(c.inits)+len(c.requests) > 0 || !f.settled() {
		return false
	}
	return policies().byName["ts-2.4.0"].judge(f).Verdict == "legacy-fallback"
}

func (k *clientMark) fits(m *marks) bool {
	return (k.Names == nil || matchesAny(k.Names, m.info.name)) && (k.Agents == nil || matchesAny(k.Agents, m.agent)) && m.all(k.Marks)
}

func (k *clientMark) confidence(m *marks) Confidence {
	if len(k.Confirm) > 0 && m.all(k.Confirm) {
		return Certain
	}
	return cmp.Or(k.Confidence, Likely)
}

// because says what a host was recognised by.
func (k *clientMark) because(m *marks) string {
	by := "clientInfo names " + strconv.Quote(m.info.name)
	switch {
	case k.Names == nil && k.Agents != nil:
		by = "User-Agent names " + strconv.Quote(m.agent)
	case k.Names == nil:
		by = "by the way in which it writes"
	}
	if k.Why != "" {
		by += ": " + k.Why
	}
	if len(k.Confirm) > 0 && m.all(k.Confirm) {
		by += " (" + strings.Join(k.Confirm, ", ") + ")"
	}
	return by
}

// version finds the host's version where it is known to write it.
func (k *clientMark) version(m *marks) string {
	switch k.Version {
	case "client":
		return m.info.version
	case "name":
		_, v, _ := strings.Cut(m.info.name, " (via ")
		_, v, _ = strings.Cut(strings.TrimSuffix(v, ")"), " ")
		return v
	case "agent":
		_, v, _ := strings.Cut(m.agent, "/")
		v, _, _ = strings.Cut(v, " ")
		return v
	}
	return ""
}

func matchesAny(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, s) })
}

// matches compares with a pattern in which * stands for any text.
func matches(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		if _, s, ok = strings.Cut(s, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(s, parts[last])
}
