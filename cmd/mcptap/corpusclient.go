package main

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/mcptap/mcptap/corpus"
)

// Bounds on a client that is run against a case.
const (
	maxOutput = 4 << 10     // bytes kept of the end of what it writes
	pipeTime  = time.Second // how long its output may stay open behind its end
)

// caseClient gives what runs CMD against a URL. The process leads a group of its own, and when it has ended, or must, the
// whole group is killed: nothing of one case lives on in the next.
func (a *app) caseClient(argv []string) func(context.Context, string) corpus.Exit {
	return func(ctx context.Context, url string) corpus.Exit {
		args := make([]string, 0, len(argv))
		for _, arg := range argv[1:] {
			args = append(args, strings.ReplaceAll(arg, "{url}", url))
		}
		cmd := exec.CommandContext(ctx, argv[0], args...)
		cmd.Env = append(a.env[:len(a.env):len(a.env)], "MCPTAP_URL="+url)
		out := &tail{}
		cmd.Stdout, cmd.Stderr = out, out
		cmd.WaitDelay = pipeTime
		ownGroup(cmd)
		if err := cmd.Start(); err != nil {
			return corpus.Exit{Err: cause(err)}
		}
		cmd.Wait() // how it ended stands in its state
		endGroup(cmd)
		return corpus.Exit{Code: childCode(cmd.ProcessState), Output: out.String()}
	}
}

// A tail keeps the last bytes written.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p[max(0, len(p)-maxOutput):]...)
	t.b = t.b[max(0, len(t.b)-maxOutput):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.b), "�")
}
