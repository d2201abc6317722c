//! What can be wrong with a store: each error names the file and what to do.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rusqlite::ffi;

use crate::{holder, room};

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such file, and it was to be read only.
    #[error("{}: there is no such file; name an existing store, or make one with `tollway run`", file.display())]
    NotThere {
        /// The store's file.
        file: PathBuf,
    },
    /// The file or its folder cannot be opened.
    #[error("{}: cannot be opened ({reason}); check that the folder exists and that you may use it", file.display())]
    Unreachable {
        /// The store's file.
        file: PathBuf,
        /// What the system answered.
        reason: String,
    },
    /// The file holds nothing, and was to be read only.
    #[error(
        "{file}: it is empty, so no store yet: remove it, or begin one in it with `tollway run`; \
         `--store FILE` names another",
        file = file.display()
    )]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// The file is something else than an SQLite database.
    #[error("{}: this is not a Tollway store (it is no SQLite database); name another file", file.display())]
    NotADatabase {
        /// The file.
        file: PathBuf,
    },
    /// The file is another program's database.
    #[error(
        "{}: this is another program's database (application id {application_id:#010x}); name another file",
        file.display()
    )]
    OtherApplication {
        /// The file.
        file: PathBuf,
        /// The number by which that program marks its databases; 0 for none.
        application_id: i32,
    },
    /// The file was made by a newer Tollway.
    #[error(
        "{}: made by a newer Tollway (schema {found}, this one knows {known}); update Tollway or name another file",
        file.display()
    )]
    Newer {
        /// The store's file.
        file: PathBuf,
        /// The file's schema version.
        found: i32,
        /// The newest schema version that this program knows.
        known: i32,
    },
    /// The file was made by an older Tollway, and may not be brought up to date because it was opened for reading.
    #[error(
        "{}: made by an older Tollway (schema {found}, this one reads {known}); open it once for writing, \
         for instance with `tollway run`",
        file.display()
    )]
    Older {
        /// The store's file.
        file: PathBuf,
        /// The file's schema version.
        found: i32,
        /// The schema version that this program reads.
        known: i32,
    },
    /// The file's content contradicts itself.
    #[error(
        "{file}: damaged ({reason}); restore it from a copy, or save what is readable with \
         `sqlite3 {file} .recover | sqlite3 saved.db`",
        file = file.display()
    )]
    Damaged {
        /// The store's file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file, its folder or its file system is read-only, or it was opened for reading.
    #[error("{}: read-only; make the file and its folder writable, or name another file", file.display())]
    ReadOnly {
        /// The store's file.
        file: PathBuf,
    },
    /// There is no space left.
    #[error(
        "{}: no space left on its disk; free some, or name a file on another disk with `--store FILE`. What was \
         kept before is whole; `--resume` of `run` or `measure` goes on with a run of theirs that was cut off",
        file.display()
    )]
    Full {
        /// The store's file.
        file: PathBuf,
    },
    /// A file would have become larger than this process may make one.
    #[error(
        "{}: a file may have {limit} bytes here and not more (RLIMIT_FSIZE); raise that by `ulimit -f unlimited`. What \
         was kept before is whole; `--resume` of `run` or `measure` goes on with a run of theirs that was cut off",
        file.display()
    )]
    TooLarge {
        /// The store's file.
        file: PathBuf,
        /// The limit, in bytes.
        limit: u64,
    },
    /// Another process has been writing for longer than we waited.
    #[error("{}: locked by {holder}; wait until that is done, or end it", file.display())]
    Locked {
        /// The store's file.
        file: PathBuf,
        /// Who holds the lock, as far as the system tells.
        holder: String,
    },
    /// The system failed to read or write the file.
    #[error("{}: cannot be read or written ({reason}); check the disk and its file system", file.display())]
    Disk {
        /// The store's file.
        file: PathBuf,
        /// What the system answered.
        reason: String,
    },
    /// There is no row of that number.
    #[error("{}: there is no {what}; `tollway history` lists what there is", file.display())]
    NoSuch {
        /// The store's file.
        file: PathBuf,
        /// What was looked for.
        what: String,
    },
    /// What was to be stored contradicts what is stored.
    #[error("{}: refused: {reason}", file.display())]
    Refused {
        /// The store's file.
        file: PathBuf,
        /// The rule, and what would keep it.
        reason: String,
    },
    /// SQLite answered something that is expected nowhere.
    #[error("{}: SQLite: {reason}; this is a defect of Tollway, please report it", file.display())]
    Sqlite {
        /// The store's file.
        file: PathBuf,
        /// What SQLite answered.
        reason: String,
    },
}

/// A result with the store's error.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

impl StoreError {
    /// What an answer of SQLite means for the person who named the file.
    pub(crate) fn from_sqlite(file: &Path, error: rusqlite::Error) -> StoreError {
        let file = file.to_path_buf();
        let reason = error.to_string();
        let (code, message) = match error {
            rusqlite::Error::SqliteFailure(code, message) => (code, message.unwrap_or_default()),
            rusqlite::Error::SqlInputError { error, msg, .. } => (error, msg),
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::QueryReturnedNoRows => return StoreError::Damaged { file, reason },
            _ => return StoreError::Sqlite { file, reason },
        };
        let limit = room::limit_reached(&file);
        match code.code {
            ErrorCode::NotADatabase => StoreError::NotADatabase { file },
            ErrorCode::DatabaseCorrupt => StoreError::Damaged { file, reason },
            ErrorCode::ReadOnly => StoreError::ReadOnly { file },
            ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::CannotOpen if limit.is_some() => {
                StoreError::TooLarge { file, limit: limit.unwrap_or_default() }
            }
            ErrorCode::DiskFull => StoreError::Full { file },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                let holder = holder::of(&file);
                StoreError::Locked { file, holder }
            }
            // What SQLite has no name for, as when its shared memory cannot be made, it calls an I/O error.
            ErrorCode::SystemIoFailure | ErrorCode::CannotOpen if room::is_none(&file) => {
                StoreError::Full { file }
            }
            ErrorCode::CannotOpen | ErrorCode::PermissionDenied => StoreError::Unreachable { file, reason },
            ErrorCode::SystemIoFailure => StoreError::Disk { file, reason },
            ErrorCode::ConstraintViolation => match code.extended_code {
                ffi::SQLITE_CONSTRAINT_FOREIGNKEY => {
                    StoreError::NoSuch { file, what: "run or point of that number".into() }
                }
                _ => StoreError::Refused { file, reason: message },
            },
            // Our statements are constants that fit the schema: if one does not compile, the schema is not ours.
            ErrorCode::Unknown if code.extended_code == ffi::SQLITE_ERROR => {
                StoreError::Damaged { file, reason: message }
            }
            _ => StoreError::Sqlite { file, reason },
        }
    }
}
