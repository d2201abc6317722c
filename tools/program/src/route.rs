//! Which toll a system call on a file is: by what it does and what it does it on.

use tollway_core::{Crossing, TollKey};
use tollway_watch::FileKind;

/// What prices a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Route {
    /// `system-call` of this kind, at several sizes in bytes.
    Sized(&'static str),
    /// The same of what is read: of what a cache has, and of what is read once, from memory.
    SizedFarOrNear(&'static str, &'static str),
    /// The same of a file: of what is there already, and of what is new.
    SizedOfFile(&'static str, &'static str),
    /// The same of what is mostly written behind a file's end, in whole pages and in others, but may be written over what is there.
    SizedBehindEnd([&'static str; 3]),
    /// `system-call` of this kind.
    Single(&'static str),
    /// The same of a file: of what was there before, and of what is new.
    OfFile(&'static str, &'static str),
    /// By how many descriptors are ready: kinds for none, one and eight.
    Ready([&'static str; 3]),
    /// `system-call` of this kind where it is done, and of another where it fails.
    OrMissing(&'static str, &'static str),
    /// Of children that have ended; where there is none it is only asked.
    Reap,
    /// A process that is begun: by how its parent goes on.
    Begin,
    /// A program that is executed, and one that ends.
    Execute,
    End,
    /// Another toll, or a part of one.
    Part(TollKey, f64),
    /// No toll is like it: it costs at least what an empty call does.
    AtLeast,
}

/// What a call does.
enum Does {
    Read,
    Write,
}

/// Of a call by its name (asm/unistd_64.h) and the file that its first argument leads to. `gives` says whether it mostly has a result that is more than 0.
pub(crate) fn route_of(call: &str, file: FileKind, gives: bool) -> Route {
    let empty = || Route::Part(TollKey::of(Crossing::Getppid), 1.0);
    match call {
        "recvmsg" if file == FileKind::Unix && gives => Route::Sized("recvmsg-unix"),
        // What reads by the file's own position mostly goes on to its end; what is read by pread is another place, or the same again.
        "read" | "readv" if file == FileKind::Regular => Route::SizedFarOrNear("read-file-far", "read-file"),
        "read" | "pread64" | "readv" | "preadv" | "preadv2" | "recvfrom" | "recvmsg" => {
            moves(Does::Read, file, gives)
        }
        "sendmsg" if file == FileKind::Unix => Route::Sized("sendmsg-unix"),
        // What writes by the file's own position mostly goes on behind its end; what is there is written over by pwrite.
        "write" | "writev" if file == FileKind::Regular => {
            Route::SizedBehindEnd(["write-new", "write-packed", "write-file"])
        }
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" | "sendto" | "sendmsg" => {
            moves(Does::Write, file, gives)
        }
        "sendfile" if file == FileKind::Tcp => Route::Sized("sendfile-tcp"),
        "splice" => Route::Sized("splice-pipe"),
        "getdents64" | "getdents" => Route::Sized("getdents"),
        "epoll_wait" | "epoll_pwait" | "epoll_pwait2" => {
            Route::Ready(["epoll-wait-none", "epoll-wait", "epoll-wait-8"])
        }
        "epoll_ctl" => Route::Single("epoll-ctl"),
        "poll" | "ppoll" => Route::Ready(["poll-none", "poll", "poll-8"]),
        "select" | "pselect6" => Route::Single("select"),
        "futex" => Route::Single("futex-wake-none"),
        "open" | "openat" | "openat2" | "creat" if file == FileKind::Created => Route::Single("create"),
        // What is opened by its name in an open folder has no other names to go through.
        "openat" | "openat2" if file == FileKind::Folder => {
            Route::OrMissing("open-in-folder", "open-missing")
        }
        "open" | "openat" | "openat2" | "creat" => Route::OrMissing("open", "open-missing"),
        "unlink" | "unlinkat" => Route::OrMissing("unlink", "stat-missing"),
        "close" if file == FileKind::Tcp => Route::Single("close-tcp"),
        "close" => Route::Single("close"),
        // A descriptor of what is no folder, and no name: it is itself what is asked about (AT_EMPTY_PATH), as glibc makes fstat of it.
        "newfstatat" | "statx" if !matches!(file, FileKind::None | FileKind::Folder) => {
            Route::Single("fstat")
        }
        "newfstatat" | "statx" | "faccessat" | "faccessat2" if file == FileKind::Folder => {
            Route::OrMissing("stat-in-folder", "stat-missing")
        }
        "stat" | "lstat" | "newfstatat" | "statx" | "access" | "faccessat" | "faccessat2" => {
            Route::OrMissing("stat", "stat-missing")
        }
        "readlink" | "readlinkat" => Route::OrMissing("readlink", "stat-missing"),
        "mkdir" | "mkdirat" => Route::OrMissing("mkdir", "stat-missing"),
        "link" | "linkat" | "symlink" | "symlinkat" => Route::OrMissing("link", "stat-missing"),
        "rename" | "renameat" | "renameat2" => Route::OrMissing("rename", "stat-missing"),
        "fork" | "vfork" | "clone" | "clone3" => Route::Begin,
        "execve" | "execveat" => Route::Execute,
        "exit_group" => Route::End,
        "exit" => Route::Part(TollKey::of(Crossing::ProcessStart).kind("exit-thread"), 1.0),
        // Of children that have not ended, or are none of its own, it is only asked.
        "wait4" | "waitid" if gives => Route::Reap,
        "wait4" | "waitid" => empty(),
        "fstat" => Route::Single("fstat"),
        "lseek" => Route::Single("lseek"),
        // Of a file of a file system: mostly locks, as databases set them.
        "fcntl" if file == FileKind::Regular => Route::Single("fcntl-lock"),
        "fchown" | "fchmod" => Route::Single("fchown"),
        "ftruncate" => Route::Single("ftruncate"),
        // A folder is not written to by its descriptor.
        "fdatasync" if file == FileKind::Folder => Route::Single("fdatasync"),
        "fdatasync" => Route::OfFile("fdatasync", "fdatasync-new"),
        "fsync" => Route::Single("fsync"),
        // The heap's end moves as a mapping grows.
        "mmap" | "brk" => Route::Single("mmap"),
        "munmap" => Route::Single("munmap"),
        "mprotect" => Route::Part(TollKey::of(Crossing::Mprotect), 0.5),
        "madvise" => Route::Single("madvise"),
        "rt_sigprocmask" => Route::Single("rt-sigprocmask"),
        "socket" => Route::Single("socket"),
        "connect" if file == FileKind::Tcp => Route::Single("connect-tcp"),
        "accept" | "accept4" if file == FileKind::Tcp => Route::Single("accept-tcp"),
        "connect" if file == FileKind::Unix => Route::OrMissing("connect-unix", "open-missing"),
        "accept" | "accept4" if file == FileKind::Unix => Route::Single("accept-unix"),
        "clock_gettime" => Route::Part(TollKey::of(Crossing::ClockRaw).kind("monotonic"), 1.0),
        "io_uring_enter" | "getpid" | "gettid" | "getppid" | "getuid" | "geteuid" | "getgid" | "getegid"
        | "umask" | "rt_sigaction" | "sched_yield" | "fcntl" | "restart_syscall" | "rt_sigreturn"
        | "set_robust_list" | "nanosleep" | "clock_nanosleep" | "pause" => empty(),
        _ => Route::AtLeast,
    }
}

fn moves(does: Does, file: FileKind, gives: bool) -> Route {
    use FileKind::{Anonymous, Null, Pipe, Regular, Tcp, Udp, Unix, Zero};
    match (does, file) {
        // Nothing was there to read: it is found out on the way in.
        (Does::Read, Pipe | Unix | Tcp | Udp | Anonymous) if !gives => {
            Route::Part(TollKey::of(Crossing::Getppid), 1.0)
        }
        (Does::Read, Pipe) => Route::Sized("read-pipe"),
        (Does::Read, Unix) => Route::Sized("read-unix"),
        (Does::Read, Tcp) => Route::Sized("read-tcp"),
        (Does::Read, Udp) => Route::Sized("read-udp"),
        (Does::Read, Regular) => Route::Sized("read-file"),
        (Does::Read, Zero | Null) => Route::Sized("read-zero"),
        (Does::Read, Anonymous) => Route::Single("read-eventfd"),
        (Does::Write, Pipe) => Route::Sized("write-pipe"),
        (Does::Write, Unix) => Route::Sized("write-unix"),
        (Does::Write, Tcp) => Route::Sized("write-tcp"),
        (Does::Write, Udp) => Route::Sized("write-udp"),
        (Does::Write, Regular) => Route::SizedOfFile("write-file", "write-new"),
        (Does::Write, Zero | Null) => Route::Sized("write-null"),
        (Does::Write, Anonymous) => Route::Single("write-eventfd"),
        _ => Route::AtLeast,
    }
}

/// The toll of a call by itself that has no size.
pub(crate) fn single(kind: &str) -> TollKey {
    TollKey::of(Crossing::SystemCall).kind(kind)
}

/// Whether the results of a call are descriptors that are ready.
pub(crate) fn tells_ready(call: &str) -> bool {
    matches!(call, "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "poll" | "ppoll")
}

/// Whether the results of a call are bytes that it moved.
pub(crate) fn moves_bytes(call: &str) -> bool {
    matches!(
        call,
        "read"
            | "pread64"
            | "readv"
            | "preadv"
            | "preadv2"
            | "recvfrom"
            | "recvmsg"
            | "write"
            | "pwrite64"
            | "writev"
            | "pwritev"
            | "pwritev2"
            | "sendto"
            | "sendmsg"
            | "sendfile"
            | "splice"
            | "tee"
            | "vmsplice"
            | "copy_file_range"
            | "getdents64"
            | "getrandom"
    )
}
