//! Who else decides: libpcap's `bpf_filter`, Linux, and a plain machine of our own that knows where these two differ.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use tollway_capture::engine::bpf::{Alu, Instruction, Meaning, Operand, Program, Test, Width};

#[cfg(feature = "libpcap")]
mod libpcap {
    use super::Instruction;

    // pcap/bpf.h. The crate `pcap` links the library and does not show these.
    unsafe extern "C" {
        pub safe fn bpf_validate(program: *const Instruction, length: i32) -> i32;
        pub fn bpf_filter(program: *const Instruction, packet: *const u8, wire: u32, kept: u32) -> u32;
        pub fn bpf_image(instruction: *const Instruction, number: i32) -> *const std::ffi::c_char;
    }
}

/// libpcap's verdict.
#[cfg(feature = "libpcap")]
pub fn libpcap(program: &Program, bytes: &[u8], wire_length: u32) -> u32 {
    // SAFETY: the program was checked here, more strictly than `bpf_filter` relies on; the packet is as long as said.
    unsafe {
        libpcap::bpf_filter(program.instructions().as_ptr(), bytes.as_ptr(), wire_length, bytes.len() as u32)
    }
}

/// Whether libpcap takes the program.
#[cfg(feature = "libpcap")]
pub fn libpcap_takes(instructions: &[Instruction]) -> bool {
    // It looks at the last instruction only after the length.
    !instructions.is_empty() && libpcap::bpf_validate(instructions.as_ptr(), instructions.len() as i32) != 0
}

/// How libpcap prints an instruction.
#[cfg(feature = "libpcap")]
pub fn libpcap_text(instruction: Instruction, number: usize) -> String {
    // SAFETY: it returns a text of its own that lives until it is called again; tests that call it do so in one thread.
    let text = unsafe { std::ffi::CStr::from_ptr(libpcap::bpf_image(&instruction, number as i32)) };
    text.to_str().expect("libpcap prints ASCII").to_owned()
}

/// Linux, by a socket pair with the program attached to one end: what arrives there is what the program keeps.
///
/// The two ends are each other's only peer, so that the number of datagrams that wait has no limit but the sender's
/// buffer (`unix_dgram_sendmsg`): many are sent at once, then all that arrived are taken.
pub struct Linux {
    sender: OwnedFd,
    receiver: OwnedFd,
    /// Where datagrams are received.
    rooms: Vec<[u8; ROOM]>,
}

/// As many packets as may be sent at once.
pub const BATCH: usize = 64;
/// The longest of them.
const ROOM: usize = 512;

impl Linux {
    /// Makes the sockets.
    pub fn new() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (sender, receiver) = net::socketpair(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        Ok(Linux { sender, receiver, rooms: vec![[0; ROOM]; BATCH] })
    }

    /// Attaches a program in the place of the one before.
    pub fn attach(&self, instructions: &[Instruction]) -> io::Result<()> {
        let program = libc::sock_fprog {
            len: u16::try_from(instructions.len()).map_err(io::Error::other)?,
            filter: instructions.as_ptr().cast_mut().cast(),
        };
        // SAFETY: the kernel copies the program, whose layout is that of `struct sock_filter` (a test says so).
        let result = unsafe {
            libc::setsockopt(
                self.receiver.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const program).cast(),
                size_of_val(&program) as u32,
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// What arrives of packets, `BATCH` of them at most, in their order. Those that are not wanted do not.
    pub fn pass(&mut self, packets: &[Vec<u8>]) -> io::Result<Vec<&[u8]>> {
        assert!(packets.len() <= BATCH && packets.iter().all(|p| p.len() <= ROOM));
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let mut vectors = [empty; BATCH];
        for (vector, packet) in vectors.iter_mut().zip(packets) {
            *vector = libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() };
        }
        let mut headers = headers(&mut vectors);
        let count = packets.len() as u32;
        // SAFETY: every header has one vector, and every vector a packet that is only read.
        let sent = unsafe { libc::sendmmsg(self.sender.as_raw_fd(), headers.as_mut_ptr(), count, 0) };
        if sent != count as i32 {
            return Err(io::Error::last_os_error());
        }
        for (vector, room) in vectors.iter_mut().zip(&mut self.rooms) {
            *vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: ROOM };
        }
        let mut headers = self::headers(&mut vectors);
        let (receiver, none) = (self.receiver.as_raw_fd(), std::ptr::null_mut());
        // SAFETY: every header has one vector, and every vector a room of `ROOM` bytes that nothing else borrows.
        let received = unsafe { libc::recvmmsg(receiver, headers.as_mut_ptr(), BATCH as u32, 0, none) };
        let received = match received {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock => 0,
            -1 => return Err(io::Error::last_os_error()),
            received => received as usize,
        };
        let rooms = self.rooms.iter().zip(&headers[..received]);
        Ok(rooms.map(|(room, header)| &room[..header.msg_len as usize]).collect())
    }
}

