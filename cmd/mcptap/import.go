package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/capture/pcap"
	"github.com/mcptap/mcptap/har"
)

type importOptions struct {
	keepSecrets, allHTTP, strict, dryRun, quiet bool
	out, keylog                                 string
	ports, hosts                                []string
}

func (a *app) importCommand() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "turn a packet capture, a HAR file or the text of an issue into a recording",
		Long: `Import reads a packet capture (pcap or pcapng, also in gzip or zstd, - for stdin) and writes the recording that a proxy on
the wire would have made: the same bytes and endings. TLS 1.2 and 1.3 are read with --keylog or a capture's own secrets. What the capture lost is noted, never guessed. An origin is kept
whole once one exchange there is MCP; --all-http keeps every HTTP exchange. FILE may also be HAR 1.2, whose cuts and
endings are not known, or a text with a recording in it, such as the body of an issue (mcptap share --text). Counters go to stderr.`,
		Example: `  mcptap import capture.pcapng --out session.mcptap
  tcpdump -i any -w - tcp port 3000 | mcptap import -
  mcptap import capture.pcap --dry-run --strict
  mcptap import issue.md --out issue.mcptap`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneFile(c, args); err != nil {
				return err
			}
			if o.out == stdio {
				return usage(c, "--out -: want a file")
			}
			return a.importFile(args[0], &o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "", "`FILE` to write; never overwritten (default mcptap-YYYYMMDD-HHMMSS.mcptap)")
	f.StringVar(&o.keylog, "keylog", "", "read TLS secrets from this NSS key log `FILE` (default $SSLKEYLOGFILE)")
	f.BoolVar(&o.keepSecrets, "keep-secrets", false, "write credentials and session ids as they are")
	f.BoolVar(&o.allHTTP, "all-http", false, "keep HTTP that is not MCP too")
	f.StringSliceVar(&o.ports, "port", nil, "look only at connections with this `PORT` at one end; may be repeated")
	f.StringSliceVar(&o.hosts, "host", nil, "look only at connections with this `ADDRESS` or network (10.0.0.0/8) at one end; may be repeated")
	f.BoolVar(&o.strict, "strict", false, "exit 1 if bytes of the capture are unexplained or missing")
	f.BoolVar(&o.dryRun, "dry-run", false, "write nothing, count only")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print no counters")
	return c
}

// importFile imports one file.
func (a *app) importFile(name string, o *importOptions) error {
	f, err := a.openFile(name)
	if err != nil {
		return fileTrouble(name, err)
	}
	defer f.Close()
	return a.importFrom(name, f, o)
}

// What keeps an import of a long capture below 100 MiB, and rarely collecting: most of its memory is buffers that are used
// again, and what waits for missing packets is bounded.
const (
	gcPercent = 200
	gcLimit   = 72 << 20
)

// boundMemory sets the collector to these, until restore.
func boundMemory() (restore func()) {
	percent, limit := debug.SetGCPercent(gcPercent), debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(limit, gcLimit))
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// filter is what --port and --host ask for.
func (o *importOptions) filter() (f pcap.Filter, err error) {
	for _, s := range o.ports {
		n, err := strconv.ParseUint(s, 10, 16)
		if err != nil || n == 0 {
			return f, &trouble{fmt.Errorf("--port %s: want a number from 1 to 65535", s), "filters of tcpdump are not read; filter the capture with tcpdump -r FILE -w OTHER EXPRESSION"}
		}
		f.Ports = append(f.Ports, uint16(n))
	}
	for _, s := range o.hosts {
		network, err := netip.ParsePrefix(s)
		if addr, err2 := netip.ParseAddr(s); err2 == nil {
			network, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return f, &trouble{fmt.Errorf("--host %s: want an IP address, or a network such as 10.0.0.0/8", s), "a capture holds addresses, no names"}
		}
		f.Hosts = append(f.Hosts, network)
	}
	return f, nil
}

// importFrom imports what f holds.
func (a *app) importFrom(name string, f io.ReadCloser, o *importOptions) error {
	in, head, closer, err := unpacked(f)
	if err != nil {
		return fileTrouble(name, err)
	}
	defer closer()
	if looksLikeHAR(head) {
		return a.importHAR(name, in, o)
	}
	if !pcap.IsCapture(head) && hasCassette(head) {
		return a.importText(name, in, bytes.HasPrefix(head, []byte(cassetteStart)), o)
	}
	keys, err := a.keylog(o.keylog)
	if err != nil {
		return err
	}
	r, err := pcap.NewReader(in)
	if err != nil {
		return notCapture(name, head, err)
	}
	defer r.Close()
	defer boundMemory()()
	r.Secrets = func(b []byte) { _ = keys.Add(bytes.NewReader(b)) }
	notice := a.noticeUnless(o.quiet)
	if o.keylog != "" && keys.Empty() {
		notice("%s: no TLS secrets are in it; want lines of an NSS key log (SSLKEYLOGFILE)", o.keylog)
	}
	filter, err := o.filter()
	if err != nil {
		return err
	}
	m := &pcap.Importer{Filter: filter, AllHTTP: o.allHTTP, Keys: keys, Notice: func(s string) { notice("%s: %s", name, s) }}
	into, err := a.destination(o, "pcap")
	if err != nil {
		return err
	}
	m.Record = into.Record
	readErr := a.readCapture(name, f, m, r)
	m.Close()
	if err := into.end(); err != nil {
		return err
	}
	exchanges, whole := into.Exchanges()
	report(notice, name, into.name, &m.Counters, exchanges, whole, into.Replaced())
	return a.imported(name, readErr, o.strict, m.Counters.Unexplained() > 0, notice)
}

