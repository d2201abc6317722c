//! QEMU's disks without a guest: its storage daemon serves images that are encrypted here, and what it encrypts is decrypted here. Where
//! there is no such daemon, nothing is.

use std::time::Duration;

use crate::quiet::is_quiet;
use tollway_core::{Clock, Error, Lot, Params, Place, Recorder, Requirement, TenantKind, Value, Window};
use tollway_host::clock::{self, RunClock};
use tollway_host::requirement::test_has;
use tollway_machine::engine::disk::Pattern;
use tollway_machine::engine::image::{Drive, Format, Image, Medium, PACKAGE, PROGRAM, Server};

const MIB: u64 = 1 << 20;

fn can() -> bool {
    test_has(&[(Requirement::Program(PROGRAM.into(), PACKAGE.into()), "qemu")])
}

/// A load on an image in memory that is played until so many came back; what became of it, and the image.
fn played(format: Format, pattern: Pattern, size: usize, depth: usize, requests: usize) -> (Drive, Server) {
    let image = Image::make(Medium::Memory, format, 4 * MIB, 7).unwrap();
    let server = Server::start(&[&image]).unwrap();
    let drive = Drive::connect(server.socket(0), image, pattern, size, depth, 7);
    let mut drive = drive.map_err(|e| server.explained(e)).unwrap();
    let mut left = requests;
    let ran = drive.run(RunClock::chosen(), |_, took| {
        left = left.saturating_sub(took.len());
        if left == 0 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    });
    ran.map_err(|e| server.explained(e)).unwrap();
    (drive, server)
}

#[test]
fn what_qemu_decrypts_is_what_was_encrypted_here_and_the_other_way_round() {
    if !can() {
        return;
    }
    for format in [Format::Raw, Format::Luks] {
        for (pattern, size, depth) in [
            (Pattern::Read, 4096, 1),
            (Pattern::RandRead, 512, 32),
            (Pattern::Write, 1 << 20, 2),
            (Pattern::RandWrite, 4096, 8),
            (Pattern::RandRw, 8192, 16),
        ] {
            let (drive, _server) = played(format, pattern, size, depth, 100);
            let (read, written) = drive.counts();
            assert!(read + written >= 100, "{format:?} {pattern:?}: {read} and {written}");
            assert_eq!(
                (read > 0, written > 0),
                (!matches!(pattern, Pattern::Write | Pattern::RandWrite), pattern.writes())
            );
            let image = drive.verified(4 * MIB).unwrap_or_else(|e| panic!("{format:?} {pattern:?}: {e}"));
            image.check(4096, 0..1024).unwrap();
        }
    }
}

/// Plays a trial of a variant in a thread of this process: operations, ticks of the median, ticks that all took.
fn trial(variant: &str, axes: &[(&str, Value)], batch: u32) -> Result<(u64, f64, Recorder), Error> {
    let path = tollway_machine::path();
    let variant = path.variant(variant)?;
    let params = axes.iter().fold(Params::new(), |params, (name, value)| params.with(*name, value.clone()));
    let params = params.complete(&variant.axes())?;
    let plan = variant.plan(&params)?;
    let mut actor = variant.actor(&plan.roles[0].name, &params)?;
    let lot = Lot { number: 0, seed: u64::MAX };
    actor.ready(&Place {
        tenant: TenantKind::Process,
        peers: Vec::new(),
        doorbells: Vec::new(),
        exits: None,
        lot,
    })?;
    let hz = clock::hz()?;
    let ticks = |time: Duration| (time.as_secs_f64() * hz) as u64;
    let warm = RunClock::chosen().now() + ticks(Duration::from_millis(1));
    let open = warm + ticks(Duration::from_millis(5));
    let close = open + ticks(Duration::from_millis(60));
    let mut recorder = Recorder::new();
    actor.run(&Window { warm, open, close, batch, planted: 0 }, &mut recorder)?;
    actor.park();
    actor.verify()?;
    let median = recorder.spread().quantile(0.5).expect("nothing was recorded");
    Ok((recorder.total().0, median, recorder))
}

#[test]
fn encryption_by_itself_takes_longer_the_more_there_is_to_encrypt() {
    if !can() {
        return;
    }
    for direction in ["read", "write"] {
        let of = |size: u64| {
            let axes = [("size", size.into()), ("direction", direction.into())];
            trial("luks", &axes, 0).unwrap()
        };
        let ((_, small, _), (ops, large, recorder)) = (of(4096), of(1 << 20));
        println!("{direction}: {small:.0} and {large:.0} ticks");
        // 256 times as much; what a request costs besides leaves room. Where others have the processors, it is a difference of their moments.
        assert!(!is_quiet() || large > 20.0 * small.max(1.0), "{direction}: {small} and {large}");
        // What took so long is the encryption, not the window: that holds as many plain requests besides.
        let took = recorder.stretch().unwrap() as f64;
        assert!(ops > 0 && took > 0.0, "{ops} {took}");
    }
}

#[test]
fn an_image_gives_what_its_axes_say_and_is_refused_what_it_cannot_hold() {
    if !can() {
        return;
    }
    for disk in ["raw", "luks"] {
        let axes =
            [("disk", disk.into()), ("mib", 8.into()), ("pattern", "write".into()), ("depth", 4.into())];
        let (ops, median, _) = trial("image", &axes, 0).unwrap();
        assert!(ops > 0 && median > 0.0, "{disk}: {ops}");
    }
    let refused = |axes: &[(&str, Value)]| trial("image", axes, 0).err().unwrap().to_string();
    assert!(
        refused(&[("size", (16 * MIB).into()), ("depth", 64.into()), ("mib", 4096.into())])
            .contains("`size` and `depth`")
    );
    assert!(refused(&[("size", MIB.into()), ("mib", 8.into())]).contains("take 64 MiB"));
    assert!(refused(&[("disk", "qcow2".into())]).contains("axis `disk`"));
}

#[test]
fn no_daemon_outlives_its_server() {
    if !can() {
        return;
    }
    let (drive, server) = played(Format::Raw, Pattern::Read, 4096, 1, 1);
    let socket = server.socket(0).to_owned();
    let name = socket.to_string_lossy().trim_start_matches('\0').to_owned();
    let listens = || std::fs::read_to_string("/proc/net/unix").unwrap().contains(&format!("@{name}"));
    assert!(listens());
    drop((drive, server));
    assert!(!listens(), "{name}");
}
