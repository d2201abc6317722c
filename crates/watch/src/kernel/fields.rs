//! Where the running kernel has what the programs read of it.

use tollway_bpf::btf::Btf;
use tollway_core::Missing;

/// The call under way is of 32 bits (arch/x86/include/asm/thread_info.h, TS_COMPAT).
pub(crate) const COMPAT: i32 = 0x2;

/// Offsets in bytes.
pub(crate) struct Fields {
    /// `task_struct`: its number; its process' number follows.
    pub number: i32,
    /// `task_struct`: the address of what its numbers in all its PID namespaces are in, a `struct pid`, and
    /// of its process' first thread.
    pub numbers: i32,
    pub leader: i32,
    /// `pid`: in how many namespaces within the first it is, where its number in the first one stands, and
    /// how far the next is from there.
    pub level: i32,
    pub first_level: i32,
    pub each_level: i32,
    /// `task_struct`: its flags (`PF_`, include/linux/sched.h), 32 bits.
    pub flags: i32,
    /// `task_struct`: page faults without a disk, and with one.
    pub minor: i32,
    pub major: i32,
    /// `task_struct`: switches, voluntary and not.
    pub voluntary: i32,
    pub involuntary: i32,
    /// `task_struct`: its calls that read and that write, where the kernel counts them (CONFIG_TASK_IO_ACCOUNTING).
    pub reads: Option<i32>,
    pub writes: Option<i32>,
    /// `task_struct`: processor time as ticks found it, and exactly.
    pub user: i32,
    pub system: i32,
    pub ran: i32,
    /// `task_struct`: its name, 16 bytes.
    pub name: i32,
    /// `task_struct`: the processor on which it runs or ran.
    pub processor: i32,
    /// `task_struct`: what its call is, 32 bits: [`COMPAT`].
    pub status: i32,
    /// `task_struct`: its open files.
    pub files: i32,
    /// `files_struct`: the table of descriptors.
    pub descriptors: i32,
    /// `fdtable`: how many there are; the address of the first is 8 bytes on.
    pub most: i32,
    /// `file`: its inode, and how it was opened (`FMODE_`, include/linux/fs.h), 32 bits.
    pub inode: i32,
    pub opened: i32,
    /// `inode`: its number, mode, device and file system.
    pub number_of_inode: i32,
    pub mode: i32,
    pub device: i32,
    pub file_system: i32,
    /// `super_block`: its number.
    pub number_of_file_system: i32,
    /// From a socket's inode to the address of its `sock`.
    pub socket: i32,
    /// `sock`: its family and its protocol.
    pub family: i32,
    pub protocol: i32,
}

/// The running kernel's description of its types.
pub(crate) fn described() -> Result<Btf, Missing> {
    Btf::of_the_kernel().map_err(|e| lacking(e.to_string()))
}

fn lacking(reason: String) -> Missing {
    let remedy = "a kernel with CONFIG_DEBUG_INFO_BTF (Debian's have it)";
    Missing::new("the kernel's description of its types", reason, remedy)
}

impl Fields {
    pub fn found(btf: &Btf) -> Result<Fields, Missing> {
        let field = |structure: &str, name: &str| {
            let offset = btf.offset(structure, name).and_then(|offset| i32::try_from(offset).ok());
            offset.ok_or_else(|| lacking(format!("its `{structure}` has no `{name}`")))
        };
        let task = |name: &str| field("task_struct", name);
        let beside = |one: i32, other: i32, bytes: i32, what: &str| {
            if other == one + bytes {
                Ok(one)
            } else {
                Err(lacking(format!("{what} do not stand side by side")))
            }
        };
        let accounted = |name: &str| Some(task("ioac").ok()? + field("task_io_accounting", name).ok()?);
        let in_upid = field("upid", "nr")?;
        let each_level = btf.size("upid").and_then(|size| i32::try_from(size).ok());
        Ok(Fields {
            numbers: task("thread_pid")?,
            leader: task("group_leader")?,
            level: field("pid", "level")?,
            first_level: field("pid", "numbers")? + in_upid,
            each_level: each_level.ok_or_else(|| lacking("it has no `upid`".into()))?,
            number: beside(task("pid")?, task("tgid")?, 4, "a task's numbers")?,
            flags: task("flags")?,
            minor: task("min_flt")?,
            major: task("maj_flt")?,
            voluntary: task("nvcsw")?,
            involuntary: task("nivcsw")?,
            reads: accounted("syscr"),
            writes: accounted("syscw"),
            user: task("utime")?,
            system: task("stime")?,
            ran: task("se")? + field("sched_entity", "sum_exec_runtime")?,
            name: task("comm")?,
            processor: task("thread_info")? + field("thread_info", "cpu")?,
            status: task("thread_info")? + field("thread_info", "status")?,
            files: task("files")?,
            descriptors: field("files_struct", "fdt")?,
            most: beside(
                field("fdtable", "max_fds")?,
                field("fdtable", "fd")?,
                8,
                "a table of descriptors and its length",
            )?,
            inode: field("file", "f_inode")?,
            opened: field("file", "f_mode")?,
            number_of_inode: field("inode", "i_ino")?,
            mode: field("inode", "i_mode")?,
            device: field("inode", "i_rdev")?,
            file_system: field("inode", "i_sb")?,
            number_of_file_system: field("super_block", "s_dev")?,
            socket: field("socket_alloc", "socket")? + field("socket", "sk")?
                - field("socket_alloc", "vfs_inode")?,
            family: field("sock", "__sk_common")? + field("sock_common", "skc_family")?,
            protocol: field("sock", "sk_protocol")?,
        })
    }
}
