//! Threads and processes, started and waited for.

use tollway_core::{Axis, Crossing, Domain, Value, Variant};

use super::Solo;
use crate::engine::start::{ProcessStart, ThreadStart};

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![
        Box::new(Solo::<ThreadStart>::new(Crossing::ThreadStart, "thread").caveats(
            "pthread_create and pthread_join; the thread counts itself and ends. It runs on its maker's core, so two \
             context switches are in it. The C library keeps the stack of the last thread for the next.",
        )),
        Box::new(
            Solo::<ProcessStart>::new(Crossing::ProcessStart, "process")
                .caveats(
                    "`fork`: the actor's process is copied (the more memory it has mapped, the longer that takes) and the \
                     child ends at once. `spawn`: posix_spawn of `true`, which runs a new program, dynamic linking and \
                     all. Both wait for the end; the child runs on its parent's core.",
                )
                .axis(Axis {
                    name: "kind",
                    about: "a copy of the process, or a new program",
                    domain: Domain::Words(&["fork", "spawn"]),
                    default: Value::Text("spawn".into()),
                }),
        ),
    ]
}
