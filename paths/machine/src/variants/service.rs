//! The business load as a measurement of its own: how many requests a second the web service answers, and how long each takes.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::env;
use std::time::Duration;

use tollway_core::{
    Actor, Address, Axis, Clock, Domain, Error, Missing, Params, Place, Plan, Recorder, Requirement, Result,
    Role, Tally, TenantKind, Unit, Value, Variant, Window, Yield,
};
use tollway_host::clock::{self, RunClock};
use tollway_host::scratch;
use tollway_load::{delay, wait_until};

use super::business::ROOM_MIB;
use crate::engine::service::{
    Done, Keep, Kind, Limits, Load, OpenPostgres, PATIENCE, POSTGRES, Pace, Served, Server,
};
use crate::{params, surroundings};

const SERVER: &str = "server";
const CLIENTS: &str = "clients";

/// How long the server waits for its clients to leave.
const LEAVING: Duration = Duration::from_secs(4);

/// How long it may take until clients say that they were not answered, and a server that they have not left.
pub(super) const ANSWERED: Duration = PATIENCE.saturating_add(LEAVING);

/// The word of the axis `of` for all kinds of requests.
const ALL: &str = "all";

pub(crate) struct Service {
    /// How this program opens what the axis `store` calls `postgres`.
    pub(crate) postgres: OpenPostgres,
}

fn axes() -> Vec<Axis> {
    // A business is not put beside itself.
    let mut axes = surroundings::axes();
    axes.retain(|axis| axis.name != params::BUSINESS);
    let whole = |name, about, least, most, default| Axis {
        name,
        about,
        domain: Domain::Whole(least, most),
        default: Value::Int(default),
    };
    axes.extend([
        whole("clients", "how many clients there are, each with a connection and one request at a time", 1, 256, 4),
        whole("rate", "requests a second, independent of each other; 0: each client sends its next when it has an answer", 0, 1_000_000, 0),
        whole("think", "for how long a client thinks before its next request, in µs, on average; at rate 0", 0, 1_000_000, 0),
        Axis {
            name: "store",
            about: "where the users are kept; `postgres` is the server that the environment's TOLLWAY_POSTGRES names",
            domain: Domain::Words(&["sqlite", "postgres"]),
            default: Value::Text("sqlite".into()),
        },
        Axis {
            name: "of",
            about: "which requests are recorded; all kinds are always sent",
            domain: Domain::Words(&[ALL, "create", "query", "update", "delete", "list"]),
            default: Value::Text(ALL.into()),
        },
    ]);
    axes
}

/// The kind that is recorded, if not all are.
fn of(params: &Params) -> Result<Option<Kind>> {
    let word = params.word("of")?;
    Ok(Kind::ALL.into_iter().find(|kind| kind.name() == word))
}

impl Variant for Service {
    fn name(&self) -> &str {
        "service"
    }

    fn about(&self) -> &str {
        "a web service that manages users, and clients that create, query, update, delete and list them"
    }

    fn caveats(&self) -> &str {
        "Server and clients share the machine: the rate is of both. Commits are not waited for on the disk \
         (synchronous=NORMAL, synchronous_commit=off), only checkpoints are. Of 100 requests 15 create, 40 query, 25 update, \
         15 delete, 5 list. The server is one thread, as is the load."
    }

    fn axes(&self) -> Vec<Axis> {
        axes()
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        if params.word("store")? == "postgres" && params.tenant()? == TenantKind::LinuxGuest {
            return Err(Error::Input {
                place: "axis `store`, value `postgres`".into(),
                reason: "a Linux guest does not see a server of this machine".into(),
                remedy: "leave out `tenant`, or set `store` to sqlite".into(),
            });
        }
        let operation = match of(params)? {
            Some(kind) => format!("{} request", kind.name()),
            None => "request".into(),
        };
        let plan = Plan {
            operation,
            roles: vec![Role::serving(SERVER), Role::measured(CLIENTS).core(1)],
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires: vec![Requirement::Cores(2)],
            guests: Vec::new(),
        };
        surroundings::settled(plan, params, Some(ROOM_MIB))
    }

    fn title(&self, params: &Params) -> Option<String> {
        let of = match of(params).ok()? {
            Some(kind) => format!(", {} requests", kind.name()),
            None => String::new(),
        };
        let clients = match params.int("clients").ok()? {
            1 => "1 client".to_string(),
            many => format!("{many} clients"),
        };
        let number = |axis: &str| params.int(axis).ok().filter(|number| *number > 0);
        let rate = number("rate").map(|rate| format!(", {rate} requests/s")).unwrap_or_default();
        let think = number("think").map(|us| format!(", {us} µs to think")).unwrap_or_default();
        let store = match params.word("store").ok()? {
            "postgres" => ", PostgreSQL",
            _ => "",
        };
        surroundings::titled(format!("web service{of}, {clients}{rate}{think}{store}"), params)
    }

