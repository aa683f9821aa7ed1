package analyze

import (
	"cmp"
	"slices"
	"strings"
)

// sdkPolicies are the policies of the newest measured version of each library, by the names that reports give them.
var sdkPolicies = map[string]string{
	"typescript": "ts-2.4.0", "go": "go-1.8.0", "mcp-go": "mcp-go-1.2.1", "python": "python-main", "rust": "rust-3.1.4",
	"csharp": "csharp-2.2.0", "java": "java-main", "kotlin": "kotlin-main",
}

// SDKs lists the names of libraries that Options.Client may be, sorted.
func SDKs() []string {
	var names []string
	for name := range sdkPolicies {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// clientPolicy gives the policy that Options.Client names, directly or by its library; nil for "".
func clientPolicy(name string) (*Policy, error) {
	if name == "" {
		return nil, nil
	}
	if p := policies().byName[cmp.Or(sdkPolicies[name], name)]; p != nil {
		return p, nil
	}
	return nil, &UnknownError{"client", name, "a policy or one of " + strings.Join(SDKs(), ", "), Near(name, slices.Concat(SDKs(), policies().names))}
}

// take judges every conversation as if its client had been recognised as p's; nil changes nothing.
func (a *analysis) take(p *Policy) {
	if p == nil {
		return
	}
	for _, v := range a.conversations {
		v.client.policy, v.client.why = p.Name, "named by the caller"
		v.client.confidence = Certain
	}
}
