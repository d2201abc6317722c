//! Linux guests, for real: they boot, work, hang, crash and lie.
//!
//! Where QEMU, a kernel or the static agent are missing each test says why it does nothing, unless `TOLLWAY_REQUIRE`
//! names `qemu`: then it fails.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command as Spawn, Stdio};
use std::time::{Duration, Instant};

use crate::eventually::eventually;
use crate::turn::boot;
use tollway_core::{Clock, DiskFormat, GuestDevice, GuestSpec, Lot, Params, Requirement, TenantKind, Window};
use tollway_host::clock::{self, RunClock};
use tollway_host::samplers::thread_time::process_of;
use tollway_tenant::Agent;
use tollway_tenant::linux::{Boot, GuestOptions, LinuxGuest};
use tollway_tenant::protocol::{Answer, Command, Make, Ran};

/// How long a guest may take to boot here, where others compile at the same time.
const BOOT: Duration = Duration::from_secs(120);

fn started(boot: &Boot, agents: usize) -> LinuxGuest {
    LinuxGuest::start(boot, &GuestOptions { agents, ..GuestOptions::default() }).unwrap()
}

fn soon() -> Instant {
    Instant::now() + BOOT
}

/// Cycles of the test of leaks: `TOLLWAY_GUEST_CYCLES`, else 2: one guest is stopped, one is dropped.
fn cycles() -> usize {
    std::env::var("TOLLWAY_GUEST_CYCLES").ok().and_then(|n| n.parse().ok()).unwrap_or(2)
}

/// How many guests are up at once in the test of many: `TOLLWAY_GUESTS_AT_ONCE`, else 2.
fn at_once() -> usize {
    std::env::var("TOLLWAY_GUESTS_AT_ONCE").ok().and_then(|n| n.parse().ok()).unwrap_or(2)
}

/// Whether a process is there and is no zombie.
fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
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
        cpu: Some(0),
        doorbells: 0,
        measured: true,
        hz: clock::hz().unwrap(),
        requires,
        lot: Lot::default(),
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

/// The second of two, of which the first hangs while it boots and is given up: others boot after it.
#[test]
fn a_guest_is_given_up_and_the_next_boots_does_a_job_and_powers_off() {
    let Some((boot, _turn)) = boot() else { return };
    hangs_while_it_boots(boot);
    let begun = Instant::now();
    let mut guest = started(boot, 1);
    guest.booted(begun + BOOT).unwrap();
    let mut agent = guest.agent(0).unwrap();
    let ran = run(&mut agent, 1, make("crossings", "getppid", "caller", PLACE, Vec::new()));
    let job = begun.elapsed();
    let spread = ran.spread.unwrap();
    println!(
        "{}: booted after {:?}, results after {job:?} (the bar is 10 s on a quiet machine); {} operations, {:.0} ticks each; clock ± {} ticks",
        guest.accelerator(),
        guest.boot_time().unwrap(),
        spread.samples(),
        spread.mean().unwrap(),
        agent.uncertainty()
    );
    let hello = agent.hello();
    assert_eq!((hello.port, agent.process()), (Some(0), None));
    // By a clock that is not the host's it would be by as long as the host is up; by that, as others have the processors.
    let late = ran.late as f64 / tollway_host::clock::hz().unwrap();
    assert!(late < 60.0, "it began {late} s late");
    guest.stop(BOOT).unwrap();
    assert!(agent.ask(2, Command::Finish, soon()).is_err(), "its guest is gone");
}

/// Two agents of one guest are two processes: one asks the other through a pipe.
#[test]
fn two_agents_of_a_guest_exchange() {
    let Some((boot, _turn)) = boot() else { return };
    let two = GuestOptions { agents: 2, vcpus: 2, ..GuestOptions::default() };
    let mut guest = LinuxGuest::start(boot, &two).unwrap();
    guest.booted(Instant::now() + BOOT).unwrap();
    assert_eq!(guest.cpu_time().unwrap().vcpus.len(), 2);
    let (mut server, mut caller) = (guest.agent(0).unwrap(), guest.agent(1).unwrap());
    // With several processors a message can come at any point of what the guest does about the one before.
    for _ in 0..200 {
        caller.synchronise().unwrap();
    }
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
            assert!(spread.samples() > 0);
        }
    }
    for (agent, actor) in both.iter_mut().zip([1, 2]) {
        // The caller compares what the server counted.
        assert!(matches!(agent.ask(actor, Command::Finish, soon()).unwrap(), Answer::Finished(_)));
    }
}

