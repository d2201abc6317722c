//! What an isolated payload has around it: the room that its host made, told at each call.

/// The guest's surroundings. A pointer to it is every entry's second argument; it lies on a page that only the host
/// writes. Addresses are the guest's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Room {
    /// Memory that guest and host share; a multiple of 64.
    pub window: usize,
    /// Bytes of the window.
    pub window_bytes: usize,
    /// Memory of the guest's own, zero when the guest is made.
    pub memory: usize,
    /// Bytes of it.
    pub memory_bytes: usize,
    /// A 32-bit store to it leaves for the host, which counts it and continues the guest.
    pub exit: usize,
    /// An output to it leaves likewise.
    pub exit_port: usize,
    /// The first doorbell: a 32-bit store to it raises an event in the host without leaving for it.
    pub doorbells: usize,
    /// How many there are.
    pub doorbell_count: usize,
    /// Bytes from one doorbell to the next.
    pub doorbell_stride: usize,
    /// A 32-bit load from it leaves, and comes back when this processor has been rung; it reads how often.
    pub idle: usize,
    /// Which virtual processor this is, from 0.
    pub processor: usize,
}

impl Room {
    /// The window as words of 64 bits, for atomic access.
    ///
    /// # Safety
    /// `self` is the room that the host told, inside the guest.
    pub unsafe fn words(&self) -> &'static [core::sync::atomic::AtomicU64] {
        // SAFETY: the caller's: the host has mapped the window for as long as the guest lives.
        unsafe { core::slice::from_raw_parts(self.window as *const _, self.window_bytes / 8) }
    }

    /// The address of doorbell `number`, if there is one.
    pub fn doorbell(&self, number: usize) -> Option<usize> {
        (number < self.doorbell_count).then(|| self.doorbells + number * self.doorbell_stride)
    }
}
