//! Fewer and larger reads and writes of the same bytes.

use tollway_core::Placement;
use tollway_report::number::count;
use tollway_watch::FileKind;

use super::{Change, calls, comes_to, difference, gatherable, is_read, is_stream, passed, with_unexplained};
use crate::attributed::STAMPS;
use crate::bill::{Bill, Of};
use crate::prices::{Price, Prices, user_side};
use crate::route::moves_bytes;

/// The size that reads and writes are gathered to, in bytes: copying is most of what such a call costs. A
/// pipe has as much room (pipe(7)).
pub const GATHERED: f64 = 65_536.0;
/// Sizes from which on nothing is gathered any more.
const LARGE: f64 = 16_384.0;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let mut saves: Option<Price> = None;
    let (mut before, mut after) = (0.0, 0.0);
    let streamed = streamed(bill, prices);
    for (line, call, file) in gatherable(bill) {
        let done = line.done();
        let size = line.bytes / done.max(1.0);
        let is_of_stream = streamed.is_some() && file == FileKind::Pipe;
        if done < 1.0 || !(1.0..LARGE).contains(&size) || is_of_stream {
            continue;
        }
        // A file that is small is read by one call at the least.
        let left = bill.evidence.left.get(&(call.to_string(), file)).copied().unwrap_or(1.0);
        let fewer = (left * done).max((line.bytes / GATHERED).ceil());
        let (Some(now), Some(then)) =
            (prices.call(call, file, size, true), prices.call(call, file, line.bytes / fewer, true))
        else {
            continue;
        };
        if now.at_least || done <= fewer {
            continue;
        }
        let saved = difference(&now.times(done), &then.times(fewer));
        saves = Some(saves.unwrap_or_default().plus(&saved.of_counts_off_by(line.off_by())));
        (before, after) = (before + done, after + fewer);
    }
    // A call that is not made costs nothing in user mode either.
    let user = prices.of(&user_side()).unwrap_or_default().times(before - after);
    let others = saves.map(|saves| saves.plus(&user));
    let saves = match streamed {
        Some(stream) => {
            (before, after) = (before + stream.before, after + stream.after);
            // Of both ends, with all that they sleep and wake: nothing is left of these that is unexplained.
            others
                .map_or(Price::default(), |others| with_unexplained(others, bill))
                .plus(&difference(&stream.now, &stream.then))
        }
        None => with_unexplained(others?.plus(&waits_saved(bill)), bill),
    };
    Some(Change {
        name: "larger-reads",
        what: format!("reads and writes of 64 KiB: {} calls instead of {}", count(after), count(before)),
        how: "buffer in the program (BufReader, setvbuf, readv and writev; bs=64k of dd)".into(),
        can_be_tried: false,
        in_user_mode: false,
        saves,
        sooner: None,
    })
}

/// A stream through pipes whose writes become larger.
#[derive(Default)]
struct Stream {
    /// What it takes both ends now, with their sleeps and wake-ups, and what they do in user mode.
    now: Price,
    /// What it will take them.
    then: Price,
    before: f64,
    after: f64,
}

/// What larger writes bring to pipes through which all goes one way, by what streams of either size cost both of their ends. `None` where nothing goes
/// so in writes that are small, or it was not measured what that costs.
fn streamed(bill: &Bill, prices: &Prices<'_>) -> Option<Stream> {
    if !is_stream(bill, FileKind::Pipe) {
        return None;
    }
    let slept = [Placement::Same, Placement::Across].map(|placement| passed(bill, &Of::Sleep(placement)));
    let across = slept[1] / (slept[0] + slept[1]).max(1.0);
    let by_tolls = stream_by_tolls(bill, prices, across)?;
    // How often its ends sleep now is the scheduler's choice, and may be several times what the pipe's room brings: what is paid now is as it
    // was measured, where it was. Ends that seldom sleep may be on two cores and on one by turns: that tells for how much of it they are apart.
    let stream = match measured(bill, prices) {
        Some(now) => {
            let (same, apart) = (stream_by_tolls(bill, prices, 0.0)?, stream_by_tolls(bill, prices, 1.0)?);
            let further = apart.now.ns - same.now.ns;
            let share = |ns: f64| match further > 0.0 {
                true => ((ns - same.now.ns) / further).clamp(0.0, 1.0),
                false => across,
            };
            let then = |ns: f64| stream_by_tolls(bill, prices, share(ns)).map(|stream| stream.then);
            let (likely, most) = (then(now.ns)?, then(now.hi)?);
            // Who is apart now may be on one core then.
            let then = Price { lo: same.then.lo.min(likely.lo), hi: most.hi.max(likely.hi), ..likely };
            Stream { now, then, ..by_tolls }
        }
        None => by_tolls,
    };
    (stream.before > stream.after).then_some(stream)
}

