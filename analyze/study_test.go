package analyze

import (
	"embed"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/study.json
var studyFile embed.FS

// A studyRow is what the study behind the policies says of one situation for one or several clients or texts: their rows
// that no vector names by its scenario. It is held by an answer of vectors.json or of stdioRows, or Told says why there is
// no verdict to compare. Ours is the verdict where it is another than the study's, and Why is how docs/policies.md has it.
type studyRow struct {
	Rows   []string `json:"rows"` // POLICY/NUMBER
	Vector string   `json:"vector"`
	Stdio  string   `json:"stdio"`
	Study  string   `json:"study"`
	Ours   string   `json:"ours"`
	Why    string   `json:"why"`
	Told   string   `json:"told"`
}

const policiesDoc = "../docs/policies.md"

// studyRows is how many rows of the study vectors.json does not have by scenario.
const studyRows = 343

// TestStudy holds each row of the study that is not one of the 1062 scenario rows of the vectors.
func TestStudy(t *testing.T) {
	var all []studyRow
	data, err := studyFile.ReadFile("testdata/study.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(policiesDoc)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(doc)), " ")
	judges := studyJudges(t)
	seen := map[string]bool{}
	for _, s := range all {
		if s.Ours != "" && !strings.Contains(text, s.Why) {
			t.Errorf("%s: %s does not say %q", s.Rows, policiesDoc, s.Why)
		}
		for _, row := range s.Rows {
			if seen[row] {
				t.Errorf("%s stands twice", row)
			}
			seen[row] = true
			if (s.Told != "") == (s.Vector+s.Stdio != "") {
				t.Errorf("%s: want what holds it, or why nothing does", row)
			}
			s.check(t, row, judges)
		}
	}
	if len(seen) != studyRows {
		t.Errorf("%d rows, want %d", len(seen), studyRows)
	}
}

// conformRule is how a row names what holds it instead.
var conformRule = regexp.MustCompile(`conform/[a-z-]+`)

func (s *studyRow) check(t *testing.T, row string, judges map[string]func(*Policy) Verdict) {
	name, _, _ := strings.Cut(row, "/")
	p := policies().byName[name]
	if p == nil {
		t.Errorf("%s: no such policy", row)
		return
	}
	if s.Told != "" {
		for _, id := range conformRule.FindAllString(s.Told, -1) {
			if !slices.ContainsFunc(conformanceRules(), func(r ConformanceRule) bool { return r.ID == id }) {
				t.Errorf("%s: there is no rule %s", row, id)
			}
		}
		return
	}
	judge := judges[s.Vector+s.Stdio]
	if judge == nil {
		t.Errorf("%s: %q is no answer", row, s.Vector+s.Stdio)
		return
	}
	want := s.Study
	if s.Ours != "" {
		want = s.Ours
	}
	if got := judge(p); !sameVerdict(got.Verdict, want) || s.Ours == s.Study {
		t.Errorf("%s, %s: got %s by %s, want %s", row, s.Vector+s.Stdio, got.Verdict, got.Rule, want)
	}
}

// sameVerdict compares two verdicts, of which the study names versions in words ("mutual", "same").
func sameVerdict(got, want string) bool {
	if word, version, ok := strings.Cut(want, "@"); ok && !strings.HasPrefix(version, "20") {
		return strings.HasPrefix(got, word+"@")
	}
	return got == want
}

// studyJudges gives what judges each answer, by its name.
func studyJudges(t *testing.T) map[string]func(*Policy) Verdict {
	judges := map[string]func(*Policy) Verdict{}
	for _, v := range vectors(t) {
		judges[v.Name] = func(p *Policy) Verdict {
			scene, n := v.scene(t)
			a := factsOf(scene)
			got := p.judge(a.numbered(n))
			if next := a.numbered(n + 1); next != nil && goesOn(got) && !strings.HasPrefix(got.Verdict, "corrective-retry") {
				got = p.judge(next)
			}
			return got
		}
	}
	for _, r := range stdioRows {
		judges[r.name] = func(p *Policy) Verdict {
			xs := piped(r.lines...)
			x := analyzedPipes(t, xs, p.Name).Exchanges[len(xs)-1]
			return x.Verdicts[p.Name]
		}
	}
	return judges
}

// TestVectorsAreUsed finds answers that nothing asks a policy about.
func TestVectorsAreUsed(t *testing.T) {
	data, err := studyFile.ReadFile("testdata/study.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []studyRow
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors(t) {
		if len(v.Want) == 0 && !slices.ContainsFunc(all, func(s studyRow) bool { return s.Vector == v.Name }) {
			t.Errorf("%s: no policy is asked", v.Name)
		}
	}
}
