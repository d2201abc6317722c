//! System calls, each kind by itself: what one call costs its caller, where it has neither to wait nor anybody to wake.
//!
//! What a call uses up (a message that is read, a descriptor that is closed) is renewed between two samples, untimed. So
//! each call of a sample finds what it finds in a program that uses it well: a read has one message before it, a write
//! an empty channel. [`KINDS`] is the list; a kind is a call and what it is made on.

mod channels;
mod connections;
mod cooling;
mod descriptors;
mod durable;
mod events;
mod files;
mod folders;
mod lookups;
mod mappings;
mod masks;
mod names;
mod nothing;
mod owners;
mod pages;
mod processes;
mod words;
mod worked;

use tollway_core::{Error, Params, Place, Result, Tally, Warmth};

use super::Operation;
use cooling::Cooling;

/// Calls in a row of a kind that uses nothing up: between two of them is next to nothing of ours.
const IN_A_ROW: u32 = 16;

/// How many calls a sample is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// As many as the kind makes in a row: all but the first find the caches as the one before has left them.
    Many,
    /// One, which finds them as something else has left them.
    One,
}

impl Row {
    /// That number, of a kind that makes `many`.
    fn of(self, many: u32) -> u32 {
        match self {
            Row::Many => many,
            Row::One => 1,
        }
    }

    /// An empty list with room for what that many calls make.
    fn room<T>(self, many: u32) -> Vec<T> {
        Vec::with_capacity(self.of(many) as usize)
    }
}

/// One kind of call, made over and over.
pub trait Single: Send {
    /// How many calls one [`calls`](Single::calls) makes.
    fn count(&self) -> u32;

    /// Makes them, and no other; says how many did what they are there for. Neither allocates nor panics.
    fn calls(&mut self) -> u32;

    /// Whether [`restock`](Single::restock) has to be called before each [`calls`](Single::calls).
    fn uses_up(&self) -> bool {
        false
    }

    /// Renews what the next calls use up, and checks what the last ones left. `false`: it could not, or they left
    /// something else.
    fn restock(&mut self) -> bool {
        true
    }

    /// Called last of all before [`calls`](Single::calls) where [`restock`](Single::restock) was: after whatever made the caches cold.
    fn ready(&mut self) {}

    /// What `done` calls left, where that can be seen only in the end.
    fn verify(&mut self, _done: u64) -> Result<()> {
        Ok(())
    }

    /// What was counted.
    fn tally(&self, done: u64) -> Tally {
        Tally::default().counter("operations", done)
    }
}

/// What a kind needs besides the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// The loopback device.
    Loopback,
    /// The folder for measurements, which in a Linux guest is on a disk of its own.
    Folder,
}

/// A call, and what it is made on.
pub struct Kind {
    /// Its name in keys and presets.
    pub name: &'static str,
    /// The system call, as strace(1) names it.
    pub call: &'static str,
    /// The most bytes that one call moves; 0 where it moves none, or always as many.
    pub most: u64,
    /// What it needs.
    pub needs: Needs,
    make: fn(usize, Row) -> Result<Box<dyn Single>>,
}

/// Bytes of the largest message: a pipe holds as many by default, and so do the buffers that sockets are given here.
const LARGEST: u64 = 1 << 16;

/// Bytes of the largest datagram of UDP over IPv4 (RFC 768, RFC 791: 65,535 less 8 and 20 of headers).
const LARGEST_DATAGRAM: u64 = 65_507;

/// Bytes of the largest listing: C libraries make room for as many.
const LARGEST_LISTING: u64 = 1 << 15;

const fn kind(
    name: &'static str,
    call: &'static str,
    needs: Needs,
    make: fn(usize, Row) -> Result<Box<dyn Single>>,
) -> Kind {
    Kind { name, call, most: 0, needs, make }
}

const fn moving(
    name: &'static str,
    call: &'static str,
    most: u64,
    needs: Needs,
    make: fn(usize, Row) -> Result<Box<dyn Single>>,
) -> Kind {
    Kind { name, call, most, needs, make }
}

