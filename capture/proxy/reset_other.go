//go:build !linux

package proxy

import "net"

// Elsewhere a reset behind a FIN is only met by the next write.

func pendingReset(net.Conn) resetKind { return noReset }

func onEvent(net.Conn, func() bool) {}
