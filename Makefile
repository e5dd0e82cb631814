# sayso: everything a newcomer needs is a target here. `make` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

GO       ?= go
BIN      := bin/sayso
TOOLS    := $(CURDIR)/.tools
# Pinned: a new linter is a change of its own.
GOLANGCI_VERSION := v2.15.0
GOVULN_VERSION   := v1.9.0
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
TEST_TIMEOUT ?= 12m

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^[a-zA-Z_-]+:.*## / {printf "  \033[1m%-12s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the binary into bin/sayso.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/sayso

.PHONY: run
run: build ## Build and start the service on loopback: no config, no account, no other service. ARGS='--data DIR' and the like are passed on.
	./$(BIN) serve $(ARGS)

.PHONY: deps
deps: ## Install what the tests need (C compiler, Chromium, PostgreSQL, PgBouncer, Redis) when that is allowed.
	@.ci/deps

.PHONY: test
test: deps ## Run every test with the race detector. Nothing is skipped.
	CGO_ENABLED=1 $(GO) test -race -count=1 -shuffle=on -timeout $(TEST_TIMEOUT) ./...

.PHONY: check
check: $(GOLANGCI) ## Format, vet, lint, and prove that generated files are fresh.
	@unformatted=$$(gofmt -l cmd core channels presentation callbacks deliveries migrations); \
	  if [ -n "$$unformatted" ]; then echo "not formatted:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GOLANGCI) run ./...
	$(GO) mod tidy -diff
	$(GO) mod verify

.PHONY: bench
bench: build ## Measure against a raw baseline in the same run, some minutes; BENCH='--dir DIR --only NAME'.
	CGO_ENABLED=0 $(GO) run ./cmd/bench --sayso $(BIN) $(BENCH)

.PHONY: soak
soak: ## Bursts within the budgets as shipped, on all messengers at once, some 10 minutes (at most 15); SOAK='--soak 2m --only slack --dir DIR'.
	CGO_ENABLED=0 $(GO) run ./cmd/bench --soak 5m $(SOAK)

.PHONY: bench-growth
bench-growth: build ## Grow a fleet's database to 10 million retained approvals and count what work costs then; some ten minutes, 30 GB of disk.
	CGO_ENABLED=0 $(GO) run ./cmd/bench --sayso $(BIN) --only postgres-growth --rows 10000000 $(BENCH)

.PHONY: faults
faults: build ## Let every part of a fleet fail while 2,000 questions are answered, and check what was promised, at most 45 minutes; FAULTS='--only kill --count 100'.
	CGO_ENABLED=0 $(GO) build -o bin/faults ./cmd/faults
	./bin/faults --sayso $(BIN) $(FAULTS)

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME each (default 20s).
	@.ci/fuzz

.PHONY: vuln
vuln: ## Look for known vulnerabilities in what is linked.
	$(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULN_VERSION) ./...

.PHONY: clean
clean: ## Remove what was built.
	rm -rf bin

$(GOLANGCI):
	@mkdir -p $(TOOLS)/build
	GOBIN=$(TOOLS)/build $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(TOOLS)/build/golangci-lint $@
