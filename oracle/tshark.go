package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har/wire"
)

// dissected reads a capture by tshark. ordered: it puts segments in order. Ports of servers in ours are taken for HTTP or TLS
// whatever tshark would say.
func dissected(name, keylog string, ordered bool, ours map[pair]*talk) (map[pair]*talk, error) {
	options := []string{"-n", "-2", "-r", name, "-o", "http.decompress_body:FALSE", "-o", "ip.check_checksum:FALSE",
		"-o", "tcp.reassemble_out_of_order:" + strings.ToUpper(strconv.FormatBool(ordered))}
	if keylog != "" {
		options = append(options, "-o", "tls.keylog_file:"+keylog)
	}
	talks := map[pair]*talk{}
	for p, t := range ours {
		talks[p] = &talk{}
		if t.tls {
			options = append(options, "-d", fmt.Sprintf("tcp.port==%d,tls", p[1].Port()), "-d", fmt.Sprintf("tls.port==%d,http", p[1].Port()))
		} else {
			options = append(options, "-d", fmt.Sprintf("tcp.port==%d,http", p[1].Port()))
		}
	}
	var streams []pair
	pdml := append(options[:len(options):len(options)], "-T", "pdml", "-J", "http tcp ip ipv6")
	err := tshark(pdml, func(out io.Reader) (err error) {
		streams, err = readPDML(out, talks)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, layer := range []string{"tcp", "tls"} {
		args := append(options[:len(options):len(options)], "-q")
		for i := range streams {
			args = append(args, "-z", fmt.Sprintf("follow,%s,raw,%d", layer, i))
		}
		if err := tshark(args, func(out io.Reader) error { return readFollowed(out, layer == "tls", streams, talks) }); err != nil {
			return nil, err
		}
	}
	return talks, nil
}

// tshark runs it and gives its output to read.
func tshark(args []string, read func(io.Reader) error) error {
	cmd := exec.Command("tshark", args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := read(out)
	io.Copy(io.Discard, out)
	// A file that was cut makes tshark fail behind its last packet; what it printed counts.
	if err := cmd.Wait(); err != nil && !strings.Contains(said.String(), "cut short") {
		return fmt.Errorf("tshark: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return readErr
}

// A field is one of PDML's, with those inside it.
type field struct {
	Name   string  `xml:"name,attr"`
	Show   string  `xml:"show,attr"`
	Value  string  `xml:"value,attr"`
	Fields []field `xml:"field"`
}

// find gives the first field of that name.
func (f *field) find(name string) *field {
	for i := range f.Fields {
		if c := &f.Fields[i]; c.Name == name {
			return c
		} else if found := c.find(name); found != nil {
			return found
		}
	}
	return nil
}

func (f *field) show(name string) string {
	if c := f.find(name); c != nil {
		return c.Show
	}
	return ""
}

// readPDML adds the HTTP messages of packets to talks, and gives the ends of each TCP stream.
func readPDML(r io.Reader, talks map[pair]*talk) (streams []pair, err error) {
	d := xml.NewDecoder(r)
	d.Strict = false
	for {
		token, err := d.Token()
		if err == io.EOF {
			return streams, nil
		} else if err != nil {
			return nil, fmt.Errorf("PDML: %w", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "packet" {
			continue
		}
		var packet struct {
			Protos []field `xml:"proto"`
		}
		if err := d.DecodeElement(&packet, &start); err != nil {
			return nil, fmt.Errorf("PDML: %w", err)
		}
		var src, dst netip.Addr
		var ends pair
		for i := range packet.Protos {
			switch p := &packet.Protos[i]; p.Name {
			case "ip", "ipv6":
				src, _ = netip.ParseAddr(p.show(p.Name + ".src"))
				dst, _ = netip.ParseAddr(p.show(p.Name + ".dst"))
			case "tcp":
				ends = pair{netip.AddrPortFrom(src, port(p.show("tcp.srcport"))), netip.AddrPortFrom(dst, port(p.show("tcp.dstport")))}
				if p.show("tcp.stream") == strconv.Itoa(len(streams)) {
					streams = append(streams, ends)
				}
			case "http":
				readHTTP(p, ends, talks)
			}
		}
	}
}

func port(s string) uint16 {
	n, _ := strconv.ParseUint(s, 10, 16)
	return uint16(n)
}

// readHTTP adds a message that the first of ends sent.
func readHTTP(p *field, ends pair, talks map[pair]*talk) {
	m, dir := message{what: p.show("http.request.method")}, wire.ToServer
	if m.what == "" {
		m.what, dir = p.show("http.response.code"), wire.ToClient
		ends[0], ends[1] = ends[1], ends[0]
	}
	if m.what == "" {
		return // the rest of a message
	}
	if body := p.find("http.file_data"); body != nil {
		m.body, m.known = bytesOf(body), true
	}
	t := talks[ends]
	if t == nil {
		t = &talk{}
		talks[ends] = t
	}
	t.messages[dir] = append(t.messages[dir], m)
}

// bytesOf gives the bytes of a field: its value, or where tshark has put them together itself, the text that it shows.
func bytesOf(f *field) []byte {
	if b, err := hex.DecodeString(f.Value); err == nil && len(b) > 0 {
		return b
	}
	if b, err := hex.DecodeString(strings.ReplaceAll(f.Show, ":", "")); err == nil {
		return b
	}
	return []byte(f.Show)
}

// missing is what tshark writes into a stream for bytes that are not there.
var missing = regexp.MustCompile(`\[\d+ bytes missing in capture file\]\x00?`)

// readFollowed adds the bytes of followed streams to talks: of both ways, whichever end is the client. Inside TLS tshark
// names only one of the ends.
func readFollowed(r io.Reader, isTLS bool, streams []pair, talks map[pair]*talk) error {
	lines := bufio.NewReader(r)
	var ends pair
	for {
		line, err := lines.ReadString('\n')
		text := strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(text, "Filter: tcp.stream eq "):
			n, err := strconv.Atoi(text[len("Filter: tcp.stream eq "):])
			if err != nil || n >= len(streams) {
				return fmt.Errorf("followed stream: %q", text)
			}
			ends = streams[n]
		case strings.HasPrefix(text, "Node 0: "):
			if node := text[len("Node 0: "):]; node == plain(ends[1]) && node != plain(ends[0]) {
				ends[0], ends[1] = ends[1], ends[0]
			}
		case text == "" || strings.ContainsAny(text, "=: "):
		default:
			from := 0
			if text[0] == '\t' {
				from, text = 1, text[1:]
			}
			b, hexErr := hex.DecodeString(text)
			if hexErr != nil {
				return fmt.Errorf("followed stream: %w", hexErr)
			}
			addFollowed(talks, ends, from, b, isTLS)
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// plain is how tshark writes an end: without the brackets of IPv6.
func plain(end netip.AddrPort) string { return fmt.Sprintf("%s:%d", end.Addr(), end.Port()) }

func addFollowed(talks map[pair]*talk, ends pair, from int, b []byte, isTLS bool) {
	for client := range 2 {
		t := talks[pair{ends[client], ends[1-client]}]
		if t == nil {
			continue
		}
		dir := wire.ToClient
		if from == client {
			dir = wire.ToServer
		}
		if isTLS {
			t.stream[dir] = nil
			t.secure[dir] = append(t.secure[dir], b...)
		} else {
			t.stream[dir] = append(t.stream[dir], missing.ReplaceAll(b, nil)...)
		}
	}
}
