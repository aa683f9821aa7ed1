package main

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

// How facts of a report are put into words.

func clientText(c analyze.Client) string {
	s := nameVersion(c.Name, c.Version, "an unnamed client")
	var known []string
	if c.Host != "" {
		known = append(known, "host "+c.Host)
	}
	if c.SDK != "" && c.SDK != "unknown" {
		known = append(known, c.SDK+" SDK")
	}
	if len(known) > 0 {
		s += " (" + strings.Join(known, ", ") + ")"
	}
	return s
}

// unsureText says how sure the recognition of a client is, where it is not certain.
func unsureText(c analyze.Confidence) string {
	if c == analyze.Certain {
		return ""
	}
	return " (" + string(c) + ")"
}

// listed joins the first names of a list and says how many there are beyond.
func listed(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func serverText(s analyze.Server) string { return nameVersion(s.Name, s.Version, "an unnamed server") }

func nameVersion(name, version, unnamed string) string {
	if name == "" {
		return unnamed
	}
	return strings.TrimSpace(name + " " + version)
}

func observedText(c *analyze.Conversation) string {
	o := c.Observed
	s := string(o.Outcome)
	if o.Version != "" {
		s += ", version " + o.Version
	}
	if o.InitializeSent {
		s += ", initialize sent"
	} else {
		s += ", initialize never sent"
	}
	s += fmt.Sprintf(", %d ms to the outcome", o.WaitMS)
	if c.Connects > 1 {
		s += ", " + count(c.Connects, "connect")
	}
	return s
}

func predictionText(p analyze.Prediction) string {
	s := fmt.Sprintf("%s, by exchange %d: %s", p.Outcome, p.Exchange, strings.TrimSpace(p.Verdict+" "+inBrackets(p.Rule)))
	if p.Assumed {
		s += ", steps that were not taken assumed to succeed"
	}
	return s
}

// answerText is what came back, in a few words.
func answerText(o *analyze.Observation) string {
	if o.Transport == overStdio {
		return replyText(o)
	}
	words := []string{"no answer"}
	if o.Status != 0 {
		words = []string{fmt.Sprint(o.Status)}
	}
	if o.MediaType != "" {
		words = append(words, o.MediaType)
	}
	if o.Error != nil && o.Error.Code != nil {
		words = append(words, fmt.Sprint("error ", *o.Error.Code))
	}
	if o.Complete != nil && !*o.Complete && o.Status != 0 {
		words = append(words, "cut")
	}
	if o.End != "keep" {
		words = append(words, o.End)
	}
	return strings.Join(words, " ")
}

// overStdio is the report's word for the pipes of a process.
const overStdio = "stdio"

// replyText is what a process wrote in reply: its lines have neither status nor media type.
func replyText(o *analyze.Observation) string {
	switch {
	case o.Request == 0:
		return "a line of the server's own"
	case o.Reply == "":
		return "none due"
	}
	var words []string
	switch {
	case o.Error != nil && o.Error.Code != nil:
		words = append(words, fmt.Sprint("error ", *o.Error.Code))
	case o.Reply == "result" && o.ToolError:
		words = append(words, "result, isError")
	case o.Reply == "result", o.Reply == "error":
		words = append(words, o.Reply)
	case o.Reply == "other-id" && o.ReplyIn != 0:
		words = append(words, fmt.Sprintf("a reply under another id (exchange %d)", o.ReplyIn))
	case o.Answer == "nothing", o.Answer == "silence", o.Response == 0:
		words = append(words, "no reply")
	case o.Answer == "whole":
		words = append(words, "no valid reply")
	default:
		words = append(words, "an unfinished line")
	}
	if end := stdioEndText(o.End); end != "" && o.Answer != "whole" {
		words = append(words, end)
	}
	return strings.Join(words, ", ")
}

// stdioEndText says who ended the exchange of a process, "" for none of the two.
func stdioEndText(end string) string {
	switch har.Ending(end) {
	case har.EndFIN, har.EndRST, har.EndNoCloseNotify:
		return "the server ended"
	case har.EndClientFIN, har.EndClientRST, har.EndHang:
		return "the client left"
	case har.EndStopped:
		return "the recording ended"
	}
	return ""
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

func exchangesText(ns []int) string {
	if len(ns) == 1 {
		return fmt.Sprint("exchange ", ns[0])
	}
	words := make([]string, 0, len(ns))
	for i, n := range ns {
		if i == 20 {
			words = append(words, fmt.Sprintf("… %d more", len(ns)-i))
			break
		}
		words = append(words, fmt.Sprint(n))
	}
	return "exchanges " + strings.Join(words, ", ")
}

func costText(c analyze.Cost) string {
	var words []string
	switch {
	case c.MS >= 1000:
		words = append(words, fmt.Sprintf("%.1f s waited", float64(c.MS)/1000))
	case c.MS > 0:
		words = append(words, fmt.Sprintf("%d ms waited", c.MS))
	}
	if c.Requests > 0 {
		words = append(words, count(c.Requests, "request")+" in vain")
	}
	return strings.Join(words, ", ")
}
