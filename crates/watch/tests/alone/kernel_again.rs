//! Nothing is left of two hundred stretches of counting and twenty watchers.

use std::time::Instant;

use crate::common::{Killed, read_calls, same};
use crate::eventually::eventually;
use crate::kernel::{command, watch};
use crate::{alone, own};
use tollway_watch::kernel::{Kernel, Watch};

/// Commands of bpf(2) that tell the next number of a program, and of a map (linux/bpf.h).
const NEXT_PROGRAM: i32 = 11;
const NEXT_MAP: i32 = 12;

/// Stretches of counting, and watchers: how many there are is what one thing that each leaves comes to.
const STRETCHES: usize = 200;
const WATCHERS: usize = 20;

/// How many programs, or maps, the kernel has.
fn in_the_kernel(next: i32) -> usize {
    // `start_id`, `next_id`, `open_flags`.
    let mut attributes = [0u32; 4];
    let mut count = 0;
    // SAFETY: the kernel reads and writes these 16 bytes, none of which is an address.
    while unsafe { libc::syscall(libc::SYS_bpf, next, attributes.as_mut_ptr(), 16) } == 0 {
        count += 1;
        attributes[0] = attributes[1];
    }
    count
}

#[test]
fn nothing_is_left() {
    let _alone = alone();
    let Some(same) = same() else { return };
    let Some(first) = watch(true, None) else { return };
    drop(first);
    // It works for a tenth of the time: the processors are for those who begin and end.
    let child = Killed(command(same, &["steady", "3600000", "1", "9"]).spawn().unwrap());
    let process = child.0.id();
    let before = own();
    let kernels = (in_the_kernel(NEXT_PROGRAM), in_the_kernel(NEXT_MAP));

    let begun = Instant::now();
    let mut kernel = Kernel::new(true).unwrap();
    kernel.add(process, process).unwrap();
    kernel.begin().unwrap();
    kernel.pause();
    let attached = (own().0, in_the_kernel(NEXT_PROGRAM));
    for turn in 0..STRETCHES {
        kernel.begin().unwrap();
        if turn % 50 == 0 {
            let before = read_calls(process);
            eventually("it makes a call", || read_calls(process) > before + 1);
        }
        kernel.pause();
    }
    assert_eq!(own().0, attached.0);
    // Others may have made some.
    eventually("their programs' end", || in_the_kernel(NEXT_PROGRAM) < attached.1 + STRETCHES / 2);
    assert!(kernel.harvest().unwrap().iter().any(|seen| !seen.calls.is_empty()));
    drop(kernel);
    println!("a stretch begins and ends in {:?}", begun.elapsed() / STRETCHES as u32);

    let begun = Instant::now();
    for turn in 0..WATCHERS {
        let mut watch = Watch::new(true, None).unwrap();
        if turn % 2 == 0 {
            watch.attach(process).unwrap();
            watch.counts().unwrap();
        }
    }
    println!("a watcher comes and goes in {:?}", begun.elapsed() / WATCHERS as u32);
    eventually("the end of descriptors and threads", || own() == before);
    // One of each that were left would be as many as they; they end a while after their last descriptor.
    eventually("the end of programs and maps", || {
        in_the_kernel(NEXT_PROGRAM) < kernels.0 + WATCHERS / 2
            && in_the_kernel(NEXT_MAP) < kernels.1 + WATCHERS / 2
    });
}
