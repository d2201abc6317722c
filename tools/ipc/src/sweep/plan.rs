//! What an application's options have measured: ways, at each step of a ladder, on one core or two.

use tollway_core::{Case, OneOrMany, Params, Preset, PresetHead, TrialSpec, Value};
use tollway_lab::Request;
use tollway_lab::point::Selection;

use crate::PATH;
use crate::args::words::{Cores, ladder};
use crate::args::{AllocServer, PingPong, Repeats, TcpServer};

/// A way, and whether it is a synchronous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// The path's variant.
    pub(super) variant: &'static str,
    /// Whether others are held against it: the asynchronous ways are.
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

impl Sweep {
    /// Requests and replies.
    pub fn ping_pong(options: &PingPong) -> Sweep {
        let mut ways = Vec::new();
        if options.style.has_sync() {
            ways.extend([way("slow-path", true), way("fast-path", true)]);
        }
        if options.style.has_async() {
            ways.push(way("async", false));
        }
        let fixed = Params::new()
            .with("size", options.size)
            .with("work", options.work)
            .with("matrix", options.matrix)
            .with("notice", options.notice.word());
        Sweep {
            name: "ping-pong",
            axis: "concurrency",
            ladder: ladder(&options.concurrency),
            cores: cores(&options.cores),
            ways,
            fixed,
            trial: TrialSpec { window_ms: 20.0, warmup_ms: 2.0, runs: options.repeats.runs, repeats: 2 },
            times_waits: false,
        }
    }

    /// Memory.
    pub fn alloc_server(options: &AllocServer) -> Sweep {
        let mut ways = Vec::new();
        if options.style.has_sync() {
            ways.push(Way { has_ladder: false, has_cores: false, ..way("memory-sync", true) });
        }
        if options.style.has_async() {
            ways.extend([way("memory-async", false), way("memory-server", false)]);
        }
        Sweep {
            name: "alloc-server",
            axis: "concurrency",
            ladder: ladder(&options.concurrency),
            cores: cores(&options.cores),
            ways,
            fixed: Params::new().with("pages", options.pages),
            trial: TrialSpec { window_ms: 20.0, warmup_ms: 2.0, runs: options.repeats.runs, repeats: 2 },
            times_waits: false,
        }
    }

    /// TCP.
    pub fn tcp_server(options: &TcpServer) -> Sweep {
        let mut ways = Vec::new();
        if options.style.has_sync() {
            ways.extend([way("tcp-sync", true), way("tcp-handoff", true)]);
        }
        if options.style.has_async() {
            ways.push(way("tcp-async", false));
        }
        if options.linux {
            let on_linux = |variant| Way { has_cores: false, ..way(variant, true) };
            ways.extend(["tcp-epoll", "tcp-io-uring"].map(on_linux));
        }
        Sweep {
            name: "tcp-server",
            axis: "connections",
            ladder: ladder(&options.connections),
            cores: cores(&options.cores),
            ways,
            fixed: Params::new(),
            trial: TrialSpec { window_ms: 200.0, warmup_ms: 20.0, runs: options.repeats.runs, repeats: 1 },
            times_waits: true,
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
        Request {
            title: format!("{PATH} {}", self.name),
            selection: Selection { presets: vec![self.preset()], only: Vec::new() },
            sides: Vec::new(),
            seed: repeats.seed,
            together: false,
            without_tolls: false,
            foretold: Vec::new(),
        }
    }

    fn preset(&self) -> Preset {
        Preset {
            preset: PresetHead { name: self.name.into(), path: PATH.into(), about: String::new() },
            axes: Case::default(),
            case: self.places().iter().map(|place| case(place.way.variant, &place.params)).collect(),
            trial: self.trial.clone(),
        }
    }
}

/// A point as a case of a preset.
pub(crate) fn case(variant: &str, params: &Params) -> Case {
    let mut case = Case::default();
    for (axis, value) in params.iter() {
        case.0.insert(axis.into(), OneOrMany::One(value.clone()));
    }
    case.0.insert("variant".into(), OneOrMany::One(Value::Text(variant.into())));
    case
}

/// Each once, one before two.
fn cores(asked: &[Cores]) -> Vec<Cores> {
    let mut cores = asked.to_vec();
    cores.sort_unstable();
    cores.dedup();
    cores
}
