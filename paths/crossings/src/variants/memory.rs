//! Memory: page faults, mappings, copies.

use tollway_core::{Axis, Crossing, Domain, Value, Variant};

use super::Solo;
use crate::engine::faults::{GiveBackAndTouch, MinorFault};
use crate::engine::mappings::{MapUnmap, ProtectUnprotect};
use crate::engine::memory_copy::MemoryCopy;

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![
        Box::new(
            Solo::<MinorFault>::new(Crossing::MinorFault, "fault")
                .caveats(
                    "The first store to each of 64 adjacent anonymous 4 KiB pages, no huge pages: exception, a page from the \
                     kernel's free list, zeroed, mapped, and the return. Giving the pages back between two samples is not in \
                     it; the page tables exist already. The pages come from the processor's own free list and are likely to be \
                     in a cache. `file` and `copy` are of a file that the page cache has, mapped privately: the first read \
                     in each of 16 spans of 64 KiB, whose other pages the kernel maps as well; the first store, which copies \
                     a page.",
                )
                .axis(Axis {
                    name: "kind",
                    about: "what the page is of: anonymous memory, a file's that is read, or a file's that is written to",
                    domain: Domain::Words(&["anonymous", "file", "copy"]),
                    default: Value::Text("anonymous".into()),
                }),
        ),
        Box::new(
            Solo::<MapUnmap>::new(Crossing::MmapMunmap, "page mapped and unmapped")
                .caveats(
                    "One anonymous 4 KiB page, two system calls; `touched` adds a minor fault and the page's way back. \
                     The process has few mappings; a page table may be made and freed each time.",
                )
                .axis(Axis {
                    name: "kind",
                    about: "whether the page is written to in between",
                    domain: Domain::Words(&["untouched", "touched"]),
                    default: Value::Text("untouched".into()),
                }),
        ),
        Box::new(Solo::<ProtectUnprotect>::new(Crossing::Mprotect, "there and back").caveats(
            "Two system calls on one page that is there: read-only, then writable again. The process has a second \
             thread, which sleeps; where it has run on another core that core may still be told of the change. On one \
             core alone (taskset) the figure was a quarter lower here.",
        )),
        Box::new(Solo::<GiveBackAndTouch>::new(Crossing::MadviseDontneed, "page given back and touched").caveats(
            "A system call, which frees one 4 KiB page, and the minor fault that brings one back. As with mprotect, \
             another core may have to be told: a sixth of the figure here.",
        )),
        Box::new(
            Solo::<MemoryCopy>::new(Crossing::Copy, "copy")
                .without_kernel()
                .caveats(
                    "The C library's memcpy; the destination is always the same and stays as near as it fits. Hot: the \
                     source too, copies follow each other and overlap: throughput. Cold: the source was flushed from all \
                     caches (CLFLUSH), its address translations not; each copy is on pages of its own, out of order, and \
                     an LFENCE after it (some ten cycles, included) keeps copies from overlapping: the latency of memory \
                     is in it. A copy that ends in the store buffer counts as done.",
                )
                .axis(Axis {
                    name: "size",
                    about: "bytes",
                    domain: Domain::Whole(1, 16 << 20),
                    default: Value::Int(4096),
                })
                .axis(Axis {
                    name: "warmth",
                    about: "whether the source is in a cache",
                    domain: Domain::Words(&["hot", "cold"]),
                    default: Value::Text("hot".into()),
                }),
        ),
    ]
}
