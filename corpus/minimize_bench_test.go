package corpus

import "testing"

func BenchmarkMinimize(b *testing.B) {
	c, err := Open("optional-404-reconnect-loop")
	if err != nil {
		b.Fatal(err)
	}
	keep, _, err := Symptom(c.Exchanges, "reconnect-loop")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m, err := Minimize(b.Context(), c.Exchanges, keep, Minimizing{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(m.Tries), "tries/op")
	}
}
