package har

import (
	"bytes"
	"slices"
	"strings"
)

// secretWords are what the names of flags and of environment variables that hold secrets have in them, in lower case.
var secretWords = []string{"token", "secret", "password", "passwd", "apikey", "api_key", "api-key", "access_key", "access-key",
	"private_key", "private-key", "auth_key", "auth-key", "credential", "authorization", "bearer"}

// secretName tells whether a flag or a variable of that name holds a secret.
func secretName(name string) bool {
	name = strings.ToLower(strings.TrimLeft(name, "-"))
	if name == "key" || name == "auth" || strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "-key") {
		return true
	}
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// KnowEnvironment remembers the values of those variables, given as NAME=VALUE, whose names say that they are secrets: they are
// replaced wherever they come up. Values below 8 bytes are too short for that.
func (r *Redactor) KnowEnvironment(env []string) {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if secretName(name) && !isPath(value) {
			r.know(value)
		}
	}
}

// isPath tells whether the value says where a secret is, or how to reach who has it, rather than what it is.
func isPath(value string) bool { return strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~") }

func (r *Redactor) know(value string) {
	for _, v := range []string{value, strings.TrimPrefix(value, "Bearer ")} {
		r.values.add([]byte(v), apiKey, nil)
	}
}

// RedactCommand returns a command line with its secrets replaced by others of the same length, and remembers them: what stands
// behind a flag or in a variable that is named like a secret, in a header field that holds credentials, and what is known by its shape.
func (r *Redactor) RedactCommand(command []string) []string {
	out := slices.Clone(command)
	next := false
	for i, arg := range out {
		if i == 0 {
			continue
		}
		if next && !strings.HasPrefix(arg, "-") {
			r.know(arg)
			out[i] = blanked(arg)
			next = false
			continue
		}
		name, value, joined := strings.Cut(arg, "=")
		flag := strings.HasPrefix(arg, "-")
		next = flag && !joined && secretName(name) && !strings.ContainsAny(name, " :/")
		if joined && secretName(name) && !strings.ContainsAny(name, " :/?") {
			r.know(value)
			out[i] = name + "=" + blanked(value)
			continue
		}
		name, value, field := strings.Cut(arg, ":")
		if kind := fieldKindOf([]byte(name)); field && (kind == secretField || kind == credentialsField) {
			r.know(strings.TrimSpace(value))
			out[i] = name + ":" + blanked(value)
		}
	}
	for i := range out {
		out[i] = r.redactString(out[i])
	}
	return out
}

func blanked(s string) string {
	b := bytes.Clone([]byte(s))
	blank(b, 0, true)
	return string(b)
}