fn headers(vectors: &mut [libc::iovec; BATCH]) -> Vec<libc::mmsghdr> {
    let header = |vector: &mut libc::iovec| {
        // SAFETY: a header of zeros is one without name, vectors and control data.
        let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        header.msg_hdr.msg_iov = vector;
        header.msg_hdr.msg_iovlen = 1;
        header
    };
    vectors.iter_mut().map(header).collect()
}

/// The rules by which the plain machine goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// libpcap's, and ours.
    Libpcap,
    /// Linux's: shifts by the low five bits of X, and x + k wraps around.
    Linux,
}

/// The plain machine's verdict.
pub fn plain(program: &Program, bytes: &[u8], wire_length: u32, rules: Rules) -> u32 {
    judge(program, bytes, wire_length, rules).unwrap_or(0)
}

/// The plain machine: one instruction after the other, every byte looked up by itself. `None` where a load beyond the
/// packet or a division by 0 ended the program, which is verdict 0.
pub fn judge(program: &Program, bytes: &[u8], wire_length: u32, rules: Rules) -> Option<u32> {
    let (mut a, mut x, mut scratch, mut at) = (0u32, 0u32, [0u32; 16], 0usize);
    let load = |from: u64, width: Width| -> Option<u32> {
        (0..u64::from(width.bytes())).try_fold(0u32, |value, i| {
            let byte = bytes.get(usize::try_from(from + i).ok()?)?;
            Some(value << 8 | u32::from(*byte))
        })
    };
    loop {
        let Some(meaning) = program.instructions()[at].meaning() else { unreachable!("it was checked") };
        at += 1;
        let value = |operand| match operand {
            Operand::K(k) => k,
            Operand::X => x,
        };
        match meaning {
            Meaning::LoadAbsolute(width, k) => a = load(k.into(), width)?,
            Meaning::LoadIndirect(width, k) => {
                let from = match rules {
                    Rules::Libpcap => u64::from(x) + u64::from(k),
                    Rules::Linux => u64::from(x.wrapping_add(k)),
                };
                a = load(from, width)?;
            }
            Meaning::LoadXHeader(k) => x = 4 * (load(k.into(), Width::Byte)? % 16),
            Meaning::LoadLength => a = wire_length,
            Meaning::LoadXLength => x = wire_length,
            Meaning::LoadImmediate(k) => a = k,
            Meaning::LoadXImmediate(k) => x = k,
            Meaning::LoadScratch(k) => a = scratch[k as usize],
            Meaning::LoadXScratch(k) => x = scratch[k as usize],
            Meaning::Store(k) => scratch[k as usize] = a,
            Meaning::StoreX(k) => scratch[k as usize] = x,
            Meaning::Arithmetic(alu, operand) => {
                let by = value(operand);
                let shift = if rules == Rules::Linux { by & 31 } else { by };
                a = match alu {
                    Alu::Add => a.wrapping_add(by),
                    Alu::Sub => a.wrapping_sub(by),
                    Alu::Mul => a.wrapping_mul(by),
                    Alu::Div | Alu::Mod if by == 0 => return None,
                    Alu::Div => a / by,
                    Alu::Mod => a % by,
                    Alu::Or => a | by,
                    Alu::And => a & by,
                    Alu::Xor => a ^ by,
                    Alu::ShiftLeft => u64::from(a).checked_shl(shift).unwrap_or(0) as u32,
                    Alu::ShiftRight => u64::from(a).checked_shr(shift).unwrap_or(0) as u32,
                };
            }
            Meaning::Negate => a = 0u32.wrapping_sub(a),
            Meaning::Jump(skip) => at += skip as usize,
            Meaning::Branch(test, operand, jt, jf) => {
                let other = value(operand);
                let holds = match test {
                    Test::Equal => a == other,
                    Test::Greater => a > other,
                    Test::GreaterOrEqual => a >= other,
                    Test::AnyBit => a & other != 0,
                };
                at += usize::from(if holds { jt } else { jf });
            }
            Meaning::ReturnConstant(k) => return Some(k),
            Meaning::ReturnA => return Some(a),
            Meaning::Tax => x = a,
            Meaning::Txa => a = x,
        }
    }
}
