//! Every crossing that has a price, as one closed list.
//!
//! A closed list makes a toll key checkable when it is compiled: a path that needs a toll names it here, and
//! `paths/all` has a test that some path measures every one of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Boundary, Error};

macro_rules! crossings {
    ($($(#[$doc:meta])* $id:ident = $name:literal, $boundary:ident, $title:literal;)*) => {
        /// One kind of passage through a boundary.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Crossing { $($(#[$doc])* #[doc = concat!("`", $name, "`: ", $title)] $id,)* }

        impl Crossing {
            /// Every crossing, in the order of the price list.
            pub const ALL: &'static [Crossing] = &[$(Crossing::$id),*];

            /// The name in keys, presets and files.
            pub fn name(self) -> &'static str {
                match self { $(Crossing::$id => $name),* }
            }

            /// The name as a person reads it.
            pub fn title(self) -> &'static str {
                match self { $(Crossing::$id => $title),* }
            }

            /// The boundary that is crossed.
            pub fn boundary(self) -> Boundary {
                match self { $(Crossing::$id => Boundary::$boundary),* }
            }
        }
    };
}

crossings! {
    EmptyLoop = "empty-loop", Floor, "nothing, in a batch (the harness)";
    EmptyStamp = "empty-stamp", Floor, "nothing, stamped one by one (the harness)";
    EmptyCall = "empty-call", Floor, "empty function call";

    Rdtsc = "rdtsc", CpuDevice, "time-stamp counter, rdtsc";
    RdtscFenced = "rdtsc-fenced", CpuDevice, "time-stamp counter, lfence and rdtsc";
    Rdtscp = "rdtscp", CpuDevice, "time-stamp counter, rdtscp";
    ClockVdso = "clock-vdso", CpuDevice, "clock_gettime, vDSO";
    Rdrand = "rdrand", CpuDevice, "RDRAND, 64 bits";
    Rdseed = "rdseed", CpuDevice, "RDSEED, 64 bits";
    DirectRead = "direct-read", CpuDevice, "O_DIRECT read";
    DirectWrite = "direct-write", CpuDevice, "O_DIRECT write";
    Fsync = "fsync", CpuDevice, "write and fsync";

    ClockRaw = "clock-raw", UserKernel, "clock_gettime, system call";
    Getppid = "getppid", UserKernel, "system call (getppid)";
    ReadByte = "read-byte", UserKernel, "read (/dev/zero)";
    WriteByte = "write-byte", UserKernel, "write (/dev/null)";
    SystemCall = "system-call", UserKernel, "system call by itself";
    IoUringNop = "io-uring-nop", UserKernel, "io_uring no-op";
    IoUringWrite = "io-uring-write", UserKernel, "io_uring write (/dev/null)";
    Signal = "signal", UserKernel, "signal to oneself, handler and return";
    MinorFault = "minor-fault", UserKernel, "minor page fault";
    MmapMunmap = "mmap-munmap", UserKernel, "mmap and munmap";
    Mprotect = "mprotect", UserKernel, "mprotect, there and back";
    MadviseDontneed = "madvise-dontneed", UserKernel, "madvise(MADV_DONTNEED) and touch";
    PageCacheRead = "page-cache-read", UserKernel, "pread from the page cache";
    ThreadStart = "thread-start", UserKernel, "thread: start and join";
    ProcessStart = "process-start", UserKernel, "process: spawn and wait";
    Interruption = "interruption", UserKernel, "interruption of a thread that never gives its core away";
    SchedYield = "sched-yield", UserKernel, "sched_yield until the other process has answered";

    Futex = "futex", ProcessProcess, "futex round trip";
    WakeUp = "wake-up", ProcessProcess, "wake-up of one who sleeps, for its waker";
    Sleep = "sleep", ProcessProcess, "sleep until woken, processor time of the sleeper";
    HandOver = "hand-over", ProcessProcess, "question and answer between two that sleep, processor time of each";
    Pipe = "pipe", ProcessProcess, "pipe round trip";
    Eventfd = "eventfd", ProcessProcess, "eventfd round trip";
    UnixStream = "unix-stream", ProcessProcess, "Unix stream round trip";
    UnixSeqpacket = "unix-seqpacket", ProcessProcess, "Unix seqpacket round trip";
    PosixQueue = "posix-queue", ProcessProcess, "POSIX message queue round trip";
    TcpLoopback = "tcp-loopback", ProcessProcess, "TCP loopback round trip";
    UdpLoopback = "udp-loopback", ProcessProcess, "UDP loopback round trip";
    DescriptorPass = "descriptor-pass", ProcessProcess, "descriptor passed and returned";

    CacheLine = "cache-line", CoreCore, "cache line there and back";
    AtomicAlone = "atomic-alone", CoreCore, "atomic add, uncontended";
    AtomicContended = "atomic-contended", CoreCore, "atomic add, contended";

    Copy = "copy", MemoryMemory, "copy";

    ExitInside = "exit-inside", GuestHost, "VM exit of this machine itself (CPUID)";
    ExitPort = "exit-port", GuestHost, "port output of a micro-guest, to its program and back";
    ExitMmio = "exit-mmio", GuestHost, "MMIO store of a micro-guest, to its program and back";
    ExitIoeventfd = "exit-ioeventfd", GuestHost, "MMIO store of a micro-guest, caught by an ioeventfd";
    ExitCpuid = "exit-cpuid", GuestHost, "CPUID of a micro-guest, answered by the kernel";
    ExitVmcall = "exit-vmcall", GuestHost, "hypercall of a micro-guest";
    GuestDoorbell = "guest-doorbell", GuestHost, "doorbell of a micro-guest wakes a process, answered through memory";

    FrameHandOver = "frame-hand-over", Work, "driver hands a frame over";
    PacketFilter = "packet-filter", Work, "packet filter";
    PacketStamp = "packet-stamp", CpuDevice, "timestamp of a packet";
    BufferPlace = "buffer-place", Work, "place in the packet buffer, and header";
    BufferCopy = "buffer-copy", MemoryMemory, "copy into the packet buffer";
    BufferRead = "buffer-read", UserKernel, "read of a batch of packets";
    PacketLook = "packet-look", Work, "application looks at a packet";

    PacketSend = "packet-send", UserKernel, "frame sent by a packet socket";
    PacketTake = "packet-take", UserKernel, "frame that lies ready, taken from a live source";
    PacketWait = "packet-wait", UserKernel, "wait for packets";
    PacketCheck = "packet-check", Work, "application looks at a packet and checks its number";
    PacketWork = "packet-work", Work, "work of the application on a packet";

    EntropyDraw = "entropy-draw", CpuDevice, "64 bits drawn from a generator";
    FipsTest = "fips-test", Work, "FIPS 140-2 tests of a block of 20,000 bits";
    EntropyReduce = "entropy-reduce", Work, "512 samples of 128 bits reduced to one (AES-CBC-MAC)";

    CipherWork = "cipher-work", Work, "cipher called in the program";
    RequestSubmit = "request-submit", CoreCore, "request written and laid into a queue";
    RequestTurn = "request-turn", CoreCore, "turn of a device that does a request";
    RequestRound = "request-round", CoreCore, "round of a device: it waits, is kicked already, and does a request";
    RequestTake = "request-take", CoreCore, "result taken out of a queue and read";
    TableTake = "table-take", Work, "table of a request's descriptors, copied and checked";
    QueueLook = "queue-look", Work, "look into a queue that has nothing";
    KickAsleep = "kick-asleep", ProcessProcess, "eventfd written on which somebody sleeps";
    SleepWake = "sleep-wake", ProcessProcess, "sleep on eventfds, and wake-up";
    WakeLate = "wake-late", ProcessProcess, "from the write to an eventfd until who slept on it runs";

    Message = "message", ProcessProcess, "request and reply through shared memory, both ends awake";
    Notice = "notice", ProcessProcess, "wake-up there and back by the doorbells of a channel";
    CrowdedCall = "crowded-call", ProcessProcess, "call by a Unix seqpacket socket, a thread at either end for each that is under way";
    StackRequest = "stack-request", ProcessProcess, "message over TCP that a network stack in a program answers by itself";
    RequestWork = "request-work", Work, "work of a server on a request";
    PageCall = "page-call", UserKernel, "memory taken or given back (madvise)";
    KernelCall = "kernel-call", UserKernel, "memory taken or given back, asked of io_uring";
    MatrixProduct = "matrix-product", Work, "product of two matrices of n×n numbers";
}

impl fmt::Display for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Crossing {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Crossing::ALL.iter().copied().find(|c| c.name() == text).ok_or_else(|| Error::Input {
            place: format!("crossing `{text}`"),
            reason: "there is no crossing of that name".into(),
            remedy: "`tollway list crossings` names them".into(),
        })
    }
}

impl Serialize for Crossing {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Crossing {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_parse_back() {
        for (i, c) in Crossing::ALL.iter().enumerate() {
            assert_eq!(c.name().parse::<Crossing>().unwrap(), *c);
            assert!(Crossing::ALL[i + 1..].iter().all(|d| d.name() != c.name()), "{c} twice");
        }
    }
}