    fn yields(&self, _: &Params) -> Vec<Yield> {
        vec![Yield::one(Unit::Requests)]
    }

    fn patience(&self, _: &Params) -> Duration {
        ANSWERED
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        if role == SERVER {
            return Ok(Box::new(ServerActor::new(keep(params, self.postgres)?)));
        }
        Ok(Box::new(Clients {
            params: params.clone(),
            hz: 0.0,
            seed: 0,
            load: None,
            counts: BTreeMap::new(),
            late_ns: 0,
        }))
    }
}

fn keep(params: &Params, postgres: OpenPostgres) -> Result<Keep> {
    if params.word("store")? == "sqlite" {
        return Ok(Keep::Sqlite(scratch::folder()));
    }
    let url = env::var(POSTGRES).map_err(|_| {
        let remedy = format!("{POSTGRES}=postgresql://USER:PASSWORD@HOST/DATABASE");
        Error::Missing(Missing::new("a PostgreSQL server", format!("{POSTGRES} names none"), remedy))
    })?;
    Ok(Keep::Postgres(url, postgres))
}

/// A server of a trial: it serves from when it is ready until its clients have left.
pub(super) struct ServerActor {
    keep: Keep,
    server: Option<Server>,
    served: Option<Result<Served>>,
}

impl ServerActor {
    pub(super) fn new(keep: Keep) -> ServerActor {
        ServerActor { keep, server: None, served: None }
    }
}

impl Actor for ServerActor {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let server = self.server.insert(Server::start(self.keep.clone(), Limits::default())?);
        Ok(Address(server.address().to_string()))
    }

    /// Its own thread serves, beyond the window too: what is measured may take longer.
    fn run(&mut self, _: &Window, _: &mut Recorder) -> Result<()> {
        Ok(())
    }

    fn park(&mut self) {
        self.served = self.server.take().map(|server| server.stop(LEAVING));
    }

    fn verify(&mut self) -> Result<()> {
        match self.served.take() {
            Some(Ok(Served { answers: 0, .. })) | None => Err(Error::Wrong("no request was served".into())),
            Some(Ok(Served { failures: 0, .. })) => Ok(()),
            Some(Ok(Served { failures, .. })) => {
                Err(Error::Wrong(format!("the service's database failed {failures} times")))
            }
            Some(Err(error)) => Err(error),
        }
    }
}

/// Clients of the server at this address.
pub(super) fn connect(server: Option<&Address>, clients: usize, seed: u64) -> Result<Load> {
    let address = server.map(|a| a.0.as_str()).unwrap_or_default();
    let address = address
        .parse()
        .map_err(|_| Error::Wrong(format!("the service's address is `{address}`, which is none")))?;
    Load::connect(address, clients, seed)
}

/// All clients of a trial.
struct Clients {
    params: Params,
    hz: f64,
    seed: u64,
    load: Option<Load>,
    counts: BTreeMap<&'static str, u64>,
    /// By how much clients overslept on average.
    late_ns: u64,
}

impl Actor for Clients {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        (self.hz, self.seed) = (clock::hz()?, place.lot.seed);
        let clients = self.params.int("clients")? as usize;
        self.load = Some(connect(place.peers.first(), clients, self.seed)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some(load) = &mut self.load else { return Ok(()) };
        let (clock, of) = (RunClock::chosen(), of(&self.params)?);
        let pace = match self.params.int("rate")? {
            0 => Pace::Closed { think: self.params.int("think")? as f64 / 1e6 },
            rate => Pace::Open { rate: rate as f64 },
        };
        recorder.set_batch(1);
        let recorded = Cell::new(false);
        let counts = &mut self.counts;
        wait_until(clock, window.warm);
        let late = load.drive(
            clock,
            self.hz,
            pace,
            self.seed,
            |now| now < window.close || !recorded.get(),
            |Done { kind, begun, ended }| {
                *counts.entry(kind.name()).or_default() += 1;
                if begun >= window.open && of.is_none_or(|of| of == kind) {
                    recorder.sample(ended.saturating_sub(begun) + planted(clock, window));
                    recorded.set(true);
                }
            },
        )?;
        let sent: u64 = self.counts.values().sum();
        let late = late as f64 / sent.max(1) as f64 / self.hz * 1e9;
        self.late_ns = late as u64;
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        // When it is gone, so are its connections: the server waits for that.
        match self.load.take() {
            Some(mut load) => load.holds().map(drop),
            None => Err(Error::Wrong("the clients never ran".into())),
        }
    }

    fn tally(&mut self) -> Tally {
        let tally = Tally::default().gauge("late_ns", self.late_ns);
        self.counts.iter().fold(tally, |tally, (name, count)| tally.counter(*name, *count))
    }
}

/// What a planted delay takes.
fn planted(clock: RunClock, window: &Window) -> u64 {
    if window.planted == 0 {
        return 0;
    }
    let from = clock.now();
    delay(window.planted);
    clock.now().saturating_sub(from)
}