/// Every kind.
pub const KINDS: &[Kind] = &[
    moving("read-pipe", "read", LARGEST, Needs::Nothing, channels::read_pipe),
    moving("write-pipe", "write", LARGEST, Needs::Nothing, channels::write_pipe),
    moving("read-unix", "read", LARGEST, Needs::Nothing, channels::read_unix),
    moving("write-unix", "write", LARGEST, Needs::Nothing, channels::write_unix),
    moving("read-tcp", "read", LARGEST, Needs::Loopback, channels::read_tcp),
    moving("write-tcp", "write", LARGEST, Needs::Loopback, channels::write_tcp),
    moving("read-udp", "read", LARGEST_DATAGRAM, Needs::Loopback, channels::read_udp),
    moving("write-udp", "write", LARGEST_DATAGRAM, Needs::Loopback, channels::write_udp),
    moving("recvmsg-unix", "recvmsg", LARGEST, Needs::Nothing, channels::receive_message),
    moving("sendmsg-unix", "sendmsg", LARGEST, Needs::Nothing, channels::send_message),
    moving("sendfile-tcp", "sendfile", LARGEST, Needs::Loopback, channels::send_file),
    moving("splice-pipe", "splice", LARGEST, Needs::Nothing, channels::splice_file),
    moving("getdents", "getdents64", LARGEST_LISTING, Needs::Folder, folders::list),
    moving("read-file", "pread64", LARGEST, Needs::Folder, files::read),
    moving("read-file-far", "pread64", LARGEST, Needs::Folder, files::read_far),
    moving("write-file", "pwrite64", LARGEST, Needs::Folder, files::write),
    moving("write-new", "pwrite64", LARGEST, Needs::Folder, pages::append),
    moving("write-packed", "pwrite64", LARGEST, Needs::Folder, pages::append_packed),
    moving("read-zero", "read", LARGEST, Needs::Nothing, nothing::read),
    moving("write-null", "write", LARGEST, Needs::Nothing, nothing::write),
    kind("read-eventfd", "read", Needs::Nothing, events::read),
    kind("write-eventfd", "write", Needs::Nothing, events::write),
    kind("epoll-wait", "epoll_wait", Needs::Nothing, events::epoll_wait),
    kind("epoll-wait-8", "epoll_wait", Needs::Nothing, events::epoll_wait_8),
    kind("epoll-wait-none", "epoll_wait", Needs::Nothing, events::epoll_wait_none),
    kind("epoll-ctl", "epoll_ctl", Needs::Nothing, events::epoll_ctl),
    kind("poll", "poll", Needs::Nothing, events::poll_one),
    kind("poll-8", "poll", Needs::Nothing, events::poll_8),
    kind("poll-none", "poll", Needs::Nothing, events::poll_none),
    kind("select", "pselect6", Needs::Nothing, events::select_one),
    kind("futex-wake-none", "futex", Needs::Nothing, words::wake),
    kind("futex-wake-none-shared", "futex", Needs::Nothing, words::wake_shared),
    kind("futex-wait-changed", "futex", Needs::Nothing, words::wait),
    kind("futex-wait-changed-shared", "futex", Needs::Nothing, words::wait_shared),
    kind("open", "openat", Needs::Folder, descriptors::open_file),
    kind("open-in-folder", "openat", Needs::Folder, lookups::open_in_folder),
    kind("open-missing", "openat", Needs::Folder, lookups::open_missing),
    kind("close", "close", Needs::Folder, descriptors::close_file),
    kind("create", "openat", Needs::Folder, names::create),
    kind("unlink", "unlinkat", Needs::Folder, names::remove),
    kind("mkdir", "mkdirat", Needs::Folder, names::make_folder),
    kind("link", "linkat", Needs::Folder, names::link),
    kind("rename", "renameat", Needs::Folder, names::rename),
    kind("readlink", "readlinkat", Needs::Folder, lookups::read_link),
    kind("ftruncate", "ftruncate", Needs::Folder, pages::cut),
    kind("fchown", "fchown", Needs::Folder, owners::keep),
    kind("stat", "newfstatat", Needs::Folder, files::stat_path),
    kind("stat-in-folder", "newfstatat", Needs::Folder, lookups::stat_in_folder),
    kind("stat-deep", "newfstatat", Needs::Folder, lookups::stat_deep),
    kind("stat-missing", "newfstatat", Needs::Folder, lookups::stat_missing),
    kind("fstat", "fstat", Needs::Folder, files::stat_open),
    kind("lseek", "lseek", Needs::Folder, files::seek),
    kind("fcntl-lock", "fcntl", Needs::Folder, files::lock),
    kind("fdatasync", "fdatasync", Needs::Folder, durable::fdatasync_block),
    kind("fdatasync-new", "fdatasync", Needs::Folder, durable::fdatasync_new_block),
    kind("fsync", "fsync", Needs::Folder, durable::fsync_block),
    kind("mmap", "mmap", Needs::Nothing, mappings::map),
    kind("munmap", "munmap", Needs::Nothing, mappings::unmap),
    kind("munmap-touched", "munmap", Needs::Nothing, mappings::unmap_touched),
    kind("madvise", "madvise", Needs::Nothing, mappings::advise),
    kind("rt-sigprocmask", "rt_sigprocmask", Needs::Nothing, masks::change),
    kind("socket", "socket", Needs::Loopback, descriptors::socket_tcp),
    kind("connect-tcp", "connect", Needs::Loopback, connections::connect_tcp),
    kind("accept-tcp", "accept4", Needs::Loopback, connections::accept_tcp),
    kind("connect-unix", "connect", Needs::Nothing, connections::connect_unix),
    kind("accept-unix", "accept4", Needs::Nothing, connections::accept_unix),
    kind("fork", "fork", Needs::Nothing, processes::fork),
    kind("vfork", "clone", Needs::Nothing, processes::vfork),
    kind("clone-thread", "clone", Needs::Nothing, processes::thread),
    kind("wait4", "wait4", Needs::Nothing, processes::wait),
    kind("close-tcp", "close", Needs::Loopback, connections::close_tcp),
];

