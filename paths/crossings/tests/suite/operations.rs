//! The operations on their own, without variants or a lab: that they do what they say, and that each notices when it
//! did not.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use tollway_core::{Error, Lot, Params, Place, Result, TenantKind, Value};
use tollway_crossings::engine::Operation;
use tollway_crossings::engine::atomics::AtomicAdd;
use tollway_crossings::engine::disk::{CachedRead, DirectRead, DirectWrite, DurableWrite};
use tollway_crossings::engine::faults::{GiveBackAndTouch, MinorFault};
use tollway_crossings::engine::mappings::{MapUnmap, ProtectUnprotect};
use tollway_crossings::engine::memory_copy::MemoryCopy;
use tollway_crossings::engine::ring::{Batch, Nop, NullWrite};
use tollway_crossings::engine::signal::SelfSignal;
use tollway_crossings::engine::single::{KINDS, SystemCall};
use tollway_crossings::engine::start::{ProcessStart, ThreadStart};

use crate::eventually::eventually;
use crate::quiet::is_quiet;

fn make<O: Operation>(axes: &[(&str, Value)]) -> Result<O> {
    let params = axes.iter().fold(Params::new(), |p, (name, value)| p.with(*name, value.clone()));
    let place = Place {
        tenant: TenantKind::Thread,
        peers: Vec::new(),
        doorbells: Vec::new(),
        exits: None,
        lot: Lot::default(),
    };
    O::prepare(&params, &place)
}

/// Calls it so often; returns how many operations that were.
fn call(operation: &mut impl Operation, calls: u64) -> u64 {
    for _ in 0..calls {
        if operation.uses_up() {
            operation.restock();
        }
        operation.once();
    }
    calls * u64::from(operation.operations())
}

/// Verifies what was done, and that more than was done is not verified.
fn counts<O: Operation>(axes: &[(&str, Value)], calls: u64) {
    let name = std::any::type_name::<O>();
    let mut operation = match make::<O>(axes) {
        Err(Error::Missing(missing)) => return println!("{name} skipped: {missing}"),
        made => made.unwrap(),
    };
    let done = call(&mut operation, calls);
    operation.verify(done).unwrap_or_else(|e| panic!("{name}: {e}"));
    let error = operation.verify(done + 1000).expect_err(name);
    assert!(matches!(error, Error::Wrong(_)), "{name}: {error}");
}

#[test]
fn work_that_did_not_happen_is_noticed() {
    counts::<AtomicAdd>(&[], 10);
    counts::<SelfSignal>(&[], 10);
    counts::<MinorFault>(&[], 3);
    counts::<GiveBackAndTouch>(&[], 10);
    counts::<MapUnmap>(&[("kind", "touched".into())], 10);
    counts::<ThreadStart>(&[], 3);
    counts::<Batch<Nop>>(&[("depth", 5.into())], 3);
    counts::<Batch<NullWrite>>(&[("depth", 5.into())], 3);
    counts::<DirectWrite>(&[("size", 4096.into())], 70);
    counts::<DurableWrite>(&[("size", 4096.into())], 3);
}

#[test]
fn calls_that_were_not_made_are_noticed() {
    for kind in KINDS {
        for (size, warmth) in [(kind.most.min(1), "hot"), (kind.most, "hot"), (kind.most, "cold")] {
            let axes = [("kind", kind.name.into()), ("size", size.into()), ("warmth", warmth.into())];
            counts::<SystemCall>(&axes, 3);
        }
    }
}

