# Two commands on a fresh machine: `make run` and `make test`. Each sets up what it needs first.

CARGO   ?= cargo
STAGE    = scripts/stage
FUZZ_SECONDS ?= 600
TARGET  ?= payload
# Of libraries: what no program of ours uses, and is tested nevertheless.
FEATURES = --features tollway-channel/tokio

# Where cargo puts what it builds.
BUILT    = $(or $(CARGO_TARGET_DIR),target)

HOSTILE_CHAINS ?= 10000000
LIES ?= 100000000

.PHONY: run program test agent guard bench truth kill-test coverage long verdicts guest-test modes-bar bill-bar containers hostile tcp-long lies miri orderings pauses deaths both model fuzz oracle audit setup-guest clean help

run: setup-run                 ## set up, build, run the main job: price list and report.html
	@scripts/how-long
	@$(MAKE) --no-print-directory program
	target/release/tollway run

program: agent                 ## build the program; its names and lines for debuggers are beside it, in tollway.debug
	$(CARGO) build --release --package tollway --locked
	scripts/debug-lines $(BUILT)/release/tollway 25

test: setup-test               ## set up and pass every test
	@$(STAGE) --begin
	@$(STAGE) format   $(CARGO) fmt --all --check
	@$(STAGE) tests    scripts/tests --workspace $(FEATURES) --locked --no-fail-fast
	@$(STAGE) benches  scripts/linted $(CARGO) build --workspace $(FEATURES) --locked --bench bills --bench twins --bench instructions
	@$(STAGE) guard    $(MAKE) --no-print-directory guard
	@$(STAGE) --end

# Of the crates that the program has too, nothing is compiled for it: its build script has its last step link statically.
agent:                         ## the static agent, for places where tollway is not
	$(CARGO) build --release --package tollway-agent --locked
	scripts/debug-lines $(BUILT)/release/tollway-agent 11

guard: setup-guard             ## instructions of hot paths, counted by valgrind, against the limits in crates/guard
	$(CARGO) bench --quiet --locked --package tollway-guard --bench instructions

bench: setup-bench program ## speed bars: ours and their plain C twins in turns, one run
	scripts/bench

truth: setup-run program ## A/A and A/B with planted slowdowns: can comparisons be trusted?
	target/release/tollway compare --prove

kill-test: setup-test agent    ## kill 200 runs at random moments: each must go on to its end; and 200 of the machine's suite, 100 of them in guests: is anything left? And guests and tools that hang
	TOLLWAY_KILLS=200 $(CARGO) test --package tollway --test tollway --test machine --locked -- --nocapture crash:: killed::
	TOLLWAY_LONG=1 $(CARGO) test --package tollway --test machine --locked -- --nocapture disturbed:: tools::

coverage: setup-test           ## how often 95 % intervals of simulations have the exact value: seeds 1 to 1000
	TOLLWAY_COVERAGE_SEEDS=1000 $(CARGO) test --release --package tollway-sim --test simulations -- --nocapture coverage::

long: setup-test               ## how often fits reject true models and wrong ones: ten times as many traces (15 minutes)
	TOLLWAY_LONG=1 $(CARGO) test --release --package tollway-model --lib --test models -- --nocapture fit:: services

verdicts: setup-run            ## filters: 10^8 verdicts of machine code, interpreter, libpcap and the kernel compared (10 minutes)
	TOLLWAY_LONG=1 $(CARGO) test --release --package tollway-capture --test suite --locked -- --nocapture verdicts::

guest-test: setup-test agent   ## eight Linux guests at once, and twenty started and stopped: what do they leave?
	TOLLWAY_REQUIRE=qemu,agent TOLLWAY_GUESTS_AT_ONCE=8 TOLLWAY_GUEST_CYCLES=20 \
	  $(CARGO) test --package tollway-tenant --test guests -- --nocapture linux_guests::

modes-bar: setup-run setup-guest program ## two modes of guests compared five times from the start: has each row of their disks the same verdict? (30 minutes) Wants the machine to itself
	target/release/tollway --store target/modes-bar.db machine modes high-performance balanced --repeat 5 --time 1800 --part disk \
	  --until 4 --margin 10 --html target/modes-bar.html

bill-bar: setup-bills program ## the bars of a program's bill: how far counts from slices are off, what counting costs, what the tolls explain, which what-ifs come true (BARS=a part; an hour). Root, and the machine to itself
	$(CARGO) build --release --package tollway-program-tool --example changes --example loops
	$(CARGO) bench --quiet --package tollway --bench bills -- $(CURDIR)/target/release/tollway $(CURDIR)/target/release/examples $(BARS)

