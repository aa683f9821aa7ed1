package main

import "strings"

// caHint has the lines of each kind of client. Those that replace the authorities that a client knows, rather than adding to
// them, need a file that holds both.
const caHint = `The certificate:   {cert}
It is listed as:   {name}

record --forward -- CMD tells CMD all of this that can be told in the environment. To tell a client yourself:

Node.js (adds to the authorities it knows; HTTPS_PROXY is read by Node 22.21, 24.5 and later)
    export NODE_EXTRA_CA_CERTS="{cert}" NODE_USE_ENV_PROXY=1
Deno
    export DENO_CERT="{cert}"
curl
    curl --cacert "{cert}" --proxy http://127.0.0.1:PORT https://...
Go on Linux (still knows the authorities in /etc/ssl/certs and the like)
    export SSL_CERT_FILE="{cert}"
Python (ssl, httpx, aiohttp; requests), and others that are told a file in place of the system's: one that holds both
    cat "$(python3 -m certifi)" "{cert}" > with-mcptap.pem
    export SSL_CERT_FILE="$PWD/with-mcptap.pem" REQUESTS_CA_BUNDLE="$PWD/with-mcptap.pem"
Java (a copy of the JDK's store, with the certificate in it)
    cp "$JAVA_HOME/lib/security/cacerts" with-mcptap.p12
    keytool -importcert -noprompt -alias mcptap -file "{cert}" -keystore with-mcptap.p12 -storepass changeit
    java -Djavax.net.ssl.trustStore=with-mcptap.p12 -Djavax.net.ssl.trustStorePassword=changeit \
        -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=PORT -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=PORT -Dhttp.nonProxyHosts= ...

The system's store, for clients that read no variable. Undo it when you are done.

Debian, Ubuntu
    sudo cp "{cert}" /usr/local/share/ca-certificates/mcptap.crt && sudo update-ca-certificates
    sudo rm /usr/local/share/ca-certificates/mcptap.crt && sudo update-ca-certificates --fresh    # undo
Fedora, RHEL
    sudo cp "{cert}" /etc/pki/ca-trust/source/anchors/mcptap.pem && sudo update-ca-trust
    sudo rm /etc/pki/ca-trust/source/anchors/mcptap.pem && sudo update-ca-trust    # undo
macOS (Go programs, Safari, Chrome and others)
    security add-trusted-cert -r trustRoot -k ~/Library/Keychains/login.keychain-db "{cert}"
    security delete-certificate -c "{name}"    # undo
Windows
    certutil -user -addstore Root "{cert}"
    certutil -user -delstore Root "{name}"    # undo
`

// installHint fills in where the certificate is and what it is called.
func installHint(ca *authority) string {
	return strings.NewReplacer("{cert}", ca.certFile, "{name}", ca.Name()).Replace(caHint)
}
