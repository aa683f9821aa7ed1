//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
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

// fromTerminal tells whether CMD has got this signal already: a terminal sends ^C to all of its foreground process group.
// Which group that is Linux tells in /proc/self/stat (proc(5), pgrp and tpgid); elsewhere the answer is no, and CMD may
// get the signal twice.
func fromTerminal(sig os.Signal) bool {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil || sig != syscall.SIGINT {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return len(fields) > 5 && fields[2] == fields[5]
}

// ownGroup makes a process the leader of a group, which is killed as a whole.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { endGroup(cmd); return nil }
}

// endGroup kills what is left of a process's group.
func endGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
