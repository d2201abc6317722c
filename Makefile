# Two commands on a fresh machine: `make run` and `make test`. Each sets up what it needs first.

CARGO   ?= cargo
STAGE    = scripts/stage

.PHONY: run test bench truth kill-test audit setup-run setup-test setup-bench fmt lint doc unit agent clean help

run: setup-run                 ## set up, build, run the main job: price list and report.html
	$(CARGO) build --release --package tollway
	target/release/tollway run

test: setup-test               ## set up and pass every test
	@$(STAGE) format   $(CARGO) fmt --all --check
	@$(STAGE) lint     $(CARGO) clippy --workspace --all-targets --locked -- --deny warnings
	@$(STAGE) docs     env RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --locked
	@$(STAGE) agent    $(MAKE) --no-print-directory agent
	@$(STAGE) tests    $(CARGO) test --workspace --locked
	@$(STAGE) --summary

agent:                         ## the static agent, for places where tollway is not
	RUSTFLAGS="-C target-feature=+crt-static" $(CARGO) build --release --package tollway-agent \
	  --target x86_64-unknown-linux-gnu --locked

bench: setup-bench             ## speed bars: ours and their plain C twins in turns, one run
	$(CARGO) build --release --package tollway
	scripts/bench

truth:                         ## A/A and A/B with planted slowdowns: can comparisons be trusted?
	$(CARGO) build --release --package tollway
	target/release/tollway compare --prove

kill-test:                     ## kill 200 runs at random moments; each must go on to its end
	TOLLWAY_KILLS=200 $(CARGO) test --package tollway --test crash -- --nocapture

audit:                         ## bans, licences, sources of all dependencies
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny --all-features check bans licenses sources

setup-run:
	@scripts/setup run

setup-test:
	@scripts/setup test

setup-bench:
	@scripts/setup bench

clean:                         ## delete what was built
	$(CARGO) clean

help:                          ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## / — /'
