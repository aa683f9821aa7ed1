package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// A hostConfig is the configuration file of an MCP host: an object mcpServers, or servers as VS Code has it, of entries by name.
// Only the values that lead to a server are replaced; every other byte of the file stays.
type hostConfig struct {
	text    []byte
	entries []*hostEntry
	left    []string // what was left as it is, in words
	copy    string   // where the rewritten copy is
}

// A hostEntry is one server of a host: at a URL, or a command.
type hostEntry struct {
	name         string
	url          string
	command      []string
	urlAt, comAt span // of the value; zero if there is none
	argsAt       span
}

// A span is [from, to) of a file.
type span struct{ from, to int }

// maxHostConfig is how many bytes a configuration may have.
const maxHostConfig = 16 << 20

// A jsonMember is one member of an object, its value as it stands in the file.
type jsonMember struct {
	name  string
	value json.RawMessage
	at    span
}

// members lists the members of the object that text is; offsets count from base.
func members(text []byte, base int) ([]jsonMember, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("want an object at byte %d", base)
	}
	var list []jsonMember
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := jsonMember{name: name.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		end := base + int(dec.InputOffset())
		m.at = span{end - len(m.value), end}
		list = append(list, m)
	}
	return list, nil
}

// readHostConfig reads a configuration. The file is never written.
func readHostConfig(name string) (*hostConfig, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fileTrouble(name, err)
	}
	if len(text) > maxHostConfig || !json.Valid(text) {
		return nil, &trouble{fmt.Errorf("%s: want a JSON file of at most 16 MiB", name), "comments and trailing commas are not read: give a copy without them"}
	}
	h := &hostConfig{text: text}
	top, err := members(text, 0)
	if err != nil {
		return nil, &trouble{fmt.Errorf("%s: %w", name, err), "want an object with mcpServers or servers"}
	}
	for _, m := range top {
		if m.name != "mcpServers" && m.name != "servers" {
			continue
		}
		list, err := members(m.value, m.at.from)
		if err != nil {
			return nil, &trouble{fmt.Errorf("%s: %s: %w", name, m.name, err), "want an object of servers by name"}
		}
		for _, e := range list {
			h.add(e)
		}
	}
	if len(h.entries) == 0 {
		return nil, &trouble{fmt.Errorf("%s: there is no server to record", name), "want mcpServers or servers with entries that have url, httpUrl, serverUrl or command"}
	}
	return h, nil
}

// add reads one entry.
func (h *hostConfig) add(m jsonMember) {
	e := &hostEntry{name: m.name}
	list, err := members(m.value, m.at.from)
	if err != nil {
		h.left = append(h.left, fmt.Sprintf("server %s is no object and stays as it is", m.name))
		return
	}
	var args []string
	for _, v := range list {
		text := ""
		json.Unmarshal(v.value, &text)
		switch v.name {
		case "url", "httpUrl", "serverUrl":
			if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
				e.url, e.urlAt = text, v.at
			}
		case "command":
			if text != "" {
				e.command, e.comAt = []string{text}, v.at
			}
		case "args":
			if json.Unmarshal(v.value, &args) == nil {
				e.argsAt = v.at
			}
		}
	}
	switch {
	case e.url != "":
		e.command = nil
	case e.command != nil:
		e.command = append(e.command, args...)
	default:
		h.left = append(h.left, fmt.Sprintf("server %s has no URL and no command that can be recorded, and stays as it is", m.name))
		return
	}
	h.entries = append(h.entries, e)
}

// urls are the servers over HTTP.
func (h *hostConfig) urls() (list []namedURL) {
	for _, e := range h.entries {
		if e.url != "" {
			list = append(list, namedURL{e.name, e.url})
		}
	}
	return list
}

// processes is how many servers are commands.
func (h *hostConfig) processes() int { return len(h.entries) - len(h.urls()) }

// rewritten is the file with each URL in place of which a door stands, and each command wrapped.
func (h *hostConfig) rewritten(servers []*recordedServer, wrap func(name string, argv []string) []string) []byte {
	var out []byte
	at := 0
	put := func(s span, value any, before string) {
		text, _ := json.Marshal(value)
		out = append(append(append(out, h.text[at:s.from]...), before...), text...)
		at = s.to
	}
	for _, e := range h.entries {
		if e.url != "" {
			for _, s := range servers {
				if s.name == e.name {
					put(e.urlAt, s.given, "")
				}
			}
			continue
		}
		argv := wrap(e.name, e.command)
		switch {
		case e.argsAt == span{}:
			put(e.comAt, argv[0], "")
			put(span{at, at}, argv[1:], `,"args":`)
		case e.argsAt.from < e.comAt.from:
			put(e.argsAt, argv[1:], "")
			put(e.comAt, argv[0], "")
		default:
			put(e.comAt, argv[0], "")
			put(e.argsAt, argv[1:], "")
		}
	}
	return append(out, h.text[at:]...)
}
