//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// ending lists the signals that end a run in good order. A hang-up that was ignored when we started (nohup) stays so.
func ending() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// surviveWriteSignals turns the signals that a failed write raises into errors: a full disk quota (SIGXFSZ) and a reader of
// our stderr that has gone (SIGPIPE) must not end the traffic. Unlike ignored signals, CMD does not inherit this.
func surviveWriteSignals() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ, syscall.SIGPIPE)
}

// fromTerminal tells whether CMD has got this signal already: a terminal sends ^C to all of the foreground process group.
func fromTerminal(sig os.Signal) bool {
	if sig != syscall.SIGINT {
		return false
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
