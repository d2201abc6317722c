//! A program's bill as a document.

use serde::{Deserialize, Serialize};

/// A program's bill. Times are nanoseconds of processor time over all the time that it was watched, where nothing else is said; intervals are of 95 %.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BillDocument {
    /// The version of this form.
    pub schema_version: u32,
    /// The command line, or the name and number of the process.
    pub program: String,
    /// How it was counted, and what that cost.
    pub watching: WatchingDocument,
    /// The exit code that a shell would tell, if the program was started and has ended.
    pub exit_code: Option<u8>,
    /// The signal that ended it, by its name (SIGSEGV); absent where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// What the bill is divided by: "run", "second", "request (accept4)".
    pub per: String,
    /// How many of them there were.
    pub count: f64,
    /// The lines, the dearest first: by the greater of toll and measured time.
    pub lines: Vec<LineDocument>,
    /// What the lines come to.
    pub explained: TimeDocument,
    /// What is put down to lines as it was measured; never added to what tolls explain. Absent where calls have no stamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributed: Option<AttributedDocument>,
    /// Processor time in the kernel, measured apart from the lines and without what counting took of it; absent where this way of counting would be most of it.
    pub kernel: Option<TimeDocument>,
    /// Whether the kernel's own account is where that is from, which samples; else it is from stamps around calls, as there were too few samples.
    pub is_sampled: bool,
    /// Kernel time that the lines do not explain; less than 0 where they say more than was measured. Absent where it is from stamps, which are of calls alone.
    pub unexplained: Option<f64>,
    /// Processor time in user mode; absent where the kernel's own account does not tell.
    pub user: Option<f64>,
    /// Processor time, all of it but what counting took; 0 where it was not measured.
    pub ran: f64,
    /// Time that the whole machine's processors had taken by its hypervisor meanwhile, as a share; absent where that is not told.
    pub steal: Option<f64>,
    /// Whether this guest gives memory that it has freed back to its host, which then brings new pages: that is in no toll.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub memory_goes_back: bool,
    /// What else this machine had to do just before its price list was measured, so that prices may be too high; absent where it was quiet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices_noisy: Option<String>,
    /// Where the prices are from: files, or that they were measured for this bill alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices_from: Vec<String>,
    /// How far its cores were from each other, where that is not what they were when prices were measured: what goes between them costs more than its tolls, or less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<ApartDocument>,
    /// What could be changed, and what it would bring, the dearest first.
    pub what_if: Vec<WhatIfDocument>,
    /// Changes that were tried, and what they really brought.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedDocument>,
    /// The dearest threads.
    pub threads: Vec<PayerDocument>,
    /// The dearest files and connections: what the calls on them cost by themselves.
    pub files: Vec<PayerDocument>,
}

/// Kernel time that is put down to lines, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttributedDocument {
    /// All of it.
    pub ns: f64,
    /// To calls, by their own stamps.
    pub measured: f64,
    /// To what no stamp sees (page faults, interrupts, switches against a thread's will, calls that never come back), by its tolls.
    pub by_tolls: f64,
    /// The 95 % interval of all of it: of counts that are estimates, and of tolls. Absent of older bills.
    #[serde(default)]
    pub interval: Option<[f64; 2]>,
}

/// How long a cache line takes from one core to another and back, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApartDocument {
    /// Just before or after the program was watched: the longer of the two.
    pub found: f64,
    /// When prices were measured.
    pub priced: f64,
}

/// How a program was counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchingDocument {
    /// The way.
    pub by: String,
    /// Seconds that it was watched.
    pub watched_s: f64,
    /// Seconds of them in which it was counted; less where it was counted in slices, and then counts are estimates.
    pub counted_s: f64,
    /// For how long of the rest system calls alone were counted, by their numbers, in seconds.
    pub numbered_s: f64,
    /// Events that are in no count, as there was no room for them.
    pub lost: u64,
    /// What counting adds to a system call on no file, in nanoseconds, as it was measured; absent where that was not.
    pub call_ns: Option<f64>,
    /// What counting adds to one on a file.
    pub call_on_file_ns: Option<f64>,
    /// What counting took of the program's processor time, as a share: events × what each adds.
    pub share: f64,
    /// What this way does not see.
    pub unseen: Vec<String>,
    /// Whether it disturbs the program so much that its times say nothing.
    pub disturbs: bool,
}

