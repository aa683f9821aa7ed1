#!/usr/bin/env python3
"""Writes one small capture with injected secrets per kind of TLS session, by OpenSSL, tcpdump and editcap. Needs root.

usage: make.py DIR
"""
import os, socket, ssl, subprocess, sys, threading, time

OUT = sys.argv[1]
BODY = '{"jsonrpc":"2.0","id":%d,"method":"ping"}'
ANSWER = '{"jsonrpc":"2.0","id":%d,"result":{}}'


def request(n):
    b = BODY % n
    return f"POST /mcp HTTP/1.1\r\nHost: mcp.test\r\nContent-Length: {len(b)}\r\n\r\n{b}".encode()


def answer(n):
    b = ANSWER % n
    return f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(b)}\r\n\r\n{b}".encode()


def sniff(port, name):
    raw = f"{OUT}/{name}.raw"
    p = subprocess.Popen(["tcpdump", "-i", "lo", "--immediate-mode", "-U", "-s", "0", "-w", raw, f"tcp port {port}"], stderr=subprocess.PIPE, text=True)
    while "listening" not in p.stderr.readline():
        pass
    return p, raw


def seal(p, raw, name, keys):
    time.sleep(0.3)
    p.terminate()
    p.wait()
    out = f"{OUT}/{name}.pcapng"
    args = ["--inject-secrets", f"tls,{keys}"] if keys else []
    subprocess.run(["editcap", "-F", "pcapng", *args, raw, out], check=True)
    for f in (raw, keys):
        if f:
            os.remove(f)


def certificate():
    key, crt = f"{OUT}/key.pem", f"{OUT}/crt.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", crt, "-days", "30",
                    "-subj", "/CN=mcp.test"], check=True, stderr=subprocess.DEVNULL)
    return key, crt


def listener():
    l = socket.socket()
    l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    l.bind(("127.0.0.1", 0))
    l.listen()
    return l


def session(name, key, crt, version, ciphers=None, options=0, resume=False, trust=True, keep_keys=True, level0=False):
    keys = f"{OUT}/{name}.keys"
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(crt, key)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE if trust else ssl.CERT_REQUIRED
    for c in (server, client):
        c.minimum_version = c.maximum_version = version
        c.options |= options
        if ciphers:
            c.set_ciphers(ciphers + (":@SECLEVEL=0" if level0 else ""))
    client.keylog_filename = keys
    l = listener()
    port = l.getsockname()[1]
    p, raw = sniff(port, name)
    rounds = 2 if resume else 1

    def serve():
        for i in range(rounds):
            s, _ = l.accept()
            try:
                with server.wrap_socket(s, server_side=True) as t:
                    t.recv(65536)
                    t.sendall(answer(i + 1))
                    t.recv(1)
            except (ssl.SSLError, OSError):
                pass

    th = threading.Thread(target=serve)
    th.start()
    earlier = None
    for i in range(rounds):
        s = socket.create_connection(("127.0.0.1", port))
        try:
            t = client.wrap_socket(s, server_hostname="mcp.test", session=earlier)
            t.sendall(request(i + 1))
            t.recv(65536)
            earlier = t.session
            if resume and i == 1:
                assert t.session_reused, name
            try:
                t.unwrap()
            except (ssl.SSLError, OSError):
                pass
            t.close()
        except ssl.SSLError:
            s.close()
    th.join()
    l.close()
    seal(p, raw, name, keys if keep_keys else None)
    if not keep_keys and os.path.exists(keys):
        os.remove(keys)


def key_update(name, key, crt):
    """s_client updates its keys, asks for new ones of the server's (K), and goes on."""
    keys = f"{OUT}/{name}.keys"
    l = listener()
    port = l.getsockname()[1]
    l.close()
    p, raw = sniff(port, name)
    s = subprocess.Popen(["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", crt, "-key", key, "-tls1_3", "-quiet"],
                         stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    c = subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", "mcp.test", "-tls1_3", "-keylogfile", keys],
                         stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def to(process, b):
        process.stdin.write(b)
        process.stdin.flush()
        time.sleep(0.3)

    time.sleep(0.5)
    to(c, request(1)), to(s, answer(1))
    to(c, b"K\n")
    to(c, request(2)), to(s, answer(2))
    to(c, b"k\n")
    to(c, request(3)), to(s, answer(3))
    to(c, b"Q\n")
    c.wait()
    s.stdin.close()
    s.terminate()
    s.wait()
    seal(p, raw, name, keys)


def main():
    os.makedirs(OUT, exist_ok=True)
    key, crt = certificate()
    v = ssl.TLSVersion
    no_etm = 1 << 19
    session("tls10-aes128-sha", key, crt, v.TLSv1, "ECDHE-RSA-AES128-SHA", level0=True)
    session("tls10-no-etm", key, crt, v.TLSv1, "AES256-SHA", no_etm, level0=True)
    session("tls11-aes256-sha", key, crt, v.TLSv1_1, "AES256-SHA", no_etm, level0=True)
    session("tls12-cbc-sha256-etm", key, crt, v.TLSv1_2, "ECDHE-RSA-AES128-SHA256")
    session("tls12-cbc-sha384-etm", key, crt, v.TLSv1_2, "ECDHE-RSA-AES256-SHA384")
    session("tls12-cbc-sha384", key, crt, v.TLSv1_2, "ECDHE-RSA-AES256-SHA384", no_etm)
    session("tls12-cbc-sha", key, crt, v.TLSv1_2, "AES128-SHA", no_etm)
    session("tls12-gcm-resumed", key, crt, v.TLSv1_2, "ECDHE-RSA-AES256-GCM-SHA384", resume=True)
    session("tls13-resumed", key, crt, v.TLSv1_3, resume=True)
    session("tls12-untrusted", key, crt, v.TLSv1_2, trust=False, keep_keys=False)
    session("tls13-no-keys", key, crt, v.TLSv1_3, keep_keys=False)
    key_update("tls13-key-update", key, crt)
    os.remove(key), os.remove(crt)


main()
