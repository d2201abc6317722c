//! Affinity of the calling thread.

use std::io;

use tollway_core::{Error, Missing, Result};

/// Words of the largest mask asked for: 8192 processors, the kernel's upper bound on x86-64 (CONFIG_NR_CPUS).
const WORDS: usize = 8192 / 64;

/// The processors that the calling thread may run on, ascending.
///
/// # Errors
/// [`Error::System`] if the kernel refuses (a sandbox's filter).
pub fn allowed_cpus() -> Result<Vec<u32>> {
    allowed_to(0)
}

/// The processors that this process may run on, ascending, wherever the calling thread was put: those of its first thread.
///
/// # Errors
/// As [`allowed_cpus`].
pub fn cpus_of_process() -> Result<Vec<u32>> {
    allowed_to(std::process::id())
}

/// The processors of a thread by its number; of the calling one with 0.
fn allowed_to(thread: u32) -> Result<Vec<u32>> {
    let mut mask = [0u64; WORDS];
    // SAFETY: the kernel writes at most `size_of_val(&mask)` bytes, all of which `mask` owns.
    let written =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, size_of_val(&mask), mask.as_mut_ptr()) };
    if written < 0 {
        return Err(Error::system("asking for a thread's processors", io::Error::last_os_error()));
    }
    let bits = |(word, mask): (usize, &u64)| {
        let mask = *mask;
        (0..64u32).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| word as u32 * 64 + bit)
    };
    Ok(mask.iter().enumerate().flat_map(bits).collect())
}

/// Keeps the calling thread, and what it starts from here on, on one processor.
///
/// # Errors
/// [`Error::Missing`] if the processor does not exist or is not allowed to this process.
pub fn pin_current_thread(cpu: u32) -> Result<()> {
    set_affinity(&[cpu])
}

/// Lets the calling thread run on these processors and no others.
///
/// # Errors
/// [`Error::Missing`] if none of them exists and is allowed to this process.
pub fn set_affinity(cpus: &[u32]) -> Result<()> {
    let mut mask = [0u64; WORDS];
    for cpu in cpus {
        if let Some(word) = mask.get_mut(*cpu as usize / 64) {
            *word |= 1 << (cpu % 64);
        }
    }
    // SAFETY: the kernel reads `size_of_val(&mask)` bytes, all of which `mask` owns.
    let failed = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&mask), mask.as_ptr()) };
    if failed == 0 {
        return Ok(());
    }
    Err(Error::Missing(Missing::new(
        format!("processor {}", cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
        format!("the kernel refused to run a thread there: {}", io::Error::last_os_error()),
        "allow the processor to this process (its cpuset or taskset), or ask for fewer",
    )))
}

/// The processor that the caller is on at this moment; it may be on another one right after.
pub fn current_cpu() -> u32 {
    rustix::thread::sched_getcpu() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_is_where_it_was_put() {
        for cpu in allowed_cpus().unwrap() {
            std::thread::spawn(move || {
                pin_current_thread(cpu).unwrap();
                assert_eq!(allowed_cpus().unwrap(), [cpu]);
                assert!(cpus_of_process().unwrap().contains(&cpu));
                assert_eq!(current_cpu(), cpu);
            })
            .join()
            .unwrap();
        }
    }

    #[test]
    fn a_processor_that_does_not_exist_is_missing() {
        for cpu in [8000, 1_000_000] {
            let error = pin_current_thread(cpu).unwrap_err();
            assert!(matches!(error, Error::Missing(_)), "{error}");
        }
    }
}
