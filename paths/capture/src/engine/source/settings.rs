//! What is asked of a live source.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tollway_wire::FanoutMode;
use tollway_wire::xdp::Mode;

use crate::engine::bpf::Program;

/// By which way frames come from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// recvmsg(2): a system call and a copy for each frame.
    Recv,
    /// recvmmsg(2): a system call for up to 64 frames, a copy for each.
    Recvmmsg,
    /// TPACKET_V2: a ring of slots, handed over one by one.
    TpacketV2,
    /// TPACKET_V3: a ring of blocks of many frames, handed over when full or after a while.
    TpacketV3,
    /// AF_XDP: frames before the kernel's network stack sees them, and *instead* of it: they reach nobody else on this
    /// machine. Incoming frames of one receive queue.
    AfXdp,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [Kind::Recv, Kind::Recvmmsg, Kind::TpacketV2, Kind::TpacketV3, Kind::AfXdp];

    /// Its name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Recv => "recv",
            Kind::Recvmmsg => "recvmmsg",
            Kind::TpacketV2 => "tpacket-v2",
            Kind::TpacketV3 => "tpacket-v3",
            Kind::AfXdp => "af-xdp",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        Kind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            format!("no source is called {text}; there are {names}")
        })
    }
}

/// Where the filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// In the kernel (AF_XDP: here, since its frames pass no classic filter): what is not wanted is never copied, and how much that was only the interface can tell. Frames with
    /// a VLAN tag are decided upon here, since the kernel takes the tag out before its filter looks.
    Kernel,
    /// Here: everything is copied, and everything is known.
    User,
    /// In the kernel, and once more here.
    Both,
}

/// Settings of a source, with the defaults of most captures.
#[derive(Clone, Debug)]
pub struct Settings {
    /// By which way frames come.
    pub kind: Kind,
    /// How many bytes of a packet are kept at the most.
    pub snapshot: u32,
    /// Memory for packets that wait to be read, in bytes.
    pub buffer: usize,
    /// Whether the interface hands over frames that are for others.
    pub promiscuous: bool,
    /// Whether each packet is handed over at once (TPACKET_V3: within 1 ms). Else packets may wait for others to come, so
    /// that one wake-up serves many: TPACKET_V3 until a block is full, the others up to 1 ms.
    pub immediate: bool,
    /// How long packets may wait for others at the most.
    pub patience: Duration,
    /// Whether frames that this machine sends are captured too. On the loopback interface they never are: there every
    /// frame comes back.
    pub outgoing: bool,
    /// Whether an interface that goes down is waited for until it is up again, as libpcap does. Else that is
    /// an error, as it always is where the interface goes away.
    pub waits_for_interface: bool,
    /// Which packets are wanted; `None`: all.
    pub filter: Option<Program>,
    /// Where that is decided.
    pub placement: Placement,
    /// Whether to keep the kernel's filter from being changed, by us as well.
    pub lock_filter: bool,
    /// The receive queue to read (AF_XDP).
    pub queue: u32,
    /// Where AF_XDP's program runs; `None`: in the driver if it can, else in the kernel's stack.
    pub xdp_mode: Option<Mode>,
    /// Who gets which frame, where several sources share an interface ([`super::Source::open_group`]). AF_XDP has
    /// a source for each receive queue instead.
    pub fanout: FanoutMode,
}

impl Settings {
    /// The snapshot length that cuts nothing, as tcpdump's.
    pub const WHOLE: u32 = 262_144;

    /// How long more frames are waited for once there are some: a tenth of the time in which a buffer fills with a
    /// million short frames a second (about 800 bytes of the kernel's memory each), at the most a millisecond.
    /// TPACKET_V3 does its waiting in the kernel.
    pub fn nap(&self) -> Duration {
        const BYTES_PER_MILLISECOND: u64 = 8 << 20;
        if self.immediate || self.kind == Kind::TpacketV3 {
            return Duration::ZERO;
        }
        let nap = Duration::from_micros(self.buffer as u64 * 1000 / BYTES_PER_MILLISECOND);
        nap.min(Duration::from_millis(1)).min(self.patience)
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            kind: Kind::TpacketV3,
            snapshot: Settings::WHOLE,
            buffer: 16 << 20,
            promiscuous: true,
            immediate: false,
            patience: Duration::from_millis(100),
            outgoing: true,
            waits_for_interface: false,
            filter: None,
            placement: Placement::Kernel,
            lock_filter: false,
            queue: 0,
            xdp_mode: None,
            fanout: FanoutMode::Hash,
        }
    }
}
