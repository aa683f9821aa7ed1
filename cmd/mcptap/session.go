package main

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// A session is what record and replay share: a listener whose URL a client is given, and a run that lasts until CMD has
// ended, or without CMD until a signal comes.
type session struct {
	app    *app
	listen string   // host:port or unix:PATH
	tls    bool     // the listener speaks TLS
	quiet  bool     // no notices
	argv   []string // CMD ARG..., empty for none
	notice func(string, ...any)

	childEnv func(url string) []string // what CMD is told beside MCPTAP_URL; nil: nothing

	l       net.Listener
	url     string // what the client is given
	signals chan os.Signal
}

// flags adds the flags that both commands have.
func (s *session) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.listen, "listen", "127.0.0.1:0", "`ADDRESS` to listen on: HOST:PORT, where port 0 takes a free one, or unix:PATH for a socket that only you can reach")
	c.Flags().BoolVarP(&s.quiet, "quiet", "q", false, "no notices on stderr")
}

// split takes CMD ARG... from behind "--" and returns what stands before it.
func (s *session) split(c *cobra.Command, args []string) []string {
	if n := c.ArgsLenAtDash(); n >= 0 {
		args, s.argv = args[:n], args[n:]
	}
	return args
}

// open listens, and looks at CMD before anything else has happened: {url:NAME} must stand for one of the named servers.
func (s *session) open(a *app, names ...string) error {
	s.app, s.notice = a, a.noticeUnless(s.quiet)
	if len(s.argv) > 0 {
		if _, err := exec.LookPath(s.argv[0]); err != nil {
			return &trouble{fmt.Errorf("%s: %w", s.argv[0], err.(*exec.Error).Err), "what follows -- is the command to run"}
		}
		if err := checkNamed(s.argv[1:], names); err != nil {
			return err
		}
	}
	l, err := listen(s.listen)
	if err != nil {
		return err
	}
	s.l = l
	s.signals = make(chan os.Signal, 8)
	signal.Notify(s.signals, ending()...)
	surviveWriteSignals()
	return nil
}

var namedURLs = regexp.MustCompile(`\{url:([^{}]*)\}`)

// checkNamed refuses {url:NAME} where there is no such server.
func checkNamed(args, names []string) error {
	for _, arg := range args {
		for _, m := range namedURLs.FindAllStringSubmatch(arg, -1) {
			switch {
			case len(names) == 0:
				return &trouble{fmt.Errorf("%s: no server has a name here", m[0]), "{url} stands for the URL"}
			case !slices.Contains(names, m[1]):
				return &trouble{fmt.Errorf("%s: there is no such server", m[0]), "the servers are " + strings.Join(names, ", ")}
			}
		}
	}
	return nil
}

// serve runs a server on the listener, gives out its URL and waits for the end of the run. The code is CMD's own.
func (s *session) serve(run func(net.Listener) error, pathAndQuery string) (code int, err error) {
	failed := make(chan error, 1)
	go func() {
		if err := run(s.l); err != nil {
			failed <- err
		}
	}()
	if err := s.ready(pathAndQuery); err != nil {
		return codeOK, err
	}
	return s.wait(failed)
}

// A named server is one of several, each on a listener of its own.
type named struct {
	name  string
	l     net.Listener
	run   func(net.Listener) error
	path  string // and query, of the URL for the client
	given string // that URL, set by give
}

