//! What crossings cost on this machine by themselves: the tolls of the price list, in nanoseconds.

use tollway_core::{Crossing, Placement, TollKey, TollSource, Warmth};
use tollway_watch::FileKind;

use crate::rhythm::coldness;
use crate::route::{Route, route_of, single};
use crate::walks::{Names, Walks};

/// Sizes in bytes at which calls that move bytes are priced (the preset `calls` of the path `crossings`); the last of a datagram is 65,507.
const SIZES: [u64; 4] = [1, 512, 4096, 65_536];
const DATAGRAM: u64 = 65_507;

/// The same of what is written in no whole pages.
const PACKED: [u64; 3] = [6000, 20_000, 50_000];
/// Bytes of a page.
const PAGE: f64 = 4096.0;

/// The same of a folder's listing: of no file, and of 32, 256 and 1022.
const LISTINGS: [u64; 4] = [48, 1072, 8240, 32_752];
/// Sizes of writes at which streams through pipes are priced.
const STREAMED: [u64; 3] = [512, 4096, 65_536];
/// Pages of the mappings of `munmap-touched`.
const PAGES_UNMAPPED: f64 = 16.0;

/// Names of the paths by which calls are priced: from an open folder on (`-in-folder`), by a path, and by a long one from an open folder on (`stat-deep`).
const NAMES_IN_FOLDER: f64 = 1.0;
const NAMES: f64 = 3.0;
const NAMES_DEEP: f64 = 16.0;

/// The calls of a wake-up and of a sleep that come to nothing: the tolls of both are measured by futexes between processes.
const WAKE_NONE: &str = "futex-wake-none-shared";
const WAIT_CHANGED: &str = "futex-wait-changed-shared";

/// A price, in nanoseconds of processor time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Price {
    /// The estimate.
    pub ns: f64,
    /// Its 95 % interval.
    pub lo: f64,
    /// Its upper end.
    pub hi: f64,
    /// The tolls that it is of.
    pub keys: Vec<String>,
    /// It is only what it costs at least: no toll is like it.
    pub at_least: bool,
}

impl Price {
    /// So many times this one.
    pub fn times(&self, count: f64) -> Price {
        Price { ns: self.ns * count, lo: self.lo * count, hi: self.hi * count, ..self.clone() }
    }

    /// This and another one.
    pub fn plus(mut self, other: &Price) -> Price {
        self.ns += other.ns;
        self.lo += other.lo;
        self.hi += other.hi;
        self.at_least |= other.at_least;
        self.keys
            .extend(other.keys.iter().filter(|key| !self.keys.contains(key)).cloned().collect::<Vec<_>>());
        self
    }

    /// The same of as many as may be off by this share of them: half of their 95 % interval.
    pub fn of_counts_off_by(&self, share: f64) -> Price {
        let error = self.ns.abs() * share;
        let (below, above) = ((self.ns - self.lo).hypot(error), (self.hi - self.ns).hypot(error));
        Price { lo: self.ns - below, hi: self.ns + above, ..self.clone() }
    }

    /// This less another one that is in it; not less than 0.
    pub fn less(mut self, other: &Price) -> Price {
        (self.ns, self.lo, self.hi) =
            ((self.ns - other.ns).max(0.0), (self.lo - other.hi).max(0.0), (self.hi - other.lo).max(0.0));
        self.keys.extend(other.keys.iter().map(|key| format!("less {key}")));
        self
    }
}

/// A system call as a program makes it, on the average.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its name.
    pub call: &'a str,
    /// What it is made on.
    pub file: FileKind,
    /// What it gives: bytes that it moves, or descriptors that are ready.
    pub result: f64,
    /// Whether it mostly has a result that is more than 0.
    pub gives: bool,
    /// The share of calls that fail.
    pub failed: f64,
    /// Whether it mostly sleeps.
    pub sleeps: bool,
    /// The share of processes that begin as a copy, where they are begun to execute a program; `None` where that is not known.
    pub copies: Option<f64>,
    /// The share of calls that are on a file that is new.
    pub new_files: f64,
    /// The share of writes that are the first to their files.
    pub begun_files: f64,
    /// The share of what is read that is in no cache, where it is read from a file's beginning to its end.
    pub far: [f64; 2],
    /// Nanoseconds of processor time from one call of the kind to the next; `None` where that is not known.
    pub period: Option<f64>,
    /// Whether the process has other threads, with which it shares its descriptors.
    pub has_others: bool,
    /// Of how many names the path is by which it looks for a file; `None` where it has none, or two.
    pub walks: Option<Walks>,
}

