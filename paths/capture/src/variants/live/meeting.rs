//! How capture and generator find each other, in one process or in two: the generator opens, by their numbers, two
//! descriptors of the capture's process: the namespace with the cable, and a page on which they say things to each other;
//! here, at the end, what was sent.

use std::fs::OpenOptions;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering;

use tollway_core::{Address, Error, Place, Result};
use tollway_host::shared::SharedPages;
use tollway_wire::{Cable, Namespace};

/// What the generator sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    /// Frames that the kernel took.
    pub(super) taken: u64,
    /// Frames that it refused; their numbers are missing.
    pub(super) refused: u64,
}

/// The page.
pub(super) struct Note(SharedPages);

/// Words of the page: whether the others are written, and those.
const WRITTEN: usize = 0;
const TAKEN: usize = 1;
const REFUSED: usize = 2;

impl Note {
    pub(super) fn new() -> Result<Note> {
        Ok(Note(SharedPages::new(1)?))
    }

    /// Says what was sent; nothing more will be.
    pub(super) fn write(&self, sent: Sent) {
        let words = self.0.words();
        words[TAKEN].store(sent.taken, Ordering::Relaxed);
        words[REFUSED].store(sent.refused, Ordering::Relaxed);
        words[WRITTEN].store(1, Ordering::Release);
    }

    /// What was sent, once that was said.
    pub(super) fn read(&self) -> Option<Sent> {
        let words = self.0.words();
        (words[WRITTEN].load(Ordering::Acquire) != 0).then(|| Sent {
            taken: words[TAKEN].load(Ordering::Relaxed),
            refused: words[REFUSED].load(Ordering::Relaxed),
        })
    }
}

impl AsRef<SharedPages> for Note {
    fn as_ref(&self) -> &SharedPages {
        &self.0
    }
}

impl From<SharedPages> for Note {
    fn from(page: SharedPages) -> Note {
        Note(page)
    }
}

/// Where the generator finds both, for as long as they live here.
pub(super) fn address(cable: &Cable, page: &impl AsRef<SharedPages>) -> Address {
    let (cable, page) = (cable.namespace().as_fd().as_raw_fd(), page.as_ref().as_fd().as_raw_fd());
    Address(format!("{} {cable} {page}", std::process::id()))
}

/// Opens both.
pub(super) fn meet<P: From<SharedPages>>(place: &Place) -> Result<(Namespace, P)> {
    let numbers: Vec<u32> =
        place.peers.iter().flat_map(|peer| peer.0.split(' ')).map_while(|word| word.parse().ok()).collect();
    let &[process, cable, page] = &numbers[..] else {
        return Err(Error::Wrong(format!("{:?} is no address of a capture", place.peers)));
    };
    let namespace = Namespace::at(&format!("/proc/{process}/fd/{cable}"))?;
    let path = format!("/proc/{process}/fd/{page}");
    let page = OpenOptions::new().read(true).write(true).open(&path);
    let page = page.map_err(|error| Error::system(format!("opening {path}"), error))?;
    Ok((namespace, SharedPages::from_fd(page.into())?.into()))
}
