//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// ending lists the signals that end a run in good order.
func ending() []os.Signal { return []os.Signal{os.Interrupt} }

// surviveWriteSignals does nothing here: failed writes raise no signals.
func surviveWriteSignals() {}

// fromTerminal tells whether CMD has got this signal already: a console sends an interrupt to all its processes.
func fromTerminal(sig os.Signal) bool { return sig == os.Interrupt }

// ownGroup does nothing here: a process is killed alone.
func ownGroup(*exec.Cmd) {}

// endGroup does nothing here.
func endGroup(*exec.Cmd) {}
