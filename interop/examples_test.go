package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The examples work as they stand there.
func TestExampleGo(t *testing.T) {
	test := exec.Command("go", "test", "-count=1", "./...")
	test.Dir = "../examples/go"
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestExampleNode(t *testing.T) {
	needNode(t)
	dir := copied(t, "../examples/node")
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	inFolder(t, dir, "npm", "test")
}

func TestExamplePython(t *testing.T) {
	python := os.Getenv("MCPTAP_PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import mcp, pytest").CombinedOutput(); err != nil {
		t.Skipf("%s has no mcp and pytest (MCPTAP_PYTHON names another): %s", python, last(out))
	}
	dir := copied(t, "../examples/python")
	inFolder(t, dir, mcptap, "replay", "testdata/legacy.mcptap", "--pace", "fast", "--expect", "legacy-fallback", "--", python, "-m", "pytest", "-q", "test_fallback.py")
}

func last(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// copied copies an example to a folder where it may leave files.
func copied(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// inFolder runs a command that must succeed, with mcptap on the PATH.
func inFolder(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(mcptap)+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
