//! A packet socket: opened deaf, made ready, and only then bound, so that no frame slips in before its filter is there.
//! Source: packet(7), linux/if_packet.h; Documentation/networking/packet_mmap.rst of the kernel.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::call::{done, option, set_option};
use crate::{Interface, WireError};

/// How the kernel spreads frames over the sockets of a group (PACKET_FANOUT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanoutMode {
    /// By a hash of the flow: a flow stays with one socket.
    Hash,
    /// In turns.
    RoundRobin,
    /// By the processor that received the frame.
    Cpu,
    /// By the receive queue of the interface.
    Queue,
    /// At random.
    Random,
}

impl FanoutMode {
    fn number(self) -> u32 {
        match self {
            FanoutMode::Hash => libc::PACKET_FANOUT_HASH,
            FanoutMode::RoundRobin => libc::PACKET_FANOUT_LB,
            FanoutMode::Cpu => libc::PACKET_FANOUT_CPU,
            FanoutMode::Queue => libc::PACKET_FANOUT_QM,
            FanoutMode::Random => libc::PACKET_FANOUT_RND,
        }
    }
}

/// A group of sockets of this network namespace that share the frames of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fanout {
    /// The group's number, the same for its members; no other program in the namespace should use it.
    pub group: u16,
    /// Who gets which frame.
    pub mode: FanoutMode,
}

/// Where the kernel takes a frame's timestamp from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampSource {
    /// The kernel's clock.
    Software,
    /// The adapter's own clock, where its driver was told to stamp; otherwise the kernel's.
    Hardware,
}

/// What the kernel counted for a socket since it was made: 64-bit, unlike the kernel's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounts {
    /// Frames that passed the kernel's filter, those dropped included.
    pub passed: u64,
    /// Those of them for which there was no room.
    pub dropped: u64,
    /// How often a TPACKET_V3 ring was full and stood still.
    pub freezes: u64,
}

/// A socket for whole frames, of the network namespace in which it was opened.
#[derive(Debug)]
pub struct PacketSocket {
    descriptor: OwnedFd,
    counts: SocketCounts,
}

