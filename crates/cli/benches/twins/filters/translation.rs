//! A BPF program as C, compiled and loaded: what a good compiler makes of it.

use std::ffi::{CStr, CString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tollway_capture::engine::bpf::{Alu, Instruction, Meaning, Operand, Program, Test, Width};

/// The function that the compiler made: packet, its length, its length on the wire.
pub type Compiled = unsafe extern "C" fn(*const u8, usize, u32) -> u32;

/// Compiles the program with `cc -O2`, or what the environment names by CC. The function stays loaded for good.
pub fn translate(program: &Program, name: &str, folder: &Path) -> Result<Compiled> {
    let source = folder.join(name).with_extension("c");
    let library = folder.join(name).with_extension("so");
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    std::fs::write(&source, c(program)).with_context(|| format!("writing {}", source.display()))?;
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(&cc)
        .args(["-std=gnu11", "-O2", "-Wall", "-Wno-unused", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .status()
        .with_context(|| format!("starting the C compiler `{}`; install gcc, or set CC", cc.display()))?;
    ensure!(status.success(), "`{}` could not compile {name}.c ({status})", cc.display());
    let path = CString::new(library.as_os_str().as_bytes())?;
    // SAFETY: `c` wrote that function, with these arguments.
    unsafe { function(&path, c"filter") }
}

/// libpcap's `bpf_filter`: program, packet, its length on the wire, its length.
pub type Interpreter = unsafe extern "C" fn(*const Instruction, *const u8, u32, u32) -> u32;

/// libpcap's interpreter.
pub fn libpcap() -> Result<Interpreter> {
    // SAFETY: pcap/bpf.h declares it with that type.
    unsafe { function(c"libpcap.so.0.8", c"bpf_filter") }
}

/// A function of a library, which stays loaded for good.
///
/// # Safety
/// `F` is the function's type. What the library does when it is loaded needs nothing.
unsafe fn function<F: Copy>(library: &CStr, name: &CStr) -> Result<F> {
    const { assert!(size_of::<F>() == size_of::<*mut libc::c_void>()) };
    // SAFETY: the name ends with a NUL, and as above.
    let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW) };
    ensure!(!handle.is_null(), "{} cannot be loaded", library.to_string_lossy());
    // SAFETY: the handle is of a library that is never closed.
    let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
    ensure!(!symbol.is_null(), "{} has no function {name:?}", library.to_string_lossy());
    // SAFETY: both are addresses, and as above.
    Ok(unsafe { std::mem::transmute_copy(&symbol) })
}

/// The program in C, instruction by instruction; every load has its check.
fn c(program: &Program) -> String {
    let mut text = String::from(
        "#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\
         static uint32_t word(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }\n\
         static uint32_t half(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return __builtin_bswap16(v); }\n\
         static uint32_t byte(const uint8_t *p) { return *p; }\n\
         uint32_t filter(const uint8_t *packet, size_t length, uint32_t wire) {\n  \
         uint32_t a = 0, x = 0, m[16];\n",
    );
    for (at, instruction) in program.instructions().iter().enumerate() {
        let meaning = instruction.meaning().expect("a checked program has known codes only");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "i{at}: {}", statement(at, meaning));
    }
    text + "}\n"
}

fn statement(at: usize, meaning: Meaning) -> String {
    let load = |width: Width, from: &str| {
        let (read, size) = match width {
            Width::Word => ("word", 4),
            Width::Half => ("half", 2),
            Width::Byte => ("byte", 1),
        };
        format!("if ({from} + {size} > length) return 0; a = {read}(packet + {from});")
    };
    let value = |operand: Operand| match operand {
        Operand::K(k) => format!("{k}u"),
        Operand::X => "x".into(),
    };
    let target = |skip: u32| format!("i{}", at + 1 + skip as usize);
    match meaning {
        Meaning::LoadAbsolute(width, k) => load(width, &format!("(size_t){k}u")),
        Meaning::LoadIndirect(width, k) => load(width, &format!("((size_t)x + {k}u)")),
        Meaning::LoadXHeader(k) => {
            format!("if ((size_t){k}u + 1 > length) return 0; x = (packet[{k}] & 15) * 4;")
        }
        Meaning::LoadLength => "a = wire;".into(),
        Meaning::LoadXLength => "x = wire;".into(),
        Meaning::LoadImmediate(k) => format!("a = {k}u;"),
        Meaning::LoadXImmediate(k) => format!("x = {k}u;"),
        Meaning::LoadScratch(k) => format!("a = m[{k}];"),
        Meaning::LoadXScratch(k) => format!("x = m[{k}];"),
        Meaning::Store(k) => format!("m[{k}] = a;"),
        Meaning::StoreX(k) => format!("m[{k}] = x;"),
        Meaning::Arithmetic(alu, operand) => {
            let value = value(operand);
            match (alu, operand) {
                (Alu::ShiftLeft, Operand::X) => "a = x < 32 ? a << x : 0;".into(),
                (Alu::ShiftRight, Operand::X) => "a = x < 32 ? a >> x : 0;".into(),
                (Alu::Div, Operand::X) => "if (!x) return 0; a /= x;".into(),
                (Alu::Mod, Operand::X) => "if (!x) return 0; a %= x;".into(),
                _ => {
                    let operator = match alu {
                        Alu::Add => "+",
                        Alu::Sub => "-",
                        Alu::Mul => "*",
                        Alu::Div => "/",
                        Alu::Or => "|",
                        Alu::And => "&",
                        Alu::ShiftLeft => "<<",
                        Alu::ShiftRight => ">>",
                        Alu::Mod => "%",
                        Alu::Xor => "^",
                    };
                    format!("a {operator}= {value};")
                }
            }
        }
        Meaning::Negate => "a = -a;".into(),
        Meaning::Jump(skip) => format!("goto {};", target(skip)),
        Meaning::Branch(test, operand, jt, jf) => {
            let operator = match test {
                Test::Equal => "==",
                Test::Greater => ">",
                Test::GreaterOrEqual => ">=",
                Test::AnyBit => "&",
            };
            let (holds, fails) = (target(jt.into()), target(jf.into()));
            format!("if (a {operator} {}) goto {holds}; else goto {fails};", value(operand))
        }
        Meaning::ReturnConstant(k) => format!("return {k}u;"),
        Meaning::ReturnA => "return a;".into(),
        Meaning::Tax => "x = a;".into(),
        Meaning::Txa => "a = x;".into(),
    }
}
