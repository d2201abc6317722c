//! What a peer can do wrong, one word each, so that it can be counted and told.

/// Why a peer lost its connection, or a queue of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The connection ended, or broke within a message.
    #[error("the connection broke: {0}")]
    Connection(String),
    /// It does not read what it is answered.
    #[error("it does not read its answers")]
    Deaf,
    /// A header that is none of vhost-user, version 1.
    #[error("message {request}: no header of vhost-user 1 (flags {flags:#x}, {size} bytes)")]
    Header {
        /// The message's number.
        request: u32,
        /// Its flags.
        flags: u32,
        /// How long it says it is.
        size: u32,
    },
    /// A known message whose content does not fit.
    #[error("message {request}: {reason}")]
    Message {
        /// The message's number.
        request: u32,
        /// What is wrong with it.
        reason: String,
    },
    /// A message that neither the protocol's part here nor the device knows.
    #[error("message {0} is not known here")]
    Unknown(u32),
    /// More descriptors came along than any message has.
    #[error("a message with too many descriptors")]
    Descriptors,
    /// Neither memory nor an eventfd: a descriptor that no message has.
    #[error("a descriptor that is neither memory nor an eventfd")]
    Foreign,
    /// Memory that cannot be used.
    #[error("memory: {0}")]
    Memory(String),
    /// A descriptor that is no eventfd, where one is needed.
    #[error(
        "the descriptor of {0} is no eventfd; pipes and files are not taken, since a write to them can wait"
    )]
    Eventfd(&'static str),
    /// The rings of a queue are not where they could be used.
    #[error("queue: {0}")]
    Rings(String),
    /// More buffers are said to be there than the queue has.
    #[error("the available ring's index is {0} ahead, more than the queue's size")]
    AvailableIndex(u16),
    /// A descriptor outside of its table.
    #[error("descriptor {0} is outside of its table")]
    DescriptorIndex(u16),
    /// A chain that comes back to itself, or is longer than its table: at that descriptor.
    #[error("descriptor {0}: its chain has more descriptors than their table")]
    Loop(u16),
    /// It was being served when what served it failed: that may have been its doing.
    #[error("what served it failed")]
    Failed,
    /// An empty piece.
    #[error("the chain at descriptor {head}: piece {piece} has no bytes")]
    Empty {
        /// The chain's first descriptor.
        head: u16,
        /// Which of its pieces, the first being 1.
        piece: usize,
    },
    /// More than 2^32 − 1 bytes (VIRTIO 1.2, 2.7.5.2).
    #[error("the chain at descriptor {0}: it has more than 4 GiB")]
    TooLong(u16),
    /// A buffer outside of the memory that is shared.
    #[error("{len} bytes at {address:#x} are not in the memory shared")]
    Outside {
        /// Where it would begin, as the guest counts.
        address: u64,
        /// How long it would be.
        len: u32,
    },
    /// A readable piece after a writable one (VIRTIO 1.2, 2.7.4.2).
    #[error("the chain at descriptor {head}: piece {piece} is readable, after a writable one")]
    Order {
        /// The chain's first descriptor.
        head: u16,
        /// Which of its pieces, the first being 1.
        piece: usize,
    },
    /// A buffer that is shorter than what it says is in it.
    #[error("a buffer has less than the {wanted} {} bytes that it should have", if *.writable { "writable" } else { "readable" })]
    Short {
        /// Bytes that should be there at least.
        wanted: u64,
        /// Of those that the device may write, else of those that it may read.
        writable: bool,
    },
    /// The memory keeps whoever writes there waiting, again and again.
    #[error("its memory keeps the device waiting for too long")]
    Slow,
    /// It had a write to its eventfd sleep.
    #[error("its eventfd was full and had who called it sleep, though it must not wait")]
    Held,
    /// A buffer that the device cannot use.
    #[error("{0}")]
    Unfit(&'static str),
    /// A table of descriptors within another, one that goes on, or none where the driver did not ask for such.
    #[error("an indirect table: {0}")]
    Indirect(&'static str),
}

impl Refused {
    /// What whoever has the peer can do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Refused::Connection(_) => "look at what the program says that was connected",
            Refused::Header { .. } | Refused::Message { .. } | Refused::Descriptors | Refused::Deaf => {
                "connect a front end of vhost-user, version 1, that keeps to that protocol"
            }
            Refused::Unknown(_) => {
                "connect a front end for this kind of device, which asks for no more than the features offered"
            }
            Refused::Memory(_) | Refused::Foreign => {
                "give QEMU memory-backend-memfd with share=on, of ordinary pages"
            }
            Refused::Eventfd(_) => "connect a front end that kicks, and is called, by eventfds",
            Refused::Held => {
                "connect a front end that leaves O_NONBLOCK of its eventfds alone, and reads them"
            }
            Refused::Slow => "let the guest give no memory back while the device works in it",
            Refused::Failed => {
                "have the guest set its device up anew, and tell whoever maintains this device"
            }
            Refused::Rings(_)
            | Refused::AvailableIndex(_)
            | Refused::DescriptorIndex(_)
            | Refused::Loop(_)
            | Refused::Empty { .. }
            | Refused::TooLong(_)
            | Refused::Outside { .. }
            | Refused::Order { .. }
            | Refused::Short { .. }
            | Refused::Unfit(_)
            | Refused::Indirect(_) => {
                "load the guest's driver again, which sets its queues up anew; if it comes again, another version of it"
            }
        }
    }
}
