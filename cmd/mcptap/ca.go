package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/capture/proxy"
)

// The files of the certificate authority, in the folder ca of the state folder.
const (
	caFolder   = "ca"
	caCertFile = "mcptap-ca.pem"
	caKeyFile  = "mcptap-ca-key.pem"
)

func (a *app) caCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "ca path|print|install-hint",
		Short: "show the certificate that clients of record --forward must trust",
		Long: `The forward door shows clients certificates that are signed by an authority of your own. It is made on first use, in
the folder ca of MCPTAP_HOME, or without that of your state folder; the key never leaves it. Whoever has the key can read
the traffic of all who trust the certificate: do not copy it, and trust the certificate no longer than you need it. To
start anew, remove the folder.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(c, "unknown word %q: want path, print or install-hint", args[0])
			}
			return usage(c, "want path, print or install-hint")
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	sub := func(use, short string, run func(ca *authority) error) {
		c.AddCommand(&cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			ca, err := a.authority()
			if err != nil {
				return err
			}
			return run(ca)
		}})
	}
	sub("path", "print where the certificate is (PEM)", func(ca *authority) error {
		_, err := fmt.Fprintln(a.stdout, ca.certFile)
		return err
	})
	sub("print", "print the certificate (PEM)", func(ca *authority) error {
		_, err := a.stdout.Write(ca.certPEM)
		return err
	})
	sub("install-hint", "print how each kind of client is made to trust it, and how that is undone", func(ca *authority) error {
		_, err := fmt.Fprint(a.stdout, installHint(ca))
		return err
	})
	return c
}

// An authority is the user's own, with where it is kept.
type authority struct {
	*proxy.Authority
	certFile string
	certPEM  []byte
}

// home is the folder of what outlives a run: MCPTAP_HOME, or that of the system for a user's state.
func (a *app) home() (string, error) {
	if dir := a.getenv("MCPTAP_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := a.getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcptap"), nil
	}
	user := a.getenv("HOME")
	switch runtime.GOOS {
	case "windows":
		if dir := a.getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "mcptap"), nil
		}
	case "darwin":
		if user != "" {
			return filepath.Join(user, "Library", "Application Support", "mcptap"), nil
		}
	default:
		if user != "" {
			return filepath.Join(user, ".local", "state", "mcptap"), nil
		}
	}
	return "", &trouble{errors.New("no folder for the certificate authority is known"), "name one with MCPTAP_HOME"}
}

// authority reads the user's authority, and makes it if there is none.
func (a *app) authority() (*authority, error) {
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(home, caFolder)
	if !exists(dir) {
		if err := a.makeAuthority(home, dir); err != nil {
			return nil, &trouble{fmt.Errorf("%s: no certificate authority can be made: %w", dir, cause(err)), "name another folder with MCPTAP_HOME"}
		}
	}
	return a.readAuthority(dir)
}

func exists(name string) bool { _, err := os.Lstat(name); return err == nil }

// makeAuthority makes an authority in dir. The folder appears whole or not at all; where two make one at the same time, the
// second finds the first one's.
func (a *app) makeAuthority(home, dir string) error {
	certPEM, keyPEM, err := proxy.NewAuthority(a.now())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(home, "ca-*") // 0700
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := os.WriteFile(filepath.Join(fresh, caKeyFile), keyPEM, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(fresh, caCertFile), certPEM, 0o644); err != nil {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil && !exists(dir) {
		return err
	}
	return nil
}

// readAuthority reads the authority in dir.
func (a *app) readAuthority(dir string) (*authority, error) {
	cert, key := filepath.Join(dir, caCertFile), filepath.Join(dir, caKeyFile)
	anew := "remove " + dir + " to have a new authority made; clients must then trust the new one"
	certPEM, err := os.ReadFile(cert)
	if err != nil {
		return nil, &trouble{fileTrouble(cert, err), anew}
	}
	info, err := os.Stat(key)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, &trouble{fmt.Errorf("%s: others can read the key of the certificate authority", key), "chmod 600 " + key + ", or, if somebody may have read it, " + anew}
	}
	keyPEM, err := os.ReadFile(key)
	if err != nil {
		return nil, &trouble{fileTrouble(key, err), anew}
	}
	ca, err := proxy.LoadAuthority(certPEM, keyPEM, a.now())
	if err != nil {
		return nil, &trouble{fmt.Errorf("%s: %w", cert, err), anew}
	}
	return &authority{ca, cert, certPEM}, nil
}
