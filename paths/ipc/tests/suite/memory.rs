//! Memory taken and given back: by calls, by io_uring, by a server; every call did what it is for, and entries of the kernel are counted.

use std::cell::Cell;
use std::io;

use tollway_ipc::engine::memory::{Memory, PAGE, calls};

use crate::played::{played, point};

#[test]
fn calls_are_done_and_entries_counted() {
    let Some((spread, tally)) = played("memory-sync", &[("pages", 3.into())]) else { return };
    assert_eq!(tally.counters["operations"], tally.counters["kernel_entries"]);
    assert!(spread.ops <= tally.counters["operations"]);
    for (concurrency, cores) in [(1, "one"), (64, "one"), (5, "two")] {
        let axes = [("concurrency", concurrency.into()), ("cores", cores.into())];
        let Some((_, tally)) = played("memory-async", &axes) else { continue };
        let (entries, done) = (tally.counters["kernel_entries"], tally.counters["operations"]);
        // The kernel is entered to submit, and to sleep until something is done; never much more than twice a call, and of many at once seldom.
        assert!(entries > 0 && entries <= 3 * done + 16, "{axes:?}: {entries} of {done}");
        let Some((_, tally)) = played("memory-server", &axes) else { continue };
        assert_eq!(tally.counters["operations"], tally.counters["served"]);
    }
    // As many pages are taken as are given back in each sample, though one of the two is the dearer.
    for size in [4096u64, 65536, 1 << 22] {
        let Some((spread, _)) = played("page-call", &[("size", size.into())]) else { continue };
        assert!(spread.batch.is_multiple_of(2), "{size}: samples of {}", spread.batch);
    }
    played("kernel-call", &[("placement", "same".into()), ("depth", 7.into())]);
}

#[test]
fn a_polled_ring_is_asked_without_entries() {
    let axes = [("concurrency", 32.into()), ("submission", "polled".into())];
    if let Some((_, tally)) = played("memory-async", &axes) {
        assert!(tally.counters["operations"] > 0);
    }
    let refused = point("memory-async", &[("cores", "one".into()), ("submission", "polled".into())]);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("axis `submission`") && refused.contains("take cores=two"), "{refused}");
}

#[test]
fn what_is_no_page_is_refused() {
    for bytes in [0, 1, PAGE + 8] {
        let refused = Memory::new(1, bytes).err().unwrap().to_string();
        assert!(refused.contains("multiple of 4096"), "{refused}");
    }
    let refused = point("page-call", &[("size", 5000.into())]).unwrap_err().to_string();
    assert!(refused.contains("multiple of 4096"), "{refused}");
}

/// Calls that do nothing, or are not made, are found out: by asking the kernel, and by what stands in the pages.
#[test]
fn calls_that_do_nothing_are_found_out() {
    let memory = Memory::new(1, 4 * PAGE).unwrap();
    assert!(memory.proves(|_, _| Ok(())).unwrap_err().to_string().contains("PopulateWrite"));
    let kept = Cell::new(0);
    let gives_nothing_back = |part, advice| match kept.replace(kept.get() + 1) {
        0 => calls::advise(&memory, part, advice),
        _ => Ok(()),
    };
    assert!(memory.proves(gives_nothing_back).unwrap_err().to_string().contains("DontNeed"));
    let refuses = |_, _| Err(io::Error::from_raw_os_error(22));
    assert!(memory.proves(refuses).unwrap_err().to_string().contains("5.14"));
    memory.proves(|part, advice| calls::advise(&memory, part, advice)).unwrap();

    let mut user = memory.user(0);
    for turn in 0..4 {
        let (part, advice) = user.asks(&memory);
        calls::advise(&memory, part, advice).unwrap();
        assert!(user.has(&memory), "{turn}");
    }
    // Populated, and then not given back.
    let (part, advice) = user.asks(&memory);
    calls::advise(&memory, part, advice).unwrap();
    assert!(user.has(&memory) && user.has(&memory) && !user.has(&memory));
}
