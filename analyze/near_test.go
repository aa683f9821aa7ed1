package analyze

import (
	"slices"
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	names := []string{"recommended", "recommended-pin", "ts-2.4.0", "ts-2.4.0-pin", "go-1.8.0", "qwen-code-0.24.4"}
	tests := []struct {
		name string
		want []string
	}{
		{"recomended", []string{"recommended", "recommended-pin"}},
		{"ts", []string{"ts-2.4.0", "ts-2.4.0-pin"}},
		{"TS-2.4", []string{"ts-2.4.0", "ts-2.4.0-pin"}},
		{"go-1.8.1", []string{"go-1.8.0"}},
		{"qwen", []string{"qwen-code-0.24.4"}},
		{"nobody", nil},
		{"", nil},
		{strings.Repeat("x", 1000), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name[:min(len(tt.name), 20)], func(t *testing.T) {
			got := Near(tt.name, names)
			if len(got) > len(tt.want) {
				got = got[:len(tt.want)]
			}
			if !slices.Equal(got, tt.want) || len(tt.want) == 0 && len(Near(tt.name, names)) > 0 {
				t.Errorf("got %q, want first %q", Near(tt.name, names), tt.want)
			}
		})
	}
}

func TestNamedClient(t *testing.T) {
	scene := one(probing(1, js("200 OK", errIDNull)))
	for name, want := range map[string]string{"": "ts-2.4.0", "go": "go-1.8.0", "ts-pr2571": "ts-pr2571"} {
		r, err := Analyze(sequence(exchanges(scene)), Options{Client: name})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Conversations[0].Client.Policy; got != want {
			t.Errorf("client %q: policy %s, want %s", name, got, want)
		}
		if _, ok := r.Exchanges[0].Verdicts[want]; !ok {
			t.Errorf("client %q: no verdict by %s", name, want)
		}
	}
	_, err := Analyze(sequence(nil), Options{Client: "pyton"})
	if unknown, ok := err.(*UnknownError); !ok || !slices.Contains(unknown.Near, "python") {
		t.Errorf("client pyton: got %v, want an UnknownError with python near", err)
	}
	for _, sdk := range SDKs() {
		if p, err := clientPolicy(sdk); p == nil || err != nil {
			t.Errorf("library %s: no policy, %v", sdk, err)
		}
	}
}
