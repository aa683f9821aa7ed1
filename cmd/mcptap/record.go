package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/capture/proxy"
	"github.com/mcptap/mcptap/har"
)

type recordOptions struct {
	session
	forwardOptions
	limitOptions
	verbose               bool
	to, caFile, out       string
	insecure, keepSecrets bool
	stdio                 bool

	targets    toFlag // --to NAME=URL
	config     string
	keepConfig bool
}

func (a *app) recordCommand() *cobra.Command {
	var o recordOptions
	c := &cobra.Command{
		Use:   "record --to URL|--forward [-- CMD ARG...]",
		Short: "sit between a client and a server and keep every byte",
		Long: `Record listens on this machine and passes everything on to the server that --to names, byte for byte, with the
connection's own ending. It prints one line: the URL to give to the client in place of the server's. With CMD, {url}
in an argument is replaced by that URL, MCPTAP_URL holds it, and the recording ends when CMD ends; else ^C ends it.

With --forward it is an HTTP proxy in place of a server: the URL is for clients that take a proxy setting, and CMD gets
that setting in its environment, with whom to trust. TLS is opened with certificates of your own authority (mcptap ca).
A client that does not trust it, and a server that speaks HTTP/2 only, is reported; with --passthrough its connections
are passed on unread.

Credentials are replaced in the recording (never on the wire) unless --keep-secrets is given.

With --to NAME=URL, repeated, each server has a port of its own, printed as NAME URL; {url:NAME} stands for it. --config records
all servers of a host's configuration. With --stdio, CMD is the server: the host starts this command in its place.`,
		Example: `  mcptap record --to http://127.0.0.1:3000/mcp --out session.mcptap
  mcptap record --to https://mcp.example.com/mcp -- my-client --server {url}
  mcptap record --stdio --out server.mcptap -- node server.js
  mcptap record --config mcp.json -- my-host --mcp-config {config}
  mcptap record --forward -- my-client --server https://mcp.example.com/mcp
  mcptap record --forward --only mcp.example.com --passthrough --listen 127.0.0.1:8080`,
		RunE: func(c *cobra.Command, args []string) error {
			if extra := o.split(c, args); len(extra) > 0 {
				return usage(c, "unexpected argument %q: a command to run stands behind --", extra[0])
			}
			o.app, o.notice = a, a.noticeUnless(o.quiet)
			if err := o.checkDoor(c); err != nil {
				return err
			}
			if err := o.checkLimits(c, o.out, o.stdio); err != nil {
				return err
			}
			return a.record(c, &o)
		},
	}
	o.flags(c)
	f := c.Flags()
	o.targets.one = &o.to
	f.Var(&o.targets, "to", "the server's `URL`, http or https; NAME=URL, repeated, for several")
	f.StringVar(&o.config, "config", "", "record all servers of a host: a copy of its `FILE` leads through mcptap and is printed; {config} in an argument")
	f.BoolVar(&o.keepConfig, "keep-config", false, "leave the copy of --config in place")
	f.StringVar(&o.caFile, "ca-file", "", "trust the certificates in this PEM `FILE` too")
	f.BoolVar(&o.insecure, "insecure", false, "accept any certificate from the server")
	o.forwardFlags(f)
	f.StringVar(&o.out, "out", "", "`FILE` to record to; never overwritten (default mcptap-YYYYMMDD-HHMMSS.mcptap)")
	o.limitFlags(f)
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log each event of a stream too; with --stdio, log exchanges at all")
	f.BoolVar(&o.stdio, "stdio", false, "CMD is a server that speaks on its stdin and stdout: run it and record both")
	f.BoolVar(&o.keepSecrets, "keep-secrets", false, "write credentials and session ids as they are")
	return c
}

