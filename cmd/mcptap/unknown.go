package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/analyze"
)

// nameTrouble turns the error of an unknown name into one with a hint: names that are like it, else those that there are.
// Other errors stay.
func nameTrouble(err error) error {
	var unknown *analyze.UnknownError
	if !errors.As(err, &unknown) {
		return err
	}
	hint := "want " + unknown.Want
	if len(unknown.Near) > 0 {
		hint = "did you mean " + strings.Join(unknown.Near, " or ") + "?"
	}
	return &trouble{fmt.Errorf("no %s %q", unknown.Kind, unknown.Name), hint}
}

// policyList lists the names of all policies.
func policyList() []string {
	var names []string
	for _, p := range analyze.Policies() {
		names = append(names, p.Name)
	}
	return names
}

// completePolicies completes the last name of a comma-separated list of policies; more are names beside them.
func completePolicies(more ...string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return completeList(func() []string { return append(policyList(), more...) })
}

// completeList completes the last of a comma-separated list of words.
func completeList(words func() []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var all []string
		for _, w := range words() {
			all = append(all, before+w)
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// complete sets how the value of a flag is completed. It fails for no flag that exists.
func complete(c *cobra.Command, flag string, f func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)) {
	if err := c.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err)
	}
}
