package corpus

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/replay"
)

// A Runner runs a client against cases, each in a process of its own, and judges what it made of them. Fields are set before
// Run.
type Runner struct {
	Pace    float64       // of the served answers, see replay.Player
	Timeout time.Duration // how long a client may run for one case
	Jobs    int           // cases at once; less than 1 is 1
	Policy  string        // what to judge by; "" for the policy of the client, as recognised

	// Client runs the client against a server to its end, which comes soon after ctx is done. Called from several goroutines.
	Client func(ctx context.Context, url string) Exit
	// Record gives what keeps the traffic of one case, and its stop. Called from several goroutines.
	Record func() (*Tape, error)
	// Done is told of each case as it ends, of n that are to be run; nil to drop. Called by one goroutine at a time.
	Done func(name string, ended, n int)
}

// An Exit is how a client's process ended.
type Exit struct {
	Code   int    // 0 is success
	Output string // the end of what it wrote
	Err    error  // it could not be started
}

// A Tape keeps the traffic of one case.
type Tape struct {
	Record func(har.Event)
	Stop   func() ([]*har.Exchange, error) // what passed, whole; an error if it was too much
}

// A run is one client process against one case.
type run struct {
	k        har.Case
	recorded []*har.Exchange
	seen     []*har.Exchange
	exit     Exit
	misses   []replay.Miss
	late     bool // it was ended when its time was up
	took     time.Duration
	err      error // of ours
}

// Run runs the client against the cases. When ctx is done, the clients under way are ended and what is done is judged. A
// difference, or a client that sends nothing, counts only if a second run shows it again.
func (r *Runner) Run(ctx context.Context, cases []har.Case) *Matrix {
	runs := r.all(ctx, cases)
	m := &Matrix{Format: MatrixFormat, Asked: len(cases)}
	m.choose(r.Policy, runs)
	var doubtful []har.Case
	for _, one := range runs {
		result := m.judge(one)
		m.Cases = append(m.Cases, result)
		if result.Result == Differ || result.Result == Error && one.exit.Err == nil {
			doubtful = append(doubtful, one.k)
		}
	}
	for _, one := range r.all(ctx, doubtful) {
		i := slices.IndexFunc(m.Cases, func(x CaseResult) bool { return x.Name == one.k.Name })
		second := m.judge(one)
		if second.Result != m.Cases[i].Result {
			second.Why = "only in the first of two runs: " + m.Cases[i].Why
		}
		m.Cases[i] = second
	}
	m.count()
	return m
}

// all runs cases, Jobs at a time, and gives the runs that came to an end, in order.
func (r *Runner) all(ctx context.Context, cases []har.Case) []*run {
	runs := make([]*run, len(cases))
	next := make(chan int)
	var told sync.Mutex
	ended := 0
	var working sync.WaitGroup
	for range min(max(r.Jobs, 1), len(cases)) {
		working.Go(func() {
			for i := range next {
				one := r.one(ctx, cases[i])
				if ctx.Err() != nil {
					continue
				}
				told.Lock()
				runs[i] = one
				ended++
				if r.Done != nil {
					r.Done(cases[i].Name, ended, len(cases))
				}
				told.Unlock()
			}
		})
	}
feed:
	for i := range cases {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	working.Wait()
	return slices.DeleteFunc(runs, func(one *run) bool { return one == nil })
}

// one serves one case to one process of the client.
func (r *Runner) one(ctx context.Context, k har.Case) *run {
	one := &run{k: k}
	c, err := Open(k.Name)
	if err != nil {
		one.err = err
		return one
	}
	one.recorded = c.Exchanges
	if len(one.recorded) > 0 && one.recorded[0].Stdio() {
		return one
	}
	began := time.Now()
	one.err = r.serve(ctx, one)
	one.took = time.Since(began)
	return one
}

// serve plays the server of a case until the client has ended.
func (r *Runner) serve(ctx context.Context, one *run) error {
	tape, err := r.Record()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_, e := tape.Stop()
		return errors.Join(err, e)
	}
	p := &replay.Player{Exchanges: withRest(one.recorded), Pace: r.Pace, Match: replay.MatchRPC, Repeat: true, Log: tape.Record}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	one.exit = r.Client(limited, "http://"+l.Addr().String()+p.Endpoint())
	one.late = limited.Err() != nil
	cancel()
	err = errors.Join(p.Close(), <-served)
	one.misses = p.Result().Misses
	var e error
	one.seen, e = tape.Stop()
	return errors.Join(err, e)
}

// report judges what passed in a run.
func (one *run) report(policies ...string) *analyze.Report {
	r, err := analyze.Analyze(func(yield func(*har.Exchange, error) bool) {
		for _, x := range one.seen {
			if !yield(x, nil) {
				return
			}
		}
	}, analyze.Options{Policies: policies})
	if err != nil { // the names are known ones, and the sequence has no errors
		return &analyze.Report{}
	}
	return r
}
