// Command mcptap records MCP traffic byte for byte, explains it and serves it back. docs/design.md shows the parts;
// `mcptap help` lists the commands.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// An app is what the commands have of the world. One serves one run.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            []string
	now            func() time.Time
	spooled        string            // the file that holds stdin, "" while it is read directly
	quiet          bool              // no notices on what is imported
	converts       []string          // the files that were imported to be read
	held           map[string][]byte // recordings that are in no file yet, by the name that they will have
}

// run executes one command line and returns its exit code (see exitCode).
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: env, now: time.Now}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.exitCode(root.Execute())
}

// root builds the tree of commands.
func (a *app) root() *cobra.Command {
	asked := false // for the version
	root := &cobra.Command{
		Use:   "mcptap",
		Short: "record MCP traffic byte for byte, explain it and serve it back",
		Long: `mcptap sits between an MCP client and its server, keeps every byte that passes, says what each exchange means
under the negotiation rules of the specification and of each client, and serves a recording back unchanged.

Exit codes: 0 done, nothing wrong; 1 done, but something failed a rule, differed or was not matched; 2 trouble.
These flags can also be given as MCPTAP_NAME in the environment; the flag wins: --ca-file, --fail-on, --keylog, --listen,
--pace, --policy, --quiet, --to.`,
		Args: func(c *cobra.Command, args []string) error {
			if asked && len(args) == 0 {
				return nil
			}
			return a.noCommand(c, args)
		},
		RunE:              func(*cobra.Command, []string) error { return a.printVersion() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return a.fromEnv(c.Flags()) },
	}
	root.Flags().BoolVar(&asked, "version", false, "print the version")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if _, at, ok := strings.Cut(err.Error(), "unknown shorthand flag: "); ok && len(at) > 1 && at[1] >= '0' && at[1] <= '9' {
			return usage(c, "%s: want a number from 1", at[strings.LastIndexByte(at, ' ')+1:])
		}
		return usage(c, "%v", err)
	})
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(a.recordCommand(), a.importCommand(), a.replayCommand(), a.showCommand(), a.analyzeCommand(), a.explainCommand(), a.rulesCommand(), a.probeCommand(), a.verifyCommand(), a.diffCommand(),
		a.corpusCommand(), a.harCommand(), a.exportCommand(), a.repairCommand(), a.redactCommand(), a.shareCommand(), a.caCommand(), a.demoCommand(), a.manCommand(), a.versionCommand())
	root.SetHelpCommand(a.helpCommand(root))
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = oneShell, func(*cobra.Command, []string) error { return nil }
		}
		c.DisableFlagsInUseLine = true
	}
	return root
}

// helpCommand prints the help of a command.
func (a *app) helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "print the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return a.noCommand(root, args)
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

// oneShell refuses a completion for no shell, or for one that is not known.
func oneShell(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(c, "want a shell: bash, fish, powershell or zsh")
	}
	return usage(c, "unknown shell %q: want bash, fish, powershell or zsh", args[0])
}

// noCommand refuses a command line that names no known command.
func (a *app) noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(c, "want a command")
	}
	err := usage(c, "unknown command %q", args[0])
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		err.hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return err
}

// inEnvironment are the flags that may come from the environment: none that writes a file, keeps secrets or trusts anybody.
var inEnvironment = []string{"ca-file", "fail-on", "keylog", "listen", "pace", "policy", "quiet", "to"}

// fromEnv sets those flags that the command line does not name from MCPTAP_NAME.
func (a *app) fromEnv(flags *pflag.FlagSet) error {
	var err error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "MCPTAP_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		v := a.getenv(name)
		if v == "" || f.Changed || !slices.Contains(inEnvironment, f.Name) || err != nil {
			return
		}
		if e := flags.Set(f.Name, v); e != nil {
			err = &trouble{err: fmt.Errorf("%s: %w", name, cause(e)), hint: "unset " + name + " or give --" + f.Name}
		}
	})
	return err
}

// getenv returns the value of an environment variable, "" if it is not set. The last of several wins, as in a shell.
func (a *app) getenv(name string) string {
	value := ""
	for _, kv := range a.env {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			value = v
		}
	}
	return value
}
