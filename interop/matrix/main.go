// Command matrix runs the real clients of interop against the corpus and writes docs/matrix.md: `make matrix`.
//
//	matrix [CASES [JOBS]]    CASES as `mcptap corpus run --only` takes them: the rows of others stay as they are
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/corpus"
)

// A client is one column.
type client struct {
	name, title string
	policy      string // that it must be recognised by
	argv        []string
}

var clients = []client{
	{"ts-client auto", "npm @modelcontextprotocol/client 2.4.0, mode auto", "ts-2.4.0", []string{"node", "interop/clients/ts-client.mjs", "auto", "{url}"}},
	{"ts-client pin", "npm @modelcontextprotocol/client 2.4.0, pinned to 2026-07-28", "ts-2.4.0-pin", []string{"node", "interop/clients/ts-client.mjs", "pin", "{url}"}},
	{"ts-client legacy", "npm @modelcontextprotocol/client 2.4.0, mode legacy", "ts-2.4.0-legacy", []string{"node", "interop/clients/ts-client.mjs", "legacy", "{url}"}},
	{"ts-sdk", "npm @modelcontextprotocol/sdk 1.32.2", "ts-1.32.2", []string{"node", "interop/clients/ts-sdk.mjs", "{url}"}},
	{"go-sdk", "official Go SDK v1.8.0", "go-1.8.0", []string{"bin/once", "{url}"}},
}

//go:embed matrix.md
var preface string

const doc = "docs/matrix.md"

var program = "bin/mcptap"

func main() {
	args := append(os.Args[1:], "", "")
	if err := write(args[0], args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

// A row is a case's line in the table: a cell for each client.
type row struct {
	name, row string
	cells     []string
}

func write(only, jobs string) error {
	cases, err := corpus.ForClients()
	if err != nil {
		return err
	}
	rows := map[string]*row{}
	if only != "" {
		if rows, err = written(); err != nil {
			return err
		}
	}
	for i, c := range clients {
		m, err := run(c, only, jobs)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		for _, x := range m.Cases {
			if rows[x.Name] == nil {
				rows[x.Name] = &row{name: x.Name, cells: make([]string, len(clients))}
			}
			rows[x.Name].row, rows[x.Name].cells[i] = x.Row, cell(&x)
		}
	}
	var b strings.Builder
	b.WriteString(preface)
	var table strings.Builder
	table.WriteString("\n| case | row |")
	for _, c := range clients {
		table.WriteString(" " + c.name + " |")
	}
	table.WriteString("\n|---|---|" + strings.Repeat("---|", len(clients)) + "\n")
	counts := make([]map[string]int, len(clients))
	for _, k := range cases {
		r := rows[k.Name]
		if r == nil || len(r.cells) != len(clients) || slices.Contains(r.cells, "") {
			return fmt.Errorf("case %s has no row yet: run it, too", k.Name)
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", r.name, r.row, strings.Join(r.cells, " | "))
		for i, text := range r.cells {
			if counts[i] == nil {
				counts[i] = map[string]int{}
			}
			counts[i][kind(text)]++
		}
	}
	b.WriteString("\n| column | client | judged by | agree | differ | not met | inconclusive | error |\n|---|---|---|---|---|---|---|---|\n")
	for i, c := range clients {
		n := counts[i]
		fmt.Fprintf(&b, "| %s | %s | `%s` | %d | %d | %d | %d | %d |\n", c.name, c.title, c.policy, n["agree"], n["differs"], n["not met"], n["inconclusive"], n["error"])
	}
	b.WriteString(table.String())
	return os.WriteFile(doc, []byte(b.String()), 0o644)
}

// run runs one client. Differences are no failure: they are what the document shows.
func run(c client, only, jobs string) (*corpus.Matrix, error) {
	args := []string{"corpus", "run", "--format", "json"}
	if only != "" {
		args = append(args, "--only", only, "--policy", c.policy)
	}
	if jobs != "" {
		args = append(args, "--jobs", jobs)
	}
	cmd := exec.Command(program, append(append(args, "--"), c.argv...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err := cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || ok && failed.ExitCode() > 1 && out.Len() == 0 {
		return nil, err
	}
	m := &corpus.Matrix{}
	if err := json.Unmarshal(out.Bytes(), m); err != nil {
		return nil, err
	}
	if m.Policy != c.policy {
		return nil, fmt.Errorf("recognised by %s (%s), want %s", m.Policy, m.Client.Why, c.policy)
	}
	if len(m.Cases) != m.Asked {
		return nil, fmt.Errorf("%d of %d cases were done", len(m.Cases), m.Asked)
	}
	return m, nil
}

// cell says what a client made of a case. Its first words tell what kind it is, see kind.
func cell(x *corpus.CaseResult) string {
	seen := x.Observed
	switch word, _, _ := strings.Cut(x.Verdict, "@"); word {
	case "delivered", "modern", seen:
	default:
		seen += ": " + word
	}
	why := strings.ReplaceAll(x.Why, "|", "\\|")
	switch x.Result {
	case corpus.Agree:
		return seen
	case corpus.Differ:
		return "**differs**: " + why
	case corpus.Error:
		return "**error**: " + why
	}
	switch {
	case strings.Contains(x.Why, " as predicted, and the client never sent "):
		return "*not met*: " + x.Observed
	case strings.HasPrefix(x.Why, "recorded over stdio"):
		return "*not met*: over stdio"
	}
	return "*inconclusive*: " + why
}

// kind tells which result a cell shows.
func kind(cell string) string {
	for _, word := range []string{"differs", "error", "not met", "inconclusive"} {
		if strings.HasPrefix(strings.TrimLeft(cell, "*"), word) {
			return word
		}
	}
	return "agree"
}

// written reads the rows that the document has.
func written() (map[string]*row, error) {
	b, err := os.ReadFile(doc)
	if err != nil {
		return nil, err
	}
	rows := map[string]*row{}
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		name := strings.Trim(cells[0], " `")
		if len(cells) < 3 || !strings.HasPrefix(strings.TrimSpace(cells[0]), "`") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows[name] = &row{name: name, row: cells[1], cells: cells[2:]}
	}
	return rows, nil
}
