//! A Linux guest in QEMU, whose /dev/hwrng is what this server gives it.
//!
//! Where QEMU, a kernel or the static agent are missing a test says why it does nothing, unless `TOLLWAY_REQUIRE` names
//! `qemu`: then it fails.
//!
//! What becomes of a guest whose server was killed is QEMU's part. That of 7.2, if it listens itself, has the next server
//! go on. 10.0.2 cannot: if it listens it ends by a failed assertion as soon as the next one connects
//! (`vhost_dev_start: Assertion `hdev->vhost_ops' failed`), and if it connects it does so once; `reconnect` keeps both from
//! starting. So the first test kills the server of the newer one only to see that the guest lives on, and the second one
//! asks for an old QEMU.

use std::env;
use std::fs::File;
use std::path::PathBuf;
use std::process::Command as Spawn;
use std::time::{Duration, Instant};

use tollway_core::{Error, GuestDevice, GuestSpec, Missing};
use tollway_host::requirement::skip_test;
use tollway_tenant::Agent;
use tollway_tenant::linux::{self, Boot, GuestOptions, LinuxGuest};
use tollway_tenant::probe::Probe;
use tollway_tenant::protocol::{Answer, Command};

use super::program::{Serving, status, wait_until};

const PATIENCE: Duration = Duration::from_secs(300);

/// The variable that names the QEMU of guests.
const QEMU: &str = "TOLLWAY_QEMU";

/// What a read of the guest's /dev/hwrng brings.
fn draw(agent: &mut Agent, bytes: u32) -> String {
    let answer = agent.ask(1, Command::Probe(Probe::Random { bytes }), Instant::now() + PATIENCE).unwrap();
    let Answer::Probed(found) = answer else { panic!("{answer:?}") };
    let (device, digits) = found.split_once(' ').unwrap();
    assert!(device.starts_with("virtio_rng"), "{device}");
    assert_eq!(digits.len(), 2 * bytes as usize);
    digits.to_owned()
}

/// A server, and a guest that it serves.
struct Served {
    server: Serving,
    arguments: Vec<String>,
    state: String,
    guest: LinuxGuest,
    agent: Agent,
    _folder: tempfile::TempDir,
    _turn: File,
}

impl Served {
    /// `listens`: the guest's machine does, and the server connects.
    fn start(listens: bool) -> Served {
        let turn = File::create(env::temp_dir().join("tollway-guest-tests.lock")).unwrap();
        turn.lock().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let (socket, state) = (at("guest.sock"), at("state.sock"));
        let tenant = format!("guest={socket}{}", if listens { ",connect" } else { "" });
        let arguments = ["--tenant", &tenant, "--source", "getrandom", "--conditioned", "--status", &state]
            .map(String::from);
        let server = start(&arguments);
        let boot = Boot::prepare(None).unwrap();
        let devices = vec![GuestDevice::VhostUser { kind: "rng".into(), socket, listens }];
        let spec = GuestSpec { devices, ..GuestSpec::default() };
        let begun = Instant::now();
        let mut guest = LinuxGuest::start(&boot, &GuestOptions { spec, ..GuestOptions::default() }).unwrap();
        guest.booted(begun + PATIENCE).unwrap();
        println!("QEMU {}: booted in {:?}", boot.found().qemu.version, begun.elapsed());
        let agent = guest.agent(0).unwrap();
        Served { server, arguments: arguments.into(), state, guest, agent, _folder: folder, _turn: turn }
    }

    /// Has the guest draw, and looks at what it got and what was counted.
    fn draws(&mut self) {
        let digits = draw(&mut self.agent, 4096);
        assert_ne!(digits, draw(&mut self.agent, 4096));
        // 32,768 bits: their ones are within five standard deviations (90.5) of the half but once in 1.7 million draws.
        let ones: u32 = digits.chars().map(|digit| digit.to_digit(16).unwrap().count_ones()).sum();
        assert!(ones.abs_diff(16_384) < 453, "{ones} ones");
        let now = status(&self.state);
        let tenant = &now["tenants"][0];
        println!("{tenant}");
        assert!(tenant["bytes"].as_u64().unwrap() >= 8192);
        assert_eq!((&tenant["refused_chains"], &tenant["refused_messages"]), (&0.into(), &0.into()));
    }
}

fn start(arguments: &[String]) -> Serving {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Serving::start(&arguments)
}

#[test]
fn a_linux_guest_draws_and_outlives_its_server() {
    if let Err(missing) = linux::check(None) {
        return skip_test(&["qemu"], &missing);
    }
    let mut served = Served::start(false);
    served.draws();
    let Served { server, mut agent, guest, .. } = served;
    server.kill();
    // Whether it can do that or not: it answers.
    let answer = agent.ask(1, Command::Probe(Probe::Scratch { bytes: 4096 }), Instant::now() + PATIENCE);
    assert!(!matches!(answer, Err(Error::Tenant { .. })), "it has stopped, too: {answer:?}");
    guest.stop(PATIENCE).unwrap();
}

#[test]
fn a_linux_guest_goes_on_with_the_next_server() {
    if let Err(missing) = linux::check(None) {
        return skip_test(&["qemu"], &missing);
    }
    let Some(qemu) = old_qemu() else {
        let reason = "QEMU 8 and newer cannot go on with a vhost-user-rng device whose server was killed";
        return skip_test(
            &["qemu7"],
            &Missing::new("a QEMU older than 8", reason, "install one, or name one by TOLLWAY_QEMU"),
        );
    };
    let output = Spawn::new(env::current_exe().unwrap())
        .args(["--exact", "guest::goes_on_with_the_next_server", "--ignored", "--nocapture", "--quiet"])
        .env(QEMU, qemu)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    println!("{}", text(&output.stdout));
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// The QEMU that was named, or the system's, if it is old enough.
fn old_qemu() -> Option<PathBuf> {
    let named = env::var_os(QEMU).map(PathBuf::from);
    let program = named.unwrap_or_else(|| "/usr/bin/qemu-system-x86_64".into());
    let output = Spawn::new(&program).arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let major: u32 = said.split_once("version ")?.1.split('.').next()?.parse().ok()?;
    (major < 8).then_some(program)
}

/// Not a test of its own: needs a variable, which only a process of its own can be given.
#[test]
#[ignore = "a test of this file starts it, with a variable that only a process of its own can have"]
fn goes_on_with_the_next_server() {
    if env::var_os(QEMU).is_none() {
        return;
    }
    let mut served = Served::start(true);
    served.draws();
    let Served { server, arguments, state, mut agent, guest, _folder, _turn } = served;
    server.kill();
    let server = start(&arguments);
    let begun = Instant::now();
    draw(&mut agent, 4096);
    println!("goes on {:?} after the next server was ready", begun.elapsed());
    // Linux had some bytes beforehand.
    assert!(status(&state)["tenants"][0]["bytes"].as_u64().unwrap() >= 2048);
    guest.stop(PATIENCE).unwrap();
    wait_until(&state, |now| now["tenants"][0]["connected"] == false, "its end is not noticed");
    server.ends_well(rustix::process::Signal::TERM);
}
