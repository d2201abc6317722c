//! The disk: so many accesses under way, by this program or by fio, and a block made durable.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tollway_core::{
    Actor, Address, Axis, Domain, Error, Missing, Params, Place, Plan, Recorder, Requirement, Result, Role,
    Tally, TenantKind, Ticks, Unit, Value, Variant, Window, Yield,
};
use tollway_host::clock::{self, RunClock};
use tollway_host::scratch;
use tollway_load::{repeat, wait_until};

use crate::engine::disk::{Accesses, Durable, Load, Pattern, Sync, TestFile, fio};
use crate::params::{self, TOLLWAY};
use crate::surroundings;

const FIO: &str = "fio";

pub(super) const MIB: u64 = 1 << 20;

/// Bytes of the last accesses that are read back from the disk after each trial.
pub(super) const CHECKED: u64 = 8 * MIB;

/// What the slowest disk takes for a MiB of a new file.
const MIB_TAKES: Duration = Duration::from_millis(50);

/// From this size on the bytes are the headline, not how many accesses.
pub(super) const LARGE: u64 = 65536;

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![Box::new(Disk), Box::new(Fsync)]
}

pub(super) fn pattern() -> Axis {
    Axis {
        name: "pattern",
        about: "what is done in which order, by fio's names",
        domain: Domain::Words(Pattern::WORDS),
        default: Value::Text("randread".into()),
    }
}

pub(super) fn depth() -> Axis {
    Axis {
        name: "depth",
        about: "accesses under way",
        domain: Domain::Whole(1, 128),
        default: Value::Int(32),
    }
}

pub(super) fn size() -> Axis {
    Axis {
        name: "size",
        about: "bytes of a block: whole sectors of 512",
        domain: Domain::Whole(512, 16 * MIB),
        default: Value::Int(4096),
    }
}

pub(super) fn mib(default: u64) -> Axis {
    Axis {
        name: "mib",
        about: "the file, in MiB",
        domain: Domain::Whole(1, MIB),
        default: Value::Int(default),
    }
}

/// The file's size, for titles; nothing of what is usual.
pub(super) fn file_told(params: &Params, usual: u64) -> String {
    let as_bytes = |value: &Value| value.to_string().parse::<u64>().map_or(0, |mib| mib * MIB);
    surroundings::unless_usual(params, &mib(usual), |value| {
        format!("file of {}", surroundings::size(as_bytes(value)))
    })
}

/// Room for a file and what ext4 keeps for itself on a disk of that size: inodes, the journal, what it spares.
fn room(params: &Params) -> Result<u64> {
    let mib = params.int("mib")?;
    Ok(mib + mib / 8)
}

pub(super) fn make_takes(params: &Params) -> Duration {
    MIB_TAKES * params.int("mib").map_or(0, |mib| mib as u32)
}

/// Accesses to a file, so many under way.
struct Disk;

impl Variant for Disk {
    fn name(&self) -> &str {
        "disk"
    }

    fn about(&self) -> &str {
        "reads and writes of a file, many under way"
    }

    fn caveats(&self) -> &str {
        "A file without a name in the scratch folder (TOLLWAY_SCRATCH), full of bytes that cannot be compressed. A virtual disk may answer \
         from its host's memory, and say that it has written what it has not. Buffered writes are those that the page cache took. \
         A latency is from the beginning of an access until the program sees its end, its wait for others included."
    }

