//! Files: from the page cache, and from and to the disk.

use tollway_core::{Axis, Crossing, Domain, Requirement, Value, Variant};

use super::Solo;
use crate::engine::disk::{CachedRead, DirectRead, DirectWrite, DurableWrite};

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    let size = Axis {
        name: "size",
        about: "bytes; for O_DIRECT whole sectors",
        domain: Domain::Whole(512, 1 << 20),
        default: Value::Int(4096),
    };
    vec![
        Box::new(
            Solo::<CachedRead>::new(Crossing::PageCacheRead, "block read").on_a_disk()
                .caveats("16 blocks in turn, which the page cache holds: at 4 KiB, source and destination are in a cache.")
                .axis(size.clone()),
        ),
        Box::new(
            Solo::<DirectRead>::new(Crossing::DirectRead, "block read").on_a_disk()
                .caveats(
                    "64 blocks of an unlinked file in the scratch folder (TOLLWAY_SCRATCH), one at a time, out of order. \
                     A virtual disk answers from its host's page cache, if that is how it is set up: it is the crossing \
                     to the device that is priced, not the medium.",
                )
                .axis(size.clone())
                .requires(Requirement::DirectIo),
        ),
        Box::new(
            Solo::<DirectWrite>::new(Crossing::DirectWrite, "block written").on_a_disk()
                .caveats(
                    "Overwrites 64 allocated blocks of an unlinked file in the scratch folder, one at a time. The device \
                     has taken the block; whether it is durable is the device's secret (see `fsync`).",
                )
                .axis(size.clone())
                .requires(Requirement::DirectIo),
        ),
        Box::new(
            Solo::<DurableWrite>::new(Crossing::Fsync, "block made durable").on_a_disk()
                .caveats(
                    "A write to the page cache, then fsync, which writes the block and flushes the device's cache; the \
                     file's times change, so that the file system's journal may be written too. A virtual disk may \
                     confirm a flush that it has not done.",
                )
                .axis(size),
        ),
    ]
}