/// Guests that boot at the same time all work; one that rests uses no processor and harms no other; one that hangs is
/// found out and killed, and one that is killed says so.
#[test]
fn what_becomes_of_one_guest_is_nothing_to_the_others() {
    let Some((boot, _turn)) = boot() else { return };
    let begun = Instant::now();
    let mut guests: Vec<LinuxGuest> = (0..at_once()).map(|_| started(boot, 1)).collect();
    println!("{} started in {:?}", guests.len(), begun.elapsed());
    for guest in &mut guests {
        guest.booted(begun + BOOT).unwrap();
    }
    println!("{} booted in {:?}", guests.len(), begun.elapsed());
    let mut agents: Vec<Agent> = guests.iter().map(|guest| guest.agent(0).unwrap()).collect();
    let getppid = || make("crossings", "getppid", "caller", PLACE, Vec::new());
    for agent in &mut agents {
        assert!(run(agent, 1, getppid()).spread.unwrap().samples() > 0);
    }
    println!("{} had worked after {:?}", guests.len(), begun.elapsed());

    let last = guests.len() - 1;
    guests[last].park().unwrap();
    let before = guests[last].cpu_time().unwrap();
    assert!(run(&mut agents[0], 2, getppid()).spread.unwrap().samples() > 0);
    assert_eq!(guests[last].cpu_time().unwrap(), before, "it does not rest");
    guests[last].wake().unwrap();
    agents[last].synchronise().unwrap();
    assert!(run(&mut agents[last], 2, getppid()).spread.unwrap().samples() > 0);

    let processor = tollway_host::cpu::allowed_cpus().unwrap()[0];
    guests[0].pin(0, processor).unwrap();
    assert!(guests[0].pin(1, processor).is_err(), "it has one virtual processor");
    let before = guests[0].cpu_time().unwrap();
    run(&mut agents[0], 3, getppid());
    let after = guests[0].cpu_time().unwrap();
    let given = after.vcpus[0] - before.vcpus[0];
    assert!(given > Duration::from_millis(1) && after.whole - before.whole >= given, "{before:?} {after:?}");

    // A guest that hangs is to the host one that does not answer.
    guests[last].park().unwrap();
    let deadline = Instant::now() + Duration::from_millis(300);
    let error = agents[last].ask(4, Command::Clock, deadline).unwrap_err().to_string();
    assert!(error.contains("did not answer in time"), "{error}");
    let process = guests[last].process();
    eventually("the one that hung is gone", || !lives(process));
    assert!(agents[last].ask(5, Command::Clock, soon()).unwrap_err().to_string().contains("signal: 9"));
    assert!(run(&mut agents[0], 5, getppid()).spread.unwrap().samples() > 0);
}

/// Each process of a block is a fresh one; what a role requires is checked in the guest, not here.
#[test]
fn a_guest_replaces_its_agents_and_checks_what_they_require() {
    let Some((boot, _turn)) = boot() else { return };
    let environment = vec![("TOLLWAY_SCRATCH".into(), "/nowhere/at/all".into())];
    let mut guest =
        LinuxGuest::start(boot, &GuestOptions { environment, ..GuestOptions::default() }).unwrap();
    guest.booted(Instant::now() + BOOT).unwrap();
    let mut processes = Vec::new();
    for number in 0..3 {
        let begun = Instant::now();
        let mut agent = guest.agent(0).unwrap();
        println!("agent {number} is process {}, after {:?}", agent.hello().pid, begun.elapsed());
        assert_eq!(agent.hello().before, None);
        processes.push(agent.hello().pid);
        let mut requires = |requirement| {
            let make = make("null", "batched", "idler", "{}", vec![requirement]);
            agent.ask(number, Command::Make(make), soon())
        };
        // This machine may have a million of neither.
        let cores = requires(Requirement::Cores(2)).unwrap_err().to_string();
        assert!(cores.contains("this process may run on 1"), "{cores}");
        let folder = requires(Requirement::DirectIo).unwrap_err().to_string();
        assert!(folder.contains("/nowhere/at/all"), "{folder}");
        assert_eq!(requires(Requirement::Loopback).unwrap(), Answer::Made);
    }
    processes.dedup();
    assert_eq!(processes.len(), 3, "{processes:?}");
}

#[test]
fn a_guest_that_panics_is_quoted() {
    let Some((boot, _turn)) = boot() else { return };
    let environment = vec![("rdinit".into(), "/nowhere".into()), ("init".into(), "/nowhere".into())];
    let mut guest =
        LinuxGuest::start(boot, &GuestOptions { environment, ..GuestOptions::default() }).unwrap();
    let error = guest.booted(Instant::now() + BOOT).unwrap_err().to_string();
    assert!(error.contains("its console ends") && error.contains("Kernel panic"), "{error}");
}