/// What page faults are on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Faults {
    /// As they were seen: the share that read or executed, which are on pages of files, and the share that wrote to a page which is there, and is copied. Others
    /// are of new memory.
    Seen {
        /// The first.
        reading: f64,
        /// The second.
        copying: f64,
    },
    /// The share of those on a program's and its libraries' own pages, where it is not seen which are read and which are copied.
    OfFiles(f64),
}

impl Faults {
    /// On new memory, all of them.
    pub const NEW: Faults = Faults::OfFiles(0.0);
}

/// A price between two: where it is, and how far to either side it may be, as shares of the way from the one to the other.
#[derive(Clone, Copy)]
struct Part {
    at: f64,
    unsure: f64,
}

impl Part {
    /// Somewhere between: the surer the nearer one end is.
    fn surest_at_ends(at: f64) -> Part {
        Part { at, unsure: at.min(1.0 - at) }
    }

    fn between(self, one: Price, other: &Price) -> Price {
        let part = |from: f64, to: f64, at: f64| from + (to - from) * at.clamp(0.0, 1.0);
        let (least, most) = (self.at - self.unsure, self.at + self.unsure);
        let ends = [least, most].map(|at| (part(one.lo, other.lo, at), part(one.hi, other.hi, at)));
        Price {
            ns: part(one.ns, other.ns, self.at),
            lo: ends[0].0.min(ends[1].0),
            hi: ends[0].1.max(ends[1].1),
            ..one.plus(&Price { keys: other.keys.clone(), ..Price::default() })
        }
    }
}

/// Prices by tolls.
pub struct Prices<'a>(pub &'a dyn TollSource);

