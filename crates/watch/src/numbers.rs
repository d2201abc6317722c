//! The system calls of x86-64, of 32 bits and of x32: their names, and which are on a file. The names are those of the crate `syscalls`, which follows the
//! kernel's tables (arch/x86/entry/syscalls/syscall_64.tbl and syscall_32.tbl; 0.8.1 is Linux 6.18); which are on a file is ours.
//!
//! A call has one number here, whichever table it is of: its place in the table, and [`I386`] or [`X32`] more.

use std::str::FromStr;
use std::sync::OnceLock;

use syscalls::{Sysno, SysnoSet, x86};

/// What is added to the number of a call of 32 bits: by `int 0x80`, or of a 32-bit program.
pub const I386: u32 = TABLE;
/// What is added to the number of a call of x32, less the bit that the kernel has there (`__X32_SYSCALL_BIT`).
pub const X32: u32 = 2 * TABLE;

/// Places of a table. The last stands for all beyond it: x86-64 had 470 in Linux 6.18, and x32 548.
pub(crate) const TABLE: u32 = 1024;
/// Numbers of calls here: less than this.
pub(crate) const NUMBERS: u32 = 3 * TABLE;
/// What the kernel adds to the number of a call of x32 (asm/unistd_x32.h).
pub(crate) const X32_BIT: u32 = 0x4000_0000;

/// The number here of a call that the kernel has under this one, in the table of 32 bits or in those of 64.
pub(crate) fn of_table(number: u64, is_of_32_bits: bool) -> u32 {
    let within = |number: u64| number.min(u64::from(TABLE - 1)) as u32;
    match number.checked_sub(u64::from(X32_BIT)) {
        _ if is_of_32_bits => I386 + within(number),
        Some(number) if number < u64::from(TABLE) => X32 + within(number),
        _ => within(number),
    }
}

/// The name of a call in its table; `None` where that has none of this number.
pub fn name(number: u32) -> Option<&'static str> {
    match number.checked_sub(I386) {
        Some(number) if number < TABLE => x86::Sysno::new(number as usize).map(|call| plain(call.name())),
        _ => known(number).map(|call| call.name()),
    }
}

/// One of them is a word of this language, and is written so there.
fn plain(name: &'static str) -> &'static str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// The name of the call of x86-64 that does what this one does; else as [`name`].
pub fn native_name(number: u32) -> Option<&'static str> {
    known(number).map(|call| call.name()).or_else(|| name(number))
}

/// What a call's table is called that is not x86-64's.
pub fn table(number: u32) -> Option<&'static str> {
    match number {
        I386..X32 => Some("32-bit"),
        X32..NUMBERS => Some("x32"),
        _ => None,
    }
}

/// Whether the call's first argument is a descriptor: of the file that it works on, or of the folder from which it looks for one (then it may be
/// `AT_FDCWD`, which is none). `false` for numbers beyond the table.
pub fn is_on_file(number: u32) -> bool {
    known(number).is_some_and(|call| ON_FILES.contains(call))
}

/// Whether the call ends who makes it, and so never comes back.
pub fn is_last(number: u32) -> bool {
    matches!(known(number), Some(Sysno::exit | Sysno::exit_group))
}

/// Which argument has the flags of a call that asks about a file by its name in a folder, or about the folder itself (AT_EMPTY_PATH), counted from 0;
/// `None` of other calls.
pub(crate) fn flags_of_asking(number: u32) -> Option<usize> {
    match known(number)? {
        Sysno::newfstatat => Some(3),
        Sysno::statx => Some(2),
        _ => None,
    }
}

/// Which argument is the path of a file that the call opens, counted from 0; `None` of calls that open none by a path.
pub(crate) fn opened(number: u32) -> Option<usize> {
    match known(number)? {
        Sysno::open | Sysno::creat => Some(0),
        Sysno::openat | Sysno::openat2 => Some(1),
        _ => None,
    }
}

/// Which argument is the path of a call that looks for one file by its name, counted from 0; `None` of other calls, as of those that have two paths.
pub fn path(number: u32) -> Option<usize> {
    match known(number)? {
        Sysno::open
        | Sysno::creat
        | Sysno::stat
        | Sysno::lstat
        | Sysno::access
        | Sysno::readlink
        | Sysno::unlink
        | Sysno::mkdir => Some(0),
        Sysno::openat
        | Sysno::openat2
        | Sysno::newfstatat
        | Sysno::statx
        | Sysno::faccessat
        | Sysno::faccessat2
        | Sysno::readlinkat
        | Sysno::unlinkat
        | Sysno::mkdirat => Some(1),
        _ => None,
    }
}

