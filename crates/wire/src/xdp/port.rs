//! An AF_XDP socket for receiving: its memory in chunks, the ring of chunks to fill, the ring of frames.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Redirect;
use super::indices::Indices;
use crate::call::{done, option, set_option};
use crate::ring::{Mapping, Received};
use crate::{Interface, WireError};

/// What the kernel leaves free before a frame for programs that put headers there (XDP_PACKET_HEADROOM).
const HEADROOM: usize = 256;
/// Frames whose chunks go back together: few enough that the kernel does not run out meanwhile.
const BATCH: u64 = 64;
/// How long a queue is waited for that a closed socket may not have left yet.
const LEAVING: Duration = Duration::from_secs(10);
/// The sizes that a chunk can have, where chunks are aligned: a power of two from 2048 to a page.
const CHUNKS: [usize; 2] = [2048, 4096];

/// How memory for frames is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Bytes of a chunk: room for a frame and 256 more.
    pub size: usize,
    /// How many there are, a power of two.
    pub count: u32,
}

impl Chunks {
    /// Of about so many bytes in all, for frames of up to `frame` bytes.
    ///
    /// # Errors
    /// Frames larger than a page has room for.
    pub fn of(buffer: usize, frame: usize) -> Result<Chunks, WireError> {
        let fits = |size: &usize| *size >= frame + HEADROOM;
        let size = CHUNKS.into_iter().find(fits).ok_or_else(|| {
            WireError::input(
                "AF_XDP",
                format!("frames of {frame} bytes do not fit into a page"),
                format!("set the MTU to {} or less, or take another source", 4096 - HEADROOM - 22),
            )
        })?;
        let most = (buffer / size).clamp(64, 1 << 20);
        Ok(Chunks { size, count: 1 << most.ilog2() })
    }
}

/// What a socket could not take. Source: `struct xdp_statistics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Frames for which no chunk was free, or that were too large for one.
    pub dropped: u64,
    /// Frames for which the receive ring was full.
    pub ring_full: u64,
    /// How often the kernel looked for a free chunk and found none.
    pub fill_ring_empty: u64,
}

/// A socket that receives the frames of one queue.
#[derive(Debug)]
pub struct Port {
    receive: Ring,
    fill: Ring,
    memory: Mapping,
    chunks: Chunks,
    zero_copy: bool,
    queue: u32,
    redirect: Arc<Redirect>,
    socket: OwnedFd,
}

/// A ring that the kernel shares: its words, and one side's indices.
#[derive(Debug)]
struct Ring {
    memory: Mapping,
    at: libc::xdp_ring_offset,
    indices: Indices,
}

impl Port {
    /// Opens a socket for a queue of an interface, with memory of its own, and has the interface's program send it that
    /// queue's frames from now on: they reach nobody else. Without a copy where the driver can do that.
    ///
    /// # Errors
    /// No such queue, one that another socket has, privileges that are lacking, memory.
    pub fn open(
        interface: &Interface,
        redirect: Arc<Redirect>,
        queue: u32,
        chunks: Chunks,
    ) -> Result<Port, WireError> {
        let doing = format!("opening an AF_XDP socket for queue {queue} of interface {}", interface.name);
        let failed = |error: io::Error| match error.raw_os_error() {
            Some(libc::EINVAL) if queue >= interface.receive_queues => WireError::input(
                &doing,
                format!("it has {} receive queues, the first is 0", interface.receive_queues),
                "name one of them",
            ),
            Some(libc::EBUSY) => WireError::input(&doing, "another socket has it", "end the other one"),
            Some(libc::ENOBUFS | libc::ENOMEM) => WireError::input(
                &doing,
                "too little memory may be locked",
                "ask for a smaller buffer (or ulimit -l)",
            ),
            _ => WireError::system(&doing, error),
        };
        // SAFETY: a system call without pointers.
        let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        done(fd).map_err(failed)?;
        // SAFETY: a descriptor that was just made and that nobody else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let memory = Mapping::anonymous(chunks.size * chunks.count as usize).map_err(failed)?;
        let (receive, mut fill) = rings(socket.as_fd(), &memory, &chunks).map_err(failed)?;
        fill_all(&mut fill, &chunks);
        let zero_copy = bind(socket.as_fd(), interface.index, queue).map_err(failed)?;
        redirect.register(queue, socket.as_fd())?;
        Ok(Port { receive, fill, memory, chunks, zero_copy, queue, redirect, socket })
    }