impl PacketSocket {
    /// Opens one that hears nothing: its protocol is 0 until [`PacketSocket::bind`].
    ///
    /// # Errors
    /// [`WireError::Missing`] without CAP_NET_RAW.
    pub fn open() -> Result<PacketSocket, WireError> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: a system call without pointers.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        done(fd).map_err(|error| WireError::system("opening a packet socket", error))?;
        // SAFETY: a descriptor that was just made and that nobody else owns.
        let descriptor = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(PacketSocket { descriptor, counts: SocketCounts::default() })
    }

    /// Begins to hear an interface: frames of every protocol that pass the filter, from now on.
    ///
    /// # Errors
    /// If the interface has gone.
    pub fn bind(&self, interface: &Interface) -> Result<(), WireError> {
        self.bind_to(interface, libc::ETH_P_ALL as u16)
    }

    /// Is of that interface for sending, and hears nothing.
    ///
    /// # Errors
    /// If the interface has gone.
    pub fn bind_deaf(&self, interface: &Interface) -> Result<(), WireError> {
        self.bind_to(interface, 0)
    }

    fn bind_to(&self, interface: &Interface, protocol: u16) -> Result<(), WireError> {
        // SAFETY: all-zero is a valid sockaddr_ll.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = interface.index as i32;
        let size = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the kernel reads `size` bytes of `address`, which lives on.
        let bound = unsafe { libc::bind(self.descriptor.as_raw_fd(), (&raw const address).cast(), size) };
        done(bound).map_err(|error| match error.raw_os_error() {
            Some(libc::ENODEV) => WireError::no_interface(&interface.name),
            _ => WireError::system(format!("binding to interface {}", interface.name), error),
        })
    }

    /// Attaches a classic BPF program: it says how many bytes of a frame to keep, 0 for none. Replaces the one before.
    ///
    /// # Errors
    /// A program that the kernel's checker refuses, or a filter that was locked.
    pub fn attach_filter(&self, program: &[libc::sock_filter]) -> Result<(), WireError> {
        let length = u16::try_from(program.len()).map_err(|_| {
            WireError::input("a filter", format!("{} instructions", program.len()), "the kernel takes 4096")
        })?;
        // The kernel only reads it.
        let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
        self.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program, "attaching a filter").map_err(|error| {
            match error.errno() {
                Some(libc::EINVAL) => WireError::input(
                    "a filter",
                    "the kernel's checker refuses it",
                    "check it first: jumps, scratch memory, divisions, a return at its end",
                ),
                _ => error,
            }
        })
    }

    /// Keeps the filter for as long as the socket lives: not even its owner can take it off.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn lock_filter(&self) -> Result<(), WireError> {
        self.set(libc::SOL_SOCKET, libc::SO_LOCK_FILTER, &1i32, "locking the filter")
    }

    /// Has the interface hand over frames that are not for it, for as long as the socket lives.
    ///
    /// # Errors
    /// If the interface has gone or the driver refuses.
    pub fn promiscuous(&self, interface: &Interface) -> Result<(), WireError> {
        let membership = libc::packet_mreq {
            mr_ifindex: interface.index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        let doing = format!("switching interface {} to promiscuous mode", interface.name);
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership, &doing)
    }

    /// Does not hear what this machine itself sends over the interface. Linux 4.20 and later.
    ///
    /// # Errors
    /// If the kernel has it not.
    pub fn ignore_outgoing(&self) -> Result<(), WireError> {
        self.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32, "ignoring frames that are sent here")
    }

    /// Frames that are sent pass by the queueing discipline: faster, and lost when the driver's queue is full.
    ///
    /// # Errors
    /// If the kernel has it not.
    pub fn bypass_queueing(&self) -> Result<(), WireError> {
        self.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32, "going round the queueing discipline")
    }

    /// Chooses who stamps frames that are received.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn stamp_by(&self, source: StampSource) -> Result<(), WireError> {
        let flags = match source {
            StampSource::Software => libc::SOF_TIMESTAMPING_SOFTWARE,
            StampSource::Hardware => libc::SOF_TIMESTAMPING_RAW_HARDWARE | libc::SOF_TIMESTAMPING_SOFTWARE,
        };
        self.set(libc::SOL_PACKET, libc::PACKET_TIMESTAMP, &flags, "choosing who stamps")
    }

    /// Makes a group of a number that nobody uses, joins it, and says which it is. After
    /// [`PacketSocket::bind`]. Linux 4.13 and later. A group takes the place of its sockets at the interface,
    /// so what they ignore it has to ignore as well: where this one does not hear what is sent here
    /// ([`PacketSocket::ignore_outgoing`]), the group does not either.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn found_group(&self, mode: FanoutMode) -> Result<Fanout, WireError> {
        let value = (mode.number() | self.group_flags()? | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16;
        self.set(libc::SOL_PACKET, libc::PACKET_FANOUT, &value, "making a fan-out group")?;
        let number: u32 = option(self.as_fd(), libc::SOL_PACKET, libc::PACKET_FANOUT)
            .map_err(|error| WireError::system("asking for a fan-out group's number", error))?;
        Ok(Fanout { group: number as u16, mode })
    }

    /// What a group must do as this socket does.
    fn group_flags(&self) -> Result<u32, WireError> {
        let ignores: i32 =
            option(self.as_fd(), libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING).map_err(|error| {
                WireError::system("asking whether frames that are sent here are ignored", error)
            })?;
        Ok(if ignores != 0 { libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING } else { 0 })
    }

    /// Joins a group that shares an interface's frames. After [`PacketSocket::bind`].
    ///
    /// # Errors
    /// A group of another mode or interface, or of which one socket ignores what is sent here and the other
    /// does not.
    pub fn join(&self, fanout: Fanout) -> Result<(), WireError> {
        let value = u32::from(fanout.group) | (fanout.mode.number() | self.group_flags()?) << 16;
        let doing = format!("joining fan-out group {}", fanout.group);
        self.set(libc::SOL_PACKET, libc::PACKET_FANOUT, &value, &doing).map_err(|error| match error.errno() {
            Some(libc::EINVAL) => WireError::input(
                doing,
                "the group is of another mode or interface, it hears what is sent here and this one does not, \
                 or this one is down",
                "take another group",
            ),
            _ => error,
        })
    }

    /// Room for frames that wait to be read with recv(), in bytes of the kernel's memory: the kernel counts about 768
    /// for a frame of 60 bytes. Beyond the limit of net.core.rmem_max with CAP_NET_ADMIN only; the answer says how
    /// much it became.
    ///
    /// # Errors
    /// If the kernel refuses altogether.
    pub fn receive_buffer(&self, bytes: usize) -> Result<usize, WireError> {
        // The kernel doubles what it is given, for its own bookkeeping.
        let half = i32::try_from(bytes / 2).unwrap_or(i32::MAX / 2);
        if set_option(self.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &half).is_err() {
            self.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &half, "setting the receive buffer")?;
        }
        let got: i32 = option(self.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF)
            .map_err(|error| WireError::system("asking for the receive buffer's size", error))?;
        Ok(got as usize)
    }

    /// Has each message of recv() come with its length on the wire, its VLAN tag and its timestamp in nanoseconds.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn auxiliary_data(&self) -> Result<(), WireError> {
        self.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, &1i32, "asking for auxiliary data")?;
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1i32, "asking for timestamps")
    }

    /// What the kernel counted so far. Its own counters have 32 bits and are cleared by each look: look at least every
    /// 2^32 frames.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn counts(&mut self) -> Result<SocketCounts, WireError> {
        // Without a ring of version 3 the kernel fills in the first two only.
        let now: libc::tpacket_stats_v3 = option(self.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS)
            .map_err(|error| WireError::system("asking for a socket's counters", error))?;
        self.counts.passed += u64::from(now.tp_packets);
        self.counts.dropped += u64::from(now.tp_drops);
        self.counts.freezes += u64::from(now.tp_freeze_q_cnt);
        Ok(self.counts)
    }

    /// The error that waits on the socket, cleared by this: ENETDOWN after its interface went down or away.
    ///
    /// # Errors
    /// If the kernel does not even tell that.
    pub fn take_error(&self) -> Result<Option<io::Error>, WireError> {
        let code: i32 = option(self.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR)
            .map_err(|error| WireError::system("asking for a socket's error", error))?;
        Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
    }

    /// Sends one frame, whole, over the interface that it is bound to.
    ///
    /// # Errors
    /// What the kernel answers: ENOBUFS when a queue is full, ENETDOWN, EMSGSIZE.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: the kernel reads `frame`.
        let sent = unsafe { libc::send(self.descriptor.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        done(sent as i32)
    }

    pub(crate) fn set<T: Copy>(
        &self,
        level: i32,
        option: i32,
        value: &T,
        doing: &str,
    ) -> Result<(), WireError> {
        set_option(self.as_fd(), level, option, value).map_err(|error| WireError::system(doing, error))
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