/// Which argument has the flags of a call that opens a file by a path, counted from 0; `None` of other calls, and of openat2(2), which has
/// them in memory.
pub(crate) fn flags_of_opening(number: u32) -> Option<usize> {
    match known(number)? {
        Sysno::open => Some(1),
        Sysno::openat => Some(2),
        _ => None,
    }
}

/// The flags of a call that opens a file by a path, which has these arguments, as far as they tell: 0 of other calls.
pub(crate) fn opening(number: u32, arguments: &[u64; 6]) -> u64 {
    match known(number) {
        Some(Sysno::creat) => libc::O_CREAT as u64,
        _ => flags_of_opening(number).map_or(0, |at| arguments[at]),
    }
}

/// Whether the call ends the threads that the kernel has in the process of who makes it, where there are some.
pub(crate) fn ends_workers(number: u32) -> bool {
    matches!(known(number), Some(Sysno::exit_group | Sysno::execve | Sysno::execveat))
}

/// Whether after the call a descriptor may lead to another file than before, or to none. One that was free and now leads to a file does not count. Operations given
/// to io_uring close files as well.
pub fn frees_descriptors(number: u32) -> bool {
    use Sysno::{close, close_range, dup2, dup3, execve, execveat, io_uring_enter};
    matches!(known(number), Some(close | close_range | dup2 | dup3 | execve | execveat | io_uring_enter))
}

/// Whether the kernel counts the call among those that read or write (`inc_syscr` and `inc_syscw` in fs/read_write.c).
pub fn is_accounted(number: u32) -> bool {
    use Sysno::{pread64, preadv, preadv2, pwrite64, pwritev, pwritev2, read, readv, write, writev};
    known(number).is_some_and(|call| {
        matches!(
            call,
            read | write | pread64 | pwrite64 | readv | writev | preadv | pwritev | preadv2 | pwritev2
        )
    })
}

/// The call of x86-64 that does what the one of this number does.
fn known(number: u32) -> Option<Sysno> {
    static OF_OTHERS: OnceLock<Vec<Option<Sysno>>> = OnceLock::new();
    if number < I386 {
        return Sysno::new(number as usize);
    }
    let of_others = OF_OTHERS.get_or_init(|| {
        let of_32_bits = (0..TABLE).map(|number| native(x86::Sysno::new(number as usize)?.name()));
        of_32_bits.chain((0..TABLE).map(of_x32)).collect()
    });
    of_others.get((number - I386) as usize).copied().flatten()
}

/// The call of x86-64 that does what one of 32 bits with this name does. Those of which the times have 64 bits, or the sizes, or the users' numbers
/// more than 16, have that in their names; some were replaced by others with more arguments.
fn native(name: &str) -> Option<Sysno> {
    let named = |name: &str| Sysno::from_str(name).ok();
    let shorter = || ["_time64", "64", "32"].iter().find_map(|end| named(name.strip_suffix(end)?));
    named(name).or_else(shorter).or_else(|| {
        Some(match name {
            "_llseek" => Sysno::lseek,
            "_newselect" => Sysno::select,
            "fadvise64_64" => Sysno::fadvise64,
            "fstatat64" => Sysno::newfstatat,
            "mmap2" => Sysno::mmap,
            "oldfstat" => Sysno::fstat,
            "oldlstat" => Sysno::lstat,
            "oldstat" => Sysno::stat,
            "oldolduname" | "olduname" => Sysno::uname,
            "readdir" => Sysno::getdents,
            "sigaction" | "signal" => Sysno::rt_sigaction,
            "sigpending" => Sysno::rt_sigpending,
            "sigprocmask" | "sgetmask" | "ssetmask" => Sysno::rt_sigprocmask,
            "sigreturn" => Sysno::rt_sigreturn,
            "sigsuspend" => Sysno::rt_sigsuspend,
            "ugetrlimit" => Sysno::getrlimit,
            "umount" => Sysno::umount2,
            "waitpid" => Sysno::wait4,
            _ => return None,
        })
    })
}

/// The call of x86-64 that does what the one of x32 with this number does: the same, but for those whose structures have other sizes
/// (syscall_64.tbl, "x32").
fn of_x32(number: u32) -> Option<Sysno> {
    const FIRST: u32 = 512;
    match number.checked_sub(FIRST) {
        None => Sysno::new(number as usize),
        Some(at) => OF_X32.get(at as usize).copied(),
    }
}