// record runs one recording from the listener to the last flushed byte.
func (a *app) record(c *cobra.Command, o *recordOptions) error {
	if o.stdio {
		return a.recordStdio(c, o)
	}
	if o.out == stdio {
		return usage(c, "--out -: stdout holds the URL for the client, want a file")
	}
	if o.forward {
		return a.recordForward(c, o)
	}
	if o.config != "" || len(o.targets.named) > 0 {
		return a.recordMany(c, o)
	}
	to, err := target(c, o.to)
	if err != nil {
		return err
	}
	trust, dial, err := o.reach(c)
	if err != nil {
		return err
	}
	if err := o.open(a); err != nil {
		return err
	}
	defer o.l.Close()
	tape, err := o.begin(har.Header{Mode: "reverse", To: safeURL(to), KeepSecrets: o.keepSecrets})
	if err != nil {
		return err
	}
	o.greet(tape.name, to)
	door := &proxy.Reverse{To: to, TLS: trust, Dial: dial, Record: tape.Record, Offer: tape.Offer, Notice: func(s string) { o.notice("%s", s) }}
	code, err := o.serve(door.Serve, to.RequestURI())
	return o.finish(tape, door.Close, code, err)
}

// greet says what is about to happen to the user's secrets, and how it ends.
func (o *recordOptions) greet(file string, to *url.URL) {
	secrets, end := "credentials are replaced", "^C ends it"
	if o.keepSecrets {
		secrets = "credentials are kept"
	}
	if len(o.argv) > 0 {
		end = "it ends with " + o.argv[0]
	}
	o.notice("recording to %s; %s; %s", file, secrets, end)
	if to.User != nil {
		o.notice("the user name and password in --to are neither sent on nor stored: what the client sends counts")
	}
	if o.insecure {
		o.notice("any certificate of the server is accepted")
	}
}

