package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcptap/mcptap/capture/proxy"
	"github.com/mcptap/mcptap/har"
)

// forwardOptions are the flags of the forward door.
type forwardOptions struct {
	forward, passthrough bool
	only                 []string
	via                  string
}

func (o *forwardOptions) forwardFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.forward, "forward", false, "be an HTTP proxy (CONNECT and plain) in place of one server")
	f.StringArrayVar(&o.only, "only", nil, "with --forward, read only what goes to this `HOST[:PORT]`, * for any part; may be repeated")
	f.BoolVar(&o.passthrough, "passthrough", false, "with --forward, pass on unread what cannot be read")
	f.StringVar(&o.via, "via", "", "reach servers through this proxy `URL`: http, https or socks5; NO_PROXY is honoured")
}

// checkDoor refuses flags that do not go together.
func (o *recordOptions) checkDoor(c *cobra.Command) error {
	switch {
	case o.forward && o.to != "" && o.to != o.app.getenv("MCPTAP_TO"):
		return usage(c, "--forward and --to: want one of them; the clients of a proxy name the servers")
	case o.quiet && o.verbose && o.app.getenv("MCPTAP_QUIET") == "":
		return usage(c, "--quiet and --verbose: want one of them")
	case !o.forward && (len(o.only) > 0 || o.passthrough):
		return usage(c, "--only and --passthrough need --forward")
	}
	for _, pattern := range o.only {
		host := pattern
		if h, _, err := net.SplitHostPort(pattern); err == nil {
			host = h
		}
		if _, err := path.Match(host, ""); err != nil && net.ParseIP(host) == nil || host == "" || strings.Contains(pattern, "/") {
			return usage(c, "--only %s: want HOST or HOST:PORT such as mcp.example.com or *.example.com", pattern)
		}
	}
	return nil
}

// reach is whom to trust as a server, and the way there, nil for the straight one.
func (o *recordOptions) reach(c *cobra.Command) (trust *tls.Config, dial proxy.Dialer, err error) {
	if trust, err = o.trust(); err == nil {
		dial, err = o.dialer(c, trust)
	}
	return trust, dial, err
}

// dialer is the way to servers, nil for the straight one. trust is for a proxy that is reached over TLS.
func (o *recordOptions) dialer(c *cobra.Command, trust *tls.Config) (proxy.Dialer, error) {
	if o.via == "" {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
			if o.app.getenv(name) != "" {
				o.notice("%s is set and not used: servers are reached through a proxy with --via URL", name)
				break
			}
		}
		return nil, nil
	}
	u, err := url.Parse(o.via)
	if err != nil {
		return nil, usage(c, "--via: %v", cause(err))
	}
	noProxy := o.app.getenv("NO_PROXY")
	if noProxy == "" {
		noProxy = o.app.getenv("no_proxy")
	}
	dial, err := proxy.Via(u, noProxy, trust)
	if err != nil {
		return nil, usage(c, "--via %s: %v", safeURL(u), err)
	}
	return dial, nil
}

// recordForward runs one recording of the forward door.
func (a *app) recordForward(c *cobra.Command, o *recordOptions) error {
	trust, dial, err := o.reach(c)
	if err != nil {
		return err
	}
	ca, err := a.authority()
	if err != nil {
		return err
	}
	if err := o.open(a); err != nil {
		return err
	}
	defer o.l.Close()
	tape, err := o.begin(har.Header{Mode: "forward", KeepSecrets: o.keepSecrets})
	if err != nil {
		return err
	}
	o.greet(tape.name, &url.URL{})
	if len(o.argv) == 0 {
		o.notice("clients must trust %s; mcptap ca install-hint says how", ca.certFile)
	} else {
		undo, err := o.tellChild(ca)
		if err != nil {
			tape.close()
			return err
		}
		defer undo()
	}
	door := &proxy.Forward{CA: ca.Authority, TLS: trust, Only: o.only, Passthrough: o.passthrough, Dial: dial,
		Record: tape.Record, Offer: tape.Offer, Notice: func(s string) { o.notice("%s", s) }}
	code, err := o.serve(door.Serve, "")
	return o.finish(tape, door.Close, code, err)
}

// finish closes the door and the recording, and gives the exit code of the run.
func (o *recordOptions) finish(t *tape, closeDoor func() error, code int, err error) error {
	if e := closeDoor(); err == nil {
		err = e
	}
	tapeErr := t.close()
	o.farewell(t, tapeErr != nil)
	switch {
	case code != codeOK:
		return exit(code)
	case err != nil:
		return err
	}
	return tapeErr
}

// proxied are the variables that name a proxy, as programs read them.
var proxied = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// tellChild tells CMD, in its environment, to take us as its proxy, for loopback servers too, and whom to trust. undo removes
// the file that this takes.
func (o *recordOptions) tellChild(ca *authority) (undo func(), err error) {
	bundle, err := o.app.trustBundle(ca)
	if err != nil {
		return nil, err
	}
	o.childEnv = func(url string) []string {
		var env []string
		for _, name := range proxied {
			env = append(env, name+"="+url)
		}
		return append(env, trustEnv(o.app, ca, bundle.name)...)
	}
	return bundle.remove, nil
}

// trustEnv makes a program go through the proxy, loopback included, and trust it.
func trustEnv(a *app, ca *authority, bundle string) []string {
	return append([]string{"NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1"}, certEnv(a, ca, bundle)...)
}

// certEnv names the certificate, or the bundle where a variable replaces the authorities that a program knows.
func certEnv(a *app, ca *authority, bundle string) (env []string) {
	for _, name := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE"} {
		env = append(env, fmt.Sprintf("%s=%s", name, bundle))
	}
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "DENO_CERT"} {
		file := ca.certFile
		if a.getenv(name) != "" {
			file = bundle
		}
		env = append(env, fmt.Sprintf("%s=%s", name, file))
	}
	return env
}
