package main

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/capture/proxy"
	"github.com/mcptap/mcptap/har"
)

// A toFlag is --to, which may be repeated as NAME=URL. One without a name is the only one.
type toFlag struct {
	one   *string
	named []namedURL
}

type namedURL struct{ name, url string }

var namedTarget = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_.-]*)=(.+)$`)

// Set takes one --to.
func (f *toFlag) Set(value string) error {
	m := namedTarget.FindStringSubmatch(value)
	switch {
	case m == nil && (*f.one != "" || len(f.named) > 0), m != nil && *f.one != "":
		return fmt.Errorf("several servers want names: --to NAME=URL --to NAME=URL")
	case m == nil:
		*f.one = value
		return nil
	}
	for _, n := range f.named {
		if n.name == m[1] {
			return fmt.Errorf("the name %s stands twice", m[1])
		}
	}
	f.named = append(f.named, namedURL{m[1], m[2]})
	return nil
}

func (f *toFlag) String() string { return "" }
func (f *toFlag) Type() string   { return "URL" }

// A recordedServer is one of several behind doors of their own.
type recordedServer struct {
	named
	to   *url.URL
	door *proxy.Reverse
}

// recordMany records several servers into one cassette, each behind a port of its own.
func (a *app) recordMany(c *cobra.Command, o *recordOptions) error {
	servers, config, err := o.servers(c)
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(o.listen)
	if err != nil || port != "0" && len(servers) > 1 {
		return usage(c, "--listen %s: several servers want port 0, a free one for each", o.listen)
	}
	trust, dial, err := o.reach(c)
	if err != nil {
		return err
	}
	header := har.Header{Mode: "reverse", KeepSecrets: o.keepSecrets}
	var names []string
	for _, s := range servers {
		names = append(names, s.name)
		header.Servers = append(header.Servers, har.Server{Name: s.name, To: safeURL(s.to)})
	}
	if err := o.open(a, names...); err != nil {
		return err
	}
	listeners, err := o.openMore(len(servers))
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	tape, err := o.begin(header)
	if err != nil {
		return err
	}
	conns, list := new(atomic.Uint64), []*named(nil)
	for i, s := range servers {
		s.door = &proxy.Reverse{To: s.to, TLS: trust, Dial: dial, Name: s.name, Conns: conns, Record: tape.Record, Offer: tape.Offer,
			Notice: func(words string) { o.notice("%s: %s", s.name, words) }}
		s.l, s.run, s.path = listeners[i], s.door.Serve, s.to.RequestURI()
		list = append(list, &s.named)
	}
	o.give(list)
	o.notice("recording %s to %s", count(len(servers), "server"), tape.name)
	if config != nil {
		if err := a.writeConfig(config, servers, tape.name, o); err != nil {
			return err
		}
		defer config.remove(o)
	}
	code, err := o.serveMany(list, config)
	return o.finish(tape, func() (err error) {
		for _, s := range servers {
			if e := s.door.Close(); err == nil {
				err = e
			}
		}
		return err
	}, code, err)
}

// servers are those that --to names, or those of --config that are reached over HTTP.
func (o *recordOptions) servers(c *cobra.Command) ([]*recordedServer, *hostConfig, error) {
	var config *hostConfig
	urls := o.targets.named
	if o.config != "" {
		if len(urls) > 0 || o.to != "" {
			return nil, nil, usage(c, "--config and --to exclude one another")
		}
		var err error
		if config, err = readHostConfig(o.config); err != nil {
			return nil, nil, err
		}
		urls = config.urls()
	}
	var servers []*recordedServer
	for _, n := range urls {
		to, err := target(c, n.url)
		if err != nil {
			return nil, nil, err
		}
		servers = append(servers, &recordedServer{named: named{name: n.name}, to: to})
	}
	return servers, config, nil
}

// serveMany serves all doors until the end of the run. A host's configuration is printed first.
func (o *recordOptions) serveMany(list []*named, config *hostConfig) (code int, err error) {
	if config != nil {
		if _, err := fmt.Fprintln(o.app.stdout, "config", config.copy); err != nil {
			return codeOK, err
		}
		for i := 1; i < len(o.argv); i++ {
			o.argv[i] = strings.ReplaceAll(o.argv[i], "{config}", config.copy)
		}
	}
	return o.serveNamed(list)
}

// writeConfig writes the copy of a host's configuration that leads through mcptap.
func (a *app) writeConfig(h *hostConfig, servers []*recordedServer, cassette string, o *recordOptions) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(cassette)
	if err != nil {
		return err
	}
	wrap := []string{"record", "--stdio", "-q"}
	if o.keepSecrets {
		wrap = append(wrap, "--keep-secrets")
	}
	folder := strings.TrimSuffix(abs, ".mcptap") + ".stdio"
	text := h.rewritten(servers, func(name string, argv []string) []string {
		return append(append(append([]string{self}, wrap...), "--out", filepath.Join(folder, fileName(name))+"/", "--"), argv...)
	})
	dir, err := os.MkdirTemp("", "mcptap-config-")
	if err != nil {
		return err
	}
	h.copy = filepath.Join(dir, filepath.Base(o.config))
	for _, words := range h.left {
		o.notice("%s", words)
	}
	if n := h.processes(); n > 0 {
		o.notice("%s over stdio: each process is recorded to a file of its own in %s", count(n, "server"), folder)
	}
	return os.WriteFile(h.copy, text, 0o600)
}

// remove deletes the copy, which holds what the original does, secrets included.
func (h *hostConfig) remove(o *recordOptions) {
	if o.keepConfig {
		o.notice("%s stays, with what secrets the original has", h.copy)
		return
	}
	os.RemoveAll(filepath.Dir(h.copy))
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

func fileName(name string) string {
	return cmp.Or(strings.Trim(notInNames.ReplaceAllString(name, "-"), ".-"), "server")
}
