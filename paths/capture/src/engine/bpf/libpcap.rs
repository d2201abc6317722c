//! libpcap, opened when it is first needed. A program that compiles no filter runs where it is not installed,
//! and none is linked against it: the static agent is built of the same crates.
//!
//! Sources: pcap/pcap.h and pcap/bpf.h; the manual pages pcap_compile(3PCAP), pcap_open_dead(3PCAP),
//! pcap_open_offline(3PCAP); dlopen(3), dl_iterate_phdr(3).

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::os::fd::IntoRawFd;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::{Mutex, OnceLock, PoisonError};

use tollway_core::Missing;

use super::instruction::Instruction;

/// What Debian calls it, then other distributions, then the file that comes with its headers.
const NAMES: [&CStr; 3] = [c"libpcap.so.0.8", c"libpcap.so.1", c"libpcap.so"];

/// PCAP_ERRBUF_SIZE.
const ERROR_BYTES: usize = 256;

/// `pcap_t`.
#[repr(C)]
struct Opaque {
    _private: [u8; 0],
}

/// `struct bpf_program`.
#[repr(C)]
struct Compiled {
    length: c_uint,
    instructions: *mut Instruction,
}

/// The functions that are used, as pcap/pcap.h declares them.
pub struct Libpcap {
    open_dead: unsafe extern "C" fn(c_int, c_int) -> *mut Opaque,
    fopen_offline: unsafe extern "C" fn(*mut libc::FILE, *mut c_char) -> *mut Opaque,
    compile: unsafe extern "C" fn(*mut Opaque, *mut Compiled, *const c_char, c_int, c_uint) -> c_int,
    freecode: unsafe extern "C" fn(*mut Compiled),
    geterr: unsafe extern "C" fn(*mut Opaque) -> *const c_char,
    close: unsafe extern "C" fn(*mut Opaque),
    name_to_val: unsafe extern "C" fn(*const c_char) -> c_int,
    val_to_name: unsafe extern "C" fn(c_int) -> *const c_char,
    /// Before 1.8 the parser has one state for all threads.
    compiling: Mutex<()>,
}

impl Libpcap {
    /// The library of this process.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn get() -> Result<&'static Libpcap, Missing> {
        static OPENED: OnceLock<Result<Libpcap, Missing>> = OnceLock::new();
        let open = || if has_loader() { Libpcap::open(&NAMES) } else { Err(no_loader()) };
        OPENED.get_or_init(open).as_ref().map_err(Missing::clone)
    }

    /// The first of the names that there is. It stays open for good.
    fn open(names: &[&CStr]) -> Result<Libpcap, Missing> {
        let mut reasons = Vec::new();
        for name in names {
            // SAFETY: the name ends with a NUL. The initialisers of libpcap and of what it is linked against
            // need nothing.
            let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if let Some(library) = NonNull::new(library) {
                return Libpcap::of(library);
            }
            reasons.push(loader_error());
        }
        Err(missing(reasons.join("; ")))
    }

    fn of(library: NonNull<c_void>) -> Result<Libpcap, Missing> {
        // SAFETY: each field has the type that pcap/pcap.h declares its function with.
        unsafe {
            Ok(Libpcap {
                open_dead: function(library, c"pcap_open_dead")?,
                fopen_offline: function(library, c"pcap_fopen_offline")?,
                compile: function(library, c"pcap_compile")?,
                freecode: function(library, c"pcap_freecode")?,
                geterr: function(library, c"pcap_geterr")?,
                close: function(library, c"pcap_close")?,
                name_to_val: function(library, c"pcap_datalink_name_to_val")?,
                val_to_name: function(library, c"pcap_datalink_val_to_name")?,
                compiling: Mutex::new(()),
            })
        }
    }

    /// A handle for packets of a live capture, of which at most `snapshot` bytes are kept. `None`: no memory.
    pub fn live(&self, data_link: c_int, snapshot: c_int) -> Option<Handle<'_>> {
        // SAFETY: it takes any numbers.
        let handle = NonNull::new(unsafe { (self.open_dead)(data_link, snapshot) })?;
        Some(Handle { library: self, handle })
    }

    /// A handle for the packets of a file, which is read up to the end of its header.
    ///
    /// # Errors
    /// libpcap's own words.
    pub fn offline(&self, file: File) -> Result<Handle<'_>, String> {
        let descriptor = file.into_raw_fd();
        // SAFETY: the descriptor is open and this function's own; the mode ends with a NUL.
        let stream = unsafe { libc::fdopen(descriptor, c"r".as_ptr()) };
        if stream.is_null() {
            return Err(format!("fdopen: {}", std::io::Error::last_os_error()));
        }
        let mut error = [0; ERROR_BYTES];
        // SAFETY: the stream is open, and closed once: with the handle, or below where there is none. The
        // buffer has the size that libpcap relies on.
        match NonNull::new(unsafe { (self.fopen_offline)(stream, error.as_mut_ptr()) }) {
            Some(handle) => Ok(Handle { library: self, handle }),
            None => {
                // SAFETY: libpcap leaves the stream open where it fails.
                unsafe { libc::fclose(stream) };
                // SAFETY: libpcap ends its words with a NUL; the buffer began as zeros.
                Err(unsafe { words(error.as_ptr()) })
            }
        }
    }

    /// The number of a link type by its name, in any case.
    pub fn data_link(&self, name: &str) -> Option<c_int> {
        let name = CString::new(name).ok()?;
        // SAFETY: the name ends with a NUL.
        let number = unsafe { (self.name_to_val)(name.as_ptr()) };
        (number != -1).then_some(number)
    }

    /// The name of a link type.
    pub fn data_link_name(&self, number: c_int) -> Option<String> {
        // SAFETY: it takes any number.
        let name = unsafe { (self.val_to_name)(number) };
        // SAFETY: where there is one it is a constant of the library, which is never closed.
        (!name.is_null()).then(|| unsafe { words(name) })
    }
}

