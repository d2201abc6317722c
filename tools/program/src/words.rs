//! What is said of a bill, wherever it is shown.

use tollway_report::columns::printable;
use tollway_report::number::{count, percent, time};

use crate::what_if::LEAST;

use crate::document::{
    BillDocument, LineDocument, ShareDocument, TimeDocument, TriedDocument, WhatIfDocument,
};

/// The longest bar, in characters.
const BAR: f64 = 16.0;
/// Failures of a call that are shown: as many at the least, and a larger share of its calls. Every program's
/// start has a few, of files that it looks for in several places.
const FAILED: f64 = 10.0;
const FAILED_SHARE: f64 = 0.01;

pub(crate) const WHAT_IF: &str = "What if";
pub(crate) const WHAT_IF_LEAD: &str =
    "Each is a prediction by tolls, frozen before anything is changed; the dearest first.";
pub(crate) const WHAT_IF_HEADS: [&str; 5] = ["", "saves", "interval", "of its processor time", "how"];

pub(crate) const STAMPED: &str = "The toll is what one costs by itself. Stamped is how long one really was in the kernel and on a processor, with what watching adds to \
    it; where that is much more, it had more to do, or found the caches cold. By tolls is what all of them come to; measured is what they took by their stamps, less what watching adds, \
    with their sleeps and wake-ups, which by tolls have lines of their own. The greater of the two is shown as a share; they are never added.";

/// A share of the kernel's time beyond which a reason stands beside it.
const MORE_THAN_ALL: f64 = 1.1;
/// A share of the kernel's time that is much where tolls do not explain it.
const MUCH_UNEXPLAINED: f64 = 0.1;
/// Calls that are named of what tolls do not explain, and the share of the kernel's time from which on one is.
const NAMED: usize = 4;
const NAMED_SHARE: f64 = 0.02;

pub(crate) const TRIED: &str = "Tried";
pub(crate) const TRIED_LEAD: &str = "Started in turns as it is and with the change, its output thrown away; shares of its processor time, and of the time that goes by.";
pub(crate) const TRIED_HEADS: [&str; 5] = ["", "foretold to save", "saved", "sooner", "the prediction"];

/// Beyond this part of an estimate a ± says little: the interval is shown.
const LARGE: f64 = 0.3;

/// A count with two digits: `4.2 M`.
fn two_digits(number: f64) -> String {
    if number <= 0.0 {
        return "0".into();
    }
    let step = 10f64.powi(number.log10().floor() as i32 - 1);
    let text = count((number / step).round() * step);
    let (digits, unit) = text.split_once(' ').map_or((text.as_str(), ""), |(digits, unit)| (digits, unit));
    let digits = match digits.split_once('.') {
        Some((whole, _)) if whole.len() >= 2 => whole,
        Some((whole, rest)) if whole != "0" => &digits[..whole.len() + 1 + rest.len().min(1)],
        Some((whole, rest)) => {
            let zeros = rest.len() - rest.trim_start_matches('0').len();
            &digits[..(whole.len() + 1 + zeros + 2).min(digits.len())]
        }
        None => digits,
    };
    if unit.is_empty() { digits.into() } else { format!("{digits} {unit}") }
}

impl ShareDocument {
    /// With its interval: `97 % [91 %, 103 %]`; or what is so: `97 % explained [91 %, 103 %]`.
    fn words(&self, what: &str) -> String {
        let what = if what.is_empty() { String::new() } else { format!(" {what}") };
        format!("{}{what} [{}, {}]", percent(self.share), percent(self.lo), percent(self.hi))
    }
}