/// The same by tolls alone, where its ends are on two cores for this share of it.
fn stream_by_tolls(bill: &Bill, prices: &Prices<'_>, across: f64) -> Option<Stream> {
    let mut stream = Stream::default();
    for (line, call, file) in gatherable(bill) {
        let done = line.done();
        let size = line.bytes / done.max(1.0);
        if file != FileKind::Pipe || is_read(call) || !(1.0..LARGE).contains(&size) {
            continue;
        }
        let left = bill.evidence.left.get(&(call.to_string(), file)).copied().unwrap_or(1.0);
        let after = (left * done).max((line.bytes / GATHERED).ceil());
        let all = |each: Price, count: f64| each.times(count).of_counts_off_by(line.off_by());
        stream.now = stream.now.plus(&all(prices.stream(size, across)?, done));
        let larger = (line.bytes / after).min(GATHERED);
        stream.then = stream.then.plus(&all(prices.stream(larger, across)?, after));
        (stream.before, stream.after) = (stream.before + done, stream.after + after);
    }
    Some(stream)
}

/// What calls on pipes were measured to take, sleeps and wake-ups with them, and their part in user mode.
fn measured(bill: &Bill, prices: &Prices<'_>) -> Option<Price> {
    let (mut ns, mut count, mut off_by) = (0.0, 0.0, 0.0);
    for (line, ..) in calls(bill).filter(|(_, call, file)| *file == FileKind::Pipe && moves_bytes(call)) {
        ns += line.measured?;
        off_by += line.measured? * line.off_by();
        count += line.count;
    }
    let user = prices.of(&user_side()).unwrap_or_default().times(count);
    let stamped = Price { ns, lo: (1.0 - STAMPS) * ns, hi: (1.0 + STAMPS) * ns, ..user.clone() };
    (ns > 0.0).then(|| stamped.of_counts_off_by(off_by / ns).plus(&user))
}

/// What is saved by fewer sleeps and wake-ups at pipes through which all goes one way. Who writes what fills
/// a pipe sleeps until it is empty, or who reads until it is full: one of the two for each 64 KiB, both at
/// the most. Who is woken may take the other's processor, so up to as many switches against its will go as
/// wake-ups do.
fn waits_saved(bill: &Bill) -> Price {
    let on_pipes = || calls(bill).filter(|(.., file)| *file == FileKind::Pipe);
    if !is_stream(bill, FileKind::Pipe) {
        return Price::default();
    }
    let moved = |reads: bool| -> f64 {
        on_pipes().filter(|(_, call, _)| is_read(call) == reads).map(|(line, ..)| line.bytes).sum()
    };
    let transfers = (moved(false).max(moved(true)) / GATHERED).ceil();
    let waits: f64 = on_pipes().map(|(line, ..)| line.waits).sum();
    // How many of its waits are at pipes.
    let all: f64 = calls(bill).map(|(line, ..)| line.waits).sum();
    let (sleeping, waking) = (
        [Of::Sleep(Placement::Same), Of::Sleep(Placement::Across), Of::AnySleep],
        [Of::Wake(Placement::Same), Of::Wake(Placement::Across), Of::WakeBusy],
    );
    let mut saves = Price::default();
    let mut woken = 0.0;
    for kinds in [sleeping, waking] {
        let often = kinds.iter().map(|of| passed(bill, of)).sum::<f64>() * waits / all.max(1.0);
        let sum = kinds.iter().fold(Price::default(), |sum, of| sum.plus(&comes_to(bill, of)));
        let sum = sum.times(waits / all.max(1.0));
        let part = |left: f64| (1.0 - left * transfers / often.max(1.0)).max(0.0);
        let saved = Price { ns: sum.ns * part(1.0), lo: sum.lo * part(2.0), hi: sum.hi * part(1.0), ..sum };
        saves = saves.plus(&saved);
        woken = often * part(1.0);
    }
    let taken = passed(bill, &Of::Preemption);
    let switches = comes_to(bill, &Of::Preemption).times((woken.min(taken) / taken.max(1.0)).min(1.0));
    // As many are left as wake-ups are.
    let left = (1.0 - transfers / taken.max(1.0)).max(0.0);
    saves.plus(&Price { ns: switches.ns * left, lo: 0.0, ..switches })
}
