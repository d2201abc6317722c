//! Bills in the store, as far as they can be kept: one that cannot be is shown all the same, and it is said why it is not kept.

use std::path::Path;

use anyhow::Result;
use tollway_program_tool::document::BillDocument;
use tollway_program_tool::kept::Kept;
use tollway_store::{RunId, RunSpec, RunState, Store, StoreError};

/// A run of bills in the store, or why there is none.
pub struct KeptBill {
    open: Option<(Store, Kept)>,
    /// Why nothing is kept, in words; `None` where all is, or nothing was to be.
    why_not: Option<String>,
}

impl KeptBill {
    /// Nothing is kept.
    pub fn nowhere() -> KeptBill {
        KeptBill { open: None, why_not: None }
    }

    /// Begins a run in that store. Where there is no room for it, or no right to write it, nothing is kept.
    ///
    /// # Errors
    /// The file is no store, or of another version: another name was meant.
    pub fn begin(file: &Path, spec: &RunSpec, program: &str) -> Result<KeptBill> {
        let begun = Store::open(file).and_then(|mut store| {
            let kept = Kept::begin(&mut store, spec, program)?;
            Ok((store, kept))
        });
        match begun {
            Ok(open) => Ok(KeptBill { open: Some(open), why_not: None }),
            Err(error) => match why_not(&error) {
                Some(why) => Ok(KeptBill { open: None, why_not: Some(why) }),
                None => Err(error.into()),
            },
        }
    }

    /// Keeps a bill; it is on the disk when this returns, or it is known why not.
    ///
    /// # Errors
    /// The store contradicts itself.
    pub fn add(&mut self, bill: &BillDocument) -> Result<()> {
        let Some((store, kept)) = &mut self.open else { return Ok(()) };
        let added = kept.add(store, bill);
        self.done(added)
    }

    /// Ends the run; its number, where it is kept whole.
    ///
    /// # Errors
    /// The store contradicts itself.
    pub fn end(&mut self, state: RunState) -> Result<Option<RunId>> {
        let Some((store, kept)) = &mut self.open else { return Ok(None) };
        let ended = kept.end(store, state);
        let run = kept.run();
        self.done(ended)?;
        Ok(self.open.is_some().then_some(run))
    }

    /// Why nothing is kept, as a sentence; `None` where that was not wanted, or all is.
    pub fn why_not(&self) -> Option<String> {
        let why = self.why_not.as_ref()?;
        Some(format!(
            "this bill is not kept: {why}; `--store FILE` keeps it in another place, `--no-store` in none"
        ))
    }

    fn done(&mut self, answer: Result<(), StoreError>) -> Result<()> {
        let Err(error) = answer else { return Ok(()) };
        let Some(why) = why_not(&error) else { return Err(error.into()) };
        self.why_not = Some(why);
        if let Some((mut store, kept)) = self.open.take() {
            // A run that has a part of its bills says so, if even that can be written.
            let _ = kept.end(&mut store, RunState::Failed);
        }
        Ok(())
    }
}

/// Why a store cannot be written to, where that is a matter of room, of rights or of its disk; `None` where the file is another than was meant.
fn why_not(error: &StoreError) -> Option<String> {
    let why = |file: &Path, reason: &str| Some(format!("{}: {reason}", file.display()));
    match error {
        StoreError::Full { file } => why(file, "no space left on its disk"),
        StoreError::TooLarge { file, limit } => {
            why(file, &format!("a file may have {limit} bytes here and not more (ulimit -f)"))
        }
        StoreError::ReadOnly { file } => why(file, "it can only be read"),
        StoreError::Locked { file, holder } => why(file, &format!("locked by {holder}")),
        StoreError::Disk { file, reason } => why(file, reason),
        StoreError::Unreachable { file, reason } if is_in_a_folder(file) => {
            why(file, &format!("cannot be opened ({reason})"))
        }
        _ => None,
    }
}

/// Whether it is a file, or could be: not a folder, nor in one that is not there.
fn is_in_a_folder(file: &Path) -> bool {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    folder.unwrap_or(Path::new(".")).is_dir() && (file.is_file() || !file.exists())
}