impl BillDocument {
    /// How it was counted.
    pub(crate) fn how(&self) -> String {
        let watching = &self.watching;
        let part = |seconds: f64| seconds / watching.watched_s;
        let (counted, numbered) = (part(watching.counted_s), part(watching.numbered_s));
        let sliced = match (counted, numbered) {
            (all, _) if all >= 0.98 => String::new(),
            (some, rest) if some + rest >= 0.98 => format!(
                ", in slices of time, {} of it, and between them how often each call was made",
                percent(some)
            ),
            (some, rest) if rest >= 0.02 => format!(
                ", in slices of time, {} of it, and for {} how often each call was made: counts are estimates",
                percent(some),
                percent(rest)
            ),
            (some, _) => format!(", in slices of time, {} of it: counts are estimates", percent(some)),
        };
        let cost = match watching.call_ns {
            Some(call) if watching.disturbs => format!("; each call takes {} longer by that", time(call)),
            Some(call) => format!(
                "; counting took {} of its processor time ({} a call, {} a call on a file)",
                percent(watching.share),
                time(call),
                time(watching.call_on_file_ns.unwrap_or(call)),
            ),
            None => String::new(),
        };
        let ended = self.ended_by.as_ref().map_or(String::new(), |signal| format!("ended by {signal}; "));
        format!("{:.2} s, {ended}counted by {}{sliced}{cost}", watching.watched_s, watching.by)
    }

    /// What the columns of its lines are called.
    pub(crate) fn heads(&self) -> [String; 7] {
        let per = if self.per == "run" { "how often".to_string() } else { format!("a {}", self.per) };
        ["", &per, "toll", "stamped", "by tolls", "measured", self.shares_of()].map(String::from)
    }

