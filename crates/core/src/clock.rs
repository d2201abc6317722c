//! The clock as an interface: paths and load generators count its ticks, `tollway-host` implements it.

/// A reading of the run's common clock, in ticks.
pub type Ticks = u64;

/// A monotonic counter that all actors of a trial share.
///
/// Reads are `Copy` and cheap; implementations must work without a system call wherever a micro-guest is to use them.
pub trait Clock: Copy + Send + 'static {
    /// A plain reading: no fence, may be reordered by a few instructions.
    fn now(&self) -> Ticks;
    /// A reading that no earlier work can drift past and no later work can start before: opens a stamped stretch.
    fn open(&self) -> Ticks;
    /// A reading after all earlier work has finished: closes a stamped stretch.
    fn close(&self) -> Ticks;
}