// farewell says what was recorded.
func (o *recordOptions) farewell(t *tape, failed bool) {
	n, _ := t.Exchanges()
	switch {
	case failed:
		o.notice("%s holds only what was recorded before the failure", t.name)
	case n == 0:
		o.notice("recorded to %s: no exchanges; was the client given %s?", t.name, cmp.Or(o.url, "the URL"))
	default:
		o.notice("recorded to %s: %s", t.name, count(n, "exchange"))
	}
	if t.files > 0 {
		o.notice("the last %s before it: %s …", count(min(t.files, o.rotate), "file"), rotatedName(t.name, 1))
	}
	if n := t.Slowed(); n > 0 {
		o.notice("recording slowed the traffic %s: it could not keep up", times(n))
	}
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// target checks the URL that --to names.
func target(c *cobra.Command, to string) (*url.URL, error) {
	if to == "" {
		return nil, usage(c, "want --to URL: the server to record, or --forward")
	}
	return serverURL(c, "--to", to)
}

// serverURL checks the URL of a server; where says where it was given.
func serverURL(c *cobra.Command, where, to string) (*url.URL, error) {
	if !strings.Contains(to, "://") {
		return nil, noURL(c, where, to)
	}
	u, err := url.Parse(to)
	if err != nil {
		return nil, usage(c, "%s: %v", where, cause(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, usage(c, "%s %s: want http://HOST[:PORT]/PATH or https://…", where, safeURL(u))
	}
	if n, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || n < 1 || n > 65535) {
		return nil, usage(c, "%s %s: want a port from 1 to 65535", where, safeURL(u))
	}
	return u, nil
}

// noURL is the error for what lacks http://, with a guess at what was meant.
func noURL(c *cobra.Command, where, to string) error {
	u, err := url.Parse("http://" + to)
	if err != nil || u.Hostname() == "" {
		return usage(c, "%s: want a URL such as http://127.0.0.1:3000/mcp", where)
	}
	given := u.Host + u.Path
	if u.Path == "" {
		u.Path = "/mcp"
	}
	return usage(c, "%s %s: want a URL such as %s", where, given, safeURL(u))
}

// safeURL is u as it may be shown and stored: where credentials can stand (user, query, fragment) is left out.
func safeURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// trust is the TLS configuration of the server's leg.
func (o *recordOptions) trust() (*tls.Config, error) {
	conf := &tls.Config{InsecureSkipVerify: o.insecure}
	if o.caFile == "" {
		return conf, nil
	}
	pem, err := os.ReadFile(o.caFile)
	if err != nil {
		return nil, fileTrouble(o.caFile, err)
	}
	if conf.RootCAs, err = x509.SystemCertPool(); err != nil {
		conf.RootCAs = x509.NewCertPool()
	}
	if !conf.RootCAs.AppendCertsFromPEM(pem) {
		return nil, &trouble{fmt.Errorf("%s: want at least one PEM certificate", o.caFile), "a block begins with -----BEGIN CERTIFICATE-----"}
	}
	return conf, nil
}

// A tape is a cassette file that is being written. A failure is reported at once and never disturbs the traffic.
type tape struct {
	*capture.Recorder
	app  *app
	name string
	file *os.File // the recorder's goroutine's until Close
	log  *liveLog // nil: nobody is shown what is recorded

	header har.Header
	files  int // full ones behind the one being written
	mu     sync.Mutex
	failed bool
}

// newTape creates the file that out names and writes its header.
func (a *app) newTape(out string, h har.Header) (*tape, error) {
	return a.newTapeWith(out, h, har.NewRedactor())
}

// newTapeWith is newTape with a redactor that knows secrets already. It is not used if the header says that they are kept.
func (a *app) newTapeWith(out string, h har.Header, redact *har.Redactor) (*tape, error) {
	file, err := a.createCassette(out)
	if err != nil {
		return nil, err
	}
	h.Tool, h.Started = "mcptap "+version(), a.now().UTC().Truncate(time.Microsecond)
	w, err := har.NewWriter(file, h, false)
	if err != nil {
		file.Close()
		os.Remove(file.Name())
		return nil, fileTrouble(file.Name(), err)
	}
	if h.KeepSecrets {
		redact = nil
	}
	t := &tape{app: a, header: h, name: file.Name(), file: file, Recorder: capture.NewRecorder(w, redact)}
	t.OnError = t.fail
	return t, nil
}

// begin opens the cassette of a run: what it keeps is bounded as the flags say, and exchanges are logged.
func (o *recordOptions) begin(h har.Header) (*tape, error) {
	t, err := o.app.newTape(o.out, h)
	if err == nil {
		o.attend(t)
	}
	return t, err
}

// attend bounds what t keeps and logs what it records. Nothing may have been recorded.
func (o *recordOptions) attend(t *tape) {
	o.limit(t)
	o.showLog(t)
}

// limit sets what is kept.
func (o *recordOptions) limit(t *tape) {
	t.Limits = capture.Limits{Exchange: int64(o.maxExchange), Size: int64(o.maxSize)}
	t.Limits.Full = func() {
		o.app.noticeUnless(o.quiet)("%s has reached --max-size: from here on only heads are kept", t.name)
	}
	if o.rotate > 0 {
		t.Limits.Next = func() (*har.Writer, error) { return t.rotateTo(o.rotate) }
	}
}

// showLog logs exchanges on stderr. A process's stderr is its host's to read, so there it is done only if asked for.
func (o *recordOptions) showLog(t *tape) {
	if o.quiet || o.stdio && !o.verbose {
		return
	}
	t.log = newLiveLog(t.app.stderr, t.app.paint(t.app.stderr), t.app.now)
	t.log.view.verbose, t.log.view.host = o.verbose, t.header.To == ""
	if t.header.KeepSecrets {
		t.log.view.hide = har.NewRedactor()
	}
	t.Wrote = t.log.wrote
	go t.log.run()
}

// fail reports the first failure, at once.
func (t *tape) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.failed {
		t.failed = true
		t.app.complain(&trouble{fmt.Errorf("%s: recording failed: %w", t.name, cause(err)), "traffic goes on unrecorded; what was written before can be read"})
	}
}

// close writes what is left. The error of a recording that failed says no more than the exit code: fail has reported it.
func (t *tape) close() error {
	err := t.Close()
	if t.log != nil {
		t.log.close()
	}
	if e := t.file.Close(); err == nil && !errors.Is(e, os.ErrClosed) {
		err = e
	}
	if err != nil {
		t.fail(err)
	}
	if t.failed {
		return exit(codeTrouble)
	}
	return nil
}