/// The calls that x32 has for itself, from 512 on (asm/unistd_x32.h).
static OF_X32: [Sysno; 36] = [
    Sysno::rt_sigaction,
    Sysno::rt_sigreturn,
    Sysno::ioctl,
    Sysno::readv,
    Sysno::writev,
    Sysno::recvfrom,
    Sysno::sendmsg,
    Sysno::recvmsg,
    Sysno::execve,
    Sysno::ptrace,
    Sysno::rt_sigpending,
    Sysno::rt_sigtimedwait,
    Sysno::rt_sigqueueinfo,
    Sysno::sigaltstack,
    Sysno::timer_create,
    Sysno::mq_notify,
    Sysno::kexec_load,
    Sysno::waitid,
    Sysno::set_robust_list,
    Sysno::get_robust_list,
    Sysno::vmsplice,
    Sysno::move_pages,
    Sysno::preadv,
    Sysno::pwritev,
    Sysno::rt_tgsigqueueinfo,
    Sysno::recvmmsg,
    Sysno::sendmmsg,
    Sysno::process_vm_readv,
    Sysno::process_vm_writev,
    Sysno::setsockopt,
    Sysno::getsockopt,
    Sysno::io_setup,
    Sysno::io_submit,
    Sysno::execveat,
    Sysno::preadv2,
    Sysno::pwritev2,
];

