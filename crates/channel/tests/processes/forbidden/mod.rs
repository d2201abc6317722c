//! Where the kernel lacks calls, or a sandbox forbids them: what needs them says so, and what can do without does.

#[expect(dead_code, reason = "other tests need more of it")]
mod apart;
#[path = "../../../../host/testing/filter.rs"]
mod filter;
mod no_ring;
mod one_word;
mod waked;

/// A kernel that has no such call, and a filter that does not allow it.
const ERRORS: [i32; 2] = [libc::ENOSYS, libc::EPERM];