impl Prices<'_> {
    /// One toll's price.
    pub fn of(&self, key: &TollKey) -> Option<Price> {
        let toll = self.0.toll(key)?;
        let ns = 1e9 / toll.hz;
        Some(Price {
            ns: toll.work * ns,
            lo: toll.work_lo * ns,
            hi: toll.work_hi * ns,
            keys: vec![key.to_string()],
            at_least: false,
        })
    }

    /// A hot system call, by its name and file, that moves so many bytes on the average. `gives` says whether it mostly has a result that is more than 0.
    pub fn call(&self, call: &str, file: FileKind, bytes: f64, gives: bool) -> Option<Price> {
        self.asked(&Asked {
            call,
            file,
            result: bytes,
            gives,
            failed: 0.0,
            sleeps: false,
            copies: None,
            new_files: 0.0,
            begun_files: 0.0,
            far: [0.0; 2],
            period: Some(0.0),
            has_others: true,
            walks: None,
        })
    }

    /// A system call as a program makes it.
    ///
    /// Between its hot toll and its cold one, by the processor time that lies between two calls of the kind beyond the call itself
    /// (`rhythm.rs`; METHODOLOGY, "Hot and cold"). The interval reaches as far to both sides as the nearer of the two is: a call that is hot or cold for sure
    /// has its toll's, one half way that from hot to cold. Where the time is not known it is hot, and may be all that is between. A kind without a cold
    /// toll is hot.
    ///
    /// What a call costs in user mode is the program's own time, and not in it; nor is what descriptors cost that are shared, where they are not.
    pub fn asked(&self, asked: &Asked<'_>) -> Option<Price> {
        let mut price = self.whole_call(asked)?;
        let not_in_it = [
            self.of(&user_side()),
            self.of(&shared_descriptors()).filter(|_| asked.file.is_open() && !asked.has_others),
        ];
        for less in not_in_it.iter().flatten() {
            price = Price { keys: price.keys.clone(), ..price.less(less) };
        }
        Some(price)
    }

    fn whole_call(&self, asked: &Asked<'_>) -> Option<Price> {
        let (result, period) = (asked.result, asked.period);
        let empty =
            || self.of(&TollKey::of(Crossing::Getppid)).map(|price| Price { at_least: true, ..price });
        let new = |old: Option<Price>, new: Option<Price>| match (old, new) {
            (Some(old), Some(new)) if asked.new_files > 0.0 => {
                Some(Part { at: asked.new_files, unsure: 1.0 }.between(old, &new))
            }
            (old, new) => old.or(new),
        };
        match route_of(asked.call, asked.file, asked.gives) {
            Route::Sized(kind) => self.sized(kind, result, period).or_else(empty),
            Route::SizedFarOrNear(far, near) => self.far_or_near(far, near, asked).or_else(empty),
            Route::SizedOfFile(kind, of_new) => {
                new(self.sized(kind, result, period), self.sized(of_new, result, period)).or_else(empty)
            }
            Route::SizedBehindEnd(kinds) => self.behind_end(kinds, asked).or_else(empty),
            Route::Single("create") => self.by_path("create", asked).or_else(empty),
            Route::Single(kind) => self.single(kind, period).or_else(empty),
            Route::OfFile(kind, of_new) => {
                new(self.single(kind, period), self.single(of_new, period)).or_else(empty)
            }
            Route::OrMissing(kind, missing) => {
                self.or_missing(self.by_path(kind, asked), missing, asked).or_else(empty)
            }
            Route::Ready(kinds) => self.ready(kinds, result, period).or_else(empty),
            Route::Reap => {
                let (reaped, asks) = (self.single("wait4", period), self.of(&TollKey::of(Crossing::Getppid)));
                let none = Part { at: asked.failed, unsure: 0.0 };
                reaped.zip(asks).map(|(reaped, asks)| none.between(reaped, &asks)).or_else(empty)
            }
            Route::Begin => self.begin(asked).or_else(empty),
            Route::Execute => self.execute(asked).or_else(empty),
            Route::End => self.of(&process("exit")).or_else(empty),
            Route::Part(key, part) => self.of(&key).map(|price| price.times(part)).or_else(empty),
            Route::AtLeast => empty(),
        }
    }

    /// Between hot and cold.
    fn warmed(hot: Price, cold: Option<Price>, period: Option<f64>) -> Price {
        let Some(cold) = cold else { return hot };
        let part = match period {
            Some(period) => Part::surest_at_ends(coldness(period, hot.ns)),
            None => Part { at: 0.0, unsure: 1.0 },
        };
        part.between(hot, &cold)
    }

    /// A call that has no size.
    fn single(&self, kind: &str, period: Option<f64>) -> Option<Price> {
        let key = single(kind);
        let cold = self.of(&key.clone().warmth(Warmth::Cold));
        Some(Self::warmed(self.of(&key)?, cold, period))
    }

    /// Some of its calls find nothing: a name that is not there.
    fn or_missing(&self, done: Option<Price>, missing: &str, asked: &Asked<'_>) -> Option<Price> {
        let done = done?;
        let missing = self.single(missing, asked.period).filter(|_| asked.failed > 0.0);
        Some(match missing {
            Some(missing) if asked.walks.is_some() => {
                let missing = self.missing_by_path(missing, asked);
                Part { at: asked.failed, unsure: 0.0 }.between(done, &missing)
            }
            Some(missing) => Part { at: asked.failed, unsure: 0.0 }.between(done, &missing),
            None => done,
        })
    }

    /// A call that finds what it looks for by its path.
    fn by_path(&self, kind: &str, asked: &Asked<'_>) -> Option<Price> {
        let Some(walks) = asked.walks else { return self.single(kind, asked.period) };
        let priced = if kind.ends_with("-in-folder") { NAMES_IN_FOLDER } else { NAMES };
        // What lies between two calls is what is not taken by the call itself, its further names among that.
        let further = walks.done.map_or(0.0, |names| names.mean - priced);
        let each = self.walk_of_a_name(Some(0.0)).map_or(0.0, |each| each.ns);
        let period = asked.period.map(|period| (period - each * further).max(0.0));
        Some(self.walked(self.single(kind, period)?, priced, walks.done, period))
    }

    /// A call by a path that leads nowhere. Which of its names is not there is not known: the walk ends with that one, the first or the last.
    fn missing_by_path(&self, missing: Price, asked: &Asked<'_>) -> Price {
        let names = asked.walks.and_then(|walks| walks.failed);
        let price = self.walked(missing, NAMES, names, asked.period);
        let further = names.map_or(0.0, |names| (names.mean - 1.0).max(0.0));
        let less = self.walk_of_a_name(asked.period).map_or(0.0, |each| each.hi * further);
        Price { lo: (price.lo - less).max(0.0), ..price }
    }

    /// The price of a call by a path of `names` names, from its price by a path of `priced` names. Where these are not known it may be any number up to that of the
    /// longest path that is priced.
    fn walked(&self, price: Price, priced: f64, names: Option<Names>, period: Option<f64>) -> Price {
        let Some(each) = self.walk_of_a_name(period) else { return price };
        let (mean, fewer, more) = match names {
            Some(names) => (names.mean, names.off_by, names.off_by),
            None => (priced, priced - 1.0, NAMES_DEEP - priced),
        };
        let beyond = mean - priced;
        let (least, most) = (each.lo * beyond, each.hi * beyond);
        Price {
            ns: (price.ns + each.ns * beyond).max(0.0),
            lo: (price.lo + least.min(most) - each.hi * fewer).max(0.0),
            hi: (price.hi + least.max(most) + each.hi * more).max(0.0),
            ..price.plus(&Price { keys: each.keys, ..Price::default() })
        }
    }

    /// What each name of a path takes to be looked for: the same in all calls that go by a path, whether there is something at its end or not.
    fn walk_of_a_name(&self, period: Option<f64>) -> Option<Price> {
        let each = |warmth: Option<Warmth>| {
            let of = |kind: &str| self.of(&TollKey { warmth, ..single(kind) });
            let (deep, near) = (of("stat-deep")?, of("stat-in-folder")?);
            // Each was measured by itself, so their errors are apart from each other.
            let [below, above] =
                [(deep.ns - deep.lo).hypot(near.hi - near.ns), (deep.hi - deep.ns).hypot(near.ns - near.lo)];
            let further = deep.less(&near);
            let (lo, hi) = ((further.ns - below).max(0.0), further.ns + above);
            Some(Price { lo, hi, ..further }.times(1.0 / (NAMES_DEEP - NAMES_IN_FOLDER)))
        };
        Some(Self::warmed(each(None)?, each(Some(Warmth::Cold)), period))
    }

    /// A process or a thread that is begun. Flags are not counted: who sleeps meanwhile has lent its memory to the child, as vfork and posix_spawn do; of
    /// a process of several threads clone3 begins another one.
    fn begin(&self, asked: &Asked<'_>) -> Option<Price> {
        let kind = match asked.call {
            "vfork" => "vfork",
            "fork" => "fork",
            _ if asked.sleeps => "vfork",
            _ if asked.has_others => "clone-thread",
            _ => "fork",
        };
        self.single(kind, asked.period)
    }

    /// A program that is executed: the memory that a copy has goes first.
    fn execute(&self, asked: &Asked<'_>) -> Option<Price> {
        let (borrower, copy) = (self.of(&process("exec"))?, self.of(&process("exec-forked")));
        let part = asked.copies.map_or(Part { at: 0.5, unsure: 0.5 }, Part::surest_at_ends);
        let price = copy.map_or(borrower.clone(), |copy| part.between(borrower, &copy));
        self.or_missing(Some(price), "stat-missing", asked)
    }

    /// A write of this size into a pipe whose other end reads all the while, for both ends: of streams of which a share has its ends on two cores. `None`
    /// below the smallest size at which it was measured.
    pub fn stream(&self, bytes: f64, across: f64) -> Option<Price> {
        let of = |placement| {
            let priced = |size: &u64| Some((*size as f64, self.of(&pipe_stream(*size, placement))?));
            Self::on_a_line(&STREAMED.iter().filter_map(priced).collect::<Vec<_>>(), bytes)
        };
        if bytes < STREAMED[0] as f64 {
            return None;
        }
        let (same, across_cores) = (of(Placement::Same)?, of(Placement::Across));
        let part = Part::surest_at_ends(across);
        Some(across_cores.map_or(same.clone(), |other| part.between(same, &other)))
    }

    /// What it takes to give a page back that was touched, of memory that goes as a whole.
    pub fn page_back(&self) -> Option<Price> {
        let touched = self.of(&single("munmap-touched"))?.less(&self.of(&single("munmap"))?);
        Some(touched.times(1.0 / PAGES_UNMAPPED))
    }

    /// A call that moves so many bytes.
    fn sized(&self, kind: &str, bytes: f64, period: Option<f64>) -> Option<Price> {
        let sizes = match kind {
            "getdents" => LISTINGS.to_vec(),
            "write-packed" => PACKED.to_vec(),
            kind if kind.ends_with("-udp") => SIZES.map(|size| size.min(DATAGRAM)).to_vec(),
            _ => SIZES.to_vec(),
        };
        let at = |key: TollKey| {
            let priced = |size: &u64| Some((*size as f64, self.of(&key.clone().size(*size))?));
            Self::on_a_line(&sizes.iter().filter_map(priced).collect::<Vec<_>>(), bytes)
        };
        Some(Self::warmed(at(single(kind))?, at(single(kind).warmth(Warmth::Cold)), period))
    }

    /// Bytes that are mostly written behind a file's end, but may be written over what is there.
    ///
    /// A call of less than a page is on a new one as often as such pages are full, or a file begins. Of one or more, the kernel finds
    /// memory for 2, 4, 8 pages and so on in one piece; other sizes begin and end within a page, and take several
    /// (of ext4 and Linux 6.18, 20,000 bytes cost more than 32,768).
    fn behind_end(&self, [whole, packed, old]: [&str; 3], asked: &Asked<'_>) -> Option<Price> {
        let sized = |kind: &str| self.sized(kind, asked.result, asked.period);
        let (new, old) = (sized(whole), sized(old));
        let pages = asked.result / PAGE;
        let is_one_piece = pages >= 1.0 && pages.log2().fract() == 0.0;
        let new = if pages < 1.0 || is_one_piece { new } else { sized(packed).or(new) };
        let Some((new, old)) = new.clone().zip(old.clone()) else { return new.or(old) };
        if pages >= 1.0 {
            return Some(Part { at: 0.0, unsure: 1.0 }.between(new, &old));
        }
        let on_new = pages.max(asked.begun_files).min(1.0);
        Some(Part { at: on_new, unsure: on_new }.between(old, &new))
    }

    /// Bytes that are read, of which a share comes from memory: besides that, its call is as cold as any.
    fn far_or_near(&self, far: &str, near: &str, asked: &Asked<'_>) -> Option<Price> {
        let of_near = self.sized(near, asked.result, asked.period)?;
        let Some(far) = self.sized(far, asked.result, None).filter(|_| asked.far[1] > 0.0) else {
            return Some(of_near);
        };
        let way = self.sized(near, 1.0, asked.period)?.less(&self.sized(near, 1.0, Some(0.0))?);
        let [least, most] = asked.far;
        let part = Part::surest_at_ends((least + most) / 2.0);
        let part = Part { unsure: part.unsure.max((most - least) / 2.0), ..part };
        Some(part.between(of_near, &far.plus(&way)))
    }

    /// An epoll or a poll by how many descriptors it names: none, one and eight have tolls.
    fn ready(&self, kinds: [&str; 3], count: f64, period: Option<f64>) -> Option<Price> {
        let at = |warmth: Option<Warmth>| {
            let priced =
                |(ready, kind): (f64, &str)| Some((ready, self.of(&TollKey { warmth, ..single(kind) })?));
            let kinds = [0.0, 1.0, 8.0].into_iter().zip(kinds);
            Self::on_a_line(&kinds.filter_map(priced).collect::<Vec<_>>(), count)
        };
        Some(Self::warmed(at(None)?, at(Some(Warmth::Cold)), period))
    }

    /// On the line between the two sizes at which something is priced, or on that of the largest two.
    fn on_a_line(priced: &[(f64, Price)], bytes: f64) -> Option<Price> {
        let above =
            priced.iter().position(|(size, _)| *size >= bytes).unwrap_or(priced.len().checked_sub(1)?).max(1);
        let ((low, less), (high, more)) = (priced.get(above - 1)?, priced.get(above)?);
        let part = ((bytes - low) / (high - low)).max(0.0);
        let between = |less: f64, more: f64| (less + (more - less) * part).max(0.0);
        let mut keys = less.keys.clone();
        keys.extend(more.keys.clone());
        let ns = between(less.ns, more.ns);
        let (lo, hi) = if part <= 1.0 {
            (between(less.lo, more.lo), between(less.hi, more.hi))
        } else {
            // Beyond the largest size both ends of the line are unsure, each by itself.
            let half = |price: &Price| (price.hi - price.lo) / 2.0;
            let unsure = (part * half(more)).hypot((part - 1.0) * half(less));
            ((ns - unsure).max(0.0), ns + unsure)
        };
        Some(Price { ns, lo, hi, keys, at_least: false })
    }

    /// What who wakes one pays, besides its call, who sleeps in a call on such a file. `turns` is the share of its wake-ups after which it sleeps itself.
    pub fn wake(&self, file: FileKind, placement: Placement, turns: f64) -> Option<Price> {
        let [wake, sleep] = self.wake_and_sleep(placement)?;
        Some(self.in_turns(&wake, [&wake, &sleep], (file, placement), turns))
    }

    /// What who goes to sleep in a call on such a file and comes back pays, besides its call. `turns` is the share of its sleeps before which it wakes somebody.
    pub fn sleep(&self, file: FileKind, placement: Placement, turns: f64) -> Option<Price> {
        let [wake, sleep] = self.wake_and_sleep(placement)?;
        Some(self.in_turns(&sleep, [&wake, &sleep], (file, placement), turns))
    }

    /// The same, where it is not known who woke it: anywhere between both.
    pub fn any_sleep(&self, file: FileKind) -> Option<Price> {
        let of = |placement| self.sleep(file, placement, 0.5);
        let same = of(Placement::Same)?;
        let across = of(Placement::Across);
        Some(across.map_or(same.clone(), |across| Part { at: 0.5, unsure: 0.5 }.between(same, &across)))
    }

    /// Each by itself, less the calls by which it is measured.
    fn wake_and_sleep(&self, placement: Placement) -> Option<[Price; 2]> {
        let by_itself = |crossing, call| {
            let whole = self.of(&TollKey::of(crossing).placement(placement))?;
            Some(whole.less(&self.of(&single(call))?))
        };
        Some([by_itself(Crossing::WakeUp, WAKE_NONE)?, by_itself(Crossing::Sleep, WAIT_CHANGED)?])
    }

    /// A wake-up or a sleep, of one that takes turns with another for a share of them: then it is a part of a hand-over, which is a wake-up and a sleep at once, and has
    /// its share of what both are by such a file. On one core they are less than the two by themselves, as one ends as the other begins; across cores the
    /// sleeper's way is another for each kind of file, and two processors that sleep in turns are woken less soon.
    fn in_turns(
        &self,
        by_itself: &Price,
        [wake, sleep]: [&Price; 2],
        (file, placement): (FileKind, Placement),
        turns: f64,
    ) -> Price {
        let both = self.hand_over(file, placement);
        let apart = wake.ns + sleep.ns;
        let Some(both) = both.filter(|both| apart > 0.0 && both.ns > 0.0) else { return by_itself.clone() };
        let keys = by_itself.keys.iter().chain(both.keys.iter().take(2)).cloned().collect();
        let part = Price { keys, ..both.times(by_itself.ns / apart) };
        Part::surest_at_ends(turns.clamp(0.0, 1.0)).between(by_itself.clone(), &part)
    }

    /// From one thread to another, without the calls: what one end pays for half of a round trip.
    fn hand_over(&self, file: FileKind, placement: Placement) -> Option<Price> {
        let (crossing, ask, answer) = channel(file);
        let at_first = self.of(&hand_over(crossing.name(), placement))?;
        let whole = match placement {
            Placement::Same => at_first,
            // Others that run in between have it begin anew, and who watches is one: it is anywhere from one to the other.
            Placement::Across => {
                let lasting = self.of(&hand_over(&format!("{}-lasting", crossing.name()), placement));
                let either = Part { at: 0.5, unsure: 0.5 };
                lasting.map_or(at_first.clone(), |lasting| either.between(at_first, &lasting))
            }
        };
        // An end makes each of its calls once in what it pays for a round trip's half.
        let period = Some(whole.ns);
        let call = |kind: &str| match file {
            FileKind::Pipe | FileKind::Unix | FileKind::Tcp => self.sized(kind, 1.0, period),
            _ => self.single(kind, period),
        };
        Some(whole.less(&call(ask)?.plus(&call(answer)?)))
    }

    /// One switch from a process to another on the same core where both stay ready: by sched_yield, less the call.
    pub fn switch(&self) -> Option<Price> {
        let yielded = self.of(&hand_over(Crossing::SchedYield.name(), Placement::Same))?;
        Some(yielded.less(&self.of(&TollKey::of(Crossing::Getppid))?))
    }

    /// A page fault that no disk is asked for.
    pub fn fault(&self, on: Faults) -> Option<Price> {
        let of = |kind: &str| self.of(&TollKey::of(Crossing::MinorFault).kind(kind));
        let new = self.of(&TollKey::of(Crossing::MinorFault))?;
        let Some((read, copied)) = of("file").zip(of("copy")).filter(|_| on != Faults::NEW) else {
            return Some(new);
        };
        let part = |at: f64| Part { at, unsure: 0.0 };
        Some(match on {
            Faults::Seen { reading, copying } => {
                let others = (reading / (1.0 - copying).max(1e-9)).min(1.0);
                part(copying).between(part(others).between(new, &read), &copied)
            }
            Faults::OfFiles(share) => {
                part(share).between(new, &Part { at: 0.5, unsure: 0.5 }.between(read, &copied))
            }
        })
    }

    /// A signal's delivery: a signal to oneself, less the call that sends it and the one that returns from the handler, which are counted as calls.
    pub fn signal(&self) -> Option<Price> {
        let whole = self.of(&TollKey::of(Crossing::Signal))?;
        Some(whole.less(&self.of(&TollKey::of(Crossing::Getppid))?.times(2.0)))
    }

    /// An operation of io_uring, of many that are given with one call.
    pub fn operation(&self) -> Option<Price> {
        self.of(&TollKey::of(Crossing::IoUringNop).depth(32))
    }

    /// How long it lasts until a call that waits comes back.
    pub fn latency(&self, key: &TollKey) -> Option<Price> {
        let toll = self.0.toll(key)?;
        let ns = 1e9 / toll.hz;
        let (lo, hi) = (toll.lo * ns, toll.hi * ns);
        Some(Price { ns: toll.median * ns, lo, hi, keys: vec![key.to_string()], at_least: false })
    }

    /// A tick of the scheduler; where it was not measured by itself, the median of what takes a core from a thread that never gives it away, which has
    /// other threads in it.
    pub fn tick(&self) -> Option<Price> {
        self.of(&scheduler_tick()).or_else(|| self.latency(&TollKey::of(Crossing::Interruption)))
    }

    /// Another interrupt of the local timer, by a timer of high resolution: at least any interrupt.
    pub fn timer(&self) -> Option<Price> {
        self.of(&timer_interrupt()).or_else(|| self.interrupt())
    }

    /// An exit of a virtual processor: at least one that the kernel answers by itself. Others go on to the program that runs the guest.
    pub fn exit(&self) -> Option<Price> {
        self.of(&TollKey::of(Crossing::ExitCpuid)).map(|price| Price { at_least: true, ..price })
    }

    /// Another interrupt: into the kernel and back at least.
    pub fn interrupt(&self) -> Option<Price> {
        self.of(&TollKey::of(Crossing::Getppid)).map(|price| Price { at_least: true, ..price })
    }

    /// Waking one who had slept on another core that is not idle: at least what it is on the same core, as no core has to wake.
    pub fn wake_busy(&self, file: FileKind, turns: f64) -> Option<Price> {
        self.wake(file, Placement::Same, turns).map(|price| Price { at_least: true, ..price })
    }
}