/// Calls whose first argument is a descriptor (fs/, net/, ipc/mqueue.c, io_uring/, kernel/ of Linux 6.18: `int fd`, `int dfd`, `mqd_t`). Those that take it
/// as a mere number are not here: `close_range`, `select`.
static ON_FILES: SysnoSet = SysnoSet::new(&[
    // What is read and written.
    Sysno::read,
    Sysno::write,
    Sysno::pread64,
    Sysno::pwrite64,
    Sysno::readv,
    Sysno::writev,
    Sysno::preadv,
    Sysno::pwritev,
    Sysno::preadv2,
    Sysno::pwritev2,
    Sysno::sendfile,
    Sysno::splice,
    Sysno::tee,
    Sysno::vmsplice,
    Sysno::copy_file_range,
    Sysno::lseek,
    Sysno::readahead,
    Sysno::fadvise64,
    Sysno::fallocate,
    Sysno::ftruncate,
    Sysno::fsync,
    Sysno::fdatasync,
    Sysno::sync_file_range,
    Sysno::syncfs,
    Sysno::cachestat,
    // Descriptors themselves.
    Sysno::close,
    Sysno::dup,
    Sysno::dup2,
    Sysno::dup3,
    Sysno::fcntl,
    Sysno::ioctl,
    Sysno::flock,
    // What is known of a file.
    Sysno::fstat,
    Sysno::fstatfs,
    Sysno::fchmod,
    Sysno::fchown,
    Sysno::fchdir,
    Sysno::getdents,
    Sysno::getdents64,
    Sysno::fsetxattr,
    Sysno::fgetxattr,
    Sysno::flistxattr,
    Sysno::fremovexattr,
    Sysno::quotactl_fd,
    // Sockets.
    Sysno::connect,
    Sysno::accept,
    Sysno::accept4,
    Sysno::bind,
    Sysno::listen,
    Sysno::shutdown,
    Sysno::sendto,
    Sysno::recvfrom,
    Sysno::sendmsg,
    Sysno::recvmsg,
    Sysno::sendmmsg,
    Sysno::recvmmsg,
    Sysno::getsockname,
    Sysno::getpeername,
    Sysno::setsockopt,
    Sysno::getsockopt,
    // Files without names.
    Sysno::epoll_ctl,
    Sysno::epoll_wait,
    Sysno::epoll_pwait,
    Sysno::epoll_pwait2,
    Sysno::timerfd_settime,
    Sysno::timerfd_gettime,
    Sysno::signalfd,
    Sysno::signalfd4,
    Sysno::inotify_add_watch,
    Sysno::inotify_rm_watch,
    Sysno::fanotify_mark,
    Sysno::io_uring_enter,
    Sysno::io_uring_register,
    Sysno::pidfd_send_signal,
    Sysno::pidfd_getfd,
    Sysno::process_madvise,
    Sysno::process_mrelease,
    Sysno::landlock_add_rule,
    Sysno::landlock_restrict_self,
    Sysno::setns,
    Sysno::finit_module,
    Sysno::kexec_file_load,
    Sysno::mq_timedsend,
    Sysno::mq_timedreceive,
    Sysno::mq_notify,
    Sysno::mq_getsetattr,
    Sysno::fsconfig,
    Sysno::fsmount,
    // From a folder on.
    Sysno::openat,
    Sysno::openat2,
    Sysno::newfstatat,
    Sysno::statx,
    Sysno::mkdirat,
    Sysno::mknodat,
    Sysno::unlinkat,
    Sysno::renameat,
    Sysno::renameat2,
    Sysno::linkat,
    Sysno::readlinkat,
    Sysno::fchmodat,
    Sysno::fchmodat2,
    Sysno::fchownat,
    Sysno::faccessat,
    Sysno::faccessat2,
    Sysno::futimesat,
    Sysno::utimensat,
    Sysno::execveat,
    Sysno::name_to_handle_at,
    Sysno::open_by_handle_at,
    Sysno::setxattrat,
    Sysno::getxattrat,
    Sysno::listxattrat,
    Sysno::removexattrat,
    Sysno::file_getattr,
    Sysno::file_setattr,
    Sysno::open_tree,
    Sysno::open_tree_attr,
    Sysno::move_mount,
    Sysno::fspick,
    Sysno::mount_setattr,
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_unistd_64_h() {
        assert_eq!(
            [0, 1, 59, 231, 262, 334, 469].map(name),
            ["read", "write", "execve", "exit_group", "newfstatat", "rseq", "file_setattr"].map(Some)
        );
        assert_eq!([name(100_000), name(u32::MAX)], [None, None]);
    }

    #[test]
    fn a_read_is_on_a_file_and_a_fork_is_not() {
        assert!([0, 1, 3, 257].into_iter().all(is_on_file));
        assert!(![57, 59, 60, 436, u32::MAX].into_iter().any(is_on_file));
        assert!(is_last(60) && is_last(231) && !is_last(59));
    }

    /// Numbers and names of asm/unistd_32.h and unistd_x32.h.
    #[test]
    fn calls_of_other_tables_are_those_of_x86_64_under_their_names() {
        let of_32_bits = |number: u64| of_table(number, true);
        let x32 = |number: u64| of_table(number | u64::from(X32_BIT), false);
        assert_eq!(
            [of_32_bits(1), of_32_bits(135), of_32_bits(192), of_32_bits(403), x32(39), x32(515)].map(name),
            ["exit", "sysfs", "mmap2", "clock_gettime64", "getpid", "readv"].map(Some)
        );
        assert_eq!(
            [of_32_bits(192), of_32_bits(403), of_32_bits(140), of_32_bits(102), x32(547)].map(native_name),
            ["mmap", "clock_gettime", "lseek", "socketcall", "pwritev2"].map(Some)
        );
        assert_eq!([0, of_32_bits(0), x32(0)].map(table), [None, Some("32-bit"), Some("x32")]);
        // Reading is 3 there, which closes here; what is beyond the tables stays in its own.
        assert!(
            is_on_file(of_32_bits(3)) && is_accounted(of_32_bits(3)) && !frees_descriptors(of_32_bits(3))
        );
        assert!(is_last(of_32_bits(1)) && is_last(of_32_bits(252)) && !is_last(of_32_bits(60)));
        for (beyond, of) in [(5000, I386), (u64::MAX, I386)] {
            assert_eq!(of_table(beyond, true), of + TABLE - 1);
        }
        assert_eq!([of_table(u64::MAX, false), of_table(5000, false)], [TABLE - 1; 2]);
        assert_eq!([x32(600), TABLE - 1, of_32_bits(5000)].map(name), [None; 3]);
    }

    /// But for those that do several things by one number, and what no kernel does any more.
    #[test]
    fn few_calls_of_32_bits_are_like_none_of_64() {
        let alike = (0..TABLE).filter(|number| name(I386 + number).is_some());
        let others: Vec<_> = alike.filter(|number| known(I386 + number).is_none()).collect();
        let others: Vec<_> = others.into_iter().filter_map(|number| name(I386 + number)).collect();
        let expected = [
            "break",
            "stime",
            "stty",
            "gtty",
            "nice",
            "ftime",
            "prof",
            "lock",
            "mpx",
            "ulimit",
            "profil",
            "socketcall",
            "idle",
            "vm86old",
            "ipc",
            "bdflush",
            "vm86",
        ];
        assert!(others.iter().all(|name| expected.contains(name)), "{others:?}");
    }
}