    fn axes(&self) -> Vec<Axis> {
        let own = vec![
            pattern(),
            size(),
            Axis {
                name: "access",
                about: "past the page cache, or through it",
                domain: Domain::Words(&["direct", "buffered"]),
                default: Value::Text("direct".into()),
            },
            depth(),
            mib(256),
            params::by(&[TOLLWAY, FIO]),
        ];
        [own, surroundings::axes()].concat()
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let load = load(params)?;
        load.check(params.int("mib")? * MIB)?;
        let mut requires = vec![Requirement::IoUring];
        if load.direct {
            requires.push(Requirement::DirectIo);
        }
        if params.word("by")? == FIO {
            if params.tenant()? != TenantKind::Process {
                return Err(Error::Input {
                    place: "axis `tenant`".into(),
                    reason: "fio is not in a guest".into(),
                    remedy: "set `tenant` to process, or `by` to tollway".into(),
                });
            }
            requires.push(Requirement::Program(FIO.into(), FIO.into()));
        }
        let plan = Plan {
            operation: "access".into(),
            roles: vec![Role::measured("disk")],
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires,
            guests: Vec::new(),
        };
        surroundings::settled(plan, params, Some(room(params)?))
    }

    fn yields(&self, params: &Params) -> Vec<Yield> {
        yields(params)
    }

    fn title(&self, params: &Params) -> Option<String> {
        let through = if params.word("access").ok()? == "direct" { "" } else { ", through the page cache" };
        let file = file_told(params, 256);
        surroundings::titled(format!("{}{through}{file}", access_told(params)?), params)
    }

    fn patience(&self, params: &Params) -> Duration {
        let tool = if params.word("by").is_ok_and(|by| by == FIO) { fio::PATIENCE } else { Duration::ZERO };
        make_takes(params) + tool
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let (load, bytes) = (load(params)?, params.int("mib")? * MIB);
        Ok(match params.word("by")? {
            FIO => Box::new(ByFio { load, bytes, seed: 0, file: None, told: None }),
            _ => Box::new(Ours { load, bytes, accesses: None, tally: Tally::default() }),
        })
    }
}

/// Accesses and bytes, the headline first.
pub(super) fn yields(params: &Params) -> Vec<Yield> {
    let size = params.int("size").unwrap_or_default();
    let mut yields = vec![Yield::one(Unit::Accesses), Yield::bytes(size)];
    if size >= LARGE {
        yields.reverse();
    }
    yields
}

/// What a person reads: `random read, 4 KiB, depth 32`.
pub(super) fn access_told(params: &Params) -> Option<String> {
    let what = match params.word("pattern").ok()? {
        "randread" => "random read",
        "randwrite" => "random write",
        "randrw" => "random read and write",
        word => word,
    };
    let size = surroundings::size(params.int("size").ok()?);
    Some(format!("{what}, {size}, depth {}", params.int("depth").ok()?))
}

fn load(params: &Params) -> Result<Load> {
    Ok(Load {
        pattern: Pattern::of(params.word("pattern")?)?,
        size: params.int("size")? as usize,
        depth: params.int("depth")? as usize,
        direct: params.word("access")? == "direct",
    })
}

/// Files that are kept between trials, since a large one takes seconds to make: one that holds what it must, and one that fio has
/// written to.
static KEPT: [Mutex<Option<TestFile>>; 2] = [Mutex::new(None), Mutex::new(None)];

#[derive(Clone, Copy)]
enum Shelf {
    Whole,
    Foreign,
}

impl Shelf {
    fn kept(self) -> &'static Mutex<Option<TestFile>> {
        &KEPT[self as usize]
    }

    /// The file of that size that was kept, or a new one.
    fn take(self, bytes: u64, seed: u64) -> Result<TestFile> {
        let kept = self.kept().lock().unwrap_or_else(PoisonError::into_inner).take();
        match kept {
            Some(file) if file.bytes() == bytes => Ok(file),
            // What is there of another size is given up first, so that there is room.
            other => {
                drop(other);
                TestFile::make(&scratch::folder(), bytes, seed)
            }
        }
    }

    fn keep(self, file: TestFile) {
        *self.kept().lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    }
}

fn before(call: &str) -> Error {
    Error::system(format!("{call} of a disk's actor"), "it is not ready, or has ended")
}

/// This program's accesses.
struct Ours {
    load: Load,
    bytes: u64,
    accesses: Option<Accesses>,
    tally: Tally,
}

