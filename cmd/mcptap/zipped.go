package main

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Bounds of a zip file, which may come from anybody.
const (
	zipMost      = 1 << 30 // bytes of the file, where it has to be copied from a pipe
	zipDirectory = 4 << 20 // bytes of its directory
	zipMember    = 1 << 30 // bytes of the recording in it, unpacked
)

// isZip tells whether a file that begins so is a zip file, be it an empty one.
func isZip(head []byte) bool { return string(head) == "PK\x03\x04" || string(head) == "PK\x05\x06" }

// zipped gives the recording in a zip file, or f as it is if it is none. Nothing is ever unpacked to a file, so names in it lead nowhere.
func zipped(f io.ReadCloser) (io.ReadCloser, error) {
	if file, ok := f.(*os.File); ok {
		info, err := file.Stat()
		if err == nil && info.Mode().IsRegular() {
			var magic [4]byte
			if _, err := file.ReadAt(magic[:], 0); err != nil || !isZip(magic[:]) {
				return f, nil
			}
			return zipCassette(file, info.Size(), file)
		}
	}
	in := bufio.NewReader(f)
	if magic, _ := in.Peek(4); !isZip(magic) {
		return readCloser{in, f}, nil
	}
	defer f.Close()
	file, err := os.CreateTemp("", "mcptap-zip-")
	if err != nil {
		return nil, err
	}
	os.Remove(file.Name())
	n, err := io.Copy(file, io.LimitReader(in, zipMost+1))
	if err == nil && n > zipMost {
		err = fmt.Errorf("a zip file of more than %d MiB: unpack it first", zipMost>>20)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return zipCassette(file, n, file)
}

type readCloser struct {
	io.Reader
	io.Closer
}

// zipCassette opens the one recording in a zip file.
func zipCassette(file io.ReaderAt, size int64, closer io.Closer) (io.ReadCloser, error) {
	bounded := &boundedAt{r: file, left: zipDirectory}
	z, err := zip.NewReader(bounded, size)
	bounded.left = -1
	if err != nil {
		return nil, fmt.Errorf("want a zip file with a recording: %w", err)
	}
	found, err := recordingIn(z.File)
	if err != nil {
		return nil, err
	}
	in, err := found.Open()
	switch {
	case errors.Is(err, zip.ErrAlgorithm):
		return nil, fmt.Errorf("%s in the zip file is compressed in a way that is not known (%d): unpack it first", short(found.Name), found.Method)
	case err != nil:
		return nil, fmt.Errorf("%s in the zip file: %w", short(found.Name), err)
	}
	return readCloser{&boundedMember{name: found.Name, r: in, left: zipMember}, closer}, nil
}

// recordingIn finds the one recording among the members of a zip file.
func recordingIn(members []*zip.File) (found *zip.File, err error) {
	for _, f := range members {
		name := path.Base(f.Name)
		if !strings.HasSuffix(name, ".mcptap") && !strings.HasSuffix(name, ".mcptap.gz") || f.Mode().IsDir() || strings.HasPrefix(name, "._") { // macOS adds ._NAME
			continue
		}
		switch {
		case found == nil:
			found = f
		case found.Name == f.Name:
			return nil, fmt.Errorf("want one recording in the zip file, got %s twice: unpack it first", short(f.Name))
		default:
			return nil, fmt.Errorf("want one recording in the zip file, got several, %s and %s: unpack it first", short(found.Name), short(f.Name))
		}
	}
	switch {
	case found == nil:
		return nil, errors.New("want a recording (.mcptap or .mcptap.gz) in the zip file, got none")
	case found.Flags&1 != 0:
		return nil, fmt.Errorf("%s in the zip file is encrypted: unpack it first", short(found.Name))
	case found.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s in the zip file is a symbolic link, not a recording: pack what it leads to", short(found.Name))
	case !found.Mode().IsRegular():
		return nil, fmt.Errorf("%s in the zip file is no file: want a recording", short(found.Name))
	}
	return found, nil
}

func short(name string) string { return clip(fmt.Sprintf("%q", name), 80) }

// A boundedAt gives no more than left bytes; all if left is negative.
type boundedAt struct {
	r    io.ReaderAt
	left int
}

func (b *boundedAt) ReadAt(p []byte, off int64) (int, error) {
	if b.left >= 0 {
		if b.left -= len(p); b.left < 0 {
			b.left = 0
			return 0, fmt.Errorf("its directory has more than %d MiB", zipDirectory>>20)
		}
	}
	return b.r.ReadAt(p, off)
}

// A boundedMember fails once more was unpacked than a recording may have. It says which member is damaged.
type boundedMember struct {
	name string
	r    io.Reader
	left int64
}

func (b *boundedMember) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the recording in the zip file has more than %d MiB: unpack it first", zipMember>>20)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%s in the zip file: %w", short(b.name), err)
	}
	return n, err
}