#[test]
fn signals_are_counted_by_thread() {
    let threads: Vec<_> = (1..=4u64)
        .map(|n| {
            std::thread::spawn(move || {
                let mut signal = make::<SelfSignal>(&[]).unwrap();
                let done = call(&mut signal, n * 100);
                signal.verify(done).unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn copies_of_every_size_are_whole() {
    for size in [1u64, 63, 64, 65, 1514, 4095, 4096, 4097, 65536] {
        for warmth in ["hot", "cold"] {
            let mut copy = make::<MemoryCopy>(&[("size", size.into()), ("warmth", warmth.into())]).unwrap();
            let done = call(&mut copy, 2);
            copy.verify(done).unwrap();
        }
    }
}

#[test]
fn a_protected_page_cannot_be_written() {
    let mut protect = make::<ProtectUnprotect>(&[]).unwrap();
    let done = call(&mut protect, 10);
    protect.verify(done).unwrap();
}

#[test]
fn processes_and_threads_end_as_they_should() {
    for kind in ["fork", "spawn", "exec", "exec-forked", "exit", "exit-thread"] {
        let mut start = make::<ProcessStart>(&[("kind", kind.into())]).unwrap();
        let done = call(&mut start, 2);
        start.verify(done).unwrap();
    }
}

/// A thread leaves memory, files and signals to the others of its process.
#[test]
fn a_threads_end_is_less_than_its_process_end() {
    let work = |kind: &str| {
        let mut end = make::<ProcessStart>(&[("kind", kind.into())]).unwrap();
        let done = call(&mut end, 20);
        end.verify(done).unwrap();
        end.tally(done).counters["work"]
    };
    let (thread, process) = (work("exit-thread"), work("exit"));
    assert!(thread > 0 && process > 0);
    assert!(!is_quiet() || thread < process, "{thread} and {process} ticks");
}

#[test]
fn blocks_are_read_whole() {
    for size in [512u64, 4096, 65536] {
        let mut cached = make::<CachedRead>(&[("size", size.into())]).unwrap();
        let done = call(&mut cached, 20);
        cached.verify(done).unwrap();
    }
    match make::<DirectRead>(&[("size", 4096.into())]) {
        Ok(mut direct) => {
            let done = call(&mut direct, 20);
            direct.verify(done).unwrap();
        }
        Err(error) => assert!(matches!(error, Error::Missing(_)), "{error}"),
    }
}

#[test]
fn part_of_a_sector_is_refused_with_a_remedy() {
    match make::<DirectRead>(&[("size", 520.into())]) {
        Err(Error::Missing(missing)) => assert!(missing.remedy.contains("whole sectors"), "{missing}"),
        Err(error) => panic!("{error}"),
        // A file system without sectors (tmpfs) takes any size.
        Ok(_) => {}
    }
}

#[test]
fn a_scratch_file_has_no_name() {
    let read = make::<CachedRead>(&[("size", 4096.into())]).unwrap();
    let prefix = format!(".tollway-{}-", std::process::id());
    let named = |folder: PathBuf| {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries.filter(|e| e.file_name().to_string_lossy().starts_with(&prefix)).count()
    };
    // What other tests have there has a name for a while.
    eventually("a scratch file loses its name", || named(tollway_host::scratch::folder()) == 0);
    drop(read);
}

/// Runs itself with a folder that is not there: the variable is read where the file is made, in another process.
#[test]
fn a_folder_that_is_not_there_is_missing_with_a_remedy() {
    const NOWHERE: &str = "/nowhere/at/all";
    if env::var_os(tollway_host::scratch::FOLDER).is_some_and(|f| f == NOWHERE) {
        let Err(Error::Missing(missing)) = make::<CachedRead>(&[("size", 4096.into())]) else {
            panic!("a file was made in {NOWHERE}")
        };
        assert!(
            missing.what.contains(NOWHERE) && missing.remedy.contains(tollway_host::scratch::FOLDER),
            "{missing}"
        );
        return;
    }
    let again = Command::new(env::current_exe().unwrap())
        .args(["--exact", "operations::a_folder_that_is_not_there_is_missing_with_a_remedy"])
        .env(tollway_host::scratch::FOLDER, NOWHERE)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&again.stdout);
    // Of a name that is no test's none runs, which is a success.
    assert!(again.status.success() && said.contains("1 passed"), "{said}");
}
