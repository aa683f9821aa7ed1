package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/replay"
)

type replayOptions struct {
	session
	pace, log          string
	match, junit       string
	faults             []string
	expect             []string
	expectFindings     []string
	exact, keepSecrets bool
	repeatLast         bool
	stdio              bool
}

func (a *app) replayCommand() *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use:   "replay FILE [-- CMD ARG...]",
		Short: "serve a recording: the same bytes, cuts, gaps and endings",
		Long: `Replay answers each request with what was recorded for it: per method, path, JSON-RPC method and params, in recorded
order. A request for which nothing recorded is left gets a loud failure and is printed with the nearest recording; it is
never answered with that. FILE may be corpus:NAME. Replay prints one line: the URL of the recorded endpoint. With CMD,
{url} in an argument is replaced by it, MCPTAP_URL holds it, and the replay ends when CMD ends; else ^C ends it. Several
recorded servers get a port each: one line NAME URL for each, {url:NAME} in an argument.
Exit code 1: a request was not matched, a recorded exchange was not asked for, or the client did not do what --expect says.`,
		Example: `  mcptap replay session.mcptap -- my-client --server {url}
  mcptap replay corpus:probe-error-id-null --pace fast --expect legacy-fallback -- my-client {url}
  mcptap replay server.mcptap --stdio
  mcptap replay session.mcptap --fault 'tools/call#2: 404 session' --repeat-last -- my-client {url}`,
		RunE: func(c *cobra.Command, args []string) error {
			args = o.split(c, args)
			if len(args) != 1 {
				return usage(c, "want one FILE, got %d", len(args))
			}
			if o.stdio {
				return a.replayStdio(c, args[0], &o)
			}
			return a.replay(c, args[0], &o)
		},
	}
	o.flags(c)
	f := c.Flags()
	f.StringVar(&o.pace, "pace", "recorded", "recorded, fast (no gaps), or a `FACTOR` such as 2x")
	f.BoolVar(&o.exact, "exact", false, "refuse requests whose JSON-RPC id differs instead of patching it into the answer")
	f.StringVar(&o.match, "match", "params", "what recording and request must agree in: `WHAT` is params, rpc (not their params), method (HTTP only) or order")
	f.BoolVar(&o.tls, "tls", false, "serve https with a certificate of your authority (mcptap ca), which CMD is told to trust")
	f.BoolVar(&o.repeatLast, "repeat-last", false, "serve the last recording of a request again when none is left")
	f.StringArrayVar(&o.expect, "expect", nil, "what the client must make of it: `WORD` is legacy-fallback, modern, legacy, failed, … (docs/replay.md); repeated")
	f.StringArrayVar(&o.expectFindings, "expect-finding", nil, "a finding that must be there: an `ID` of docs/findings.md; repeated")
	f.StringVar(&o.junit, "junit", "", "write a JUnit report to a new `FILE`")
	f.StringArrayVar(&o.faults, "fault", nil, "disturb answers: `\"SELECTOR: ACTION\"`, such as \"probe: status 503\" (docs/faults.md); repeated")
	f.BoolVar(&o.stdio, "stdio", false, "be the recorded server on stdin and stdout: a host starts this command in its place")
	f.StringVar(&o.log, "log", "", "write what happened to a new cassette `FILE`")
	f.BoolVar(&o.keepSecrets, "keep-secrets", false, "write credentials and session ids to --log as they are")
	return c
}