    /// What shares of lines are of: the kernel's time, unless that was not measured, or tolls come to more.
    pub(crate) fn shares_of(&self) -> &'static str {
        match self.kernel {
            Some(kernel) if kernel.ns >= self.explained.ns => "of the kernel's",
            _ => "of the tolls",
        }
    }

    /// What shares are of.
    pub(crate) fn whole(&self) -> f64 {
        self.kernel.map_or(0.0, |kernel| kernel.ns).max(self.explained.ns).max(1.0)
    }

    /// A line, for these columns.
    pub(crate) fn cells(&self, line: &LineDocument, whole: f64) -> [String; 7] {
        let each = match (&line.each, line.at_least) {
            (Some(each), false) => time(each.ns),
            (Some(each), true) => format!("≥ {}", time(each.ns)),
            (None, _) => "no toll".into(),
        };
        let sum = line.sum.map_or(String::new(), |sum| time(sum.ns / self.count));
        let share = line.worth() / whole;
        let bar = "█".repeat((share * BAR).round() as usize);
        let size = match line.names {
            _ if line.bytes > 0.0 && line.count > line.failed => {
                format!(" · {} B each", count(line.bytes / (line.count - line.failed)))
            }
            Some(names) => format!(" · {names:.1} names each"),
            None => String::new(),
        };
        let failed = if line.failed >= FAILED && line.failed > FAILED_SHARE * line.count {
            let whole = |times: f64| {
                let each = times / self.count;
                if each < 1_000.0 && each.fract() == 0.0 { format!("{each}") } else { count(each) }
            };
            format!(" · {} failed of {}", whole(line.failed), whole(line.count))
        } else {
            String::new()
        };
        let name = format!("{}{size}{failed}", printable(&line.what));
        let is_known = line.sum.is_some() || line.measured.is_some();
        let about = if line.is_estimate { "≈ " } else { "" };
        let bar = if is_known { format!("{about}{} {bar}", percent(share)) } else { String::new() };
        let measured = line.measured.map_or(String::new(), |ns| time(ns / self.count));
        let stamped = line
            .inside
            .filter(|_| line.count > 0.0)
            .map_or(String::new(), |inside| time(inside / line.count));
        [name, self.often(line), each, stamped, sum, measured, bar]
    }

    /// How often: an estimate with two digits and by how much it may be off.
    fn often(&self, line: &LineDocument) -> String {
        let often = line.count / self.count;
        if !line.is_estimate {
            return count(often);
        }
        let spread = match line.interval {
            None => String::new(),
            Some([lo, hi]) if (hi - lo) / 2.0 > LARGE * line.count => {
                format!(" [{}, {}]", two_digits(lo / self.count), two_digits(hi / self.count))
            }
            Some([lo, hi]) => format!(" ± {}", percent((hi - lo) / 2.0 / line.count)),
        };
        format!("≈ {}{spread}", two_digits(often))
    }

    /// What the lines come to by tolls, what was measured, and what lies between: a name, the time by tolls or the measured one, and a note.
    pub(crate) fn sums(&self) -> Vec<[String; 4]> {
        let span =
            |of: &TimeDocument| format!("[{}, {}]", time(of.lo / self.count), time(of.hi / self.count));
        let measured =
            |name: String, ns: f64, note: String| [name, String::new(), time(ns / self.count), note];
        let by_tolls = time(self.explained.ns / self.count);
        let mut rows = vec![["sum of the tolls".into(), by_tolls, String::new(), span(&self.explained)]];
        let Some(kernel) = self.kernel else { return rows };
        let (Some(unexplained), Some(user)) = (self.unexplained, self.user) else {
            let note = span(&kernel) + " by stamps";
            rows.push(measured("the kernel's processor time in calls".into(), kernel.ns, note));
            return rows;
        };
        rows.push(measured(
            "the kernel's processor time, measured, less counting".into(),
            kernel.ns,
            span(&kernel),
        ));
        if let Some((attributed, share)) = self.attributed.zip(self.attributed_share()) {
            let why = if share.share > MORE_THAN_ALL { self.why_attributed_is_more() } else { String::new() };
            rows.push(measured(
                "of it put down to lines, calls as measured".into(),
                attributed.ns,
                share.words("attributed") + &why,
            ));
        }
        let share = self.explained_words().unwrap_or_default();
        rows.push(match unexplained {
            less if less < 0.0 => measured("the tolls say more by".into(), -less, share),
            more => measured("unexplained".into(), more, share),
        });
        rows.extend(self.unexplained_calls().map(|(line, beyond)| {
            measured(
                format!("  of it in {}", printable(&line.what)),
                beyond,
                "measured beyond its tolls".into(),
            )
        }));
        rows.push(measured("its own work, in user mode".into(), user, String::new()));
        rows
    }

    /// How much of the kernel's time tolls explain, and why where that is more than all of it; `None` where it was not measured.
    pub(crate) fn explained_words(&self) -> Option<String> {
        self.explained_share().map(|share| {
            let why = if share.share > MORE_THAN_ALL { self.why_explained_is_more() } else { String::new() };
            share.words("explained") + &why
        })
    }

    /// The calls in which most of what tolls do not explain was measured, the dearest first.
    fn unexplained_calls(&self) -> impl Iterator<Item = (&LineDocument, f64)> {
        let least = NAMED_SHARE * self.whole();
        let beyond = |line| LineDocument::beyond_tolls(line).map(|ns| (line, ns));
        let mut calls: Vec<_> = self.lines.iter().filter_map(beyond).filter(|(_, ns)| *ns > least).collect();
        calls.sort_by(|a, b| b.1.total_cmp(&a.1));
        calls.into_iter().take(NAMED)
    }

    /// Whether much is not explained, and it wrote to pages of files or to memory that was new to it.
    fn may_have_waited_for_memory(&self) -> bool {
        let least = MUCH_UNEXPLAINED * self.whole();
        let of = |line: &LineDocument, kind: &str| line.tolls.iter().any(|toll| toll.contains(kind));
        let writes = self
            .lines
            .iter()
            .any(|line| of(line, "kind=write") && line.beyond_tolls().is_some_and(|ns| ns > least));
        let faults = self
            .lines
            .iter()
            .any(|line| of(line, "minor-fault") && line.sum.is_some_and(|sum| sum.ns > least));
        self.unexplained.is_some_and(|ns| ns > least) && (writes || faults)
    }

    /// Why tolls say more than was measured.
    fn why_explained_is_more(&self) -> String {
        let is_within = |hi: f64| self.explained.ns <= MORE_THAN_ALL * hi;
        if self.kernel.is_some_and(|kernel| is_within(kernel.hi)) {
            return ": within what the kernel's account, which samples, may be off by".into();
        }
        if self.lines.iter().any(|line| line.is_estimate)
            && self.kernel.is_some_and(|kernel| self.explained.lo <= MORE_THAN_ALL * kernel.hi)
        {
            return ": within what counts in slices may be off by (--exact counts all of it)".into();
        }
        let cheaper = self.lines.iter().filter_map(|line| Some((line, line.beyond_tolls()?)));
        if let Some((line, beyond)) = cheaper.min_by(|a, b| a.1.total_cmp(&b.1))
            && -beyond > NAMED_SHARE * self.whole()
        {
            let (what, less) = (printable(&line.what), time(-beyond / self.count));
            return format!(": {what} was measured to take {less} less than by tolls");
        }
        if self.kernel.is_some_and(|kernel| self.explained.lo <= MORE_THAN_ALL * kernel.hi) {
            return ": within the interval of the tolls and counts".into();
        }
        if self.apart.is_some_and(|apart| apart.found < apart.priced) {
            return ": its cores are nearer to each other than when prices were measured".into();
        }
        if self.prices_noisy.is_some() {
            return ": the price list is of a busy machine".into();
        }
        let sum = |line: &LineDocument| line.sum.map_or(0.0, |sum| sum.ns);
        let most = self.lines.iter().max_by(|a, b| sum(a).total_cmp(&sum(b)));
        most.map_or(String::new(), |line| {
            let toll = time(sum(line) / line.count.max(1.0));
            format!(": most of it is {}, which costs less here than its toll, {toll}", printable(&line.what))
        })
    }

    /// Why more was put down to lines than the kernel's account has.
    fn why_attributed_is_more(&self) -> String {
        let of_kernel = |ns: f64| self.kernel.is_some_and(|kernel| ns <= MORE_THAN_ALL * kernel.hi);
        match self.attributed {
            Some(attributed) if of_kernel(attributed.ns) => {
                ": within what the kernel's account, which samples, may be off by".into()
            }
            Some(attributed) if of_kernel(attributed.measured) => {
                ": page faults and interrupts within calls are in their stamps as well".into()
            }
            _ if self.lines.iter().any(|line| line.is_estimate) => {
                ": what was counted in slices is an estimate (--exact counts all of it)".into()
            }
            _ => ": stamps have interrupts in them, and the hypervisor's time".into(),
        }
    }

    /// A change that could be made and may be worth it.
    pub(crate) fn what_if_cells(&self, one: &WhatIfDocument) -> [String; 5] {
        let per = |ns: f64| time(ns / self.count);
        let (mut said, share) =
            (
                Vec::new(),
                |ns: f64, of: f64| if of > 0.0 { percent(ns / of) } else { "of an unknown whole".into() },
            );
        said.push(share(one.saves.ns, self.ran));
        if let Some(sooner) = one.sooner {
            said.push(format!("{} sooner", share(sooner.ns, self.watching.watched_s * 1e9)));
        }
        if !one.is_worth_it {
            said.push(if one.can_be_tried { "unsure: --try it".into() } else { "unsure".into() });
        }
        let interval = format!("[{}, {}]", per(one.saves.lo), per(one.saves.hi));
        [one.what.clone(), per(one.saves.ns), interval, said.join(", "), one.how.clone()]
    }

    /// The names of those changes that are not worth it; `None` where there are none.
    pub(crate) fn not_worth_it(&self) -> Option<String> {
        let names = self.what_if.iter().filter(|one| !self.may_be_worth_it(one));
        let names: Vec<&str> = names.map(|one| one.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("not worth it: {}", names.join(", ")))
    }

    /// Whether it brings more than a hundredth by the estimate, or may for all that is known of the program's time.
    pub(crate) fn may_be_worth_it(&self, one: &WhatIfDocument) -> bool {
        let sooner = one.sooner.map_or(0.0, |sooner| sooner.ns);
        one.is_worth_it
            || one.saves.ns > LEAST * self.ran && one.saves.ns > 0.0
            || sooner > LEAST * self.watching.watched_s * 1e9
    }

    /// A change that was tried: what it was foretold to bring and what it brought, of processor time and of time that went by.
    pub(crate) fn tried_cells(one: &TriedDocument) -> [String; 5] {
        let foretold = |of: &Option<ShareDocument>| of.as_ref().map_or("–".into(), |share| share.words(""));
        [
            one.name.clone(),
            foretold(&one.foretold),
            one.saved.words(""),
            format!("{} of {} rounds", one.sooner.words(""), one.rounds),
            one.verdict().into(),
        ]
    }

    /// What a reader has to know.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.lines.iter().any(|line| line.at_least) {
            notes.push(
                "≥: no toll is like this; it is priced as the least that it can be (a call as an empty one), and what it does is among the unexplained.".into(),
            );
        }
        if let Some(noise) = &self.prices_noisy {
            notes.push(format!(
                "This machine had something else to do just before its price list was measured ({noise}), so prices may be too high. The first bill an hour later that finds it quiet measures again what it needs of them."
            ));
        }
        if let Some(apart) = self.apart {
            let (where_to, costs) =
                if apart.found > apart.priced { ("farther from", "more") } else { ("nearer to", "less") };
            notes.push(format!(
                "A cache line took {} from one core to another and back, and {} when prices were measured: the two are {where_to} each other now, as a hypervisor may have them, and what goes between cores costs {costs} than its tolls.",
                time(apart.found),
                time(apart.priced),
            ));
        }
        if self.memory_goes_back && self.may_have_waited_for_memory() {
            notes.push(
                "This guest gives memory that it has freed back to its host (free page reporting of virtio-balloon). A page that was not in use lately is brought by the host when it is first written to, which takes some microseconds that are in no toll: writes to new pages of files and page faults may have waited for that.".into(),
            );
        }
        if let Some(steal) = self.steal.filter(|steal| *steal > 0.001) {
            notes.push(format!(
                "The hypervisor took {} of this machine's processors meanwhile.",
                percent(steal)
            ));
        }
        if self.kernel.is_none() {
            let why = if self.watching.disturbs {
                "this way of counting would be most of it"
            } else {
                "it ran too little for the kernel's own account of its time, which samples"
            };
            let so = "so what the tolls do not explain is not known";
            notes.push(format!("The kernel's processor time was not measured: {why}, {so}."));
        } else if !self.is_sampled {
            notes.push(
                "It ran too short for the kernel's own account of its time, which samples, so what the tolls do not explain is not known: stamps around calls \
                 have no page faults or interrupts in user mode."
                    .into(),
            );
        }
        if self.watching.lost > 0 {
            notes.push(format!(
                "{} threads or calls are in no count, as there was no room for them.",
                self.watching.lost
            ));
        }
        if !self.prices_from.is_empty() {
            notes.push(format!("Prices: {}", self.prices_from.join(", ")));
        }
        notes.extend(self.watching.unseen.iter().map(|unseen| format!("Not seen: {unseen}")));
        notes
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollway_core::{Toll, TollKey, TollSource};
    use tollway_watch::{Calls, Counted, Counts, FileKind, Thread};

    use super::*;
    use crate::made_up;
    use crate::prices::Prices;

    const GETPPID: u32 = 110;

    /// Each costs 100 ns, to a tenth.
    struct Tolls;

    impl TollSource for Tolls {
        fn toll(&self, key: &TollKey) -> Option<Toll> {
            (key.crossing == tollway_core::Crossing::Getppid).then(|| made_up::toll(key, 100.0, 0.1))
        }
    }

    /// 4.2 million calls in a second in the kernel, of which a million was counted; the others are an estimate that may be off by so
    /// many, where they are one.
    fn bill(off_by: Option<f64>) -> BillDocument {
        let second = Some(Duration::from_secs(1));
        let thread = |count, time| Thread {
            number: 7,
            process: 7,
            calls: vec![Calls { number: GETPPID, count, ..Calls::default() }],
            user: time,
            system: time,
            ran: time.map(|time| 2 * time),
            ..Thread::default()
        };
        let (counted, missing) = if off_by.is_some() { (1_000_000, 3_200_000) } else { (4_200_000, 0) };
        let uncertainty = off_by.map(|half| (Counted::Call(GETPPID, FileKind::None), half));
        let counts = Counts {
            threads: vec![thread(counted, second)],
            extra: off_by.map(|_| thread(missing, None)).into_iter().collect(),
            uncertainty: uncertainty.into_iter().collect(),
            watched: Duration::from_secs(1),
            ..Counts::default()
        };
        BillDocument::of(&made_up::observed(counts), &Prices(&Tolls), None).unwrap()
    }

    fn row(bill: &BillDocument) -> String {
        let text = bill.to_text(None);
        text.lines()
            .find(|line| line.trim().starts_with("getppid"))
            .unwrap_or_else(|| panic!("{text}"))
            .into()
    }

    #[test]
    fn estimates_have_two_digits_and_an_interval_and_exact_counts_neither() {
        let row_of = |off_by| row(&bill(off_by));
        let (near, far, exact) = (row_of(Some(300_000.0)), row_of(Some(2_000_000.0)), row_of(None));
        assert!(near.contains(" ≈ 4.2 M ± 7.1 % ") && near.contains(" ≈ 42 % "), "{near}");
        assert!(far.contains(" ≈ 4.2 M [2.2 M, 6.2 M] "), "{far}");
        assert!(exact.contains(" 4.20 M ") && exact.contains(" 42 % ") && !exact.contains('≈'), "{exact}");
        let json = |off_by| serde_json::to_value(&bill(off_by).lines[0]).unwrap();
        let (estimate, exact) = (json(Some(300_000.0)), json(None));
        assert_eq!(estimate["is_estimate"], true);
        assert_eq!(estimate["interval"], serde_json::json!([3_900_000.0, 4_500_000.0]));
        assert_eq!((&exact["is_estimate"], &exact["interval"]), (&false.into(), &serde_json::Value::Null));
    }

    #[test]
    fn how_far_counts_may_be_off_is_carried_into_sums_and_shares() {
        let (sure, unsure) = (bill(None), bill(Some(2_000_000.0)));
        // A tenth by the toll; with 2.0 of 4.2 million, as errors of independent parts add.
        let part = |of: &TimeDocument| [of.ns - of.lo, of.hi - of.ns].map(|off| (off / of.ns * 1e3).round());
        let whole = (0.1_f64.hypot(2.0 / 4.2) * 1e3).round();
        assert_eq!([part(&sure.explained), part(&sure.lines[0].sum.unwrap())], [[100.0; 2]; 2]);
        assert_eq!([part(&unsure.explained), part(&unsure.lines[0].sum.unwrap())], [[whole; 2]; 2]);
        let share = |bill: &BillDocument| bill.explained_share().unwrap();
        let (sure_share, unsure_share) = (share(&sure), share(&unsure));
        assert!((sure_share.share - 0.42).abs() < 1e-9 && sure_share.share == unsure_share.share);
        assert!(unsure_share.hi - unsure_share.lo > 3.0 * (sure_share.hi - sure_share.lo));
        assert!(sure_share.lo < 0.39 && sure_share.hi > 0.45, "{sure_share:?}");
        let said = unsure.explained_words().unwrap();
        assert!(said.starts_with("42 % explained [") && said.ends_with(" %]"), "{said}");
    }

    /// "N % of the kernel's" stood where nobody had measured that.
    #[test]
    fn shares_are_of_the_kernels_time_only_where_that_was_measured() {
        let known = bill(None);
        assert!(known.highlights().contains("dearest: getppid, 42 % of the kernel's"));
        assert_eq!(known.heads()[6], "of the kernel's");
        let unknown = BillDocument { kernel: None, unexplained: None, user: None, ..known };
        assert!(unknown.highlights().contains("dearest: getppid, 100 % of the tolls"));
        let text = unknown.to_text(None);
        assert!(text.contains("of the tolls") && !text.contains("of the kernel's"), "{text}");
    }

    #[test]
    fn two_digits_are_two() {
        let texts = [0.0, 0.25, 7.0, 42.0, 123.0, 4_249_000.0, 99_900.0].map(two_digits);
        assert_eq!(texts, ["0", "0.25", "7.0", "42", "120", "4.2 M", "100 k"]);
    }
}
