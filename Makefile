# Two commands on a fresh machine: `make run` and `make test`. Each sets up what it needs first. CARGO_TARGET_DIR is honoured.

CARGO   ?= cargo
STAGE    = scripts/stage

# Where cargo puts what it builds.
BUILT    = $(or $(CARGO_TARGET_DIR),target)

TARGETS  = run program test agent guard bench soak audit setup-guest clean help
.PHONY: $(TARGETS)

# The words behind `make soak` are names for scripts/soak, which refuses those that are none.
ifeq ($(firstword $(MAKECMDGOALS)),soak)
SOAKED  := $(wordlist 2,99,$(MAKECMDGOALS))
.PHONY: $(SOAKED)
$(filter-out $(TARGETS),$(SOAKED)): soak
	@:
endif

run:                           ## set up, build, run the main job: price list and report.html
	@scripts/how-long
	@$(MAKE) --no-print-directory setup-run
	@$(MAKE) --no-print-directory program
	"$(BUILT)/release/tollway" run

program: agent                 ## build the program; its names and lines for debuggers are beside it, in tollway.debug
	$(CARGO) build --release --package tollway --locked
	scripts/debug-lines "$(BUILT)/release/tollway" 25

test: setup-test               ## set up and pass every test
	@$(STAGE) --begin
	@$(STAGE) format   $(CARGO) fmt --all --check
	@$(STAGE) tests    scripts/tests --workspace --locked --no-fail-fast
	@$(STAGE) benches  scripts/linted $(CARGO) build --workspace --locked --bench bills --bench twins --bench instructions
	@$(STAGE) guard    make --no-print-directory guard
	@$(STAGE) --end

# Of the crates that the program has too, nothing is compiled for it: its build script has its last step link statically.
agent:                         ## the static agent, for places where tollway is not
	$(CARGO) build --release --package tollway-agent --locked
	scripts/debug-lines "$(BUILT)/release/tollway-agent" 11

guard: setup-guard             ## instructions of hot paths, counted by valgrind, against the limits in crates/guard
	$(CARGO) bench --quiet --locked --package tollway-guard --bench instructions

bench: setup-bench program ## speed bars: ours and their plain C twins in turns, one run
	scripts/bench

soak:                          ## make soak NAME: long runs that prove more than tests do; without a name, their list
	@scripts/soak $(SOAKED)

audit: setup-audit             ## bans, licences, sources of all dependencies
	scripts/tool cargo-deny@0.20.2
	"$(BUILT)/tools/bin/cargo-deny" --locked check bans licenses sources

setup-guest:                   ## what Linux guests need: QEMU, and privately a kernel (and a newer QEMU where the system's is old)
	@scripts/setup guest

setup-%:
	@scripts/setup $*

clean:                         ## delete what was built
	$(CARGO) clean

help:                          ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## / — /'
