//! A request's table of descriptors, copied out of its memory and checked: what the card pays before it can do anything.
//!
//! Linux's virtio-crypto driver names pages again and again, n (n + 1) / 2 descriptors for n pages a side where n would say all
//! (seen with Linux 6.1; docs/cipher-serve.md).

use std::sync::Arc;

use tollway_core::{
    Actor, Address, Axis, Clock, Crossing, Domain, Error, Params, Place, Plan, Recorder, Result, Tally,
    TollKey, Value, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_virtio::Span;
use tollway_virtio::backend::{Chain, Memory, Ring};
use tollway_virtio::frontend::{Agreed, Layout, Queue};

use crate::variants::caller;

/// Rounds of a sample.
const ROUNDS: u32 = 8;

/// What Linux has in a descriptor, of x86.
const PAGE: usize = 4096;

/// Bytes a side beyond which Linux's driver writes more descriptors than their links can number: that stops a queue.
const LONGEST: u64 = 255 * PAGE as u64;

/// A table that is taken.
pub(super) struct Table;

/// How a table names its pages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Each once.
    Once,
    /// As Linux's driver does: all, and all from the second on, and so forth.
    Again,
}

impl Names {
    fn of(params: &Params) -> Result<Names> {
        Ok(if params.word("kind")? == "linux" { Names::Again } else { Names::Once })
    }

    /// The pages of a side, in the order of the table.
    fn pages(self, pages: usize) -> Vec<usize> {
        match self {
            Names::Once => (0..pages).collect(),
            Names::Again => (0..pages).flat_map(|first| first..pages).collect(),
        }
    }
}

fn key(params: &Params) -> Result<TollKey> {
    Ok(TollKey::of(Crossing::TableTake).kind(params.word("kind")?).size(params.int("size")?))
}

impl Variant for Table {
    fn name(&self) -> &str {
        Crossing::TableTake.name()
    }

    fn about(&self) -> &str {
        Crossing::TableTake.title()
    }

    fn caveats(&self) -> &str {
        "Card and tenant are one thread, so the table lies in its cache: on two cores it has to come from the other. What the tenant \
         takes to write it is not in it."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            Axis {
                name: "kind",
                about: "each page named once, or as Linux's driver names them: n (n + 1) / 2 descriptors a side for n pages",
                domain: Domain::Words(&["once", "linux"]),
                default: Value::Text("once".into()),
            },
            Axis {
                name: "size",
                about: "bytes of the source, and of the result; a part of a page is a page",
                domain: Domain::Whole(1, LONGEST),
                default: Value::Int(65536),
            },
        ]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        Ok(caller::plan("request's table", Some(key(params)?)))
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let pages = (params.int("size")? as usize).div_ceil(PAGE);
        Ok(Box::new(Taking { both: Both::of(pages, Names::of(params)?)?, rounds: 0, wrong: 0 }))
    }
}

/// Both sides of a queue, and the pieces of the request that is in it.
struct Both {
    queue: Queue,
    ring: Ring,
    chain: Chain,
    readable: Vec<Span>,
    writable: Vec<Span>,
}

impl Both {
    fn of(pages: usize, names: Names) -> Result<Both> {
        let refused = |e: &dyn std::fmt::Display| Error::Wrong(format!("a queue in our own memory: {e}"));
        let side = names.pages(pages);
        // A header and an IV before the source, a status behind the result (VIRTIO 1.2, 5.9.7).
        let layout = Layout::new(0, 2, 2 * side.len() + 3).map_err(|e| refused(&e))?;
        let free = layout.end.next_multiple_of(PAGE);
        let bytes = free + (2 * pages + 1) * PAGE;
        let memory = Arc::new(Memory::anonymous(bytes));
        let area = memory.area(0, bytes).ok_or_else(|| refused(&"it is not there"))?;
        let agreed = Agreed { event_index: true, indirect: true };
        let queue = Queue::new(area, layout, 0, agreed).map_err(|e| refused(&e))?;
        let ring = Ring::alone(memory, 2, true, true).map_err(|e| refused(&e))?;
        let page = |number: usize| Span { at: free + number * PAGE, bytes: PAGE as u32 };
        let part = |at: usize, bytes: u32| Span { at: free + 2 * pages * PAGE + at, bytes };
        let source = side.iter().map(|number| page(*number));
        let result = side.iter().map(|number| page(pages + number));
        Ok(Both {
            queue,
            ring,
            chain: Chain::default(),
            readable: [part(0, 72), part(72, 16)].into_iter().chain(source).collect(),
            writable: result.chain([part(128, 1)]).collect(),
        })
    }

    /// A request that is taken and given back; how long it was until it was taken, and whether all was as it had to be.
    fn round(&mut self, clock: RunClock, number: u64) -> (u64, bool) {
        let submitted = self.queue.submit(number, &self.readable, &self.writable);
        self.queue.show();
        let begun = clock.open();
        let taken = self.ring.take(&mut self.chain);
        let long = clock.close() - begun;
        let bytes = |spans: &[Span]| spans.iter().map(|span| u64::from(span.bytes)).sum::<u64>();
        let is_whole = [self.chain.readable(), self.chain.room()]
            == [&self.readable, &self.writable].map(|spans| bytes(spans));
        self.ring.give_back(&self.chain, 1);
        let back = self.queue.take();
        (long, matches!((submitted, taken, back), (Ok(true), Ok(true), Ok(Some(_)))) && is_whole)
    }
}

struct Taking {
    both: Both,
    rounds: u64,
    wrong: u64,
}

impl Actor for Taking {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let clock = RunClock::chosen();
        recorder.set_batch(ROUNDS);
        // A sample at least, however late it is.
        let mut recorded = false;
        while clock.now() < window.close || !recorded {
            let (first, mut sum) = (clock.now(), 0);
            for _ in 0..ROUNDS {
                let (long, is_right) = self.both.round(clock, self.rounds);
                sum += long;
                self.rounds += 1;
                self.wrong += u64::from(!is_right);
            }
            if first >= window.open {
                recorded = true;
                recorder.sample(sum);
            }
        }
        Ok(())
    }

    fn park(&mut self) {}

    fn verify(&mut self) -> Result<()> {
        match (self.rounds, self.wrong) {
            (0, _) => Err(Error::Wrong("no table was taken".into())),
            (_, 0) => Ok(()),
            (rounds, wrong) => Err(Error::Wrong(format!("{wrong} of {rounds} tables were not taken whole"))),
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.rounds)
    }
}
