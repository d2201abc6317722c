//! A path whose variants misbehave, each in one way, and the laboratory that has to bear it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use crate::pause::pause;
use tollway_core::{
    Actor, Address, Clock, Crossing, Error, Missing, OneOrMany, Params, Path, Place, Plan, Preset,
    PresetHead, Recorder, Registry, Result, Role, TollKey, TrialSpec, Value, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_lab::Lab;
use tollway_tenant::Executable;

/// The name of the test that is an agent when a laboratory starts it.
pub const AGENT: &str = "play_agent";

/// Within this actors answer, however busy the machine is.
const ANSWERS: Duration = Duration::from_secs(30);

/// How an actor misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vice {
    None,
    WrongResult,
    WrongLater,
    SlowLater,
    NothingRecorded,
    PanicInReady,
    PanicInRun,
    PanicInVerify,
    HangInReady,
    HangInRun,
    HangInVerify,
    Exit,
    ExitLater,
    ErrorInReady,
    MissingInReady,
    NotMade,
    PlantsNothing,
}

/// Every variant: its name, the vice of its measured actor and that of the one that serves it, if there is one.
pub const VARIANTS: &[(&str, Vice, Option<Vice>)] = &[
    ("good", Vice::None, None),
    ("other-good", Vice::None, Some(Vice::None)),
    ("wrong-result", Vice::WrongResult, None),
    ("wrong-later", Vice::WrongLater, None),
    ("slow-later", Vice::SlowLater, None),
    ("nothing-recorded", Vice::NothingRecorded, None),
    ("panic-in-ready", Vice::PanicInReady, None),
    ("panic-in-run", Vice::PanicInRun, None),
    ("panic-in-verify", Vice::PanicInVerify, None),
    ("hang-in-ready", Vice::HangInReady, None),
    ("hang-in-run", Vice::HangInRun, None),
    ("hang-in-verify", Vice::HangInVerify, None),
    ("exit", Vice::Exit, None),
    ("error-in-ready", Vice::ErrorInReady, None),
    ("missing-in-ready", Vice::MissingInReady, None),
    ("not-made", Vice::NotMade, None),
    ("plants-nothing", Vice::PlantsNothing, None),
    ("server-wrong", Vice::None, Some(Vice::WrongResult)),
    ("server-hangs-when-caller-fails", Vice::PanicInRun, Some(Vice::HangInRun)),
    ("server-dies-when-caller-fails", Vice::PanicInRun, Some(Vice::ExitLater)),
];

struct Unruly(usize);

impl Variant for Unruly {
    fn name(&self) -> &str {
        VARIANTS[self.0].0
    }

    fn about(&self) -> &str {
        "misbehaves"
    }

    fn plan(&self, _: &Params) -> Result<Plan> {
        let (name, _, server) = VARIANTS[self.0];
        let mut roles = Vec::new();
        if server.is_some() {
            roles.push(Role::serving("server"));
        }
        roles.push(Role::measured("caller"));
        Ok(Plan {
            operation: "nothing".into(),
            roles,
            gates: Vec::new(),
            provides: (name == "good").then(|| TollKey::of(Crossing::EmptyLoop)),
            needs: Vec::new(),
            requires: Vec::new(),
            guests: Vec::new(),
        })
    }

    fn actor(&self, role: &str, _: &Params) -> Result<Box<dyn Actor>> {
        let (_, caller, server) = VARIANTS[self.0];
        let vice = if role == "server" { server.unwrap_or(Vice::None) } else { caller };
        if vice == Vice::NotMade { Err(Error::system("making it", "no")) } else { Ok(Box::new(Player(vice))) }
    }
}

struct Player(Vice);

/// Steps that an operation takes.
const WORK: u32 = 300;

/// How many actors that will be wrong later have verified in this process.
static VERIFIED: AtomicU32 = AtomicU32::new(0);

/// How many actors that will be slow later have got ready in this process.
static READY: AtomicU32 = AtomicU32::new(0);

fn forever() -> ! {
    loop {
        thread::park();
    }
}

