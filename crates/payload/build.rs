//! Links the payload a second time, as an image that needs nobody: a static ELF executable at fixed addresses, for
//! guests that have memory of their own.
//!
//! The compiler is called directly, and not by cargo, because an image has nothing in common with the library's build:
//! neither its profile nor the flags that RUSTFLAGS sets for the rest (sanitizers, `crt-static`, a processor's name).

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// What is asked of the compiler, beyond source and target.
const CODE: &[&str] = &[
    "--edition=2024",
    "--crate-type=bin",
    "--crate-name=tollway_image",
    // A panic is `ud2`: nothing unwinds, so no tables and no personality.
    "-Cpanic=abort",
    "-Copt-level=3",
    "-Clto=fat",
    "-Ccodegen-units=1",
    "-Cstrip=debuginfo",
    // Addresses are fixed when it is linked: nothing is left to relocate.
    "-Crelocation-model=static",
    // Where a guest runs in ring 0, an exception's frame is pushed on the running stack, over a red zone.
    "-Cno-redzone=yes",
];

/// What is asked of the linker.
const LINK: &[&str] = &[
    "-nostdlib",
    "-nostartfiles",
    "-static",
    "-no-pie",
    "-Wl,--gc-sections",
    "-Wl,--build-id=none",
    "-Wl,-n",
];

fn main() {
    for path in ["build.rs", "image", "src"] {
        println!("cargo::rerun-if-changed={path}");
    }
    if env::var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("x86_64") {
        return;
    }
    if let Err(reason) = link() {
        println!("cargo::error=the image of the payload cannot be made: {reason}");
    }
}

fn link() -> Result<(), String> {
    let variable = |name: &str| env::var(name).map_err(|error| format!("{name}: {error}"));
    let source = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("image");
    let image = Path::new(&variable("OUT_DIR")?).join("payload.elf");
    let mut compiler = Command::new(variable("RUSTC")?);
    compiler
        .args(CODE)
        .arg("--target")
        .arg(variable("TARGET")?)
        .arg(source.join("main.rs"))
        .arg("-o")
        .arg(&image);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.arg(format!("-Clinker={linker}"));
    }
    for argument in LINK {
        compiler.arg(format!("-Clink-arg={argument}"));
    }
    compiler.arg(format!("-Clink-arg=-Wl,-T,{}", source.join("layout.ld").display()));
    // What cargo tells the compiler by the environment is meant for the library.
    compiler.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = compiler.output().map_err(|error| format!("the compiler does not start: {error}"))?;
    if !output.status.success() {
        return Err(
            format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)).replace('\n', " ⏎ ")
        );
    }
    fs::metadata(&image).map_err(|error| format!("{}: {error}", image.display()))?;
    Ok(())
}
