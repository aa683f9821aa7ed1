package mcptap

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "github.com/mcptap/mcptap"

// mayImport says which packages of this module, and which modules beyond the standard library, each folder's code may
// import (docs/design.md, "The house"). Siblings never import one another. A folder that is not here may hold tests only.
var mayImport = map[string][]string{
	"har/wire":      {"github.com/tidwall/gjson"},
	"har":           {"har/wire", "github.com/klauspost/compress", "github.com/andybalholm/brotli"},
	"capture":       {"har", "har/wire"},
	"capture/proxy": {"capture", "har", "har/wire", "github.com/elazarl/goproxy", "golang.org/x/net/proxy"},
	"capture/pcap": {"capture", "har", "har/wire", "github.com/google/gopacket", "github.com/klauspost/compress",
		"golang.org/x/crypto"},
	"capture/stdio":  {"capture", "har", "har/wire"},
	"analyze":        {"har", "har/wire"},
	"replay":         {"har", "har/wire"},
	"replay/testkit": {"analyze", "capture", "capture/proxy", "replay", "har", "har/wire"}, // above the siblings, as cmd is
	"caller":         {"har", "har/wire"},
	"corpus":         {"analyze", "replay", "har", "har/wire"},
	"cmd/mcptap": {"analyze", "caller", "capture", "capture/proxy", "capture/pcap", "capture/stdio", "corpus", "diff", "har", "har/wire", "replay",
		"github.com/spf13/cobra", "github.com/spf13/pflag"},
	"diff":             {"analyze", "replay", "har", "har/wire"}, // compares what those make of two recordings
	"interop/scripted": {},                                       // servers for tests
	"interop/matrix":   {"corpus"},
	"demo":             {"har", "interop/scripted"},
	"load":             {"har"},
	"oracle":           {"capture", "capture/pcap", "har", "har/wire"},
}

// onlyIn names the one file that may import a module which is safe behind a gate alone.
var onlyIn = map[string]string{"github.com/tidwall/gjson": "har/wire/gate.go"}

// forTests are the modules that only tests may import.
var forTests = []string{"github.com/rogpeppe/go-internal"}

func TestHouse(t *testing.T) {
	for _, fault := range houseFaults(t, os.DirFS(".")) {
		t.Error(fault)
	}
}

// The checks themselves are checked: each planted fault must be found, and by its own words.
func TestHouseFindsPlantedFaults(t *testing.T) {
	tests := []struct{ name, file, src, want string }{
		{"upwards", "har/x.go", "// Package har is.\npackage har\nimport _ \"" + module + "/analyze\"", "har/x.go: package har may not import " + module + "/analyze"},
		{"sibling", "replay/x.go", "// Package replay is.\npackage replay\nimport _ \"" + module + "/capture\"", "replay/x.go: package replay may not import " + module + "/capture"},
		{"sibling in a test", "replay/x_test.go", "package replay\nimport _ \"" + module + "/capture\"", "replay/x_test.go: package replay may not import " + module + "/capture"},
		{"dependency", "analyze/x.go", "// Package analyze is.\npackage analyze\nimport _ \"github.com/klauspost/compress/zstd\"", "analyze/x.go: package analyze may not import github.com/klauspost/compress/zstd"},
		{"test dependency", "har/x.go", "// Package har is.\npackage har\nimport _ \"github.com/rogpeppe/go-internal/testscript\"", "har/x.go: package har may not import github.com/rogpeppe/go-internal/testscript"},
		{"gate", "har/wire/sse.go", "// Package wire is.\npackage wire\nimport _ \"github.com/tidwall/gjson\"", "har/wire/sse.go: only har/wire/gate.go may import github.com/tidwall/gjson"},
		{"new folder", "util/x.go", "// Package util is.\npackage util", "util/x.go: folder util is not part of the house: add it to mayImport and to docs/design.md"},
		{"no comment", "har/x.go", "package har", "har: no file has a package comment"},
		{"wrong comment", "har/x.go", "// This is it.\npackage har", "har/x.go: the package comment must begin with \"Package har \""},
		{"exit", "har/x.go", "// Package har is.\npackage har\nimport \"os\"\nfunc f() { os.Exit(1) }", "har/x.go:4: os.Exit below cmd"},
		{"fatal", "har/x.go", "// Package har is.\npackage har\nimport l \"log\"\nfunc f() { l.Fatalf(\"x\") }", "har/x.go:4: log.Fatalf below cmd"},
		{"print", "har/x.go", "// Package har is.\npackage har\nimport \"fmt\"\nfunc f() { fmt.Println() }", "har/x.go:4: fmt.Println below cmd"},
		{"builtin print", "har/x.go", "// Package har is.\npackage har\nfunc f() { println() }", "har/x.go:3: println below cmd"},
		{"flags", "har/x.go", "// Package har is.\npackage har\nimport _ \"flag\"", "har/x.go: package har may not import flag"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := houseFaults(t, fstest.MapFS{tt.file: {Data: []byte(tt.src)}})
			if !slices.Contains(got, tt.want) {
				t.Errorf("planted in %s:\n%s\ngot faults %q\nwant among them %q", tt.file, tt.src, got, tt.want)
			}
		})
	}
	clean := fstest.MapFS{
		"har/x.go":          {Data: []byte("// Package har is.\npackage har\nimport (\n\"fmt\"\n_ \"" + module + "/har/wire\"\n)\nfunc f() { _ = fmt.Sprint() }")},
		"interop/x_test.go": {Data: []byte("package x\nimport _ \"" + module + "/replay\"")},
	}
	if got := houseFaults(t, clean); len(got) != 0 {
		t.Errorf("a clean tree: got faults %q", got)
	}
}

