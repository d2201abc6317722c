//! Options, files, signals, sockets; what nobody may look into.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tollway_cipher::engine::driver::{Driver, Handle, Options};
use tollway_virtio::frontend::{Link, LinkOptions};

use crate::eventually::eventually;
use crate::program::*;
use crate::tenancy::{ENCRYPT, encrypts};

const KEY: [u8; 16] = *b"a key of sixteen";

/// A tenant with a session.
fn connect(socket: &str) -> (Driver, Handle) {
    let mut driver = Driver::connect(socket.as_ref(), &Options::default()).unwrap();
    let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
    (driver, session)
}

/// Has a text of so many bytes encrypted, which another library does, too.
fn encrypt(driver: &mut Driver, session: Handle, bytes: usize) {
    encrypts(driver, 0, &KEY, session, bytes, 1, 1);
}

#[test]
fn it_serves_tells_how_it_goes_and_ends_clean() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, state] = ["a.sock", "b.sock", "state.sock"].map(|name| text(&folder.path().join(name)));
    let function_b = format!("b={b},limit=1M,burst=8k,weight=3,tell=8/50us");
    let arguments = ["--function", &format!("a={a}"), "--function", &function_b, "--status", &state];
    let server = Serving::start(&arguments);
    assert_eq!(server.ready.trim(), format!("ready: a at {a}, b at {b}; status at {state}"));
    for socket in [&a, &b, &state] {
        assert_eq!(fs::metadata(socket).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let (mut driver, session) = connect(&a);
    encrypt(&mut driver, session, 4096);
    encrypt(&mut driver, session, 64);

    let mut now = status(&state);
    // An answer is the driver's before the function is done with it.
    eventually("all is answered", || {
        now = status(&state);
        now["queue"]["now"] == 0
    });
    let of = |name: &str, field: &str| {
        let functions = now["functions"].as_array().unwrap();
        functions.iter().find(|function| function["name"] == name).unwrap()[field].clone()
    };
    assert_eq!((of("a", "bytes"), of("a", "requests")), (4160.into(), 2.into()));
    assert_eq!((of("a", "sessions"), of("a", "failed")), (1.into(), 0.into()));
    assert_eq!((of("a", "connected"), of("a", "served")), (true.into(), true.into()));
    assert_eq!((of("b", "connected"), of("b", "weight")), (false.into(), 3.into()));
    assert_eq!((of("b", "limit"), of("b", "burst")), (1_000_000.into(), 8000.into()));
    assert!(now["cards"][0]["engines"][0].as_f64().unwrap() > 0.0 && now["seconds"].as_f64().unwrap() > 0.0);
    // One at a time.
    assert_eq!((&now["queue"]["most"], &now["queue"]["now"]), (&1.into(), &0.into()));
    assert_eq!(of("a", "queue"), now["queue"]);
    let stood = now["queue"]["seconds"].as_f64().unwrap();
    assert!(stood > 0.0 && stood < now["seconds"].as_f64().unwrap(), "{now}");
    assert_eq!(of("b", "queue")["mean"].as_f64(), Some(0.0));

    // A second one on the same sockets is refused, and changes nothing.
    let (good, _, error) = run(&["serve", "--function", &format!("a={a}")]);
    assert!(!good && error.contains("somebody serves it"), "{error}");
    encrypt(&mut driver, session, 64);

    let said = server.ends_well(Signal::TERM);
    for line in ["event=connected tenant=a", "event=started tenant=a", "event=stopping"] {
        assert!(said.contains(line), "{said}");
    }
    assert!(!said.contains("event=warning"), "{said}");
    assert!([a, b, state].iter().all(|socket| !fs::exists(socket).unwrap()), "sockets are left");
}

#[test]
fn each_is_put_on_a_card_behind_the_front() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, state] = ["a.sock", "b.sock", "state.sock"].map(|name| text(&folder.path().join(name)));
    let functions = [format!("a={a}"), format!("b={b}")];
    let server = Serving::start(&[
        "--function",
        &functions[0],
        "--function",
        &functions[1],
        "--status",
        &state,
        "--cards",
        "2",
    ]);
    for (socket, name) in [(&a, "a"), (&b, "b")] {
        let (mut driver, session) = connect(socket);
        encrypt(&mut driver, session, 4096);
        let now = status(&state);
        let function = now["functions"].as_array().unwrap().iter().find(|f| f["name"] == name).unwrap();
        // Whoever is gone makes room: the first is the one that has nobody, and it was nowhere else.
        assert_eq!((&function["card"], &function["requests"]), (&0.into(), &1.into()), "{now}");
        assert_eq!((&now["cards"][0]["runs"], &now["cards"][1]["runs"]), (&true.into(), &true.into()));
        drop(driver);
        let is_there = |f: &serde_json::Value| f["connected"] == true;
        eventually("it notices that nobody is there", || {
            !status(&state)["functions"].as_array().unwrap().iter().any(is_there)
        });
    }
    let tenants = [connect(&a), connect(&b)];
    let now = status(&state);
    let cards = now["functions"].as_array().unwrap().iter().map(|f| f["card"].as_u64());
    assert_eq!(cards.collect::<Vec<_>>(), [Some(0), Some(1)]);
    drop(tenants);
    server.signal(Signal::TERM);
    let (good, said) = server.end();
    assert!(good && said.contains("event=placed tenant=b reason=\"card 1\""), "{said}");
}

