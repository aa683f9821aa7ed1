package replay

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
)

// once is a run of a test in which Record records.
type once struct {
	file, partial string
	out           *os.File
	close         func() error
}

// Record makes a test its own recording: where file is missing, the client's traffic with the server at that URL is
// recorded to it, credentials replaced; where it is there, Record is Serve. A run that fails or sends nothing leaves no file. With CI set in
// the environment (but to false or 0) a missing file is a failure: recordings are made by people and committed. It needs a
// Kit.
func Record(t TB, to, file string) *Server {
	t.Helper()
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return Serve(t, file)
	}
	s := &Server{File: file, t: t}
	u, err := url.Parse(to)
	ci := os.Getenv("CI")
	switch {
	case ci != "" && ci != "0" && ci != "false":
		t.Fatalf("replay: %s is missing, and CI is set: nothing is recorded there. Run the test where the server can be reached, and commit the file", file)
		return s
	case kit == nil:
		t.Fatalf("replay: Record needs the recorder: %s", howToEquip)
		return s
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		t.Fatalf("replay: Record: %q: want http://HOST[:PORT]/PATH or https://…", to)
		return s
	}
	if err := s.startRecording(u); err != nil {
		t.Fatalf("replay: recording %s: %v", file, err)
		return s
	}
	t.Logf("replay: %s is missing: recording what goes to %s", file, u.Redacted())
	t.Cleanup(s.finish)
	return s
}

func (s *Server) startRecording(to *url.URL) error {
	folder := filepath.Dir(s.File)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	out, err := os.CreateTemp(folder, filepath.Base(s.File)+".partial-")
	if err != nil {
		l.Close()
		return err
	}
	s.record = &once{file: s.File, partial: out.Name(), out: out, close: kit.Door(to, l, out)}
	s.URL = "http://" + l.Addr().String() + to.RequestURI()
	return nil
}

func (o *once) stop() error {
	err := o.close()
	if e := o.out.Close(); err == nil {
		err = e
	}
	return err
}

// keep gives the recording its name if the test has passed and it holds something, without overwriting a file that has appeared meanwhile.
func (o *once) keep(t TB) {
	defer os.Remove(o.partial)
	if t.Failed() {
		t.Logf("replay: the test failed: %s is not kept", o.file)
		return
	}
	if c, err := readFile(o.partial); err == nil && len(c.Exchanges) == 0 {
		t.Errorf("replay: nothing was sent: %s is not kept", o.file)
		return
	}
	if err := os.Link(o.partial, o.file); err != nil {
		t.Errorf("replay: keeping the recording: %v", err)
	}
}
