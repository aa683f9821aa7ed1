package diff

import (
	"os"
	"strings"
	"testing"
)

// docs/diff.md names every kind of change, with the words of Kinds.
func TestKindsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/diff.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Kinds {
		if row := "| `" + k[0] + "` | " + k[1] + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/diff.md lacks %s", row)
		}
	}
}
