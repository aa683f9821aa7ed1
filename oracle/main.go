// Command oracle compares what import makes of packet captures with what tshark (Wireshark) makes of them: the number of
// requests and responses, their bodies, and the bytes of the streams they stand in, per pair of ends.
//
// usage: oracle DIR
//
// Every capture below DIR is read, with the TLS secrets that it holds or SSLKEYLOGFILE names. It exits 0 if nothing differs or tshark is not there (which it says), 1 if something
// differs, 2 if a capture could not be compared. docs/import.md explains the differences that are known.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "oracle: want one folder with captures")
		os.Exit(2)
	}
	if _, err := exec.LookPath("tshark"); err != nil {
		fmt.Println("oracle: SKIPPED, nothing was compared: there is no tshark on this machine (Debian: apt install tshark)")
		return
	}
	os.Exit(compareAll(os.Args[1], os.Getenv("SSLKEYLOGFILE")))
}

var isCapture = regexp.MustCompile(`\.(pcap|pcapng|cap)(\.gz|\.zst)?$`)

// compareAll compares every capture below dir and returns the exit code.
func compareAll(dir, keylog string) (code int) {
	var files, same int
	var total counts
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !isCapture.MatchString(name) {
			return err
		}
		files++
		n, differences, err := compareFile(name, keylog)
		if err != nil {
			fmt.Printf("%s: %v\n", name, err)
			code = 2
			return nil
		}
		total.add(n)
		fmt.Printf("%s: %s\n", name, n)
		for _, d := range differences {
			fmt.Printf("  differs: %s\n", d)
			code = max(code, 1)
		}
		if len(differences) == 0 {
			same++
		}
		return nil
	})
	if err == nil && files == 0 {
		err = fmt.Errorf("%s: there are no captures", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		return 2
	}
	fmt.Printf("oracle: %d of %d captures are the same to both: %s\n", same, files, total)
	return code
}

// compareFile reads a capture by both. Of bytes behind a gap tshark shows little where it puts segments in order, and puts
// none in order where it does not, so it is asked for both; what is nearer to ours counts.
func compareFile(name, keylog string) (n counts, differences []string, err error) {
	ours, err := imported(name, keylog)
	if err != nil {
		return n, nil, err
	}
	for i, ordered := range []bool{true, false} {
		theirs, err := dissected(name, keylog, ordered, ours)
		if err != nil {
			return n, nil, err
		}
		found, differ := compared(ours, theirs)
		if i == 0 || len(differ) < len(differences) {
			n, differences = found, differ
		}
		if len(differences) == 0 {
			break
		}
	}
	return n, differences, nil
}
