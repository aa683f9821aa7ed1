package analyze

import (
	"errors"
	"testing"
)

// TestLimit holds that more exchanges than are analyzed at once are an error, not a report that lacks some.
func TestLimit(t *testing.T) {
	xs := exchanges(typical(1))
	if all, err := gather(sequence(xs), len(xs)); err != nil || len(all) != len(xs) {
		t.Fatalf("%d facts of %d exchanges, %v", len(all), len(xs), err)
	}
	var limit *LimitError
	if _, err := gather(sequence(xs), len(xs)-1); !errors.As(err, &limit) || limit.Most != len(xs)-1 {
		t.Errorf("one too many: %v", err)
	}
}
