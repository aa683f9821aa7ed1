package analyze

import (
	"slices"
	"testing"
)

// BenchmarkAnalyze judges sessions of a probe, a handshake, lists and calls by one policy and by all.
func BenchmarkAnalyze(b *testing.B) {
	tools := `{"tools":[`
	for i := range 20 {
		if i > 0 {
			tools += ","
		}
		tools += `{"name":"tool","description":"does what its name says, with some words more","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`
	}
	tools += "]}"
	var scene []step
	for range 100 {
		scene = in(scene, in(one(fellBack), handshake()...)...)
		scene = in(scene, calling("tools/list", 1, js("200 OK", success("1", tools))), calling("prompts/list", 2, js("404 Not Found", missing)))
		for range 10 {
			scene = in(scene, calling("tools/call", 3, js("200 OK", success("3", `{"content":[{"type":"text","text":"pong"}]}`))), calling("tools/call", 4, sse(event(success("4", `{"content":[{"type":"text","text":"pong"}]}`)))))
		}
	}
	xs := exchanges(scene)
	for name, policies := range map[string][]string{"recommended": {Recommended}, "all": {"all"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Analyze(sequence(slices.Clone(xs)), Options{Policies: policies}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(xs)*b.N)/b.Elapsed().Seconds(), "exchanges/s")
		})
	}
}
