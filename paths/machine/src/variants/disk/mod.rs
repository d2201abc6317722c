//! The disk: so many accesses under way, by this program or by fio, and a block made durable.

mod accesses;
mod by_fio;
mod counted;
mod fsync;
mod kept;

use std::path::Path;
use std::time::Duration;

use tollway_core::{Axis, Domain, Error, Missing, Params, Result, Tally, Unit, Value, Variant, Yield};
use tollway_host::scratch;

use crate::engine::disk::Pattern;
use crate::surroundings;

pub(super) use counted::Counted;

pub(super) const MIB: u64 = 1 << 20;

/// Bytes of the last accesses that are read back from the disk after each trial.
pub(super) const CHECKED: u64 = 8 * MIB;

/// What the slowest disk takes for a MiB of a new file.
const MIB_TAKES: Duration = Duration::from_millis(50);

/// From this size on the bytes are the headline, not how many accesses.
pub(super) const LARGE: u64 = 65536;

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![Box::new(accesses::Disk), Box::new(fsync::Fsync)]
}

pub(super) fn pattern() -> Axis {
    Axis {
        name: "pattern",
        about: "what is done in which order, by fio's names",
        domain: Domain::Words(Pattern::WORDS),
        default: Value::Text("randread".into()),
    }
}

pub(super) fn depth() -> Axis {
    Axis {
        name: "depth",
        about: "accesses under way",
        domain: Domain::Whole(1, 128),
        default: Value::Int(32),
    }
}

pub(super) fn size() -> Axis {
    Axis {
        name: "size",
        about: "bytes of a block: whole sectors of 512",
        domain: Domain::Whole(512, 16 * MIB),
        default: Value::Int(4096),
    }
}

pub(super) fn mib(default: u64) -> Axis {
    Axis {
        name: "mib",
        about: "the file, in MiB",
        domain: Domain::Whole(1, MIB),
        default: Value::Int(default),
    }
}

/// The file's size, for titles; nothing of what is usual.
pub(super) fn file_told(params: &Params, usual: u64) -> String {
    let as_bytes = |value: &Value| value.to_string().parse::<u64>().map_or(0, |mib| mib * MIB);
    surroundings::unless_usual(params, &mib(usual), |value| {
        format!("file of {}", surroundings::size(as_bytes(value)))
    })
}

/// Room for a file and what ext4 keeps for itself on a disk of that size: inodes, the journal, what it spares.
fn room(params: &Params) -> Result<u64> {
    let mib = params.int("mib")?;
    Ok(mib + mib / 8)
}

pub(super) fn make_takes(params: &Params) -> Duration {
    MIB_TAKES * params.int("mib").map_or(0, |mib| mib as u32)
}

/// Refuses a folder of which what is written stays in memory: its rows would be a disk's by name alone.
///
/// # Errors
/// [`Error::Missing`] for such a folder.
pub(super) fn on_a_disk(folder: &Path) -> Result<()> {
    if !scratch::in_memory(folder) {
        return Ok(());
    }
    Err(Error::Missing(Missing::new(
        format!("a disk under {}", folder.display()),
        "what is written there stays in memory, where nothing is durable",
        format!("set {} to a folder on a disk's file system (ext4, xfs)", scratch::FOLDER),
    )))
}

/// Accesses and bytes, the headline first.
pub(super) fn yields(params: &Params) -> Vec<Yield> {
    let size = params.int("size").unwrap_or_default();
    let mut yields = vec![Yield::one(Unit::Accesses), Yield::bytes(size)];
    if size >= LARGE {
        yields.reverse();
    }
    yields
}

/// What a person reads: `random read, 4 KiB, depth 32`.
pub(super) fn access_told(params: &Params) -> Option<String> {
    let what = match params.word("pattern").ok()? {
        "randread" => "random read",
        "randwrite" => "random write",
        "randrw" => "random read and write",
        word => word,
    };
    let size = surroundings::size(params.int("size").ok()?);
    Some(format!("{what}, {size}, depth {}", params.int("depth").ok()?))
}

pub(super) fn counts(read: u64, written: u64) -> Tally {
    Tally::default().counter("blocks read", read).counter("blocks written", written)
}

fn before(call: &str) -> Error {
    Error::system(format!("{call} of a disk's actor"), "it is not ready, or has ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An overlay whose upper layer is there is one of these, too: `tollway_host::scratch` has the test.
    #[test]
    fn a_folder_in_memory_is_no_disk_and_the_remedy_is_told() {
        let memory = Path::new("/dev/shm");
        if scratch::in_memory(memory) {
            let error = on_a_disk(memory).unwrap_err();
            assert!(
                matches!(&error, Error::Missing(missing) if missing.reason.contains("in memory")
                && missing.remedy.contains(scratch::FOLDER)),
                "{error}"
            );
        }
        assert_eq!(on_a_disk(Path::new("/nowhere/at/all")), Ok(()), "what cannot be asked is told elsewhere");
    }
}