/// Whoever reads the log need not know the protocols to know what to do.
#[test]
fn what_is_refused_is_told_with_its_place_and_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let [a, state] = ["a.sock", "state.sock"].map(|name| text(&folder.path().join(name)));
    let server = Serving::start(&["--function", &format!("a={a}"), "--status", &state]);
    // A message that there is not; then queues with more in them than they have room for.
    let mut peer = std::os::unix::net::UnixStream::connect(&a).unwrap();
    let message: Vec<u8> = [99u32, 1, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
    peer.write_all(&message).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    let mut link = Link::connect(a.as_ref(), &LinkOptions { queues: 2, ..LinkOptions::default() }).unwrap();
    link.area().write(0, &vec![0xff; link.free()]);
    link.lane(0).kick_anyway();
    wait_until(&state, |now| now["functions"][0]["refused_chains"] == 2, "its queues are not given up");
    let said = server.ends_well(Signal::TERM);
    let line = |part: &str| said.lines().find(|line| line.contains(part)).expect(&said).to_owned();
    let told = line("reason=\"message 99 is not known here\"");
    assert!(
        told.contains("event=refused tenant=a ") && told.contains("remedy=\"connect a front end"),
        "{told}"
    );
    for queue in ["queue=0", "queue=1"] {
        let told = line(&format!("event=refused tenant=a {queue} reason="));
        assert!(told.contains("remedy=\"load the guest's driver again"), "{told}");
    }
}

/// Keys are in its memory: it leaves no core, and its memory is nobody's who has no right to all of it.
#[test]
fn nobody_looks_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let a = text(&folder.path().join("a.sock"));
    let server = Serving::start(&["--function", &format!("a={a}")]);
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let words: Vec<&str> = core.split_whitespace().collect();
    assert_eq!(words[4..6], ["0", "0"], "{core}");
    // What is not dumpable belongs to root (proc(5), PR_SET_DUMPABLE).
    use std::os::unix::fs::MetadataExt;
    let owner = fs::metadata(format!("/proc/{}/mem", server.id())).unwrap().uid();
    assert_eq!(owner, 0);
    if !rustix::process::geteuid().is_root() {
        fs::File::open(format!("/proc/{}/mem", server.id())).unwrap_err();
    }
    // A signal that would leave a core leaves none: the kernel says in the exit status whether it did (wait(2)).
    server.signal(Signal::QUIT);
    assert!(!server.left_a_core());
}

#[test]
fn a_killed_one_is_followed_by_another_and_interruption_is_a_good_end() {
    let folder = tempfile::tempdir().unwrap();
    let a = text(&folder.path().join("a.sock"));
    let arguments = ["--function", &format!("a={a}"), "--json"];
    let first = Serving::start(&arguments);
    let (mut driver, session) = connect(&a);
    encrypt(&mut driver, session, 64);
    first.kill();
    assert!(fs::exists(&a).unwrap());
    let second = Serving::start(&arguments);
    let ready: serde_json::Value = serde_json::from_str(&second.ready).unwrap();
    assert_eq!((&ready["functions"]["a"], &ready["status"]), (&a.clone().into(), &serde_json::Value::Null));
    let (mut driver, session) = connect(&a);
    encrypt(&mut driver, session, 64);
    second.ends_well(Signal::INT);
}

