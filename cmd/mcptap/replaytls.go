package main

import (
	"crypto/tls"
	"net"
)

// secure makes listeners speak TLS with a certificate of the user's authority, which CMD is told to trust. undo removes
// the file that this takes.
func (o *replayOptions) secure(listeners []net.Listener) (undo func(), err error) {
	undo = func() {}
	if !o.tls {
		return undo, nil
	}
	ca, err := o.app.authority()
	if err != nil {
		return undo, err
	}
	host, _, _ := net.SplitHostPort(o.listen)
	conf, err := ca.ServerConfig(host, o.app.now())
	if err != nil {
		return undo, err
	}
	for i, l := range listeners {
		listeners[i] = tls.NewListener(l, conf)
	}
	if len(o.argv) == 0 {
		o.notice("clients must trust %s", ca.certFile)
		return undo, nil
	}
	bundle, err := o.app.trustBundle(ca)
	if err != nil {
		return undo, err
	}
	o.childEnv = func(string) []string { return certEnv(o.app, ca, bundle.name) }
	return bundle.remove, nil
}
