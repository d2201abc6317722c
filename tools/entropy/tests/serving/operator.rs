//! Options, files, signals, sockets.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use rustix::process::Signal;
use tollway_virtio::frontend::{Frontend, Options};

use super::program::*;

/// Draws one buffer.
fn draw(frontend: &mut Frontend, bytes: usize) -> Vec<u8> {
    frontend.offer(0, bytes as u32).unwrap();
    frontend.kick();
    let used = frontend.wait(PATIENCE).unwrap().expect("nothing came");
    assert_eq!(used.bytes as usize, bytes);
    let mut content = vec![0; bytes];
    frontend.copy(0, &mut content);
    content
}

#[test]
fn it_serves_tells_how_it_goes_and_ends_clean() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, state] = ["a.sock", "b.sock", "state.sock"].map(|name| text(&folder.path().join(name)));
    let tenant_b = format!("b={b},limit=1M,burst=8k,weight=3");
    let arguments =
        ["--tenant", &format!("a={a}"), "--tenant", &tenant_b, "--source", "getrandom", "--status", &state];
    let server = Serving::start(&arguments);
    assert_eq!(server.ready.trim(), format!("ready: a at {a}, b at {b}; status at {state}"));
    for socket in [&a, &b, &state] {
        assert_eq!(fs::metadata(socket).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let mut frontend = Frontend::connect(a.as_ref(), &Options::default()).unwrap();
    let (first, second) = (draw(&mut frontend, 4096), draw(&mut frontend, 100));
    assert_ne!(first[..100], second);
    let mean = first.iter().map(|byte| f64::from(*byte)).sum::<f64>() / 4096.0;
    // Six standard deviations of the mean of 4096 even bytes.
    assert!((mean - 127.5).abs() < 7.0, "{mean}");

    let state_now = status(&state);
    assert_eq!(state_now["healthy"], true);
    let of = |name: &str, field: &str| {
        let tenants = state_now["tenants"].as_array().unwrap();
        tenants.iter().find(|tenant| tenant["name"] == name).unwrap()[field].clone()
    };
    assert_eq!((of("a", "bytes"), of("a", "requests")), (4196.into(), 2.into()));
    assert_eq!(
        (of("a", "connected"), of("a", "served"), of("b", "connected")),
        (true.into(), true.into(), false.into())
    );
    assert_eq!(
        (of("b", "limit"), of("b", "burst"), of("b", "weight")),
        (1_000_000.into(), 8000.into(), 3.into())
    );
    assert!(state_now["sources"][0]["bytes"].as_u64().unwrap() >= 4196);

    // A second one on the same sockets is refused, and changes nothing.
    let (good, _, error) = run(&["serve", "--tenant", &format!("a={a}"), "--source", "getrandom"]);
    assert!(!good && error.contains("somebody serves it"), "{error}");
    draw(&mut frontend, 10);

    let said = server.ends_well(Signal::TERM);
    for line in ["event=connected tenant=a", "event=started tenant=a", "event=stopping"] {
        assert!(said.contains(line), "{said}");
    }
    assert!([a, b, state].iter().all(|socket| !fs::exists(socket).unwrap()), "sockets are left");
    assert!(!frontend.is_connected());
}

#[test]
fn a_killed_one_is_followed_by_another_and_interruption_is_a_good_end() {
    let folder = tempfile::tempdir().unwrap();
    let a = text(&folder.path().join("a.sock"));
    let arguments = ["--tenant", &format!("a={a}"), "--source", "getrandom", "--json"];
    let first = Serving::start(&arguments);
    let mut frontend = Frontend::connect(a.as_ref(), &Options::default()).unwrap();
    draw(&mut frontend, 64);
    frontend.offer(1, 64).unwrap();
    first.kill();
    assert!(fs::exists(&a).unwrap());
    let second = Serving::start(&arguments);
    let ready: serde_json::Value = serde_json::from_str(&second.ready).unwrap();
    assert_eq!((&ready["tenants"]["a"], &ready["status"]), (&a.into(), &serde_json::Value::Null));
    assert_eq!(frontend.reconnect().unwrap(), [1], "what was offered and not kicked is lost too");
    draw(&mut frontend, 64);
    second.ends_well(Signal::INT);
}

#[test]
fn limits_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| text(&folder.path().join(name));
    let (a, state, file) = (at("a.sock"), at("state.sock"), at("serve.toml"));
    let write = |limit: u64, more: &str| {
        let text = format!(
            "source = \"getrandom\"\nstatus = \"{state}\"\nmode = \"660\"\n{more}\n\
             [[tenant]]\nname = \"a\"\nsocket = \"{a}\"\nlimit = {limit}\nburst = 1000\n"
        );
        fs::write(&file, text).unwrap();
    };
    write(20_000, "");
    let server = Serving::start(&["--config", &file]);
    assert_eq!(fs::metadata(&a).unwrap().permissions().mode() & 0o777, 0o660);
    let mut frontend = Frontend::connect(a.as_ref(), &Options::default()).unwrap();
    let begun = Instant::now();
    for _ in 0..3 {
        draw(&mut frontend, 4096);
    }
    // 12,288 bytes, of which 1000 are there at once.
    let took = begun.elapsed().as_secs_f64();
    assert!(took >= 0.55, "{took} s");

    write(50_000_000, "threads = 2");
    server.signal(Signal::HUP);
    wait_until(&state, |now| now["tenants"][0]["limit"] == 50_000_000, "the limit is not taken over");
    // By the old limit each waited for 0.15 s, by the new one for a tenth of a millisecond.
    let limited = || status(&state)["tenants"][0]["limited"].as_f64().unwrap();
    let before = limited();
    for _ in 0..100 {
        draw(&mut frontend, 4096);
    }
    assert!(limited() - before < 10.0, "limited for {before} s, then for {} s", limited());

    fs::write(&file, "nonsense = 1").unwrap();
    server.signal(Signal::HUP);
    draw(&mut frontend, 4096);
    assert!(status(&state)["tenants"][0]["limited"].as_f64().unwrap() > 0.5);
    has_reloaded(&server.ends_well(Signal::TERM), "threads");
}

