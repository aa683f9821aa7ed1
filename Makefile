# Everything a developer runs. `make help` lists it.
GO       ?= go
FUZZTIME ?= 30s
CORE      = ./har/... ./capture/... ./analyze/... ./replay/...
DIR      ?= capture/pcap/testdata
PACKAGES  = interop/node_modules/.package-lock.json

.DEFAULT_GOAL := help
.PHONY: build test race lint fuzz bench golden demo interop matrix oracle law4 load long help

build: ## build bin/mcptap
	$(GO) build -o bin/mcptap ./cmd/mcptap

test: interop ## run every test; real clients included where Node 20 is installed
	$(GO) test $$($(GO) list ./... | grep -v /interop)

race: ## run the tests of the engine under the race detector
	$(GO) test -race $(CORE) ./cmd/...

lint: ## gofmt, go vet, staticcheck, and govulncheck where its database can be reached
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@$(GO) tool govulncheck ./...; code=$$?; case $$code in 0) ;; 3) exit 1 ;; \
	*) echo "govulncheck could not be run (exit code $$code): vulnerabilities were not looked for" ;; esac

fuzz: ## run each fuzz target for FUZZTIME (30s)
	@set -e; for pkg in $$($(GO) list ./...); do for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	echo "== $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; done; done

bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

golden: ## rewrite golden files after a change that is meant
	$(GO) test $$(git grep -lE 'flag.Bool\("update"' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's,^,./,') -update

demo: build ## a real client meets a misbehaving server: record, explain, replay
	cd interop/goclient && $(GO) build -o ../../bin/goclient .
	$(GO) run ./demo

load: ## a built mcptap under load on loopback: are all bytes relayed and kept, and at what cost
	$(GO) run ./load

oracle: ## compare import with tshark on every capture below DIR (the project's own)
	$(GO) run ./oracle $(DIR)

long: ## import captures of 4.3 GiB: is all of it counted, in less than 100 MiB
	MCPTAP_LONG=4400 $(GO) test -count=1 -timeout 60m -v -run TestImportOfALongCapture ./cmd/mcptap

law4: $(PACKAGES) ## compare recordings of real clients with packet captures of the same runs (root, tcpdump)
	MCPTAP_LAW4=1 $(GO) test -count=1 -run TestCaptureOfALiveRun ./interop

interop: $(PACKAGES) ## run only the tests with real clients
	$(GO) test -count=1 ./interop/...

matrix: build $(PACKAGES) ## run the real clients against the corpus and write docs/matrix.md; ONLY='probe-*,A13' for some cases
	cd interop/goclient && $(GO) build -o ../../bin/once ./once
	$(GO) run ./interop/matrix '$(ONLY)' '$(JOBS)'

$(PACKAGES): interop/package.json interop/package-lock.json
	@if command -v npm >/dev/null; then cd interop && npm ci --ignore-scripts --no-audit --no-fund; \
	else echo "no npm: the tests with npm clients are skipped"; fi

help: ## list the targets
	@sed -n 's/^\([a-z0-9]*\):.*## /\1\t/p' Makefile | expand -t 10
