//! What an application's options have measured: ways, at each step of a ladder, on one core or two.

use tollway_core::{Params, TrialSpec};
use tollway_lab::Request;

use crate::PATH;
use crate::args::words::{Cores, Steps, Style, ladder};
use crate::args::{AllocServer, PingPong, Repeats, TcpServer};
use crate::request;

/// A way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// The path's variant.
    pub(super) variant: &'static str,
    /// Whether asynchronous ways are held against it.
    pub(super) is_sync: bool,
    /// Whether it has the ladder's axis, or is always the same.
    pub(super) has_ladder: bool,
    /// Whether it has the axis of cores.
    pub(super) has_cores: bool,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The application's name on the command line.
    pub(super) name: &'static str,
    /// The axis that varies.
    pub(super) axis: &'static str,
    /// Its values, ascending.
    pub(super) ladder: Vec<u64>,
    /// On how many cores.
    pub(super) cores: Vec<Cores>,
    /// By which ways.
    pub(super) ways: Vec<Way>,
    /// What is the same for all points of a variant that has such an axis.
    pub(super) fixed: Params,
    /// How each point is tried.
    pub(super) trial: TrialSpec,
    /// Whether what is timed is how long one waits, not the time between two that are done.
    pub(super) times_waits: bool,
}

/// A way at a step of the ladder.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) way: Way,
    /// How many at a time; none of a way that has one always.
    pub(super) step: Option<u64>,
    /// On how many cores; none of a way that has one process alone.
    pub(super) cores: Option<Cores>,
    /// What is set of its axes.
    pub(super) params: Params,
}

const fn way(variant: &'static str, is_sync: bool) -> Way {
    Way { variant, is_sync, has_ladder: true, has_cores: true }
}

/// What of an application is the same whatever the options say.
struct Application {
    name: &'static str,
    axis: &'static str,
    ways: &'static [Way],
    /// But for the runs.
    trial: TrialSpec,
    times_waits: bool,
}

const PING_PONG: Application = Application {
    name: "ping-pong",
    axis: "concurrency",
    ways: &[way("slow-path", true), way("fast-path", true), way("async", false)],
    trial: TrialSpec { window_ms: 20.0, warmup_ms: 2.0, runs: 0, repeats: 2 },
    times_waits: false,
};

const ALLOC_SERVER: Application = Application {
    name: "alloc-server",
    axis: "concurrency",
    ways: &[
        Way { has_ladder: false, has_cores: false, ..way("memory-sync", true) },
        way("memory-async", false),
        way("memory-server", false),
    ],
    trial: TrialSpec { window_ms: 20.0, warmup_ms: 2.0, runs: 0, repeats: 2 },
    times_waits: false,
};

const TCP_SERVER: Application = Application {
    name: "tcp-server",
    axis: "connections",
    ways: &[way("tcp-sync", true), way("tcp-handoff", true), way("tcp-async", false)],
    trial: TrialSpec { window_ms: 200.0, warmup_ms: 20.0, runs: 0, repeats: 1 },
    times_waits: true,
};

/// Linux's own TCP, to be held against the TCP server.
const ON_LINUX: [Way; 2] = [
    Way { has_cores: false, ..way("tcp-epoll", true) },
    Way { has_cores: false, ..way("tcp-io-uring", true) },
];

impl Sweep {
    /// Requests and replies.
    pub fn ping_pong(options: &PingPong) -> Sweep {
        let PingPong { style, concurrency, cores, repeats, .. } = options;
        let fixed = Params::new()
            .with("size", options.size)
            .with("work", options.work)
            .with("matrix", options.matrix)
            .with("notice", options.notice.word());
        Sweep { fixed, ..Sweep::of(PING_PONG, *style, concurrency, cores, repeats) }
    }

    /// Memory.
    pub fn alloc_server(options: &AllocServer) -> Sweep {
        let AllocServer { style, concurrency, cores, repeats, .. } = options;
        let fixed = Params::new().with("pages", options.pages);
        Sweep { fixed, ..Sweep::of(ALLOC_SERVER, *style, concurrency, cores, repeats) }
    }

    /// TCP.
    pub fn tcp_server(options: &TcpServer) -> Sweep {
        let TcpServer { style, connections, cores, repeats, .. } = options;
        let mut sweep = Sweep::of(TCP_SERVER, *style, connections, cores, repeats);
        if options.linux {
            sweep.ways.extend(ON_LINUX);
        }
        sweep
    }

    fn of(
        application: Application,
        style: Style,
        steps: &[Steps],
        cores: &[Cores],
        repeats: &Repeats,
    ) -> Sweep {
        let Application { name, axis, ways, trial, times_waits } = application;
        let is_asked = |way: &&Way| if way.is_sync { style.has_sync() } else { style.has_async() };
        Sweep {
            name,
            axis,
            ladder: ladder(steps),
            cores: each_once(cores),
            ways: ways.iter().filter(is_asked).copied().collect(),
            fixed: Params::new(),
            trial: TrialSpec { runs: repeats.runs, ..trial },
            times_waits,
        }
    }

    /// Every way at every step, on one core and on two.
    pub(super) fn places(&self) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for way in &self.ways {
            let steps =
                if way.has_ladder { self.ladder.iter().copied().map(Some).collect() } else { vec![None] };
            let cores =
                if way.has_cores { self.cores.iter().copied().map(Some).collect() } else { vec![None] };
            for cores in &cores {
                for step in &steps {
                    let mut params = match way.variant {
                        // Only ends of rings are woken by one thing or another.
                        "slow-path" | "fast-path" => self.fixed.clone().without("notice"),
                        _ => self.fixed.clone(),
                    };
                    if let Some(step) = step {
                        params.set(self.axis, *step);
                    }
                    if let Some(cores) = cores {
                        params.set("cores", cores.word());
                    }
                    places.push(Place { way: *way, step: *step, cores: *cores, params });
                }
            }
        }
        places
    }

    /// What the laboratory is asked for.
    pub(super) fn request(&self, repeats: &Repeats) -> Request {
        let case = |place: &Place| request::case(place.way.variant, &place.params);
        let cases = self.places().iter().map(case).collect();
        let preset = request::preset(self.name, PATH, cases, self.trial.clone());
        request::request(format!("{PATH} {}", self.name), vec![preset], repeats.seed)
    }
}

/// Each once, one before two.
fn each_once(asked: &[Cores]) -> Vec<Cores> {
    let mut cores = asked.to_vec();
    cores.sort_unstable();
    cores.dedup();
    cores
}
