//! Calls by other tables than that of 64 bits: by every way that tells calls apart they have their own names, and the files
//! that they are on.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{built_with, same};
use crate::eventually::eventually;
use crate::kernel::{self, counted};
use tollway_host::requirement::skip_test;
use tollway_watch::numbers::{name, table};
use tollway_watch::traced::Traced;
use tollway_watch::{Counts, FileKind};

/// Calls of other tables by table, name and file: how many there were, how many failed, and the bytes.
type Others = BTreeMap<(&'static str, &'static str, FileKind), (u64, u64, u64)>;

fn others(counts: &Counts) -> Others {
    let mut others = Others::new();
    for calls in counts.threads.iter().flat_map(|thread| &thread.calls) {
        let Some(table) = table(calls.number) else { continue };
        let known = others.entry((table, name(calls.number).unwrap_or("?"), calls.file.kind)).or_default();
        known.0 += calls.count;
        known.1 += calls.failed.unwrap();
        known.2 += calls.results.unwrap();
    }
    others
}

/// What a program makes by every way.
fn by_every_way(program: &Path, arguments: &[&str]) -> Vec<Counts> {
    let mut traced = kernel::command(program, arguments);
    let traced = Traced::start(&mut traced).unwrap();
    traced.wait().unwrap();
    eventually("the end of all", || traced.is_over());
    [counted(program, arguments), traced.counts().ok()].into_iter().flatten().collect()
}

/// A kernel without calls of 32 bits ends who makes one.
fn has_calls_of_32_bits(counts: &Counts) -> bool {
    let has = others(counts).values().any(|(count, ..)| *count > 1);
    if !has {
        skip_test(&["ia32"], &"this kernel has no calls of 32 bits (CONFIG_IA32_EMULATION)");
    }
    has
}

#[test]
fn in_a_program_of_64_bits() {
    let Some(same) = same() else { return };
    for counts in by_every_way(same, &["other-tables"]) {
        if !has_calls_of_32_bits(&counts) {
            return;
        }
        let mut found = others(&counts);
        // Where the kernel has no x32, all of these fail.
        for (call, count) in [("getpid", 40), ("readv", 50)] {
            let kind = if call == "readv" { FileKind::Zero } else { FileKind::None };
            assert_eq!(found.remove(&("x32", call, kind)).map(|known| known.0), Some(count), "{counts:?}");
        }
        let expected = [
            (("32-bit", "?", FileKind::None), (1, 1, 0)),
            (("32-bit", "close", FileKind::None), (20, 20, 0)),
            (("32-bit", "exit", FileKind::None), (1, 0, 0)),
            (("32-bit", "getpid", FileKind::None), (10, 0, 10 * u64::from(counts.threads[0].process))),
            (("32-bit", "read", FileKind::Zero), (30, 0, 30 * 8)),
            (("x32", "?", FileKind::None), (1, 1, 0)),
        ];
        assert_eq!(found, BTreeMap::from(expected), "{counts:?}");
        let native = counts.threads.iter().flat_map(|thread| &thread.calls);
        let unknown = native.filter(|calls| table(calls.number).is_none() && name(calls.number).is_none());
        assert_eq!(unknown.map(|calls| calls.count).sum::<u64>(), 1, "{counts:?}");
    }
}

#[test]
fn in_a_program_of_32_bits() {
    let alone =
        ["-m32", "-static", "-nostdlib", "-ffreestanding", "-fno-pie", "-no-pie", "-fno-stack-protector"];
    let (_folder, program) = match built_with("bits32", &alone) {
        Ok(built) => built,
        Err(reason) => return skip_test(&["ia32"], &reason),
    };
    if std::process::Command::new(&program).status().is_err() {
        return skip_test(&["ia32"], &"this kernel runs no programs of 32 bits (CONFIG_IA32_EMULATION)");
    }
    for counts in by_every_way(&program, &[]) {
        let pid = u64::from(counts.threads[0].process);
        let expected = [
            (("32-bit", "close", FileKind::None), (1, 1, 0)),
            (("32-bit", "exit_group", FileKind::None), (1, 0, 0)),
            (("32-bit", "getpid", FileKind::None), (100, 0, 100 * pid)),
            (("32-bit", "open", FileKind::None), (1, 0, 3)),
            (("32-bit", "read", FileKind::Zero), (100, 0, 500)),
        ];
        assert_eq!(others(&counts), BTreeMap::from(expected), "{counts:?}");
        let all: u64 = counts.threads.iter().flat_map(|thread| &thread.calls).map(|calls| calls.count).sum();
        // And the one that made it, of the table of the program that it was before.
        assert_eq!(all, 204, "{counts:?}");
    }
}