containers: setup-test         ## programs in containers billed 20 times, and execs of other threads than the first counted 200 times (13 minutes). Root
	TOLLWAY_TIMES=20 TOLLWAY_REQUIRE=root,bpf,ns-last-pid \
	  $(CARGO) test --package tollway --test bills --locked -- --nocapture --test-threads=1 containers::
	TOLLWAY_TIMES=200 TOLLWAY_REQUIRE=cc,bpf \
	  $(CARGO) test --package tollway-watch --test watching --locked -- --nocapture kernel_execs::

hostile: setup-test            ## hostile tenants of a crypto card, HOSTILE_CHAINS (10^7) chains of them: do neighbours, keys or the card's memory suffer? Wants the machine to itself
	TOLLWAY_CHAINS=$(HOSTILE_CHAINS) TOLLWAY_REQUIRE=quiet \
	  $(CARGO) test --release --package tollway-cipher --test hostile --locked -- --nocapture a_crowd

tcp-long: setup-test           ## the TCP server: a minute of messages by each way and number of connections, and 10^7 frames of any kind at its network stack, and clients that vanish (16 minutes)
	TOLLWAY_TCP_SECONDS=60 TOLLWAY_FRAMES=10000000 TOLLWAY_REQUIRE=netns,packet \
	  $(CARGO) test --release --package tollway-ipc --test tcp --locked -- --nocapture --test-threads=1 each_style any_frames vanishes_without

lies: setup-test               ## hostile ends of channels: LIES (10^8) words written, as many while the other looks, and a tenth as many meetings (7 minutes, nearly all of it the meetings)
	TOLLWAY_LIES=$(LIES) $(CARGO) test --release --package tollway-channel --test processes --locked -- --nocapture hostile::

miri:                          ## rings and tasks of channels under Miri, where nightly has it (untried: no toolchain of ours did)
	@$(CARGO) +nightly miri --version >/dev/null 2>&1 || \
	  { echo "skipped: nightly has no Miri; rustup component add --toolchain nightly miri rust-src"; exit 0; }; \
	  MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=8 \
	  $(CARGO) +nightly miri test --package tollway-channel --locked --test suite -- rings:: executor::

orderings: setup-test          ## channels' waiting, tasks and threads in every order, with one preemption more than tests have (a quarter of a minute)
	TOLLWAY_LONG=1 $(CARGO) test --release --package tollway-channel --test orderings --locked -- --nocapture

pauses: setup-test             ## channels whose ends pause at any access to what they share: 10^7 messages by rings, 8 million under tokio, by plain ways and at the kernel too (2 minutes)
	TOLLWAY_PAUSES=10000000 $(CARGO) test --release --package tollway-channel --features tokio --test pauses --locked -- --nocapture

both: setup-test               ## threads at a channel and at the kernel at once, which pause at random: 2.4 million requests; and a million wake-ups under tokio (4 minutes)
	TOLLWAY_BOTH=100000 $(CARGO) test --release --package tollway-channel --test suite --locked -- --nocapture both::nothing_is_lost
	TOLLWAY_WAKES=1000000 $(CARGO) test --release --package tollway-channel --features tokio --test suite --locked -- --nocapture tokio::no_wake_up

deaths: setup-test             ## kill 24,000 ends of channels at random moments: is the other told, and does it keep nothing? (3 minutes)
	TOLLWAY_DEATHS=24000 $(CARGO) test --release --package tollway-channel --features tokio --test killed --locked -- --nocapture

model: setup-run program ## responses of the crypto card under load as its model foretells them, 10^6 requests a point (15 minutes). Wants the machine to itself
	target/release/tollway cipher predict --requests 1010000 --runs 20

fuzz: setup-fuzz               ## TARGET=payload (machine code in isolated guests), spec, model, trace, packet-file, bpf, virtio-queue, cipher-card, fips, channel-memory or channel-meeting, for FUZZ_SECONDS (600); wants Rust's nightly
	scripts/tool cargo-fuzz@0.13.2
	mkdir -p fuzz/corpus/$(TARGET)
	RUSTUP_TOOLCHAIN=nightly target/tools/bin/cargo-fuzz fuzz run --sanitizer none $(TARGET) \
	  fuzz/corpus/$(TARGET) fuzz/seeds/$(TARGET) -- -max_total_time=$(FUZZ_SECONDS) -timeout=30 \
	  -max_len=$(if $(filter payload,$(TARGET)),600,4096)

oracle: setup-oracle           ## figures of other software (Octave, mpmath) made anew: are they those kept? (5–10 minutes)
	crates/model/oracle/run

audit: setup-audit             ## bans, licences, sources of all dependencies
	scripts/tool cargo-deny@0.20.2
	target/tools/bin/cargo-deny --locked check bans licenses sources

setup-guest:                   ## what Linux guests need: QEMU, and privately a kernel (and a newer QEMU where the system's is old)
	@scripts/setup guest

setup-%:
	@scripts/setup $*

clean:                         ## delete what was built
	$(CARGO) clean

help:                          ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## / — /'
