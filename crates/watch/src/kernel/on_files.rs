//! Which calls are made on an open file.

/// Numbers of the calls whose first argument is a descriptor (asm/unistd_64.h).
pub(crate) const ON_FILES: &[i64] = &[
    libc::SYS_read, libc::SYS_write, libc::SYS_close, libc::SYS_fstat, libc::SYS_lseek, libc::SYS_ioctl, libc::SYS_pread64,
    libc::SYS_pwrite64, libc::SYS_readv, libc::SYS_writev, libc::SYS_preadv, libc::SYS_pwritev, libc::SYS_preadv2, libc::SYS_pwritev2,
    libc::SYS_dup, libc::SYS_dup2, libc::SYS_dup3, libc::SYS_sendfile, libc::SYS_splice, libc::SYS_tee, libc::SYS_vmsplice,
    libc::SYS_connect, libc::SYS_accept, libc::SYS_accept4, libc::SYS_sendto, libc::SYS_recvfrom, libc::SYS_sendmsg, libc::SYS_recvmsg,
    libc::SYS_sendmmsg, libc::SYS_recvmmsg, libc::SYS_shutdown, libc::SYS_bind, libc::SYS_listen, libc::SYS_getsockname,
    libc::SYS_getpeername, libc::SYS_setsockopt, libc::SYS_getsockopt, libc::SYS_fcntl, libc::SYS_flock, libc::SYS_fsync,
    libc::SYS_fdatasync, libc::SYS_ftruncate, libc::SYS_getdents, libc::SYS_getdents64, libc::SYS_fchdir, libc::SYS_fchmod,
    libc::SYS_fchown, libc::SYS_fstatfs, libc::SYS_fallocate, libc::SYS_fadvise64, libc::SYS_readahead, libc::SYS_sync_file_range,
    libc::SYS_copy_file_range, libc::SYS_syncfs, libc::SYS_epoll_wait, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2, libc::SYS_timerfd_settime, libc::SYS_timerfd_gettime, libc::SYS_io_uring_enter, libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
];
