//! Virtual functions that a guest's kernel made, found by what sysfs tells there: of a live guest, and of recordings of such.
//!
//! Where QEMU, a kernel or the static agent are missing the live test says why it does nothing, unless `TOLLWAY_REQUIRE` names
//! `qemu` (`qemu8`, where QEMU is older than 8 and has no igb): then it fails. `TOLLWAY_REWRITE` has it record anew.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command as Spawn;
use std::time::{Duration, Instant};

use tollway_cipher::engine::kernel::{Kind, Sharing};
use tollway_cipher_tool::devices::{DevicesDocument, Found};
use tollway_core::{Error, GuestDevice, GuestSpec, Missing};
use tollway_host::requirement::skip_test;
use tollway_tenant::linux::{self, Boot, GuestOptions, LinuxGuest};
use tollway_tenant::probe::Probe;
use tollway_tenant::protocol::{Answer, Command};
use tollway_tenant::recording::Recording;

const PATIENCE: Duration = Duration::from_secs(300);

/// Virtual functions of the guest's disk controller, how many are asked for of each device, and how many igb's driver allows.
const NVME: u16 = 4;
const ASKED: u16 = 3;
const IGB: u16 = 7;

fn recorded(major: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recorded/qemu-{major}.json"))
}

/// What is found on a machine like that.
fn found(recording: &Recording) -> Found {
    let root = tempfile::tempdir().unwrap();
    recording.lay_out(root.path()).unwrap();
    Found::below(root.path(), Ok(())).unwrap()
}

/// What must be found where the devices of [`guest`] are.
fn check(found: &Found, igb: bool) {
    let device = |id: (u16, u16)| {
        let named = |device: &&tollway_cipher::engine::kernel::Device| {
            (device.function.vendor, device.function.device) == id
        };
        found.devices.iter().find(named)
    };
    // PCI IDs as QEMU documents them (docs/specs/pci-ids.rst): its own controller, Intel's 82576.
    let nvme = device((0x1b36, 0x0010)).expect("a disk controller");
    assert_eq!((nvme.function.class, nvme.function.driver.as_deref()), (0x01_0802, Some("nvme")));
    functions(nvme.sharing.as_ref().unwrap(), NVME, (0x1b36, 0x0010));
    match device((0x8086, 0x10c9)) {
        Some(card) => {
            assert_eq!((card.function.class, card.function.driver.as_deref()), (0x02_0000, Some("igb")));
            // The driver of its virtual functions is not loaded.
            let functions = functions(card.sharing.as_ref().unwrap(), IGB, (0x8086, 0x10ca));
            assert!(functions.iter().all(Option::is_none), "{functions:?}");
        }
        None => assert!(!igb, "no network card is found"),
    }
    let crypto = device((0x1af4, 0x1054)).expect("a crypto device");
    assert_eq!((crypto.function.crypto, &crypto.sharing), (Some(Kind::Virtio), &None));
    assert_eq!(crypto.function.driver.as_deref(), Some("virtio_crypto"));
    let algorithms: Vec<&str> = crypto.function.algorithms.iter().map(|driver| &*driver.name).collect();
    assert!(algorithms.contains(&"virtio_crypto_aes_cbc"), "{algorithms:?}");
    assert_eq!(found.devices.len(), 2 + usize::from(igb), "{:?}", found.devices);
    let groups = found.devices.iter().map(|device| device.function.group);
    assert!(groups.clone().all(|group| group.is_some()), "{:?}", groups.collect::<Vec<_>>());
    let lacks = DevicesDocument::of(found).missing;
    assert_eq!(lacks.iter().map(|lack| &*lack.what).collect::<Vec<_>>(), ["/dev/crypto"]);
}

/// The functions of one that was asked for [`ASKED`]: as many, each with an address and a group of its own; their drivers.
fn functions(sharing: &Sharing, most: u16, id: (u16, u16)) -> Vec<Option<String>> {
    assert_eq!((sharing.most, sharing.enabled, sharing.functions.len()), (most, ASKED, usize::from(ASKED)));
    let mut groups: Vec<u32> = sharing.functions.iter().map(|function| function.group.unwrap()).collect();
    let mut addresses: Vec<&str> = sharing.functions.iter().map(|function| &*function.address).collect();
    groups.sort_unstable();
    groups.dedup();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!((groups.len(), addresses.len()), (usize::from(ASKED), usize::from(ASKED)), "{sharing:?}");
    assert!(sharing.functions.iter().all(|function| (function.vendor, function.device) == id), "{sharing:?}");
    assert!(sharing.functions.iter().all(|function| function.crypto.is_none()));
    sharing.functions.iter().map(|function| function.driver.clone()).collect()
}

