//! What a program reads from standard input, where it is started more than once.

use std::process::Stdio;

use rustix::fs::{FileType, SeekFrom, fstat, seek};
use rustix::stdio::stdin;
use tollway_core::{Error, Result};

/// Standard input of this process: where it stands, if it is a file. What is not one is read by the first start alone.
#[derive(Clone, Copy, Debug)]
pub struct Input(Option<u64>);

impl Input {
    /// As it is now.
    pub fn now() -> Input {
        let is_file =
            fstat(stdin()).is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::RegularFile);
        Input(is_file.then(|| seek(stdin(), SeekFrom::Current(0)).ok()).flatten())
    }

    /// Has the next start read the file from the same place as the first.
    pub(crate) fn again(self) -> Result<()> {
        let Some(begin) = self.0 else { return Ok(()) };
        let failed = |e: rustix::io::Errno| Error::system("going back in standard input", e);
        seek(stdin(), SeekFrom::Start(begin)).map(drop).map_err(failed)
    }

    /// For a start that nobody sees: the file, from the same place as the first, or nothing.
    pub(crate) fn alone(self) -> Result<Stdio> {
        self.again()?;
        Ok(if self.0.is_some() { Stdio::inherit() } else { Stdio::null() })
    }
}