impl Actor for Ours {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let file = Shelf::Whole.take(self.bytes, place.lot.seed)?;
        self.accesses = Some(Accesses::new(file, self.load, place.lot.seed)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let accesses = self.accesses.as_mut().ok_or_else(|| before("run"))?;
        let clock = RunClock::chosen();
        wait_until(clock, window.warm);
        let mut counted = Counted::default();
        accesses.run(clock, |at, took| counted.look(window, recorder, at, took))
    }

    fn verify(&mut self) -> Result<()> {
        let accesses = self.accesses.take().ok_or_else(|| before("verify"))?;
        self.tally = counts(accesses.read(), accesses.written());
        Shelf::Whole.keep(accesses.verified(CHECKED)?);
        Ok(())
    }

    fn tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }
}

pub(super) fn counts(read: u64, written: u64) -> Tally {
    Tally::default().counter("blocks read", read).counter("blocks written", written)
}

/// Counts what comes back between two looks of the window, the first of which is where the counting begins: what came back with it was
/// the work of the time before. It goes on for as long as the window is, from there on: where a disk stood still until the window was over, what comes
/// back together then may be seen in two looks, and the little time between these is not what it took. So the rate is right, however few come back, and
/// however many at once.
#[derive(Default)]
pub(super) struct Counted {
    from: Option<Ticks>,
}

