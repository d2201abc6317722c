//! libpcap, which tests ask for what nothing else needs: opened by itself, not by what is tested.

use std::ffi::CStr;

/// A function of libpcap.
///
/// # Safety
/// `F` is its type.
///
/// # Panics
/// Where there is no libpcap, or no such function in it.
pub unsafe fn function<F: Copy>(name: &CStr) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut libc::c_void>()) };
    // SAFETY: the names end with a NUL, and libpcap's initialisers need nothing.
    let library = unsafe { libc::dlopen(c"libpcap.so.0.8".as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null(), "no libpcap.so.0.8; install libpcap0.8 (Debian 13: libpcap0.8t64)");
    // SAFETY: the library is open and is never closed.
    let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!symbol.is_null(), "no {name:?} in libpcap.so.0.8");
    // SAFETY: both are addresses, and the caller knows the function.
    unsafe { std::mem::transmute_copy(&symbol) }
}
