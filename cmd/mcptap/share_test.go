package main

import (
	"archive/zip"
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/mcptap/mcptap/har"
)

func TestTooLargeForTrackers(t *testing.T) {
	for _, tt := range []struct {
		size int
		want string
	}{
		{0, ""},
		{25 << 20, ""},
		{25<<20 + 1, "a.zip has 25.0 MiB, and trackers take 25: --minimize leaves out what a finding does not need"},
		{40 << 20, "a.zip has 40.0 MiB, and trackers take 25: --minimize leaves out what a finding does not need"},
	} {
		if got := tooLarge("a.zip", tt.size); got != tt.want {
			t.Errorf("%d bytes: %q, want %q", tt.size, got, tt.want)
		}
	}
}

// What cannot be packed any smaller is in the zip file whole.
func TestShareOfNoise(t *testing.T) {
	t.Chdir(t.TempDir())
	noise := make([]byte, 200_000)
	rand.NewChaCha8([32]byte{}).Read(noise)
	p := &planting{secrets: map[string]string{}}
	p.response("Content-Type: application/octet-stream\r\n", string(noise))
	p.k.Header = har.Header{Started: p.k.Exchanges[0].Started}
	if err := os.WriteFile("noise.mcptap", cassetteBytes(t, &p.k, false), 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, 0, "", "share", "noise.mcptap")
	text, err := os.ReadFile("noise.zip")
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open("noise.mcptap")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	k, err := har.Read(io.LimitReader(f, 1<<20), har.Limits{})
	if err != nil || len(k.Exchanges) != 1 || !bytes.Equal(k.Exchanges[0].Response.Raw, p.k.Exchanges[0].Response.Raw) {
		t.Errorf("%v: other bytes than %d", err, len(noise))
	}
	for name, out := range runs(t, 0, "", "share", "noise.mcptap", "--out", "again.zip") {
		if bytes.Contains(out, []byte("trackers")) {
			t.Errorf("%s: %s", name, out)
		}
	}
}
