//! Minor page faults: the first touch of a page that has no memory behind it yet.

use tollway_core::{Error, Params, Place, Result, Tally};

use super::region::{PAGE, Region};
use super::{Operation, thread_faults};

/// Pages touched in one call.
const PAGES: u32 = 64;

/// Touches each page of a region whose pages were given back beforehand.
pub struct MinorFault {
    region: Region,
    before: u64,
    faults: u64,
    kept: u64,
}

impl Operation for MinorFault {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        let mut region = Region::new(PAGES as usize * PAGE)?;
        // The page tables themselves are made here and stay.
        region.touch();
        Ok(MinorFault { region, before: thread_faults::minor(), faults: 0, kept: 0 })
    }

    #[inline]
    fn once(&mut self) {
        self.region.touch();
    }

    fn operations(&self) -> u32 {
        PAGES
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) {
        self.kept += u64::from(!self.region.give_back());
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        self.faults = thread_faults::minor() - self.before;
        if self.kept > 0 || self.faults < done {
            return Err(Error::Wrong(format!("{done} pages were touched, with {} faults", self.faults)));
        }
        Ok(())
    }

    fn tally(&self, done: u64) -> Tally {
        Tally::default().counter("operations", done).counter("faults", self.faults)
    }
}

/// Gives one page back and touches it again.
pub struct GiveBackAndTouch {
    page: Region,
    before: u64,
    faults: u64,
    kept: u64,
}

impl Operation for GiveBackAndTouch {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        let mut page = Region::new(PAGE)?;
        page.touch();
        Ok(GiveBackAndTouch { page, before: thread_faults::minor(), faults: 0, kept: 0 })
    }

    #[inline]
    fn once(&mut self) {
        self.kept += u64::from(!self.page.give_back());
        self.page.touch();
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        self.faults = thread_faults::minor() - self.before;
        if self.kept > 0 || self.faults < done {
            return Err(Error::Wrong(format!(
                "{done} times a page was given back, with {} faults",
                self.faults
            )));
        }
        if !self.page.give_back() || self.page.bytes().iter().any(|b| *b != 0) {
            return Err(Error::Wrong("a page that was given back kept its content".into()));
        }
        Ok(())
    }

    fn tally(&self, done: u64) -> Tally {
        Tally::default().counter("operations", done).counter("faults", self.faults)
    }
}
