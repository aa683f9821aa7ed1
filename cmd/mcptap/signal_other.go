//go:build !unix

package main

import "os"

// ending lists the signals that end a run in good order.
func ending() []os.Signal { return []os.Signal{os.Interrupt} }

// surviveWriteSignals does nothing here: failed writes raise no signals.
func surviveWriteSignals() {}

// fromTerminal tells whether CMD has got this signal already: a console sends an interrupt to all its processes.
func fromTerminal(sig os.Signal) bool { return sig == os.Interrupt }
