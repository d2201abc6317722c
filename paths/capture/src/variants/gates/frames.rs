//! What a frame passes before it needs room: the driver's loop, the filter, the clock.

use std::hint::black_box;

use tollway_core::{Error, Params, Result};
use tollway_load::Work;

use super::{GROUP, GROUPS, RING, driver, filtered, split};
use crate::engine::bpf::Filter;
use crate::engine::in_process::{Clock, Driver, FrameId, Group};
use crate::filters::{StudyFilter, Traffic};
use crate::params::{CLOCKS, MACHINES, Machine, TRAFFICS, meant};
use crate::variants::gate::Alone;

/// The driver's loop.
pub(super) struct HandOver {
    driver: Driver,
    group: Group,
    handed: u64,
}

impl Alone for HandOver {
    fn prepare(_: &Params) -> Result<Self> {
        let (driver, _) = driver(StudyFilter::named("ip")?, Traffic::Uniform, 60)?;
        Ok(HandOver { driver, group: Group::with_capacity(GROUP), handed: 0 })
    }

    fn verify(&mut self) -> Result<()> {
        let first = self.group.handed.first().copied();
        match self.handed {
            n if n > 0 && first.is_some() && self.group.handed.len() == GROUP => Ok(()),
            n => {
                Err(Error::Wrong(format!("{n} frames were handed over, {:?} last", self.group.handed.len())))
            }
        }
    }
}

impl Work for HandOver {
    #[inline]
    fn once(&mut self) {
        for _ in 0..GROUPS {
            self.group.handed.clear();
            self.handed += u64::from(self.driver.poll(GROUP as u32, &mut self.group));
            black_box(&mut self.group);
        }
    }

    fn operations(&self) -> u32 {
        (GROUP * GROUPS) as u32
    }
}

/// A filter over groups of frames.
pub(super) struct Filtering {
    driver: Driver,
    ids: Vec<FrameId>,
    next: usize,
    group: Group,
    filter: Filter,
    wanted: u64,
    seen: u64,
}

impl Alone for Filtering {
    fn prepare(params: &Params) -> Result<Self> {
        let (machine, rest) = split(params)?;
        let (name, traffic) = rest.split_once('-').unwrap_or((rest, "uniform"));
        let study = StudyFilter::named(name)?;
        let filter = machine_for(meant(MACHINES, machine)?, study)?;
        let (driver, ids) = driver(study, meant(TRAFFICS, traffic)?, params.int("size")? as usize)?;
        let group = Group::with_capacity(GROUP);
        Ok(Filtering { driver, ids, next: 0, group, filter, wanted: 0, seen: 0 })
    }

    fn verify(&mut self) -> Result<()> {
        match self.wanted == self.seen && self.seen > 0 {
            true => Ok(()),
            false => Err(Error::Wrong(format!("{} of {} frames were wanted", self.wanted, self.seen))),
        }
    }
}

impl Work for Filtering {
    #[inline]
    fn once(&mut self) {
        for _ in 0..GROUPS {
            self.group.handed.extend_from_slice(&self.ids[self.next..self.next + GROUP]);
            self.next = (self.next + GROUP) % RING;
            let filter = &self.filter;
            self.group.filter(self.driver.frames(), &mut |bytes, length| filter.run(bytes, length), u32::MAX);
            self.seen += GROUP as u64;
            self.wanted += self.group.wanted.len() as u64;
            black_box(&mut self.group);
        }
    }

    fn operations(&self) -> u32 {
        (GROUP * GROUPS) as u32
    }
}

/// The machine that runs a filter.
pub(in crate::variants) fn machine_for(machine: Machine, filter: &StudyFilter) -> Result<Filter> {
    let program = filter.program()?;
    Ok(match machine {
        Machine::Interpreter => Filter::interpreted(&program),
        Machine::Jit => Filter::new(&program),
    })
}

/// A clock over groups of wanted frames.
pub(super) struct Stamping {
    group: Group,
    clock: Clock,
}

impl Alone for Stamping {
    fn prepare(params: &Params) -> Result<Self> {
        let (mut driver, _) = driver(StudyFilter::named("ip")?, Traffic::Uniform, 60)?;
        let group = filtered(&mut driver, GROUP, u32::MAX);
        Ok(Stamping { group, clock: Clock::new(meant(CLOCKS, params.word("kind")?)?)? })
    }

    fn verify(&mut self) -> Result<()> {
        let sorted = self.group.stamps.windows(2).all(|w| w[0] <= w[1]);
        match self.group.stamps.first() {
            Some(first) if sorted && first.0 > 0 => Ok(()),
            _ => Err(Error::Wrong("the stamps are not in order".into())),
        }
    }
}

impl Work for Stamping {
    #[inline]
    fn once(&mut self) {
        for _ in 0..GROUPS {
            self.group.stamp(&mut self.clock);
            black_box(&mut self.group);
        }
    }

    fn operations(&self) -> u32 {
        (GROUP * GROUPS) as u32
    }
}