impl Counted {
    pub(super) fn look(
        &mut self,
        window: &Window,
        recorder: &mut Recorder,
        at: Ticks,
        took: &[Ticks],
    ) -> ControlFlow<()> {
        match self.from {
            None if at >= window.open => self.from = Some(at),
            None => {}
            Some(from) => {
                took.iter().for_each(|took| recorder.sample(*took));
                recorder.took(at - from);
                if at - from >= window.close - window.open {
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// fio's.
struct ByFio {
    load: Load,
    bytes: u64,
    seed: u64,
    file: Option<TestFile>,
    told: Option<fio::Told>,
}

impl ByFio {
    fn shelf(&self) -> Shelf {
        if self.load.pattern.writes() { Shelf::Foreign } else { Shelf::Whole }
    }
}

impl Actor for ByFio {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        self.seed = place.lot.seed;
        let file = self.shelf().take(self.bytes, self.seed)?;
        file.access(self.load.direct, self.load.size)?;
        self.file = Some(file);
        // The first call takes a while.
        clock::hz()?;
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let file = self.file.as_ref().ok_or_else(|| before("run"))?;
        let hz = clock::hz()?;
        let long = |from: Ticks, to: Ticks| Duration::from_secs_f64(to.saturating_sub(from) as f64 / hz);
        let ticks = |time: Duration| (time.as_secs_f64() * hz) as Ticks;
        wait_until(RunClock::chosen(), window.warm);
        let (ramp, runtime) = (long(window.warm, window.open), long(window.open, window.close));
        let told = fio::run(file, fio::Asked { load: self.load, ramp, runtime, seed: self.seed })?;
        for (ns, n) in &told.latencies {
            let took = ticks(Duration::from_nanos(*ns));
            (0..*n).for_each(|_| recorder.sample(took));
        }
        // A few latencies are of accesses that fio does not count: the rate is to be what it says.
        recorder.took((recorder.total().0 as f64 / told.rate() * hz) as Ticks);
        self.told = Some(told);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        let (Some(file), Some(_)) = (self.file.take(), &self.told) else { return Err(before("verify")) };
        if !self.load.pattern.writes() {
            let blocks = (CHECKED.min(self.bytes) / self.load.size as u64).max(1);
            file.check(self.load.size, 0..blocks)?;
        }
        self.shelf().keep(file);
        Ok(())
    }

    fn tally(&mut self) -> Tally {
        self.told.take().map_or_else(Tally::default, |told| counts(told.read, told.written))
    }
}

/// A block made durable.
struct Fsync;

impl Variant for Fsync {
    fn name(&self) -> &str {
        "fsync"
    }

    fn about(&self) -> &str {
        "a block written and waited for until it is on the disk"
    }

    fn caveats(&self) -> &str {
        "A write of a block of a file through the page cache, in random order, and the call that waits for it: the disk's cache is flushed, \
         and with fsync the file system's journal is written too. A virtual disk may confirm a flush that it has not done."
    }

    fn axes(&self) -> Vec<Axis> {
        let call = Axis {
            name: "call",
            about: "what waits: fsync for all that is known of the file, fdatasync for the block",
            domain: Domain::Words(&["fsync", "fdatasync"]),
            default: Value::Text("fsync".into()),
        };
        [vec![call, size(), mib(16)], surroundings::axes()].concat()
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let plan = Plan {
            operation: "block made durable".into(),
            roles: vec![Role::measured("disk")],
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires: Vec::new(),
            guests: Vec::new(),
        };
        surroundings::settled(plan, params, Some(room(params)?))
    }

    fn title(&self, params: &Params) -> Option<String> {
        let call = params.word("call").ok()?;
        let size = surroundings::size(params.int("size").ok()?);
        surroundings::titled(format!("write made durable, {size}, {call}{}", file_told(params, 16)), params)
    }

    fn patience(&self, params: &Params) -> Duration {
        make_takes(params)
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let by = if params.word("call")? == "fsync" { Sync::All } else { Sync::Data };
        let (size, bytes) = (params.int("size")? as usize, params.int("mib")? * MIB);
        Ok(Box::new(Synced { by, size, bytes, durable: None }))
    }
}

struct Synced {
    by: Sync,
    size: usize,
    bytes: u64,
    durable: Option<Durable>,
}

impl Actor for Synced {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let folder = scratch::folder();
        if scratch::in_memory(&folder) {
            return Err(Error::Missing(Missing::new(
                format!("a disk under {}", folder.display()),
                "its file system is in memory, where nothing is durable",
                format!("set {} to a folder on a disk's file system (ext4, xfs)", scratch::FOLDER),
            )));
        }
        // Small, and so made anew.
        let file = TestFile::make(&folder, self.bytes, place.lot.seed)?;
        self.durable = Some(Durable::new(file, self.size, self.by, place.lot.seed)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let durable = self.durable.as_mut().ok_or_else(|| before("run"))?;
        repeat(RunClock::chosen(), window, recorder, &mut || durable.once());
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        self.durable.take().ok_or_else(|| before("verify"))?.verified(CHECKED).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { warm: 0, open: 100, close: 200, batch: 1, planted: 0 };

    /// Operations counted and ticks they took when told of these looks.
    fn counted(looks: &[(Ticks, usize)]) -> (u64, Option<Ticks>, usize) {
        let (mut recorder, mut counted) = (Recorder::new(), Counted::default());
        let mut taken = 0;
        for (at, n) in looks {
            taken += 1;
            if counted.look(&WINDOW, &mut recorder, *at, &vec![7; *n]).is_break() {
                break;
            }
        }
        (recorder.spread().ops, recorder.stretch(), taken)
    }

    #[test]
    fn what_comes_in_lumps_is_counted_by_the_time_between_them() {
        // 32 each 30 ticks: three such stretches are as long as the window, but for a moment.
        let lumps: Vec<_> = (1..20).map(|n| (n * 30, 32)).collect();
        assert_eq!(counted(&lumps), (128, Some(120), 8));
    }

    #[test]
    fn an_access_longer_than_the_window_is_counted_with_the_time_it_took() {
        assert_eq!(counted(&[(1_000, 1), (4_000, 2), (5_000, 1)]), (2, Some(3_000), 2));
        assert_eq!(counted(&[(90, 5), (95, 5)]), (0, None, 2));
    }

    /// 32 that were under way while a disk stood still come back in two looks, and again 1000 ticks later.
    #[test]
    fn what_comes_after_a_standstill_is_no_burst() {
        let looks = [(1_000, 1), (1_001, 31), (2_000, 1), (2_001, 31)];
        assert_eq!(counted(&looks), (32, Some(1_000), 3));
    }
}
