//! Runs bytes as machine code in an isolated guest and sees that nothing but the guest minds. Used by the test beside
//! this and by the fuzz target in `fuzz/`.

use std::time::{Duration, Instant};

use tollway_tenant::micro::{Devices, Image, IsolatedGuest, IsolatedOptions, Limits, MicroError, Window};

use crate::probe;

/// What a call may take, and how late it may end: there may be much else to do on the machine.
const LIMIT: Duration = Duration::from_millis(4);
const LATE: Duration = Duration::from_secs(60);
/// An input is an argument of 8 bytes, 8 bytes that fill the window, and code.
const HEADER: usize = 16;
/// More code than this says nothing new.
const MOST_CODE: usize = 4096;

/// How an input ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ended {
    Returned,
    Fault(u8),
    SystemCall,
    ShutDown,
    TimedOut,
    WildPort,
    NoDevice,
    NotEmulated,
}

/// What every guest is made of, and the state that every call must begin with.
pub struct Harness {
    /// Without doorbells, and with two. To make these takes ten times as long as all the rest: few inputs get them.
    devices: [Devices; 2],
    window: Window,
    fresh: Vec<u8>,
}

impl Harness {
    pub fn new() -> Harness {
        let devices = [0, 2].map(|bells| Devices::new(bells).unwrap());
        let window = Window::new(2 * probe::STATE).unwrap();
        let mut harness = Harness { devices, window, fresh: Vec::new() };
        harness.fresh = harness.state(&mut harness.guest(&[0xc3], false), "nothing");
        harness
    }

    fn guest(&self, code: &[u8], bells: bool) -> IsolatedGuest {
        let image = Image::from_code(&probe::before(code)).unwrap();
        let options =
            IsolatedOptions { stack_bytes: 16 << 10, memory_bytes: 64 << 10, ..IsolatedOptions::default() };
        IsolatedGuest::new(&image, &self.window, &self.devices[usize::from(bells)], &options).unwrap()
    }

    /// The processor's state at the start of a call.
    fn state(&self, guest: &mut IsolatedGuest, when: &str) -> Vec<u8> {
        self.window.write(0, &[0; probe::STATE]).unwrap();
        let limits = Limits { time: Duration::from_secs(10) };
        guest.call(0, probe::TELL, limits).unwrap_or_else(|error| panic!("the call after {when}: {error}"));
        let mut state = vec![0; probe::STATE];
        self.window.read(0, &mut state).unwrap();
        state
    }

    /// Runs one input; nothing if it is too short to have code.
    ///
    /// # Panics
    /// If it ends late, or in a way that has no name, or leaves something to the next call.
    pub fn run(&self, input: &[u8]) -> Option<Ended> {
        let (header, code) = input.split_at_checked(HEADER)?;
        let (argument, fill) = header.split_at(8);
        let code = code.get(..MOST_CODE).unwrap_or(code);
        if code.is_empty() {
            return None;
        }
        self.window.write(0, &fill.repeat(self.window.len() / 8)).unwrap();
        let argument = usize::from_le_bytes(argument.try_into().unwrap());
        let mut guest = self.guest(code, fill[7] & 31 == 31);
        let mut ended = None;
        // Twice: the second call begins where the first one may have left something.
        for _ in 0..2 {
            let started = Instant::now();
            let result = guest.call(0, argument, Limits { time: LIMIT });
            let took = started.elapsed();
            assert!(took < LIMIT + LATE, "it took {took:?}");
            ended = Some(match &result {
                Ok(_) => Ended::Returned,
                Err(error) => named(error),
            });
            let state = self.state(&mut guest, &format!("{ended:?}"));
            let differ: Vec<usize> = (0..probe::STATE).filter(|at| state[*at] != self.fresh[*at]).collect();
            assert!(differ.is_empty(), "{ended:?} left something at {differ:?}");
        }
        ended
    }
}

fn named(error: &MicroError) -> Ended {
    // What is said of it must not fail either.
    assert!(!error.to_string().is_empty());
    match error {
        MicroError::Fault(fault) => {
            assert!(
                fault.code_in.is_some() && fault.address.is_some() == fault.address_in.is_some(),
                "{error}"
            );
            match fault.vector {
                Some(vector) => Ended::Fault(vector),
                None if fault.instruction == Some("syscall") => Ended::SystemCall,
                None => Ended::ShutDown,
            }
        }
        MicroError::TimedOut { .. } => Ended::TimedOut,
        MicroError::WildPort { .. } => Ended::WildPort,
        MicroError::NoDevice { .. } => Ended::NoDevice,
        MicroError::NotEmulated { .. } => Ended::NotEmulated,
        other => panic!("an end without a name: {other:?}"),
    }
}
