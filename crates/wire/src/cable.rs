//! A cable that nobody else is plugged into: a veth pair in a namespace of its own, for tests and measurements.

use crate::{End, Namespace, WireError, set_up, veth_pair};

/// Two interfaces, [`Cable::LEFT`] and [`Cable::RIGHT`], both up: what one sends, the other receives. Nothing else is on
/// it: no addresses, no protocol that speaks by itself. Gone when this is dropped or the process ends.
#[derive(Debug)]
pub struct Cable {
    namespace: Namespace,
}

impl Cable {
    /// The name of one end.
    pub const LEFT: &'static str = "left";
    /// The name of the other.
    pub const RIGHT: &'static str = "right";

    /// With one queue, and frames of up to 1514 bytes.
    ///
    /// # Errors
    /// [`WireError::Missing`] if this process may make no namespaces.
    pub fn new() -> Result<Cable, WireError> {
        Cable::with_queues(1)
    }

    /// With so many queues at each end.
    ///
    /// # Errors
    /// [`WireError::Missing`] if this process may make no namespaces.
    pub fn with_queues(queues: u32) -> Result<Cable, WireError> {
        let namespace = Namespace::new()?;
        namespace.run(|| {
            let end = |name| End { queues, ..End::new(name) };
            veth_pair(&end(Cable::LEFT), &end(Cable::RIGHT))?;
            set_up(Cable::LEFT, true)?;
            set_up(Cable::RIGHT, true)
        })??;
        Ok(Cable { namespace })
    }

    /// Where both ends are.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }
}