/// The round trip by such a file, and the calls by which an end asks and is answered; where nothing is like it, by a futex.
fn channel(file: FileKind) -> (Crossing, &'static str, &'static str) {
    match file {
        FileKind::Pipe => (Crossing::Pipe, "write-pipe", "read-pipe"),
        FileKind::Unix => (Crossing::UnixStream, "write-unix", "read-unix"),
        FileKind::Tcp => (Crossing::TcpLoopback, "write-tcp", "read-tcp"),
        FileKind::Anonymous => (Crossing::Eventfd, "write-eventfd", "read-eventfd"),
        _ => (Crossing::Futex, WAKE_NONE, WAIT_CHANGED),
    }
}

/// What one end pays for half of a round trip by such a channel, named as the crossing of the whole is.
fn hand_over(channel: &str, placement: Placement) -> TollKey {
    TollKey::of(Crossing::HandOver).kind(channel).placement(placement)
}

/// A part of a process' start.
fn process(kind: &str) -> TollKey {
    TollKey::of(Crossing::ProcessStart).kind(kind)
}

/// What a call costs in user mode: the toll of a call is of both sides, and the kernel's own account has this part among the program's.
pub fn user_side() -> TollKey {
    single("user-side")
}

/// What a tick of the scheduler takes of a thread that runs.
pub fn scheduler_tick() -> TollKey {
    TollKey::of(Crossing::Interruption).kind("tick")
}

