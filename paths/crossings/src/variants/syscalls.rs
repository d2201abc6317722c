//! System calls.

use tollway_core::{Crossing, Variant};

use super::Solo;
use crate::engine::syscalls::Getppid;

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![Box::new(
        Solo::<Getppid>::new(Crossing::Getppid, "call")
            .caveats("glibc's wrapper is not in it: the call is made directly."),
    )]
}