// imported gives the end of an import: where the capture broke off or could be read no further is said and is no trouble.
func (a *app) imported(name string, err error, strict, unexplained bool, notice func(string, ...any)) error {
	var damage *pcap.DamageError
	switch {
	case errors.As(err, &damage):
		notice("%s: %v; what stands before it was used", name, damage)
		unexplained = true
	case err != nil:
		return fileTrouble(name, err)
	}
	if strict && unexplained {
		return exit(codeFailed)
	}
	return nil
}

// readCapture reads to the end, or until a signal comes, be it while nothing does.
func (a *app) readCapture(name string, f io.Closer, m *pcap.Importer, r *pcap.Reader) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, ending()...)
	defer signal.Stop(signals)
	stop := a.progress(name, f, r)
	defer stop()
	var mu sync.Mutex // held while m is at work; for good once a signal has come
	secrets := r.Secrets
	r.Secrets = func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		secrets(b)
	}
	read := make(chan error, 1)
	go func() {
		var p pcap.Packet
		for {
			err := r.Next(&p)
			mu.Lock()
			if err != nil {
				m.Counters.Dropped += r.Drops()
				mu.Unlock()
				read <- err
				return
			}
			m.Add(&p)
			mu.Unlock()
		}
	}()
	select {
	case <-signals:
		mu.Lock()
		return nil
	case err := <-read:
		if err == io.EOF {
			return nil
		}
		return err
	}
}

// queued is how many bytes of events wait for the recorder: enough that neither side waits long, and little to walk through.
const queued = 768 << 10

// A destination is where the events of an import go.
type destination struct {
	*capture.Recorder
	tape *tape // nil where exchanges are only counted
	name string
}

func (a *app) destination(o *importOptions, mode string) (*destination, error) {
	if o.dryRun {
		d := &destination{Recorder: capture.NewRecorder(nil, nil)}
		d.Queue = queued
		return d, nil
	}
	t, err := a.newTape(o.out, har.Header{Mode: mode, KeepSecrets: o.keepSecrets})
	if err != nil {
		return nil, err
	}
	t.Queue = queued
	return &destination{Recorder: t.Recorder, tape: t, name: t.name}, nil
}

func (d *destination) end() error {
	if d.tape == nil {
		return d.Close()
	}
	return d.tape.close()
}

// report prints what the capture held.
func report(notice func(string, ...any), name, out string, n *pcap.Counters, exchanges, whole, replaced int) {
	notice("%s: %s, %d bytes; %s: %d HTTP, %d TLS, %d other", name, count(int(n.Packets), "packet"), n.Bytes, count(n.Conns, "connection"), n.HTTP, n.TLS, n.Other)
	notice("%s: %s, %d whole, on %s", name, count(exchanges, "exchange"), whole, count(n.Kept, "connection"))
	noticeReplaced(notice, name, replaced)
	for _, c := range []struct {
		n    int64
		what string
	}{
		{int64(n.LeftOut), "HTTP connections without MCP were left out (--all-http keeps them)"},
		{int64(n.Dropped), "packets were dropped before they reached the capture"},
		{n.Lost, "bytes are missing from the capture"},
		{n.Snapped, "bytes were cut off by a short snaplen"},
		{int64(n.Midstream), "directions of connections have no beginning in the capture"},
		{int64(n.Conflicts), "connections have copies of bytes that differ"},
		{int64(n.Stale), "resets had no effect"},
		{int64(n.Strays), "segments were far from where their connection was"},
		{n.Late, "bytes came behind the end of their connection"},
		{n.Undecoded, "packets could not be decoded"},
		{n.UnknownLn, "packets have a link type that is not read"},
		{n.Fragments, "fragmented packets were not whole"},
		{n.NotTCP, "packets were not TCP"},
		{n.Filtered, "packets were left out by --port or --host"},
		{n.OtherData, "bytes of connections are neither HTTP/1.1 nor TLS"},
		{n.TLSData, "bytes of TLS could not be read"},
		{n.Early, "bytes before the first MCP message of their origin could not be held"},
	} {
		if c.n > 0 {
			notice("%s: %d %s", name, c.n, c.what)
		}
	}
	notice("%s: %d bytes or packets unexplained", name, n.Unexplained())
	if exchanges == 0 {
		notice("%s: no MCP was found", name)
	}
	if out != "" {
		notice("written to %s", out)
	}
}

// noticeReplaced says how much of what was imported is not as it was.
func noticeReplaced(notice func(string, ...any), name string, n int) {
	if n > 0 {
		notice("%s: credentials are replaced, %s (--keep-secrets keeps them)", name, count(n, "range"))
	}
}

// progress shows how far the reading of a long file is, on a terminal. stop takes it away.
func (a *app) progress(name string, f io.Closer, r *pcap.Reader) (stop func()) {
	file, ok := f.(*os.File)
	if !ok || !isTerminal(a.stderr) {
		return func() {}
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return func() {}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(gone)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				fmt.Fprint(a.stderr, "\r\x1b[K")
				return
			case <-tick.C:
				at, _ := file.Seek(0, io.SeekCurrent)
				fmt.Fprintf(a.stderr, "\r\x1b[K%s", progressText(name, at, info.Size(), time.Since(began)))
			}
		}
	}()
	return func() { close(done); <-gone }
}

// progressText says how far the reading of a file of that size is, and how long the rest will take at the rate so far.
func progressText(name string, at, size int64, took time.Duration) string {
	rate := float64(at) / max(took, time.Millisecond).Seconds()
	left := time.Duration(float64(max(size-at, 0)) / max(rate, 1) * float64(time.Second))
	return fmt.Sprintf("%s: %d%%, %.0f MB/s, %s left", name, 100*min(at, size)/max(size, 1), rate/1e6, left.Round(time.Second))
}
