//! Linux guests, for real: they boot, work, hang, crash and lie.
//!
//! Where QEMU, a kernel or the static agent are missing each test says why it does nothing, unless `TOLLWAY_REQUIRE`
//! names `qemu`: then it fails.

use std::fs::File;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tollway_core::{Clock, Params, Requirement, TenantKind, Window};
use tollway_host::clock::{self, RunClock};
use tollway_tenant::Agent;
use tollway_tenant::linux::{self, Boot, GuestOptions, LinuxGuest};
use tollway_tenant::protocol::{Answer, Command, Make, Ran};

/// How long a guest may take to boot here, where others compile at the same time.
const BOOT: Duration = Duration::from_secs(60);

/// What guests are made of, and the turn to boot one: guests of tests that run at the same time would only slow each
/// other down. `None` where there can be no guests.
fn boot() -> Option<(&'static Boot, File)> {
    static BOOT: OnceLock<Boot> = OnceLock::new();
    if let Err(missing) = linux::check() {
        let required = std::env::var("TOLLWAY_REQUIRE").unwrap_or_default();
        assert!(
            !required.split([',', ' ']).any(|one| one == "qemu"),
            "required by TOLLWAY_REQUIRE: {missing}"
        );
        println!("skipped: {missing}");
        return None;
    }
    let turn = File::create(std::env::temp_dir().join("tollway-guest-tests.lock")).unwrap();
    turn.lock().unwrap();
    Some((BOOT.get_or_init(|| Boot::prepare().unwrap()), turn))
}

fn started(boot: &Boot, agents: usize) -> LinuxGuest {
    LinuxGuest::start(boot, &GuestOptions { agents, ..GuestOptions::default() }).unwrap()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// The point at which the crossings' actors are made.
const PLACE: &str = r#"{"tenant": "linux-guest", "placement": "same"}"#;

fn make(path: &str, variant: &str, role: &str, params: &str, requires: Vec<Requirement>) -> Make {
    Make {
        path: path.into(),
        variant: variant.into(),
        role: role.into(),
        params: serde_json::from_str::<Params>(params).unwrap(),
        tenant: TenantKind::LinuxGuest,
        cpu: 0,
        doorbells: 0,
        measured: true,
        hz: clock::hz().unwrap(),
        requires,
    }
}

/// Runs one actor for 50 ms.
fn run(agent: &mut Agent, actor: u32, make: Make) -> Box<Ran> {
    assert_eq!(agent.ask(actor, Command::Make(make), soon()).unwrap(), Answer::Made);
    let ready = agent.ask(actor, Command::Ready(Vec::new()), soon()).unwrap();
    assert!(matches!(ready, Answer::Ready(_)), "{ready:?}");
    agent.synchronise().unwrap();
    let ms = (clock::hz().unwrap() / 1e3) as u64;
    let warm = RunClock::chosen().now() + 50 * ms;
    let window = Window { warm, open: warm + 10 * ms, close: warm + 60 * ms, batch: 100, planted: 0 };
    let Answer::Ran(ran) = agent.ask(actor, Command::Run(window), soon()).unwrap() else {
        panic!("it did not run")
    };
    let answered = RunClock::chosen().now();
    assert!(answered > window.close, "it was ready before its window closed");
    assert!(matches!(agent.ask(actor, Command::Finish, soon()).unwrap(), Answer::Finished(_)));
    ran
}

#[test]
fn a_guest_boots_does_a_job_and_powers_off() {
    let Some((boot, _turn)) = boot() else { return };
    let begun = Instant::now();
    let mut guest = started(boot, 1);
    guest.booted(begun + BOOT).unwrap();
    let mut agent = guest.agent(0).unwrap();
    let ran = run(&mut agent, 1, make("crossings", "getppid", "caller", PLACE, Vec::new()));
    let job = begun.elapsed();
    let spread = ran.spread.unwrap();
    println!(
        "{}: booted after {:?}, results after {job:?}; {} operations, {:.0} ticks each; clock ± {} ticks",
        guest.accelerator(),
        guest.boot_time().unwrap(),
        spread.samples(),
        spread.mean().unwrap(),
        agent.uncertainty()
    );
    assert!(job < Duration::from_secs(30), "the bar is 10 s on a quiet machine: {job:?}");
    let hello = agent.hello();
    assert_eq!((hello.port, agent.process()), (Some(0), None));
    assert_eq!(ran.late, 0);
    guest.stop(Duration::from_secs(10)).unwrap();
    assert!(agent.ask(2, Command::Finish, soon()).is_err(), "its guest is gone");
}

/// Two agents of one guest are two processes: one asks the other through a pipe.
#[test]
fn two_agents_of_a_guest_exchange() {
    let Some((boot, _turn)) = boot() else { return };
    let mut guest = started(boot, 2);
    guest.booted(Instant::now() + BOOT).unwrap();
    let (mut server, mut caller) = (guest.agent(0).unwrap(), guest.agent(1).unwrap());
    assert_ne!(server.hello().pid, caller.hello().pid);
    assert!(guest.agent(0).is_err() && guest.agent(2).is_err(), "one is in use, the other does not exist");
    let role = |role: &str| Command::Make(make("crossings", "pipe", role, PLACE, Vec::new()));
    assert_eq!(server.ask(1, role("server"), soon()).unwrap(), Answer::Made);
    let Answer::Ready(address) = server.ask(1, Command::Ready(Vec::new()), soon()).unwrap() else { panic!() };
    assert_eq!(caller.ask(2, role("caller"), soon()).unwrap(), Answer::Made);
    caller.ask(2, Command::Ready(vec![address]), soon()).unwrap();
    caller.synchronise().unwrap();
    let ms = (clock::hz().unwrap() / 1e3) as u64;
    let warm = RunClock::chosen().now() + 50 * ms;
    let window = Window { warm, open: warm + 10 * ms, close: warm + 100 * ms, batch: 1, planted: 0 };
    server.send(1, Command::Run(window)).unwrap();
    caller.send(2, Command::Run(window)).unwrap();
    let mut both = [server, caller];
    for _ in 0..2 {
        let (at, reply) = Agent::first_of(&mut both, &[0, 1], soon()).unwrap();
        let Answer::Ran(ran) = reply.answer else { panic!("{reply:?}") };
        if at == 1 {
            let spread = ran.spread.unwrap();
            println!("pipe: {} round trips, {:.0} ticks each", spread.samples(), spread.mean().unwrap());
            assert!(spread.samples() > 10);
        }
    }
    for (agent, actor) in both.iter_mut().zip([1, 2]) {
        // The caller compares what the server counted.
        assert!(matches!(agent.ask(actor, Command::Finish, soon()).unwrap(), Answer::Finished(_)));
    }
}