// replay serves one recording until CMD or the user ends it, and judges what was asked for.
func (a *app) replay(c *cobra.Command, name string, o *replayOptions) error {
	pace, err := parsePace(o.pace)
	if err != nil {
		return usage(c, "--pace %s: %v", o.pace, err)
	}
	faults, err := parseFaults(o.faults)
	if err != nil {
		return usage(c, "--%v", err)
	}
	match, err := replay.ParseMatch(o.match)
	if err != nil {
		return usage(c, "--match %v", err)
	}
	verdicts, err := o.newJudge(c)
	if err != nil {
		return err
	}
	a.quiet = o.quiet
	report, err := a.newOutput(o.junit)
	if err != nil {
		return err
	}
	defer report.drop()
	from, err := a.openReplay(name, o)
	if err != nil {
		return err
	}
	conns := new(atomic.Uint64)
	play, err := replay.Load(from.Source, func() *replay.Player {
		return &replay.Player{Conns: conns, Pace: pace, Exact: o.exact, Match: match, Repeat: o.repeatLast, Faults: faults,
			Notice: func(s string) { o.notice("%s", s) }}
	})
	if err != nil {
		return err
	}
	var names []string
	for _, p := range play.Players {
		if p.Name != "" {
			names = append(names, p.Name)
		}
	}
	if err := o.open(a, names...); err != nil {
		return err
	}
	listeners, err := o.openMore(len(play.Players))
	if err != nil {
		o.l.Close()
		return err
	}
	defer closeAll(listeners)
	undo, err := o.secure(listeners)
	if err != nil {
		return err
	}
	defer undo()
	closeLog, err := a.listen(play.Players, o, verdicts)
	if err != nil {
		return err
	}
	code, err := o.serveAll(play, listeners)
	if e := play.Close(); err == nil {
		err = e
	}
	if e := closeLog(); err == nil {
		err = e
	}
	rulings, e := verdicts.rule()
	if err == nil {
		err = e
	}
	r := play.Result()
	failed := o.summary(r, rulings)
	if o.junit != "" {
		if e := report.write(suite(name, from.exchanges(), r, rulings).write); err == nil {
			err = e
		}
	}
	switch {
	case code != codeOK:
		return exit(code)
	case err != nil:
		return err
	case failed:
		return exit(codeFailed)
	}
	return nil
}

// listen makes the players log to --log and to whoever judges the client.
func (a *app) listen(players []*replay.Player, o *replayOptions, j *judge) (closeLog func() error, err error) {
	closeLog = func() error { return nil }
	var log func(har.Event)
	if j != nil {
		log = j.rec.Record
	}
	if o.log != "" {
		h := har.Header{Mode: "replay", KeepSecrets: o.keepSecrets}
		for _, p := range players {
			if p.Name != "" {
				h.Servers = append(h.Servers, har.Server{Name: p.Name})
			}
		}
		tape, err := a.newTape(o.log, h)
		if err != nil {
			return nil, err
		}
		closeLog, log = tape.close, tape.Record
		if j != nil {
			log = func(e har.Event) {
				tape.Record(e)
				j.rec.Record(e)
			}
		}
	}
	for _, p := range players {
		p.Log = log
	}
	return closeLog, nil
}

// parsePace gives Player.Pace for a word of the command line.
func parsePace(word string) (float64, error) {
	switch word {
	case "recorded":
		return 1, nil
	case "fast":
		return 0, nil
	}
	n, x := strings.CutSuffix(word, "x")
	f, err := strconv.ParseFloat(n, 64)
	if !x || err != nil || !(f >= 0.001 && f <= 1000) {
		return 0, fmt.Errorf("want recorded, fast, or a factor such as 2x (0.001x to 1000x)")
	}
	return f, nil
}

// parseFaults reads what --fault was given.
func parseFaults(texts []string) ([]replay.Fault, error) {
	var list []replay.Fault
	for _, text := range texts {
		f, err := replay.ParseFault(text)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// maxListed is how many exchanges that were left over are named.
const maxListed = 20

// summary says what became of a replay and tells whether anything was missed, left over or not as expected.
func (o *replayOptions) summary(r replay.Result, rulings []ruling) (failed bool) {
	for _, x := range rulings {
		if x.err != nil {
			o.notice("%v", x.err)
			failed = true
		}
	}
	for i, x := range r.Unserved {
		if i == maxListed {
			o.notice("not asked for: %d more", len(r.Unserved)-i)
			break
		}
		row := rowOf(x)
		o.notice("not asked for: exchange %d, %s %s %s", x.N, x.Method, pathOf(x.URL), orDash(row.what()))
	}
	for _, f := range r.Unused {
		o.notice("fault %q met no request", f)
		failed = true
	}
	for _, u := range r.Faults {
		failed = failed || u.Why != ""
	}
	patched := ""
	if n := len(r.Patches); n > 0 {
		patched = ", " + count(n, "place") + " patched"
	}
	if r.Repeated > 0 {
		patched += fmt.Sprintf(" (%d of them again)", r.Repeated)
	}
	if n := len(r.Faults); n > 0 {
		patched += ", " + count(n, "answer") + " disturbed"
	}
	o.notice("%s served%s, %s, %d not asked for", count(r.Served, "exchange"), patched, misses(len(r.Misses)), len(r.Unserved))
	return failed || len(r.Misses) > 0 || len(r.Unserved) > 0
}

func misses(n int) string {
	if n == 1 {
		return "1 miss"
	}
	return fmt.Sprintf("%d misses", n)
}