// houseFaults reads every Go file of a source tree and says what breaks the house's rules, in order of file names.
func houseFaults(t *testing.T, tree fs.FS) []string {
	t.Helper()
	var faults []string
	comments := map[string]bool{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(tree, name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		faults = append(faults, fileFaults(name, f, set)...)
		if folder := path.Dir(name); !isTest(name) {
			comments[folder] = comments[folder] || f.Doc != nil
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range slices.Sorted(maps.Keys(comments)) {
		if !comments[folder] {
			faults = append(faults, folder+": no file has a package comment")
		}
	}
	return faults
}

// skip leaves out folders that hold no code of this module.
func skip(tree fs.FS, folder string) error {
	base := path.Base(folder)
	if folder == "." {
		return nil
	}
	if _, err := fs.Stat(tree, path.Join(folder, "go.mod")); err == nil || base == "testdata" || base == "node_modules" || base[0] == '.' {
		return fs.SkipDir
	}
	return nil
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

func fileFaults(name string, f *ast.File, set *token.FileSet) []string {
	folder, test := path.Dir(name), isTest(name)
	allowed, known := mayImport[folder]
	if !known && !test {
		return []string{fmt.Sprintf("%s: folder %s is not part of the house: add it to mayImport and to docs/design.md", name, folder)}
	}
	var faults []string
	if known {
		for _, imp := range f.Imports {
			to, _ := strconv.Unquote(imp.Path.Value)
			if file, gated := onlyIn[to]; gated && name != file && !test {
				faults = append(faults, fmt.Sprintf("%s: only %s may import %s", name, file, to))
			} else if !importAllowed(folder, allowed, to, test) {
				faults = append(faults, fmt.Sprintf("%s: package %s may not import %s", name, folder, to))
			}
		}
	}
	if test {
		return faults
	}
	begin := "Package " + f.Name.Name + " "
	if f.Name.Name == "main" {
		begin = "Command " + path.Base(folder) + " "
	}
	if f.Doc != nil && !strings.HasPrefix(f.Doc.Text(), begin) {
		faults = append(faults, fmt.Sprintf("%s: the package comment must begin with %q", name, begin))
	}
	if f.Name.Name != "main" {
		faults = append(faults, callFaults(name, f, set)...)
	}
	return faults
}

func importAllowed(folder string, allowed []string, to string, test bool) bool {
	first, _, _ := strings.Cut(to, "/")
	if !strings.Contains(first, ".") { // the standard library
		return test || strings.HasPrefix(folder, "cmd/") || to != "flag"
	}
	if rest, ours := strings.CutPrefix(to, module+"/"); ours {
		return rest == folder || slices.Contains(allowed, rest)
	}
	if test {
		allowed = slices.Concat(allowed, forTests)
	}
	return slices.ContainsFunc(allowed, func(m string) bool { return to == m || strings.HasPrefix(to, m+"/") })
}

// callFaults finds calls that print, or that end the process, where only a command may.
func callFaults(name string, f *ast.File, set *token.FileSet) []string {
	imported := map[string]string{} // the name used in this file, and the package's path
	for _, imp := range f.Imports {
		to, _ := strconv.Unquote(imp.Path.Value)
		as := path.Base(to)
		if imp.Name != nil {
			as = imp.Name.Name
		}
		imported[as] = to
	}
	var faults []string
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		var what string
		switch fun := call.Fun.(type) {
		case *ast.Ident:
			if fun.Name == "print" || fun.Name == "println" {
				what = fun.Name
			}
		case *ast.SelectorExpr:
			if x, ok := fun.X.(*ast.Ident); ok && forbidden(imported[x.Name], fun.Sel.Name) {
				what = imported[x.Name] + "." + fun.Sel.Name
			}
		}
		if what != "" {
			faults = append(faults, fmt.Sprintf("%s:%d: %s below cmd", name, set.Position(call.Pos()).Line, what))
		}
		return true
	})
	return faults
}

func forbidden(pkg, fun string) bool {
	switch pkg {
	case "os":
		return fun == "Exit"
	case "log":
		return strings.HasPrefix(fun, "Fatal") || strings.HasPrefix(fun, "Panic") || strings.HasPrefix(fun, "Print")
	case "fmt":
		return strings.HasPrefix(fun, "Print")
	}
	return false
}
