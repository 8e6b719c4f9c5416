# Two commands do all the set-up: `make demo` needs Rust, `make test` needs Rust and Go.

.DELETE_ON_ERROR:
.PHONY: help demo test bench deny regenerate control-plane cluster fmt lint unit e2e shells need-cargo need-go

CARGO ?= cargo
# The example operator is a package of its own.
PEER := examples/operator/Cargo.toml

help:
	@echo "make demo           build kctl and show its main job on an embedded cluster (needs Rust)"
	@echo "make test           format, lints, unit, CLI and end-to-end tests (needs Rust and Go; the first run builds a Kubernetes)"
	@echo "make cluster        start a playground cluster on loopback"
	@echo "make control-plane  build the programs of the test cluster only"

demo: need-cargo
	$(CARGO) build
	@examples/demo.sh

test: need-cargo fmt lint control-plane unit e2e

fmt:
	$(CARGO) fmt --check
	$(CARGO) fmt --check --manifest-path $(PEER)

lint:
	$(CARGO) clippy --all-targets --quiet -- -D warnings
	$(CARGO) clippy --all-targets --quiet --locked --manifest-path $(PEER) -- -D warnings

unit: shells
	$(CARGO) test --quiet --lib --bins --test architecture --test cli
	$(CARGO) test --quiet --locked --manifest-path $(PEER)

e2e: control-plane shells
	$(CARGO) test --quiet --test e2e

# Sizes and times as ratios, on the binary that is shipped.
bench: need-cargo control-plane
	$(CARGO) build --quiet --profile dist
	$(CARGO) bench --quiet --profile dev --bench show

deny: need-cargo
	$(CARGO) deny check licenses bans sources

# Writes anew what is generated and checked in: man pages, completion scripts, outputs in the guides.
regenerate: need-cargo
	KCTL_UPDATE=1 KCTL_UPDATE_COMPLETIONS=1 $(CARGO) test --quiet --test cli

control-plane: need-go
	@tests/control-plane/build.sh >/dev/null

shells:
	@tests/support/shells.sh

cluster: need-cargo control-plane
	@$(CARGO) run --quiet --example playground

need-cargo:
	@command -v $(CARGO) >/dev/null || { echo "make: this needs Rust (cargo); see https://rustup.rs" >&2; exit 1; }

need-go:
	@tests/control-plane/build.sh --check >/dev/null 2>&1 || command -v go >/dev/null || { echo "make: this needs Go to build the test cluster; see https://go.dev/dl" >&2; exit 1; }