    /// Hands over at most `limit` of the frames that are there, without waiting, and says how many there were.
    ///
    /// # Errors
    /// [`WireError::Input`] if what the ring says cannot be.
    #[inline]
    pub fn read(&mut self, limit: u64, mut sink: impl FnMut(Received<'_>)) -> Result<u64, WireError> {
        let mut seen = 0;
        while seen < limit {
            match self.batch((limit - seen).min(BATCH) as u32, &mut sink)? {
                0 => break,
                count => seen += u64::from(count),
            }
        }
        Ok(seen)
    }

    /// At most so many frames; their chunks go back to the kernel together.
    #[inline]
    fn batch(&mut self, limit: u32, sink: &mut impl FnMut(Received<'_>)) -> Result<u32, WireError> {
        let filled = self.receive.indices.filled(self.receive.producer().load(Ordering::Acquire));
        let filled = filled.ok_or_else(|| damaged("more frames than it has room for"))?;
        let count = filled.min(limit);
        if count == 0 {
            return Ok(0);
        }
        // There is room: see `rings`.
        let free = self.fill.indices.free(self.fill.consumer().load(Ordering::Acquire));
        if free.is_none_or(|free| free < count) {
            return Err(damaged("fewer free entries than frames"));
        }
        let mut result = Ok(count);
        for i in 0..count {
            let (address, length) = self.receive.descriptor(i);
            let whole = address.checked_add(length).is_some_and(|end| end <= self.memory.length());
            if whole {
                // SAFETY: the kernel has handed the chunk over, and gets it back below.
                let bytes = unsafe { self.memory.bytes(address, length) };
                sink(Received { bytes, wire_length: length as u32, stamp: None, tagged: false });
            } else {
                result = Err(damaged("a frame outside its memory"));
            }
            // The kernel takes whatever it is given; a chunk's start is what it was given first.
            self.fill.set_address(i, address & !(self.chunks.size - 1));
        }
        let consumed = self.receive.indices.advance(count);
        self.receive.consumer().store(consumed, Ordering::Release);
        let produced = self.fill.indices.advance(count);
        self.fill.producer().store(produced, Ordering::Release);
        if self.fill.flags().load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0 {
            self.wake();
        }
        result
    }

    /// Has a driver that sleeps look at the fill ring.
    #[cold]
    fn wake(&self) {
        // SAFETY: nothing is read: no buffer, no length. What it answers says nothing about frames.
        unsafe {
            libc::recvfrom(
                self.socket.as_raw_fd(),
                std::ptr::null_mut(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
    }

    /// Whether the driver writes to this memory itself.
    pub fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// The program that feeds it.
    pub fn redirect(&self) -> &Arc<Redirect> {
        &self.redirect
    }

    /// Frames that the program sent here so far, those that were lost included.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn offered(&self) -> Result<u64, WireError> {
        self.redirect.redirected(self.queue)
    }

    /// What was lost so far.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn losses(&self) -> Result<Losses, WireError> {
        let told: libc::xdp_statistics = option(self.as_fd(), libc::SOL_XDP, libc::XDP_STATISTICS)
            .map_err(|error| WireError::system("asking for an AF_XDP socket's counters", error))?;
        Ok(Losses {
            dropped: told.rx_dropped,
            ring_full: told.rx_ring_full,
            fill_ring_empty: told.rx_fill_ring_empty_descs,
        })
    }

    /// The error that waits on the socket, cleared by this.
    ///
    /// # Errors
    /// If the kernel does not even tell that.
    pub fn take_error(&self) -> Result<Option<io::Error>, WireError> {
        let code: i32 = option(self.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR)
            .map_err(|error| WireError::system("asking for a socket's error", error))?;
        Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cold]
fn damaged(what: &str) -> WireError {
    WireError::input(
        "the kernel's AF_XDP ring",
        format!("it tells of {what}"),
        "report it with the kernel's version",
    )
}

impl Ring {
    fn word(&self, at: u64) -> &std::sync::atomic::AtomicU32 {
        self.memory.word(at as usize)
    }

    fn producer(&self) -> &std::sync::atomic::AtomicU32 {
        self.word(self.at.producer)
    }

    fn consumer(&self) -> &std::sync::atomic::AtomicU32 {
        self.word(self.at.consumer)
    }

    fn flags(&self) -> &std::sync::atomic::AtomicU32 {
        self.word(self.at.flags)
    }

    /// `struct xdp_desc` of the `i`th entry: address and length of a frame.
    #[inline]
    fn descriptor(&mut self, i: u32) -> (usize, usize) {
        let at = self.at.desc as usize + 16 * self.indices.place(i);
        // SAFETY: an entry that the producer's count, read with acquire, says is ours.
        let entry = unsafe { self.memory.bytes(at, 16) };
        let address = u64::from_ne_bytes(entry[..8].try_into().expect("eight bytes"));
        let length = u32::from_ne_bytes(entry[8..12].try_into().expect("four bytes"));
        (address as usize, length as usize)
    }

    /// The address of a chunk into the `i`th entry.
    #[inline]
    fn set_address(&mut self, i: u32, address: usize) {
        let at = self.at.desc as usize + 8 * self.indices.place(i);
        // SAFETY: an entry that the consumer's count, read with acquire, says is free.
        unsafe { self.memory.bytes(at, 8) }.copy_from_slice(&(address as u64).to_ne_bytes());
    }
}

/// Registers the memory and makes the rings: to receive and to fill. The third, of frames that were sent, is there
/// because the kernel insists.
fn rings(socket: BorrowedFd<'_>, memory: &Mapping, chunks: &Chunks) -> io::Result<(Ring, Ring)> {
    let area = libc::xdp_umem_reg {
        addr: memory.address(),
        len: memory.length() as u64,
        chunk_size: chunks.size as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    let set = |option: i32, entries: u32| set_option(socket, libc::SOL_XDP, option, &entries);
    set_option(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &area)?;
    // The kernel tells how far it has emptied the fill ring only when it has used up what it saw there: so until then
    // every chunk can be in it twice, as an old entry and as a new one.
    set(libc::XDP_UMEM_FILL_RING, 2 * chunks.count)?;
    set(libc::XDP_UMEM_COMPLETION_RING, 2)?;
    set(libc::XDP_RX_RING, chunks.count)?;
    let offsets: libc::xdp_mmap_offsets = option(socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
    let ring = |at: libc::xdp_ring_offset, entry: usize, entries: u32, which: i64| -> io::Result<Ring> {
        let length = at.desc as usize + entry * entries as usize;
        let memory = Mapping::of(socket, length, which)?;
        Ok(Ring { memory, at, indices: Indices::new(entries, 0) })
    };
    let receive = ring(offsets.rx, 16, chunks.count, libc::XDP_PGOFF_RX_RING)?;
    let fill = ring(offsets.fr, 8, 2 * chunks.count, libc::XDP_UMEM_PGOFF_FILL_RING as i64)?;
    Ok((receive, fill))
}

/// Gives the kernel every chunk.
fn fill_all(fill: &mut Ring, chunks: &Chunks) {
    (0..chunks.count).for_each(|i| fill.set_address(i, i as usize * chunks.size));
    let produced = fill.indices.advance(chunks.count);
    fill.producer().store(produced, Ordering::Release);
}

/// Binds to a queue: without a copy if the driver can, else with one. Answers which it is.
fn bind(socket: BorrowedFd<'_>, interface: u32, queue: u32) -> io::Result<bool> {
    let bind = |flags: u16| {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: flags | libc::XDP_USE_NEED_WAKEUP,
            sxdp_ifindex: interface,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        let size = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the kernel reads `size` bytes of `address`, which lives on.
        done(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) })
    };
    // The kernel takes a socket off its queue a while after it was closed (a work queue does it).
    let deadline = Instant::now() + LEAVING;
    while bind(libc::XDP_ZEROCOPY).is_err() {
        match bind(libc::XDP_COPY) {
            Ok(()) => break,
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
    let options: libc::xdp_options = option(socket, libc::SOL_XDP, libc::XDP_OPTIONS)?;
    Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
}
