//! A disk of QEMU's without a guest: images served by QEMU's storage daemon, and what of it is their encryption.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tollway_core::{
    Actor, Address, Axis, Clock, Domain, Error, Params, Place, Plan, Recorder, Requirement, Result, Role,
    Tally, Ticks, Unit, Value, Variant, Window, Yield,
};
use tollway_host::clock::RunClock;
use tollway_host::cpu::{allowed_cpus, cpus_of_process, set_affinity};
use tollway_host::scratch;
use tollway_load::wait_until;

use super::disk::{self, CHECKED, Counted, MIB};
use crate::engine::disk::{Load, Pattern};
use crate::engine::image::{Direction, Drive, Format, Image, Medium, PACKAGE, PROGRAM, Server, is_there};
use crate::surroundings;

const LUKS: &str = "luks";

/// An image, in MiB, where nothing else is said.
const IMAGE_MIB: u64 = 64;

/// The most that requests under way may have of memory, in bytes.
const MOST: u64 = 512 * MIB;

/// The images of which encryption alone is measured, in bytes, where requests are not so large that two want more.
const IN_MEMORY: u64 = 4 * MIB;

/// What a sample of encryption alone takes at the least, with encryption and without: short enough that most are not interrupted.
const SAMPLE: Duration = Duration::from_millis(1);

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![Box::new(OfQemu), Box::new(Encryption)]
}

/// Nothing where it is found here, be it beside the guests' QEMU and not in PATH.
fn requires() -> Vec<Requirement> {
    match is_there() {
        true => Vec::new(),
        false => vec![Requirement::Program(PROGRAM.into(), PACKAGE.into())],
    }
}

fn plan(role: &str) -> Plan {
    Plan {
        operation: "request".into(),
        roles: vec![Role::measured(role)],
        gates: Vec::new(),
        provides: None,
        needs: Vec::new(),
        requires: requires(),
        guests: Vec::new(),
    }
}

fn before(call: &str) -> Error {
    Error::system(format!("{call} of an image's actor"), "it is not ready, or has ended")
}

/// A disk as QEMU's guests have it, without a guest.
struct OfQemu;

impl Variant for OfQemu {
    fn name(&self) -> &str {
        "image"
    }

    fn about(&self) -> &str {
        "reads and writes of a disk of QEMU's, without a guest"
    }

    fn caveats(&self) -> &str {
        "An image without a name in the scratch folder (TOLLWAY_SCRATCH), served by QEMU's storage daemon as its guests' disks are: past \
         the page cache, and encrypted by the one thread that also takes requests and answers them (QEMU 7.2 and 10.0). This process is \
         the driver, by vhost-user: what a guest adds, exits, its kernel and its file system, is not there."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            disk::pattern(),
            disk::size(),
            disk::depth(),
            disk::mib(IMAGE_MIB),
            Axis {
                name: "disk",
                about: "how the image keeps its sectors: as they are, or encrypted (LUKS, AES-256 in XTS)",
                domain: Domain::Words(&["own", "raw", LUKS]),
                default: Value::Text("own".into()),
            },
        ]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let load = load(params)?;
        load.check(params.int("mib")? * MIB)?;
        if load.depth as u64 * load.size as u64 > MOST {
            return Err(Error::Input {
                place: "axes `size` and `depth`".into(),
                reason: format!("requests under way would have more than {} MiB of memory", MOST >> 20),
                remedy: "take smaller ones, or fewer at once".into(),
            });
        }
        Ok(plan("disk"))
    }

    fn title(&self, params: &Params) -> Option<String> {
        let how = match params.word("disk").ok()? {
            LUKS => ", LUKS",
            "raw" => ", raw",
            _ => "",
        };
        let file = disk::file_told(params, IMAGE_MIB);
        Some(format!("QEMU's disk without a guest, {}{how}{file}", disk::access_told(params)?))
    }

    fn yields(&self, params: &Params) -> Vec<Yield> {
        disk::yields(params)
    }

    fn patience(&self, params: &Params) -> Duration {
        // It is written, and may be encrypted besides.
        2 * disk::make_takes(params)
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let format = if params.word("disk")? == LUKS { Format::Luks } else { Format::Raw };
        let (load, bytes) = (load(params)?, params.int("mib")? * MIB);
        Ok(Box::new(Served { load, bytes, format, drive: None, tally: Tally::default() }))
    }
}

