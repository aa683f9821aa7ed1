// Command hosts writes hosts.json, the measured runs of MCP hosts and bridges that the tests of package analyze hold
// policies and recognition against:
//
//	go run ./analyze/testdata/hosts SCENARIOS.json OUTCOMES.json >analyze/testdata/hosts.json
//
// SCENARIOS holds what a scripted server answered in each case, OUTCOMES what each host then did: its requests in order,
// what it showed, which calls were answered. What no test asks is left out.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

type scenario struct {
	Name      string                     `json:"name"`
	Group     string                     `json:"group"`
	Base      string                     `json:"base"`
	Transport string                     `json:"transport"`
	Caps      json.RawMessage            `json:"caps,omitempty"`
	Scripts   map[string]json.RawMessage `json:"scripts,omitempty"`
	Expired   json.RawMessage            `json:"expiredScript,omitempty"`
}

type request struct {
	T        int             `json:"t"`
	Conn     int             `json:"conn"`
	Method   string          `json:"m"`
	Class    string          `json:"class"`
	ID       json.RawMessage `json:"id"`
	Session  string          `json:"session"`
	PV       string          `json:"pv"`
	PVHeader string          `json:"pvHeader"`
	Script   string          `json:"script"`
	Path     string          `json:"path"`
}

type run struct {
	Status   string          `json:"status"`
	Tools    bool            `json:"tools"`
	Calls    []call          `json:"calls"`
	Info     json.RawMessage `json:"clientInfo"`
	Requests []request       `json:"requests"`
}

type call struct {
	OK bool `json:"ok"`
}

// An outcome is one run as it is written.
type outcome struct {
	Host      string   `json:"host"`
	Case      string   `json:"case"`
	Connected bool     `json:"connected"`
	Tools     bool     `json:"tools,omitempty"`
	Calls     string   `json:"calls,omitempty"` // y answered, n failed
	Requests  []string `json:"requests"`        // class t conn id session version header script path
}

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func write(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want SCENARIOS.json OUTCOMES.json, got %d arguments", len(args))
	}
	var in struct {
		Scenarios []scenario `json:"scenarios"`
	}
	var out struct {
		Profiles map[string]json.RawMessage `json:"profiles"`
		Runs     map[string]map[string]run  `json:"runs"`
	}
	if err := read(args[0], &in); err != nil {
		return err
	}
	if err := read(args[1], &out); err != nil {
		return err
	}
	w := bufio.NewWriter(os.Stdout)
	fmt.Fprint(w, "{\"cases\":[\n")
	for i, s := range in.Scenarios {
		line(w, i, s)
	}
	fmt.Fprint(w, "\n],\"profiles\":{\n")
	for i, host := range slices.Sorted(maps.Keys(out.Profiles)) {
		if i > 0 {
			fmt.Fprint(w, ",\n")
		}
		fmt.Fprintf(w, "%q:%s", host, out.Profiles[host])
	}
	fmt.Fprint(w, "\n},\"runs\":[\n")
	n := 0
	for _, host := range slices.Sorted(maps.Keys(out.Runs)) {
		for _, s := range in.Scenarios {
			if r, ok := out.Runs[host][s.Name]; ok {
				line(w, n, r.outcome(host, s.Name))
				n++
			}
		}
	}
	fmt.Fprint(w, "\n]}\n")
	return w.Flush()
}

func read(name string, into any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func line(w *bufio.Writer, i int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // what was read as JSON can be written
	}
	if i > 0 {
		w.WriteString(",\n")
	}
	w.Write(data)
}

// mostRequests bounds what is kept of one run: redirect loops repeat one request up to 130 times.
const mostRequests = 60

func (r run) outcome(host, name string) outcome {
	o := outcome{Host: host, Case: name, Tools: r.Tools, Requests: []string{}}
	o.Connected = slices.Contains([]string{"connected", "tools declared", "ok"}, r.Status)
	for _, c := range r.Calls {
		o.Calls += map[bool]string{true: "y", false: "n"}[c.OK]
	}
	for _, q := range r.Requests[:min(len(r.Requests), mostRequests)] {
		fields := []string{q.Class, strconv.Itoa(q.T - r.Requests[0].T), strconv.Itoa(q.Conn), string(q.ID), q.Session, q.PV, q.PVHeader, q.Script, strings.Replace(q.Path, "/s/"+name, "", 1)}
		if q.Class != q.Method && q.Method == "HEAD" {
			fields[0] = "HEAD"
		}
		for i, f := range fields {
			if f == "" || f == "null" || f == "default" {
				fields[i] = "-"
			}
		}
		o.Requests = append(o.Requests, strings.TrimRight(strings.Join(fields, " "), "- "))
	}
	return o
}
