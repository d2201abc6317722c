//! What was found, for people.

use std::fmt::Write;

use super::document::{CryptoKind, DeviceState, DevicesDocument, DriverState, FunctionState};

/// Everything.
pub fn of(document: &DevicesDocument) -> String {
    let mut text = String::new();
    if !document.devices.is_empty() {
        let _ = writeln!(
            text,
            "{:<15} {:<10} {:<7} {:<15} {:>5} {:>5}  what",
            "PCI function", "id", "class", "driver", "group", "node"
        );
    }
    for device in &document.devices {
        text.push_str(&row(&device.function, "", &shared(device)));
        for function in &device.virtual_functions {
            text.push_str(&row(function, "  ", "virtual function"));
        }
    }
    let ciphers: Vec<&DriverState> = document.drivers.iter().filter(|driver| of_the_suite(driver)).collect();
    let _ = writeln!(text, "the kernel's drivers of AES, SHA and HMAC: {}", listed(&ciphers));
    for (what, there) in [("AF_ALG", document.af_alg), ("/dev/crypto", document.dev_crypto)] {
        if there {
            let _ = writeln!(text, "{what}: there");
        }
    }
    for lack in &document.missing {
        let _ = writeln!(text, "lacking: {}: {} → {}", lack.what, lack.reason, lack.remedy);
    }
    text
}

fn row(function: &FunctionState, indent: &str, what: &str) -> String {
    let number = |number: Option<u32>| number.map_or("–".into(), |number| number.to_string());
    let kind = match function.crypto {
        Some(CryptoKind::Virtio) => ", virtio-crypto",
        Some(CryptoKind::Qat) => ", QuickAssist",
        Some(CryptoKind::Class) => ", encryption controller",
        None => "",
    };
    let by: Vec<&DriverState> = function.algorithms.iter().collect();
    let by = if by.is_empty() { String::new() } else { format!(": {}", listed(&by)) };
    let what = format!("{what}{kind}{by}");
    format!(
        "{:<15} {:<10} {:<7} {:<15} {:>5} {:>5}  {}\n",
        format!("{indent}{}", function.address),
        function.id,
        function.class,
        function.driver.as_deref().unwrap_or("none"),
        number(function.group),
        number(function.node),
        what.trim_start_matches(", "),
    )
}

fn shared(device: &DeviceState) -> String {
    match (device.enabled, device.most) {
        (Some(enabled), Some(most)) => format!("{enabled} of {most} virtual functions"),
        _ => String::new(),
    }
}

/// Whether this program's own suite has the algorithm, too.
fn of_the_suite(driver: &DriverState) -> bool {
    let name = driver.algorithm.as_str();
    let hash = name.strip_prefix("hmac(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(name);
    matches!(name, "cbc(aes)" | "ctr(aes)" | "xts(aes)" | "gcm(aes)")
        || matches!(hash, "sha1" | "sha224" | "sha256" | "sha384" | "sha512")
}

fn listed(drivers: &[&DriverState]) -> String {
    if drivers.is_empty() {
        return "none".into();
    }
    let each = drivers.iter().map(|driver| format!("{} {}", driver.driver, driver.priority));
    each.collect::<Vec<_>>().join(", ")
}