fn load(params: &Params) -> Result<Load> {
    Ok(Load {
        pattern: Pattern::of(params.word("pattern")?)?,
        size: params.int("size")? as usize,
        depth: params.int("depth")? as usize,
        direct: true,
    })
}

/// Images that are kept between trials, since large ones take a while to make: one of each format.
static KEPT: [Mutex<Option<Image>>; 2] = [Mutex::new(None), Mutex::new(None)];

fn shelf(format: Format) -> MutexGuard<'static, Option<Image>> {
    KEPT[usize::from(format == Format::Luks)].lock().unwrap_or_else(PoisonError::into_inner)
}

/// An image of that size that was kept, or a new one.
fn image(format: Format, bytes: u64, seed: u64) -> Result<Image> {
    let kept = shelf(format).take();
    match kept {
        Some(image) if image.bytes() == bytes => Ok(image),
        // What is there of another size is given up first, so that there is room.
        other => {
            drop(other);
            let folder = scratch::folder();
            disk::on_a_disk(&folder)?;
            Image::make(Medium::Folder(&folder), format, bytes, seed)
        }
    }
}

struct Served {
    load: Load,
    bytes: u64,
    format: Format,
    /// The server after the drive: it is there until nobody uses it.
    drive: Option<(Drive, Server)>,
    tally: Tally,
}

impl Actor for Served {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let image = image(self.format, self.bytes, place.lot.seed)?;
        // QEMU's thread is where the scheduler puts it, as that of a guest is.
        let own = allowed_cpus()?;
        set_affinity(&cpus_of_process()?)?;
        let server = Server::start(&[&image]);
        set_affinity(&own)?;
        let server = server?;
        let Load { pattern, size, depth, .. } = self.load;
        let drive = Drive::connect(server.socket(0), image, pattern, size, depth, place.lot.seed);
        let drive = drive.map_err(|error| server.explained(error))?;
        self.drive = Some((drive, server));
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let (drive, server) = self.drive.as_mut().ok_or_else(|| before("run"))?;
        let clock = RunClock::chosen();
        wait_until(clock, window.warm);
        let mut counted = Counted::default();
        let ran = drive.run(clock, |at, took| counted.look(window, recorder, at, took));
        ran.map_err(|error| server.explained(error))
    }

    fn verify(&mut self) -> Result<()> {
        let (drive, server) = self.drive.take().ok_or_else(|| before("verify"))?;
        let (read, written) = drive.counts();
        self.tally = disk::counts(read, written);
        let image = drive.verified(CHECKED)?;
        // Before somebody else serves it.
        drop(server);
        *shelf(self.format) = Some(image);
        Ok(())
    }

    fn tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }
}

/// What the encryption of a request takes by itself.
struct Encryption;

impl Variant for Encryption {
    fn name(&self) -> &str {
        LUKS
    }

    fn about(&self) -> &str {
        "what QEMU's encryption of a disk takes by itself, for a request"
    }

    fn caveats(&self) -> &str {
        "One request after the other, as many to an encrypted image as to one that is not, in turns: their difference. Both lie in \
         memory and are served by one thread of QEMU's storage daemon, which does the encryption itself (QEMU 7.2 and 10.0: AES-256 in \
         XTS by nettle or gcrypt, sector by sector), on the processor of who asks. It contains what QEMU does besides for an encrypted \
         image: a buffer of its own, and the request cut at each MiB."
    }

    fn axes(&self) -> Vec<Axis> {
        let direction = Axis {
            name: "direction",
            about: "whether it is decrypted or encrypted",
            domain: Domain::Words(Direction::WORDS),
            default: Value::Text("read".into()),
        };
        vec![disk::size(), direction]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let load = alone(params)?;
        load.check(in_memory(load))?;
        Ok(plan("encryption"))
    }

    fn title(&self, params: &Params) -> Option<String> {
        let (size, direction) = (params.int("size").ok()?, params.word("direction").ok()?);
        Some(format!("encryption of QEMU's disk by itself, {direction}, {}", surroundings::size(size)))
    }