/// What filters are compiled for: a link type, where its packets come from, and how much of them is kept.
pub struct Handle<'a> {
    library: &'a Libpcap,
    handle: NonNull<Opaque>,
}

impl Handle<'_> {
    /// The program of an expression.
    ///
    /// # Errors
    /// libpcap's own words.
    pub fn compile(&self, expression: &CStr, optimize: bool) -> Result<Vec<Instruction>, String> {
        // That of the net, which only `ip broadcast` asks for; tcpdump has the same for files.
        const NO_MASK: c_uint = 0;
        let Libpcap { compile, freecode, geterr, ref compiling, .. } = *self.library;
        let handle = self.handle.as_ptr();
        let mut compiled = Compiled { length: 0, instructions: ptr::null_mut() };
        let outcome = {
            let _turn = compiling.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the handle is open, the program is filled in, and the expression ends with a NUL.
            unsafe { compile(handle, &mut compiled, expression.as_ptr(), c_int::from(optimize), NO_MASK) }
        };
        if outcome == -1 {
            // SAFETY: the words are the handle's, which is open.
            return Err(unsafe { words(geterr(handle)) });
        }
        let instructions = match compiled.length {
            // Then there may be no memory.
            0 => Vec::new(),
            // SAFETY: libpcap made as many, laid out as `Instruction`; they are copied before they are freed.
            many => unsafe { slice::from_raw_parts(compiled.instructions, many as usize) }.to_vec(),
        };
        // SAFETY: `pcap_compile` filled it in, and it is freed once.
        unsafe { freecode(&mut compiled) };
        Ok(instructions)
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: it is open, and nobody uses it after this.
        unsafe { (self.library.close)(self.handle.as_ptr()) }
    }
}

/// A function of a library.
///
/// # Safety
/// `F` is the type of that function.
unsafe fn function<F: Copy>(library: NonNull<c_void>, name: &CStr) -> Result<F, Missing> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the library is open, and the name ends with a NUL.
    let symbol = unsafe { libc::dlsym(library.as_ptr(), name.as_ptr()) };
    if symbol.is_null() {
        return Err(missing(loader_error()));
    }
    // SAFETY: both are addresses, and the caller knows what the function takes.
    Ok(unsafe { std::mem::transmute_copy(&symbol) })
}

