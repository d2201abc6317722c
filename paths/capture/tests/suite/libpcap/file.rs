//! Packet files as libpcap reads them.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::slice;
use std::sync::LazyLock;

use super::loaded::function;

/// `struct pcap_pkthdr`.
#[repr(C)]
struct Header {
    time: libc::timeval,
    kept: u32,
    wire: u32,
}

/// `struct bpf_program`.
#[repr(C)]
struct Program {
    length: c_uint,
    instructions: *mut c_void,
}

/// As pcap/pcap.h declares them.
struct Functions {
    open: unsafe extern "C" fn(*const c_char, c_uint, *mut c_char) -> *mut c_void,
    compile: unsafe extern "C" fn(*mut c_void, *mut Program, *const c_char, c_int, c_uint) -> c_int,
    set_filter: unsafe extern "C" fn(*mut c_void, *mut Program) -> c_int,
    free: unsafe extern "C" fn(*mut Program),
    next: unsafe extern "C" fn(*mut c_void, *mut *const Header, *mut *const u8) -> c_int,
    data_link: unsafe extern "C" fn(*mut c_void) -> c_int,
    name: unsafe extern "C" fn(c_int) -> *const c_char,
    error: unsafe extern "C" fn(*mut c_void) -> *const c_char,
    close: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: the types are those that pcap/pcap.h declares.
static FUNCTIONS: LazyLock<Functions> = LazyLock::new(|| unsafe {
    Functions {
        open: function(c"pcap_open_offline_with_tstamp_precision"),
        compile: function(c"pcap_compile"),
        set_filter: function(c"pcap_setfilter"),
        free: function(c"pcap_freecode"),
        next: function(c"pcap_next_ex"),
        data_link: function(c"pcap_datalink"),
        name: function(c"pcap_datalink_val_to_name"),
        error: function(c"pcap_geterr"),
        close: function(c"pcap_close"),
    }
});

/// A packet.
#[derive(Debug, PartialEq, Eq)]
pub struct Packet {
    /// Since 1970.
    pub seconds: i64,
    /// Beyond these.
    pub nanos: u64,
    /// What was kept of it.
    pub bytes: Vec<u8>,
    /// Its length on the wire.
    pub wire: u32,
}

/// A file that is open.
pub struct File(NonNull<c_void>);

impl File {
    /// Opens it, for the packets that an expression wants; the empty one wants all.
    pub fn open(path: &Path, expression: &str) -> Result<File, String> {
        const PCAP_TSTAMP_PRECISION_NANO: c_uint = 1;
        let path = CString::new(path.as_os_str().as_bytes()).expect("no NUL");
        let expression = CString::new(expression).expect("no NUL");
        let mut error: [c_char; 256] = [0; 256];
        // SAFETY: the path ends with a NUL; the buffer has PCAP_ERRBUF_SIZE bytes.
        let file = unsafe { (FUNCTIONS.open)(path.as_ptr(), PCAP_TSTAMP_PRECISION_NANO, error.as_mut_ptr()) };
        // SAFETY: libpcap ends its words with a NUL.
        let file = NonNull::new(file).ok_or_else(|| unsafe { words(error.as_ptr()) })?;
        let file = File(file);
        let mut program = Program { length: 0, instructions: std::ptr::null_mut() };
        // SAFETY: the file is open, the expression ends with a NUL, and the program is filled in.
        if unsafe { (FUNCTIONS.compile)(file.0.as_ptr(), &mut program, expression.as_ptr(), 1, 0) } != 0 {
            return Err(file.error());
        }
        // SAFETY: `pcap_compile` made the program, which `pcap_setfilter` copies; it is freed once.
        let outcome = unsafe {
            let outcome = (FUNCTIONS.set_filter)(file.0.as_ptr(), &mut program);
            (FUNCTIONS.free)(&mut program);
            outcome
        };
        if outcome == 0 { Ok(file) } else { Err(file.error()) }
    }

    /// libpcap's name for what its packets are.
    pub fn link_type(&self) -> Option<String> {
        // SAFETY: the file is open; names are constants of the library.
        let name = unsafe { (FUNCTIONS.name)((FUNCTIONS.data_link)(self.0.as_ptr())) };
        // SAFETY: they end with a NUL.
        (!name.is_null()).then(|| unsafe { words(name) })
    }

    /// The next packet that is wanted.
    pub fn next(&mut self) -> Option<Packet> {
        let (mut header, mut bytes) = (std::ptr::null(), std::ptr::null());
        // SAFETY: the file is open, and both are filled in where there is a packet.
        match unsafe { (FUNCTIONS.next)(self.0.as_ptr(), &mut header, &mut bytes) } {
            1 => {}
            -2 => return None,
            _ => panic!("{}", self.error()),
        }
        // SAFETY: both are valid until the next call, and the packet is as long as its header says.
        let (header, bytes) = unsafe { (&*header, slice::from_raw_parts(bytes, (*header).kept as usize)) };
        // The fraction is in nanoseconds, as was asked for.
        let nanos = header.time.tv_usec as u64;
        Some(Packet { seconds: header.time.tv_sec, nanos, bytes: bytes.to_vec(), wire: header.wire })
    }

    fn error(&self) -> String {
        // SAFETY: the file is open, and the words end with a NUL.
        unsafe { words((FUNCTIONS.error)(self.0.as_ptr())) }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: it is open, and nobody uses it after this.
        unsafe { (FUNCTIONS.close)(self.0.as_ptr()) }
    }
}

/// A text of C.
///
/// # Safety
/// It ends with a NUL.
unsafe fn words(text: *const c_char) -> String {
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8").to_owned()
}