    fn yields(&self, params: &Params) -> Vec<Yield> {
        vec![Yield::bytes(params.int("size").unwrap_or_default()), Yield::one(Unit::Accesses)]
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        Ok(Box::new(Alone { load: alone(params)?, disks: None }))
    }
}

fn alone(params: &Params) -> Result<Load> {
    let pattern = Pattern::of(params.word("direction")?)?;
    Ok(Load { pattern, size: params.int("size")? as usize, depth: 1, direct: true })
}

/// Bytes of each of the two images.
fn in_memory(load: Load) -> u64 {
    IN_MEMORY.max(2 * load.size as u64)
}

struct Alone {
    load: Load,
    disks: Option<Disks>,
}

/// One without encryption and one with it, and who serves both.
struct Disks {
    plain: Drive,
    encrypted: Drive,
    server: Server,
}

impl Disks {
    fn new(load: Load, seed: u64) -> Result<Disks> {
        let image = |format| Image::make(Medium::Memory, format, in_memory(load), seed);
        let (plain, encrypted) = (image(Format::Raw)?, image(Format::Luks)?);
        let server = Server::start(&[&plain, &encrypted])?;
        let Load { pattern, size, depth, .. } = load;
        let connected = [plain, encrypted]
            .into_iter()
            .enumerate()
            .map(|(number, image)| Drive::connect(server.socket(number), image, pattern, size, depth, seed));
        match connected.collect::<Result<Vec<_>>>() {
            Ok(drives) => {
                let [plain, encrypted] = <[Drive; 2]>::try_from(drives).map_err(|_| before("ready"))?;
                Ok(Disks { plain, encrypted, server })
            }
            Err(error) => Err(server.explained(error)),
        }
    }

    /// What so many requests take, plain and encrypted, in ticks; `swapped`: in the other order.
    fn both(&mut self, clock: impl Clock, requests: u32, swapped: bool) -> Result<[Ticks; 2]> {
        let timed = |drive: &mut Drive| {
            let begun = clock.now();
            for _ in 0..requests {
                drive.once()?;
            }
            Ok(clock.now().saturating_sub(begun))
        };
        let took = if swapped {
            timed(&mut self.encrypted).and_then(|encrypted| Ok([timed(&mut self.plain)?, encrypted]))
        } else {
            timed(&mut self.plain).and_then(|plain| Ok([plain, timed(&mut self.encrypted)?]))
        };
        took.map_err(|error: Error| self.server.explained(error))
    }
}

impl Actor for Alone {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        self.disks = Some(Disks::new(self.load, place.lot.seed)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let disks = self.disks.as_mut().ok_or_else(|| before("run"))?;
        let clock = RunClock::chosen();
        wait_until(clock, window.warm);
        let requests = match window.batch {
            0 => {
                // The first ones are slower than all others.
                disks.both(clock, 8, false)?;
                let [plain, encrypted] = disks.both(clock, 8, true)?;
                let sample = SAMPLE.as_secs_f64() * tollway_host::clock::hz()?;
                ((8.0 * sample / (plain + encrypted).max(1) as f64).ceil() as u32).max(1)
            }
            batch => batch,
        };
        recorder.set_batch(requests);
        let (mut swapped, mut took) = (false, 0_i64);
        let mut differences: u32 = 0;
        loop {
            let begun = clock.now();
            let [plain, encrypted] = disks.both(clock, requests, swapped)?;
            swapped = !swapped;
            if begun >= window.open {
                recorder.sample(encrypted.saturating_sub(plain));
                took += encrypted as i64 - plain as i64;
                differences += 1;
            }
            // An even number, so that neither is always the first.
            let is_even = differences > 0 && differences.is_multiple_of(2);
            if clock.now() >= window.close && is_even {
                break;
            }
        }
        // Where they took no longer with it the price is nothing, as far as this trial can tell: who leaves such trials out, or goes on until
        // they do take longer, finds a price where there is none.
        recorder.took(u64::try_from(took).unwrap_or_default().max(1));
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        let Disks { plain, encrypted, server } = self.disks.take().ok_or_else(|| before("verify"))?;
        for drive in [plain, encrypted] {
            drive.verified(CHECKED)?;
        }
        drop(server);
        Ok(())
    }
}