// openMore listens for so many servers, of which the first has s.l.
func (s *session) openMore(n int) (listeners []net.Listener, err error) {
	listeners = []net.Listener{s.l}
	host, port, _ := net.SplitHostPort(s.listen)
	if n > 1 && port != "0" {
		return nil, &trouble{fmt.Errorf("--listen %s: %d servers want a TCP port each", s.listen, n), "port 0 takes a free one for each"}
	}
	for len(listeners) < n {
		l, err := net.Listen(listenNetwork(host), s.listen)
		if err != nil {
			closeAll(listeners)
			return nil, &trouble{fmt.Errorf("--listen %s: %w", s.listen, cause(err)), listenHint(err)}
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}

// give says where each server is.
func (s *session) give(list []*named) {
	for _, n := range list {
		n.given = s.urlOf(n.l, s.scheme(), n.path)
	}
}

// serveNamed serves several servers, prints where each is, as NAME URL, and waits for the end of the run. {url:NAME} in an
// argument is such a URL; {url} and MCPTAP_URL are the first.
func (s *session) serveNamed(list []*named) (code int, err error) {
	failed := make(chan error, len(list))
	for _, n := range list {
		go func() {
			if err := n.run(n.l); err != nil {
				failed <- fmt.Errorf("%s: %w", n.name, err)
			}
		}()
	}
	for _, n := range list {
		if _, err := fmt.Fprintln(s.app.stdout, oneLine(n.name), n.given); err != nil {
			return codeOK, err
		}
		s.url = cmp.Or(s.url, n.given)
	}
	for i := 1; i < len(s.argv); i++ {
		for _, n := range list {
			s.argv[i] = strings.ReplaceAll(s.argv[i], "{url:"+n.name+"}", n.given)
		}
	}
	return s.wait(failed)
}

func (s *session) scheme() string {
	if s.tls {
		return "https"
	}
	return "http"
}

// ready prints the URL for the client: the only thing that record and replay write to stdout.
func (s *session) ready(pathAndQuery string) error {
	scheme := s.scheme()
	if addr, ok := s.l.Addr().(*net.UnixAddr); ok {
		s.url = scheme + "+unix://" + url.PathEscape(addr.Name) + pathAndQuery
		s.notice("as curl: --unix-socket %s %s://localhost%s", addr.Name, scheme, pathAndQuery)
		_, err := fmt.Fprintln(s.app.stdout, s.url)
		return err
	}
	s.url = s.urlOf(s.l, scheme, pathAndQuery)
	_, err := fmt.Fprintln(s.app.stdout, s.url)
	return err
}

// urlOf is the URL by which a client of this machine reaches a TCP listener.
func (s *session) urlOf(l net.Listener, scheme, pathAndQuery string) string {
	addr := l.Addr().(*net.TCPAddr)
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	if !addr.IP.IsLoopback() {
		s.notice("listening on %s: whoever reaches this address reaches the server", addr)
	}
	return scheme + "://" + net.JoinHostPort(host, fmt.Sprint(addr.Port)) + pathAndQuery
}

// wait returns when CMD has ended, a signal has come (without CMD), or serving has failed. The code is CMD's own. While
// the run is brought to its end, one more signal does nothing if CMD ended it, and the next one ends the process.
func (s *session) wait(failed <-chan error) (code int, err error) {
	if len(s.argv) > 0 {
		code, err = s.command(failed)
		go func() {
			<-s.signals
			signal.Stop(s.signals)
		}()
		return code, err
	}
	defer signal.Stop(s.signals)
	select {
	case <-s.signals:
		return codeOK, nil
	case err := <-failed:
		return codeOK, err
	}
}

// command runs CMD to its end, passing signals on. A CMD killed by a signal gives 128 and its number.
func (s *session) command(failed <-chan error) (code int, err error) {
	args := make([]string, 0, len(s.argv))
	for _, arg := range s.argv[1:] {
		args = append(args, strings.ReplaceAll(arg, "{url}", s.url))
	}
	cmd := exec.Command(s.argv[0], args...)
	cmd.Env = append(s.app.env[:len(s.app.env):len(s.app.env)], "MCPTAP_URL="+s.url)
	if s.childEnv != nil {
		cmd.Env = append(cmd.Env, s.childEnv(s.url)...)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.app.stdin, s.app.stdout, s.app.stderr
	if err := cmd.Start(); err != nil {
		return codeOK, fmt.Errorf("%s: %w", s.argv[0], cause(err))
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	for {
		select {
		case sig := <-s.signals:
			if !fromTerminal(sig) {
				cmd.Process.Signal(sig)
			}
		case err = <-failed:
			s.notice("%v; %s runs on", err, s.argv[0])
			failed = nil
		case <-done:
			return childCode(cmd.ProcessState), err
		}
	}
}

// childCode is a process's exit code, or 128 and the number of the signal that killed it.
func childCode(p *os.ProcessState) int {
	if st, ok := p.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		return 128 + int(st.Signal())
	}
	return p.ExitCode()
}
