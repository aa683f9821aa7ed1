package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/capture/proxy"
	"github.com/mcptap/mcptap/corpus"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/replay"
)

// demoCase is the case of the corpus whose server and client `demo` brings to life.
const demoCase = "probe-error-id-null"

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "show record, analyze and replay at work on this machine",
		Long: `Demo lets a case of the corpus happen on loopback: a server that misbehaves, a client that sends what a real one sent, and
mcptap between them. It explains the recording, replays it, and compares the bytes. Nothing is left behind.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := os.MkdirTemp("", "mcptap-demo-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			return a.demo(filepath.Join(dir, "demo.mcptap"))
		},
	}
}

func (a *app) demo(file string) error {
	c, err := corpus.Open(demoCase)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "The case: %s (%s)\n\nA client meets that server through mcptap:\n\n", c.Header.Case.Story, c.Header.Case.Source)
	direct, err := a.demoRecord(file, c.Exchanges)
	if err != nil {
		return err
	}
	if err := a.showAll(file, 0, &showOptions{}); err != nil {
		return err
	}
	fmt.Fprint(a.stdout, "\nWhat it means:\n\n")
	if err := a.analyze([]string{file}, &analyzeOptions{failOn: []string{"never"}}, &formats[0]); err != nil {
		return err
	}
	_, recorded, err := a.exchanges(file, a.notice)
	if err != nil {
		return err
	}
	player := &replay.Player{Exchanges: recorded}
	replayed, err := withServer(player.Serve, player.Close, func(addr string) [][]byte { return visit(addr, recorded) })
	if err != nil {
		return err
	}
	if !slices.EqualFunc(direct, replayed, bytes.Equal) {
		fmt.Fprintln(a.stdout, "\nA replay of the recording gave the client other bytes.")
		return exit(codeFailed)
	}
	fmt.Fprintf(a.stdout, "\nA replay of the recording gave the client the same bytes: %s, %s.\n",
		count(len(replayed), "answer"), count(len(bytes.Join(replayed, nil)), "byte"))
	return nil
}

// demoRecord lets exchanges happen again through the reverse door and returns what the client got.
func (a *app) demoRecord(file string, xs []*har.Exchange) (got [][]byte, err error) {
	tape, err := a.newTape(file, har.Header{Mode: "reverse", KeepSecrets: true})
	if err != nil {
		return nil, err
	}
	server := &replay.Player{Exchanges: xs}
	_, err = withServer(server.Serve, server.Close, func(addr string) [][]byte {
		door := &proxy.Reverse{To: &url.URL{Scheme: "http", Host: addr}, Record: tape.Record, Offer: tape.Offer}
		got, err = withServer(door.Serve, door.Close, func(addr string) [][]byte { return visit(addr, xs) })
		return got
	})
	if e := tape.close(); err == nil {
		err = e
	}
	return got, err
}

// withServer runs use while a server listens on a free loopback port.
func withServer(serve func(net.Listener) error, stop func() error, use func(addr string) [][]byte) ([][]byte, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	served := make(chan error, 1)
	go func() { served <- serve(l) }()
	got := use(l.Addr().String())
	err = stop()
	if e := <-served; err == nil {
		err = e
	}
	return got, err
}

// visit sends recorded requests, each on a connection of its own, and returns the bytes of each answer as far as they came.
func visit(addr string, xs []*har.Exchange) [][]byte {
	answers := make([][]byte, 0, len(xs))
	for _, x := range xs {
		answers = append(answers, ask(addr, x.Method, x.Request.Raw))
	}
	return answers
}

func ask(addr, method string, request []byte) []byte {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	var answer bytes.Buffer
	conn.Write(request)
	resp, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &answer)), &http.Request{Method: method})
	if err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return answer.Bytes()
}