/// A guest of these devices; what sysfs tells in it once it has made virtual functions.
fn guest(boot: &Boot, igb: bool) -> Result<Recording, Error> {
    let mut devices =
        vec![GuestDevice::Iommu, GuestDevice::Nvme { virtual_functions: NVME }, GuestDevice::Crypto];
    devices.extend(igb.then_some(GuestDevice::Igb));
    let begun = Instant::now();
    let spec = GuestSpec { devices, ..GuestSpec::default() };
    let mut guest = LinuxGuest::start(boot, &GuestOptions { spec, ..GuestOptions::default() })?;
    guest.booted(begun + PATIENCE).unwrap();
    println!("QEMU {}: booted in {:?}", boot.found().qemu.version, begun.elapsed());
    let mut agent = guest.agent(0).unwrap();
    let probe = Command::Probe(Probe::VirtualFunctions { count: ASKED });
    let answer = agent.ask(1, probe, Instant::now() + PATIENCE).unwrap();
    drop(agent);
    guest.stop(PATIENCE).unwrap();
    match answer {
        Answer::Probed(found) => Ok(Recording::of_json(&found).unwrap()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn virtual_functions_that_a_guest_made_are_found() {
    if let Err(missing) = linux::check(None) {
        return skip_test(&["qemu", "qemu7", "qemu8"], &missing);
    }
    let boot = Boot::prepare(None).unwrap();
    let turn = File::create(env::temp_dir().join("tollway-guest-tests.lock")).unwrap();
    turn.lock().unwrap();
    let major = boot.found().qemu.major();
    let igb = major >= 8;
    if !igb {
        let reason = format!("QEMU {} has none", boot.found().qemu.version);
        skip_test(&["qemu8"], &Missing::new("a card igb", reason, "use QEMU 8 or newer (make setup-guest)"));
    }
    let recording = match guest(&boot, igb) {
        // Of a kernel that was set up before these modules were wanted.
        Err(Error::Missing(missing)) => return skip_test(&["qemu", "qemu7", "qemu8"], &missing),
        recording => recording.unwrap(),
    };
    if env::var_os("TOLLWAY_REWRITE").is_some() {
        fs::write(recorded(major), serde_json::to_string_pretty(&recording).unwrap() + "\n").unwrap();
    }
    check(&found(&recording), igb);
}

#[test]
fn those_of_an_older_qemu_are_found() {
    let older = "/usr/bin/qemu-system-x86_64";
    let told = Spawn::new(older).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    if !String::from_utf8_lossy(&told).contains("version 7.") {
        let reason = format!("{older} is none");
        let remedy = "install Debian 12's, or name one by TOLLWAY_QEMU for the other test";
        return skip_test(&["qemu7"], &Missing::new("QEMU 7", reason, remedy));
    }
    // Which QEMU is taken only a process of its own can be told.
    let output = Spawn::new(env::current_exe().unwrap())
        .args(["--exact", "devices::virtual_functions_that_a_guest_made_are_found", "--nocapture"])
        .env("TOLLWAY_QEMU", older)
        .env("TOLLWAY_REQUIRE", env::var("TOLLWAY_REQUIRE").unwrap_or_default().replace("qemu8", ""))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    println!("{}", text(&output.stdout));
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn those_of_recorded_guests_are_found_and_told() {
    for (major, igb) in [(7, false), (10, true)] {
        let text = fs::read_to_string(recorded(major)).unwrap();
        let found = found(&Recording::of_json(&text).unwrap());
        check(&found, igb);
        let told = DevicesDocument::of(&found).to_text();
        let page = recorded(major).with_extension("txt");
        if env::var_os("TOLLWAY_REWRITE").is_some() {
            fs::write(&page, &told).unwrap();
        }
        assert_eq!(told, fs::read_to_string(&page).unwrap(), "{}", page.display());
    }
}