/// A text of C.
///
/// # Safety
/// It ends with a NUL.
unsafe fn words(text: *const c_char) -> String {
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn loader_error() -> String {
    // SAFETY: the text belongs to this thread until it calls the loader again.
    let error = unsafe { libc::dlerror() };
    // SAFETY: it ends with a NUL.
    if error.is_null() { "no reason given".into() } else { unsafe { words(error) } }
}

fn missing(reason: String) -> Missing {
    let remedy = "install the Debian package libpcap0.8 (on Debian 13: libpcap0.8t64)";
    Missing::new("libpcap, which compiles filters", reason, remedy)
}

fn no_loader() -> Missing {
    Missing::new(
        "libpcap, which compiles filters",
        "this program is linked statically, so that nothing can load a shared library into it",
        "use one that is linked dynamically (built without `-C target-feature=+crt-static`)",
    )
}

/// Whether a dynamic loader started this program. In a static one dlopen(3) brings in a second C library,
/// which was not started.
///
/// AT_BASE of getauxval(3) does not tell: it is 0 too where the loader is run with the program as its
/// argument.
fn has_loader() -> bool {
    unsafe extern "C" fn first(object: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the loader's description of an object, and what is handed over below.
        let (object, found) = unsafe { (&*object, &mut *found.cast::<bool>()) };
        let count = usize::from(object.dlpi_phnum);
        if !object.dlpi_phdr.is_null() {
            // SAFETY: as many headers as it says, which are in memory for as long as the object is.
            *found = names_a_loader(unsafe { slice::from_raw_parts(object.dlpi_phdr, count) });
        }
        // The first is the program itself; no others are asked for.
        1
    }
    let mut found = false;
    // SAFETY: the function takes what it is given, and is not called after this returns.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut found).cast()) };
    found
}

/// Whether a program with these headers is started by a loader.
fn names_a_loader(headers: &[libc::Elf64_Phdr]) -> bool {
    headers.iter().any(|header| header.p_type == libc::PT_INTERP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(types: &[u32]) -> Vec<libc::Elf64_Phdr> {
        let header = |&p_type: &u32| libc::Elf64_Phdr {
            p_type,
            p_flags: 0,
            p_offset: 0,
            p_vaddr: 0,
            p_paddr: 0,
            p_filesz: 0,
            p_memsz: 0,
            p_align: 0,
        };
        types.iter().map(header).collect()
    }

    #[test]
    fn static_programs_name_no_loader() {
        // As `readelf -l` has them of a dynamic program, a static one, and a static one that can be anywhere.
        let dynamic = headers(&[libc::PT_PHDR, libc::PT_INTERP, libc::PT_LOAD, libc::PT_DYNAMIC]);
        let plain = headers(&[libc::PT_LOAD, libc::PT_NOTE, libc::PT_TLS]);
        let anywhere = headers(&[libc::PT_LOAD, libc::PT_DYNAMIC, libc::PT_TLS]);
        assert_eq!([&dynamic, &plain, &anywhere].map(|h| names_a_loader(h)), [true, false, false]);
        // SAFETY: it takes any number.
        let base = unsafe { libc::getauxval(libc::AT_BASE) };
        assert!(has_loader() || base == 0, "the kernel started a loader at {base:#x}");
        assert!(no_loader().to_string().contains("linked statically"));
    }

    #[test]
    fn what_is_not_installed_is_named_with_its_package() {
        let error = Libpcap::open(&[c"libnosuch.so.0.8", c"libnosuch.so"]).err().unwrap().to_string();
        for says in ["libnosuch.so.0.8: ", "libnosuch.so: ", "No such file", "libpcap0.8 ", "libpcap0.8t64"] {
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_library_without_its_functions_is_refused() {
        let error = Libpcap::open(&[c"libc.so.6"]).err().unwrap();
        assert!(error.reason.contains("pcap_open_dead"), "{error}");
    }

    #[test]
    fn threads_compile_at_once() {
        let library = Libpcap::get().unwrap();
        let lengths: Vec<usize> = std::thread::scope(|scope| {
            let compile = |port: usize| {
                let expression = CString::new(format!("tcp port {port} and host 10.0.0.1")).unwrap();
                let handle = library.live(1, 96).unwrap();
                (0..200).map(|_| handle.compile(&expression, true).unwrap().len()).max().unwrap()
            };
            let threads: Vec<_> = (1..=4).map(|port| scope.spawn(move || compile(port))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(lengths.iter().all(|length| *length == lengths[0] && *length > 10), "{lengths:?}");
    }
}
