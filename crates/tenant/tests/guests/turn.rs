//! Whose turn it is: some tests count what this process has, some measure, and there may be two processors.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tollway_host::requirement::skip_test;
use tollway_tenant::linux::{self, Boot};
use tollway_tenant::micro;

/// As long as it is kept no other test of this program begins.
pub type Turn = MutexGuard<'static, ()>;

pub fn turn() -> Turn {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to use KVM, if this machine has one; else says why not.
pub fn kvm() -> Option<Turn> {
    let turn = turn();
    if let Err(error) = micro::check() {
        skip_test(&["micro-guest", "kvm"], &error);
        return None;
    }
    Some(turn)
}

/// What guests are made of, and the turn to boot one, of tests of other programs as well: guests that boot at
/// the same time would only
/// slow each other down. `None` where there can be no guests.
pub fn boot() -> Option<(&'static Boot, (Turn, File))> {
    static BOOT: OnceLock<Boot> = OnceLock::new();
    let turn = turn();
    if let Err(missing) = linux::check(None) {
        skip_test(&["qemu"], &missing);
        return None;
    }
    let of_all = File::create(std::env::temp_dir().join("tollway-guest-tests.lock")).unwrap();
    of_all.lock().unwrap();
    Some((BOOT.get_or_init(|| Boot::prepare(None).unwrap()), (turn, of_all)))
}
