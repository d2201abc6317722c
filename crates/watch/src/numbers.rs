//! The system calls of x86-64: their names, and which are on a file. The names are those of the crate `syscalls`, which follows the kernel's table
//! (arch/x86/entry/syscalls/syscall_64.tbl; 0.8.1 is Linux 6.18); which are on a file is ours.

use syscalls::{Sysno, SysnoSet};

/// The name of a call; `None` where the kernel of the table has none of this number.
pub fn name(number: u32) -> Option<&'static str> {
    known(number).map(|call| call.name())
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

fn known(number: u32) -> Option<Sysno> {
    Sysno::new(number as usize)
}

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
}