/// What an interrupt of the local timer takes of a thread that runs, where it is no tick of the scheduler.
pub fn timer_interrupt() -> TollKey {
    TollKey::of(Crossing::Interruption).kind("timer")
}

/// A write of this size into a pipe through which a stream goes, for both ends.
pub fn pipe_stream(size: u64, placement: Placement) -> TollKey {
    single("pipe-stream").size(size).placement(placement)
}

/// How much dearer a call on a descriptor is of a process that has several threads.
pub fn shared_descriptors() -> TollKey {
    single("shared-descriptors")
}

/// The tolls without which there is no bill; the preset `calls` measures them.
pub fn needed() -> Vec<TollKey> {
    let mut keys = vec![
        TollKey::of(Crossing::Getppid),
        TollKey::of(Crossing::MinorFault),
        hand_over(Crossing::SchedYield.name(), Placement::Same),
        TollKey::of(Crossing::WakeUp).placement(Placement::Same),
        TollKey::of(Crossing::Sleep).placement(Placement::Same),
        hand_over(Crossing::Futex.name(), Placement::Same),
        hand_over(Crossing::Pipe.name(), Placement::Same),
        single(WAKE_NONE),
        single(WAIT_CHANGED),
        single("epoll-wait"),
        single("epoll-wait").warmth(Warmth::Cold),
    ];
    for kind in [
        "read-pipe",
        "write-pipe",
        "read-unix",
        "write-unix",
        "read-file",
        "write-file",
        "read-zero",
        "write-null",
    ] {
        keys.extend(SIZES.map(|size| single(kind).size(size)));
    }
    // Of those that came later, so that a list without them is measured anew.
    keys.extend(["wait4", "munmap-touched"].map(single));
    keys.extend(PACKED.map(|size| single("write-packed").size(size)));
    keys
}
