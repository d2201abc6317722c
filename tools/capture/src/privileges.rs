//! Giving up what was only needed to open things: all capabilities, for good, and the user if another is named.

use std::ffi::CString;

use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities, set_no_new_privs,
};
use tollway_core::{Error, Result};

/// Gives up every capability of this process, and the means to get one by running a program; with a name, becomes that
/// user with its groups first. To be called while there is one thread.
///
/// # Errors
/// No such user, or the system refuses: then nothing may be read that others have written.
pub fn drop(user: Option<&str>) -> Result<()> {
    if let Some(name) = user {
        become_user(name)?;
    }
    let told = |doing: &'static str| move |error| Error::system(doing, error);
    set_no_new_privs(true).map_err(told("giving up privileges of programs that are run"))?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    // A kernel without ambient capabilities has none to clear.
    let _ = clear_ambient_capability_set();
    set_capabilities(None, none).map_err(told("giving up capabilities"))
}

fn become_user(name: &str) -> Result<()> {
    let refused = |reason: String, remedy: &str| Error::Input {
        place: format!("-Z {name}"),
        reason,
        remedy: remedy.into(),
    };
    let nobody = || refused("there is no such user".into(), "name one of `getent passwd`");
    let text = CString::new(name).map_err(|_| nobody())?;
    // SAFETY: the name is a string that ends; what is returned is read before the next such call, by the one thread there
    // is.
    let (user, group) = unsafe {
        let found = libc::getpwnam(text.as_ptr());
        if found.is_null() {
            return Err(nobody());
        }
        ((*found).pw_uid, (*found).pw_gid)
    };
    // SAFETY: a string that ends and numbers. Groups first: who is no longer root may not.
    let changed = unsafe {
        libc::initgroups(text.as_ptr(), group) == 0 && libc::setgid(group) == 0 && libc::setuid(user) == 0
    };
    if changed {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(refused(error.to_string(), "only root can become another user: leave -Z out"))
}