/// Their names.
pub const NAMES: &[&str] = &{
    let mut names = [""; KINDS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = KINDS[at].name;
        at += 1;
    }
    names
};

/// What the axes `kind` and `size` say, held against each other: a size belongs to a kind that moves bytes.
///
/// # Errors
/// [`Error::Input`] for a kind that does not exist, a size where there is none, and one that does not fit.
pub fn chosen(params: &Params) -> Result<(&'static Kind, usize)> {
    let (word, size) = (params.word("kind")?, params.int("size")?);
    let refused = |reason: String, remedy: String| Error::Input {
        place: format!("axis `size` of system-call/kind={word}, value {size}"),
        reason,
        remedy,
    };
    let kind = KINDS.iter().find(|kind| kind.name == word).ok_or_else(|| Error::Input {
        place: format!("axis `kind` of system-call, value `{word}`"),
        reason: "there is no such kind".into(),
        remedy: format!("there are: {}", NAMES.join(", ")),
    })?;
    match kind.most {
        0 if size > 0 => {
            Err(refused("its calls have no size".into(), "leave `size` out, or set it to 0".into()))
        }
        most if size > most || most > 0 && size == 0 => {
            Err(refused("no call moves so many bytes".into(), format!("set `size` to 1 to {most}")))
        }
        _ => Ok((kind, size as usize)),
    }
}

/// Whether its calls are to find their caches hot or cold; hot where nothing is said.
///
/// # Errors
/// The axis `warmth` says something else.
pub fn warmth(params: &Params) -> Result<Warmth> {
    params.get("warmth").map_or(Ok(Warmth::Hot), |_| params.warmth())
}

/// Calls of one kind.
pub struct SystemCall {
    single: Box<dyn Single>,
    /// What comes before each call that is to be cold.
    cooling: Option<Cooling>,
    right: u64,
    spoilt: u64,
}

impl Operation for SystemCall {
    fn prepare(params: &Params, _: &Place) -> Result<Self> {
        let (kind, size) = chosen(params)?;
        let (row, cooling) = match warmth(params)? {
            Warmth::Hot => (Row::Many, None),
            Warmth::Cold => (Row::One, Some(Cooling::new()?)),
        };
        Ok(SystemCall { single: (kind.make)(size, row)?, cooling, right: 0, spoilt: 0 })
    }

    #[inline]
    fn once(&mut self) {
        self.right += u64::from(self.single.calls());
    }

    fn operations(&self) -> u32 {
        self.single.count()
    }

    fn uses_up(&self) -> bool {
        self.cooling.is_some() || self.single.uses_up()
    }

    fn restock(&mut self) {
        let mut right = self.single.restock();
        if let Some(cooling) = &mut self.cooling {
            right &= cooling.work();
        }
        self.single.ready();
        self.spoilt += u64::from(!right);
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        // What the last calls left is checked as what all others left.
        if self.single.uses_up() {
            self.restock();
        }
        if self.right != done {
            return Err(Error::Wrong(format!("of {done} calls {} did what they are there for", self.right)));
        }
        match self.spoilt {
            0 => self.single.verify(done),
            n => {
                Err(Error::Wrong(format!("{n} times {done} calls did not leave what they should have left")))
            }
        }
    }

    fn tally(&self, done: u64) -> Tally {
        self.single.tally(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(kind: &str, size: u64) -> Result<(&'static Kind, usize)> {
        chosen(&Params::new().with("kind", kind).with("size", size))
    }

    #[test]
    fn a_size_belongs_to_what_moves_bytes() {
        assert!(at("read-pipe", 0).is_err() && at("read-pipe", 65_537).is_err());
        assert!(at("fstat", 1).is_err() && at("no-such", 0).is_err());
        assert!(at("read-pipe", 65_536).is_ok() && at("fstat", 0).is_ok());
        assert!(at("write-udp", 65_507).is_ok() && at("write-udp", 65_508).is_err());
    }

    #[test]
    fn names_are_unique() {
        let mut names = NAMES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KINDS.len());
    }
}