#[test]
fn limits_and_ways_to_tell_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| text(&folder.path().join(name));
    let (a, state, file) = (at("a.sock"), at("state.sock"), at("serve.toml"));
    let write = |limit: u64, tell: &str, more: &str| {
        let text = format!(
            "status = \"{state}\"\nmode = \"660\"\n{more}\n\
             [[function]]\nname = \"a\"\nsocket = \"{a}\"\nlimit = {limit}\nburst = 1\ntell = \"{tell}\"\n"
        );
        fs::write(&file, text).unwrap();
    };
    write(20, "each", "");
    let server = Serving::start(&["--config", &file]);
    assert_eq!(fs::metadata(&a).unwrap().permissions().mode() & 0o777, 0o660);
    let (mut driver, session) = connect(&a);
    let mut lasted = |rounds, bytes| {
        let begun = Instant::now();
        (0..rounds).for_each(|_| encrypt(&mut driver, session, bytes));
        begun.elapsed()
    };
    // Twelve, of which one is there at once, at twenty a second.
    let slow = lasted(12, 64);
    assert!(slow >= Duration::from_millis(450), "{slow:?}");

    write(1_000_000, "100ms", "queues = 2");
    server.signal(Signal::HUP);
    wait_until(&state, |now| now["functions"][0]["limit"] == 1_000_000, "the limit is not taken over");
    // Each is held for a tenth of a second now: who sleeps until it is told is told as late. Some are done before anybody sleeps,
    // where both have one core.
    let interrupts = || status(&state)["functions"][0]["interrupts"].as_u64().unwrap();
    let before = interrupts();
    let mut asked = 0;
    eventually("one is held", || {
        asked += 1;
        lasted(1, 65_536) >= Duration::from_millis(100)
    });
    assert!(interrupts() - before <= asked + 1);

    fs::write(&file, "nonsense = 1").unwrap();
    server.signal(Signal::HUP);
    lasted(1, 64);
    assert!(status(&state)["functions"][0]["limited"].as_f64().unwrap() > 0.0);
    has_reloaded(&server.ends_well(Signal::TERM), "queues");
}

#[test]
fn what_does_nothing_or_harm_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let function = |name: &str, more: &str| format!("{name}={}{more}", text(&folder.path().join(name)));
    let (a, b) = (function("a", ",rank=1,tell=8"), function("b", ",weight=2,tell=never"));
    let server =
        Serving::start(&["--function", &a, "--function", &b, "--order", "arrival", "--engines", "3"]);
    let said = server.ends_well(Signal::TERM);
    let warnings: Vec<&str> = said.lines().filter(|line| line.contains("event=warning")).collect();
    for told in [
        "tenant=a reason=\"rank 1 does nothing",
        "tenant=a reason=\"a guest with fewer than 8 requests",
        "tenant=b reason=\"weight 2 does nothing",
        "tenant=b reason=\"a guest that sleeps until it is told",
        "reason=\"3 engines for 2 functions",
    ] {
        assert!(
            warnings.iter().any(|line| line.contains(told) && line.contains("remedy=")),
            "{told}: {said}"
        );
    }
}

#[test]
fn what_cannot_be_is_told_with_place_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let [a, file, nobody] = ["a.sock", "file", "nobody.sock"].map(|name| text(&folder.path().join(name)));
    fs::write(&file, "kept").unwrap();
    let function = format!("a={a}");
    are_refused(&[
        (vec!["serve"], "--function"),
        (vec!["serve", "--function", "a"], "NAME=SOCKET"),
        (vec!["serve", "--function", &format!("a={a},tell=soon")], "write each"),
        (vec!["serve", "--function", &format!("a={file}")], "something else is there"),
        (vec!["serve", "--function", "a=/no/such/a.sock"], "name a folder that exists"),
        (vec!["serve", "--function", &function, "--function", &function], "two are called a"),
        (vec!["serve", "--function", &function, "--mode", "1777"], "no permissions"),
        (vec!["serve", "--function", &function, "--longest", "100"], "4096"),
        (vec!["serve", "--config", &nobody], "can be read"),
        (vec!["serve", "--config", &file, "--engines", "2"], "cannot be used with"),
        (vec!["serve", "--config", &file], "every word"),
        (vec!["status", &nobody], "given as --status"),
    ]);
    assert_eq!(fs::read(&file).unwrap(), b"kept");
    assert!(!fs::exists(&a).unwrap());
}