/// A line of a program's bill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineDocument {
    /// What it is of.
    pub what: String,
    /// How often.
    pub count: f64,
    /// The 95 % interval of the count, where it is an estimate: it was counted in slices of time. Absent where the
    /// count is exact, and where it is not known by how much it may be off.
    #[serde(default)]
    pub interval: Option<[f64; 2]>,
    /// Whether the count is an estimate.
    #[serde(default)]
    pub is_estimate: bool,
    /// Of calls, how many failed.
    pub failed: f64,
    /// Bytes that were moved.
    pub bytes: f64,
    /// Of calls that look for files by paths, how many names such a path has, in the mean of those that were looked at; absent of others, and where
    /// none was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<f64>,
    /// What one of them costs; absent where there is no toll.
    pub each: Option<TimeDocument>,
    /// What all of them cost.
    pub sum: Option<TimeDocument>,
    /// The price is only what it costs at least: no toll is like it.
    pub at_least: bool,
    /// How long the calls were in the kernel and on a processor, as they were stamped; what watching adds is in it.
    pub inside: Option<f64>,
    /// How long the calls were away from a processor.
    pub away: Option<f64>,
    /// How long the calls were in the kernel: as they were stamped, less what watching adds, and with the way in and out, by the toll of
    /// an empty call. Their sleeps and wake-ups are in it. Absent of what has no stamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// What their sleeps and wake-ups come to by tolls; these have lines of their own.
    #[serde(default)]
    pub waits_by_tolls: f64,
    /// The tolls.
    pub tolls: Vec<String>,
}

/// A change that could be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfDocument {
    /// Its name, as `--try` knows it where it can be tried from outside.
    pub name: String,
    /// What would be changed.
    pub what: String,
    /// How that is done.
    pub how: String,
    /// Whether `--try` can make it.
    pub can_be_tried: bool,
    /// Processor time that it saves; less than 0 where it costs some.
    pub saves: TimeDocument,
    /// Time that goes by less, where that is foretold as well.
    pub sooner: Option<TimeDocument>,
    /// Whether it brings enough to be worth the trouble: more than a hundredth of its processor time, or of the time that goes by.
    pub is_worth_it: bool,
    /// The tolls that it is made of.
    pub tolls: Vec<String>,
}

/// A time with its interval, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeDocument {
    /// The estimate.
    pub ns: f64,
    /// Its lower end.
    pub lo: f64,
    /// Its upper end.
    pub hi: f64,
}

/// A thread or a file, and what it pays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PayerDocument {
    /// What it is called.
    pub name: String,
    /// Nanoseconds.
    pub ns: f64,
}

/// A change that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriedDocument {
    /// Its name.
    pub name: String,
    /// How often the program was started as it is, and with the change.
    pub rounds: u32,
    /// What it was foretold to save of the program's processor time; absent where nothing was foretold.
    pub foretold: Option<ShareDocument>,
    /// What it saved of it; less than 0 where it cost some.
    pub saved: ShareDocument,
    /// What it was foretold to save of the time that goes by.
    pub foretold_sooner: Option<ShareDocument>,
    /// What it saved of that.
    pub sooner: ShareDocument,
    /// Whether measured and foretold agree, of the time that goes by where that was foretold, else of processor time: within a fifth, or their intervals overlap.
    /// Absent where nothing was foretold, or what was measured is too uncertain to say.
    pub holds: Option<bool>,
}

/// A share with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareDocument {
    /// The estimate.
    pub share: f64,
    /// Its lower end.
    pub lo: f64,
    /// Its upper end.
    pub hi: f64,
}

impl TriedDocument {
    /// What became of the prediction, in a word.
    pub fn verdict(&self) -> &'static str {
        match self.holds {
            Some(true) => "holds",
            Some(false) => "does not hold",
            None if self.foretold.is_none() && self.foretold_sooner.is_none() => "there was none",
            None => "too noisy to say",
        }
    }
}

impl BillDocument {
    /// How much of the kernel's time the lines explain; `None` where its own account does not tell.
    pub fn explained_share(&self) -> Option<ShareDocument> {
        self.share_of_kernel(&self.explained)
    }

    /// How much of the kernel's time is put down to lines as it was measured; `None` where one of the two does not tell.
    pub fn attributed_share(&self) -> Option<ShareDocument> {
        let attributed = self.attributed?;
        let [lo, hi] = attributed.interval.unwrap_or([attributed.ns; 2]);
        self.share_of_kernel(&TimeDocument { ns: attributed.ns, lo, hi })
    }

    /// Which share of the kernel's time that is, with an interval of both; `None` where the kernel's own account does not tell.
    fn share_of_kernel(&self, of: &TimeDocument) -> Option<ShareDocument> {
        let kernel = self.kernel.filter(|kernel| self.is_sampled && kernel.ns > 0.0)?;
        let share = of.ns / kernel.ns;
        // Of a quotient: by the parts that either is off by, as they are independent.
        let off_by = |of: f64, kernel_by: f64| (of / kernel.ns).hypot(share * kernel_by / kernel.ns);
        let below = off_by(of.ns - of.lo, kernel.hi - kernel.ns);
        let above = off_by(of.hi - of.ns, kernel.ns - kernel.lo);
        Some(ShareDocument { share, lo: (share - below).max(0.0), hi: share + above })
    }
}

impl LineDocument {
    /// The greater of what tolls say and what was measured, in nanoseconds.
    pub fn worth(&self) -> f64 {
        self.sum.map_or(0.0, |sum| sum.ns).max(self.measured.unwrap_or(0.0))
    }

    /// What was measured beyond its toll, its sleeps and its wake-ups; less than 0 where these say more. `None` where nothing was.
    pub fn beyond_tolls(&self) -> Option<f64> {
        Some(self.measured? - self.sum.map_or(0.0, |sum| sum.ns) - self.waits_by_tolls)
    }
}
