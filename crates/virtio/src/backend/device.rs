//! What a device adds to the protocol.

use super::{Kicks, Refused};

/// A device. Tenants are numbered as their sockets were given to the [`Reception`](super::Reception), which calls all of
/// this from its one thread, those of this process ([`Inside`](super::Inside)) from theirs: nothing here may wait.
pub trait Device: Send + Sync {
    /// Its own feature bits, and of the common ones as it likes. Unless it says otherwise it has none of its own, and VIRTIO_F_VERSION_1
    /// (32), VIRTIO_F_EVENT_IDX (29) and VIRTIO_F_INDIRECT_DESC (28) (VIRTIO 1.2, 6).
    fn features(&self) -> u64 {
        1 << 28 | 1 << 29 | 1 << 32
    }

    /// How many queues it has: 1 to 255.
    fn queues(&self) -> usize {
        1
    }

    /// The largest size of a queue that it takes: a power of two, at most 32,768.
    fn queue_size(&self) -> u16 {
        256
    }

    /// Whether its queues run without having been enabled. QEMU 10's cryptodev-vhost-user agrees to protocol features, and
    /// then never sends the message that enables a queue.
    fn starts_enabled(&self) -> bool {
        false
    }

    /// Feature bits that hold although the peer did not agree to them. QEMU 10's cryptodev-vhost-user keeps to itself what its
    /// guest agreed to with QEMU, indirect tables among it, and agrees to none but that of protocol features.
    fn holds_anyway(&self) -> u64 {
        0
    }

    /// Answers a message that the protocol leaves to devices, such as those of crypto sessions (26, 27). None: unknown.
    fn answer(&self, tenant: usize, request: u32, body: &[u8]) -> Option<Answer> {
        let _ = (tenant, request, body);
        None
    }

    /// Feature bits of the protocol that it needs besides.
    fn protocol_features(&self) -> u64 {
        0
    }

    /// Where the kicks of a tenant's queues are waited for, from its [`Event::Connected`] on; None: where the
    /// [`Reception`](super::Reception) was told. The device may move them elsewhere
    /// ([`Ring::watched_by`](super::Ring::watched_by)).
    fn kicks(&self, tenant: usize) -> Option<&Kicks> {
        let _ = tenant;
        None
    }

    /// Something happened to a tenant.
    fn event(&self, tenant: usize, event: Event<'_>);
}

/// What a device has to say to a message of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The body of the reply. An empty one is a reply, too: to VHOST_USER_GET_CONFIG it says that there is an error
    /// ("Front-end message types" of the protocol).
    Body(Vec<u8>),
    /// The message is of those that have no reply: it is acknowledged like any other.
    Done,
}

/// What happens to a tenant's connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A peer connected.
    Connected,
    /// A queue runs from now on; there may be buffers in it already.
    Started(usize),
    /// A queue does not run any more.
    Stopped(usize),
    /// Its driver begins anew, as after a reboot: what it had made before is over.
    Anew,
    /// A message was refused, or a queue could not start; the connection may be kept.
    Refused(&'a Refused),
    /// The connection is gone. All queues were stopped before.
    Gone,
}