/// A guest that does not boot in time is killed and gone.
fn hangs_while_it_boots(boot: &Boot) {
    let mut guest = started(boot, 1);
    let process = guest.process();
    let ran = || process_of(process as i32).unwrap();
    eventually("it has begun to boot", || ran() > Duration::from_millis(100));
    guest.park().unwrap();
    let error = guest.booted(Instant::now() + Duration::from_secs(1)).unwrap_err().to_string();
    assert!(error.contains("Linux guest") && error.contains("hello in time"), "{error}");
    assert!(guest.has_ended());
    drop(guest);
    assert!(
        !lives(process) && !std::path::Path::new(&format!("/proc/{process}")).exists(),
        "a zombie is left"
    );
}

/// This test starts itself as a coordinator of two guests, and kills that.
#[test]
fn nothing_outlives_a_coordinator_that_is_killed() {
    const ROLE: &str = "TOLLWAY_TEST_COORDINATOR";
    const NAME: &str = "linux_guests::nothing_outlives_a_coordinator_that_is_killed";
    if std::env::var_os(ROLE).is_some() {
        let boot = Boot::prepare(None).unwrap();
        let disk = GuestDevice::Disk { format: DiskFormat::Raw, mib: 16, mounted: false };
        let spec = GuestSpec {
            devices: vec![disk, GuestDevice::Rng { bytes_per_second: None }],
            ..GuestSpec::default()
        };
        let options = GuestOptions { spec, ..GuestOptions::default() };
        let mut guests = [LinuxGuest::start(&boot, &options).unwrap(), started(&boot, 1)];
        // One of them is in the middle of its boot when the end comes.
        guests[0].booted(Instant::now() + BOOT).unwrap();
        println!("\nguests {} {}", guests[0].process(), guests[1].process());
        // Until it is killed, or who started it has ended.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
    }
    let Some((_, _turn)) = boot() else { return };
    let mut command = Spawn::new(std::env::current_exe().unwrap());
    let scratch = tempfile::tempdir().unwrap();
    command.args(["--exact", NAME, "--nocapture"]).env(ROLE, "1").env("TOLLWAY_SCRATCH", scratch.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut coordinator = command.spawn().unwrap();
    let mut lines = BufReader::new(coordinator.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find_map(|line| line.strip_prefix("guests ").map(String::from)).unwrap();
    let guests: Vec<u32> = line.split(' ').map(|pid| pid.parse().unwrap()).collect();
    assert!(guests.iter().all(|pid| lives(*pid)), "{guests:?}");
    coordinator.kill().unwrap();
    coordinator.wait().unwrap();
    eventually("they end with their coordinator", || !guests.iter().any(|pid| lives(*pid)));

    let left: Vec<_> = fs::read_dir(scratch.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "files outlive their coordinator: {left:?}");
}

/// What this process holds for guests: sockets and files in memory, children, memory.
#[derive(Debug)]
struct Held {
    descriptors: usize,
    children: usize,
    threads: usize,
    resident_kib: u64,
}

impl Held {
    fn now() -> Held {
        // What was freed goes back to the system: else two files as large as the agent, read in turn, look like a leak, as the
        // allocator keeps the second (mallopt(3), M_MMAP_THRESHOLD: it grows with what is freed).
        // SAFETY: it has no precondition.
        unsafe { libc::malloc_trim(0) };
        let files = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let of_guests = |to: &std::path::Path| {
            let to = to.to_string_lossy();
            ["socket:", "/memfd:", "pipe:", "anon_inode:"].iter().any(|kind| to.starts_with(kind))
        };
        let tasks = || fs::read_dir("/proc/self/task").unwrap().flatten();
        let children =
            |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        Held {
            descriptors: files.filter(|f| fs::read_link(f.path()).is_ok_and(|to| of_guests(&to))).count(),
            children: tasks().map(|task| children(task).split_whitespace().count()).sum(),
            threads: tasks().count(),
            resident_kib: resident.trim().trim_end_matches(" kB").parse().unwrap(),
        }
    }
}

#[test]
fn guests_that_come_and_go_leave_nothing() {
    let Some((boot, _turn)) = boot() else { return };
    let cycle = |number: usize| {
        let mut guest = started(boot, 2);
        guest.booted(Instant::now() + BOOT).unwrap();
        let mut agent = guest.agent(number % 2).unwrap();
        agent.synchronise().unwrap();
        drop(agent);
        match number % 3 {
            0 => drop(guest),
            _ => guest.stop(BOOT).unwrap(),
        }
    };
    cycle(0);
    let before = Held::now();
    let begun = Instant::now();
    (0..cycles()).for_each(cycle);
    let after = Held::now();
    println!("{} cycles in {:?}: {before:?}, {after:?}", cycles(), begun.elapsed());
    assert_eq!(after.children, before.children);
    // Others' threads, which wait for their turn, may have ended meanwhile, or one may have begun.
    assert!(after.descriptors <= before.descriptors, "{before:?} {after:?}");
    assert!(after.threads <= before.threads + 1, "{before:?} {after:?}");
    assert!(after.resident_kib <= before.resident_kib + 8192, "{before:?} {after:?}");
}