#[test]
fn what_cannot_be_is_told_with_place_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let [a, file, nobody] = ["a.sock", "file", "nobody.sock"].map(|name| text(&folder.path().join(name)));
    fs::write(&file, "kept").unwrap();
    let tenant = format!("a={a}");
    are_refused(&[
        (vec!["serve"], "--tenant"),
        (vec!["serve", "--tenant", "a"], "NAME=SOCKET"),
        (vec!["serve", "--tenant", &tenant, "--source", "dice"], "no source `dice`"),
        (vec!["serve", "--tenant", &tenant, "--source", "/no/such"], "/no/such: opening it"),
        (vec!["serve", "--tenant", &tenant, "--source", "/dev/zero", "--threads", "2"], "use one thread"),
        (vec!["serve", "--tenant", &format!("a={file}")], "something else is there"),
        (vec!["serve", "--tenant", &tenant, "--source", &file], "the same bytes at every start"),
        (vec!["serve", "--tenant", "a=/no/such/a.sock"], "name a folder that exists"),
        (vec!["serve", "--tenant", &tenant, "--tenant", &tenant], "two are called a"),
        (vec!["serve", "--tenant", &tenant, "--mode", "1777"], "no permissions"),
        (vec!["serve", "--config", &nobody], "can be read"),
        (vec!["serve", "--config", &file, "--threads", "2"], "cannot be used with"),
        (vec!["serve", "--config", &file], "every word"),
        (vec!["status", &nobody], "given as --status"),
    ]);
    assert_eq!(fs::read(&file).unwrap(), b"kept");
    assert!(!fs::exists(&a).unwrap());
}

#[test]
fn a_source_that_has_ended_ends_it_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let [a, state, pipe] = ["a.sock", "state.sock", "pipe"].map(|name| text(&folder.path().join(name)));
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for source in ["/dev/null", pipe.as_str()] {
        let server = Serving::start(&["--tenant", &format!("a={a}"), "--source", source, "--status", &state]);
        if source == pipe {
            fs::write(&pipe, [7; 100]).unwrap();
        }
        let (good, said) = server.end();
        assert!(!good, "{said}");
        assert!(said.contains("event=source-ended thread=0"), "{said}");
        assert!(said.contains("drawing random bytes") && said.contains("it ended after"), "{said}");
        assert!(!fs::exists(&a).unwrap() && !fs::exists(&state).unwrap(), "sockets are left");
    }
}

#[test]
fn a_fifo_without_a_writer_keeps_nobody_from_ending_it() {
    let folder = tempfile::tempdir().unwrap();
    let [a, state, fifo] = ["a.sock", "state.sock", "fifo"].map(|name| text(&folder.path().join(name)));
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for config in [fifo.as_str(), "/dev/zero"] {
        let (good, _, error) = run(&["serve", "--config", config]);
        assert!(!good && error.contains("no regular file"), "{error}");
    }
    let server = Serving::start(&["--tenant", &format!("a={a}"), "--source", &fifo, "--status", &state]);
    assert_eq!(status(&state)["healthy"], false);
    server.ends_well(Signal::TERM);
}
