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
                     all. Both wait for the end; the child runs on its parent's core. Of `exec`, `exec-forked` and `exit` the work is a \
                     part of that: execve of a small program that names an interpreter, both of four segments, by a \
                     child that borrows its parent's memory or has a copy, which has to go first; and such a program's \
                     end. By the child's own processor time. `exit-thread` is the end of one of a process' two threads, the first one, whose \
                     clock stays until the other has ended.",
                )
                .axis(Axis {
                    name: "kind",
                    about: "a copy of the process, or a new program; or of that the execve alone, or the end alone, or that of a thread",
                    domain: Domain::Words(&["fork", "spawn", "exec", "exec-forked", "exit", "exit-thread"]),
                    default: Value::Text("spawn".into()),
                }),
        ),
    ]
}