impl Actor for Player {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        match self.0 {
            Vice::PanicInReady => panic!("not ready"),
            Vice::HangInReady => forever(),
            Vice::SlowLater => {
                if READY.fetch_add(1, Ordering::Relaxed) >= 2 {
                    pause(Duration::from_millis(480));
                }
                Ok(Address::none())
            }
            Vice::ErrorInReady => Err(Error::system("getting ready", "no")),
            Vice::MissingInReady => {
                Err(Error::Missing(Missing::new("a thing", "it is not there", "get one")))
            }
            _ => Ok(Address::none()),
        }
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let clock = RunClock::chosen();
        match self.0 {
            Vice::PanicInRun => panic!("not running"),
            Vice::HangInRun => forever(),
            Vice::Exit => std::process::exit(7),
            Vice::ExitLater => {
                pause(Duration::from_millis(50));
                std::process::exit(7)
            }
            Vice::NothingRecorded => return Ok(()),
            _ => {}
        }
        recorder.set_batch(if window.batch == 0 { 3 } else { window.batch });
        let mut recorded = false;
        while clock.now() < window.close || !recorded {
            let from = clock.open();
            tollway_load::delay(WORK);
            if window.planted > 0 && self.0 != Vice::PlantsNothing {
                tollway_load::plant(clock, window.planted);
            }
            let ticks = clock.close().saturating_sub(from);
            if from >= window.open {
                recorder.sample(ticks);
                recorded = true;
            }
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match self.0 {
            Vice::WrongResult => Err(Error::Wrong("2 + 2 is 5".into())),
            Vice::WrongLater if VERIFIED.fetch_add(1, Ordering::Relaxed) >= 2 => {
                Err(Error::Wrong("it was right before".into()))
            }
            Vice::PanicInVerify => panic!("not verified"),
            Vice::HangInVerify => forever(),
            _ => Ok(()),
        }
    }
}

/// The registry that has this path alone.
pub fn registry() -> Registry {
    let variants = (0..VARIANTS.len()).map(|at| Box::new(Unruly(at)) as Box<dyn Variant>).collect();
    Registry {
        paths: vec![Path { name: "unruly", question: "What is borne?", variants, presets: &[], claims: "" }],
    }
}

/// A preset of these variants with short trials.
pub fn preset(variants: &[&str], runs: u32, repeats: u32) -> Preset {
    let names = variants.iter().map(|v| Value::from(*v)).collect();
    Preset {
        preset: PresetHead { name: "unruly".into(), path: "unruly".into(), ..PresetHead::default() },
        axes: tollway_core::Case([("variant".to_string(), OneOrMany::Many(names))].into()),
        trial: TrialSpec { window_ms: 0.2, warmup_ms: 0.05, runs, repeats },
        ..Preset::default()
    }
}

/// The laboratory of this machine, with this test program as its agent.
pub fn lab<'a>(registry: &'a Registry, interrupted: &'a AtomicBool) -> Lab<'a> {
    Lab {
        registry,
        target: tollway_tenant::Target::ThisHost,
        own: Executable {
            program: std::env::current_exe().unwrap(),
            arguments: [AGENT, "--exact", "--ignored", "--nocapture"].map(String::from).into(),
            environment: Vec::new(),
        },
        cpus: tollway_host::cpu::allowed_cpus().unwrap(),
        hz: tollway_host::clock::hz().unwrap(),
        machine: "here".into(),
        fingerprint: serde_json::json!({}),
        argv: vec!["test".into()],
        version: "0".into(),
        build: String::new(),
        interrupted,
        grace: ANSWERS,
    }
}

/// Plays an agent where a laboratory has started this program as one; passes as a test where somebody else has.
pub fn play_agent() {
    use std::os::fd::AsFd;
    let stdin = std::io::stdin();
    let is_socket = rustix::net::sockopt::socket_type(stdin.as_fd()).is_ok();
    if is_socket && std::env::args().nth(1).as_deref() == Some(AGENT) {
        // Without a backtrace: to read a test's symbols may take longer than an agent is waited for.
        std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
        tollway_agent::serve(registry()).unwrap();
    }
}
