//! Opening a store, and what every method does with an answer of SQLite.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::killed::Here;
use crate::schema::{self, APPLICATION_ID, Mark, VERSION};
use crate::{Result, StoreError};

/// How long a writer waits for another one before it gives up and says for whom it waited.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is read stays in memory up to so many KiB, which SQLite wants as a number less than 0: a price list is some MiB.
const CACHE: i32 = -16 * 1024;

/// Files up to so many bytes are checked when they are opened: that takes a few milliseconds.
const CHECKED_ON_OPENING: u64 = 4 << 20;

/// An open store: one SQLite file.
///
/// Several processes may have the same store open. Readers never wait; a writer waits up to ten seconds for another.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    /// Where killed runs are told from those that are measured.
    pub(crate) here: Option<Here>,
    file: PathBuf,
}

impl Store {
    /// Opens the store in that file for reading and writing; makes it where there is none.
    pub fn open(file: impl AsRef<Path>) -> Result<Store> {
        let file = file.as_ref();
        let was_there = refuse_irregular(file)?;
        let opened = Store::connect(
            file,
            OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )
        .and_then(Store::made);
        if opened.is_err() && !was_there {
            remove_begun(file);
        }
        opened
    }

    /// A store in memory, which is gone with this value: for what is measured and not kept.
    pub fn in_memory() -> Result<Store> {
        let mut store = Store::prepare(Path::new("memory"), Connection::open_in_memory(), true)?;
        let migrated = schema::migrate(&mut store.connection);
        store.told(migrated)?;
        Ok(store)
    }

    /// With all tables, in a file that is open.
    fn made(mut self) -> Result<Store> {
        let mark = self.mark()?;
        self.enter_wal()?;
        if mark.version < VERSION {
            let migrated = schema::migrate(&mut self.connection);
            self.told(migrated)?;
            self.mark()?;
        }
        self.check_if_small()?;
        Ok(self)
    }

    /// Opens the store in that file for reading. It works beside a run that writes, and in a folder that is read-only.
    pub fn open_read_only(file: impl AsRef<Path>) -> Result<Store> {
        let file = file.as_ref();
        if !refuse_irregular(file)? {
            return Err(StoreError::NotThere { file: file.into() });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = match Store::connect(file, flags).and_then(Store::marked) {
            // Without a writable folder SQLite cannot make the index of the log. If there is no log, none is needed.
            Err(StoreError::Unreachable { .. } | StoreError::ReadOnly { .. })
                if !beside(file, "-wal").exists() =>
            {
                Store::connect_immutable(file, flags).and_then(Store::marked)
            }
            other => other,
        };
        let (store, mark) = opened?;
        if mark.blank {
            return Err(StoreError::Empty { file: store.file });
        }
        if mark.version < VERSION {
            return Err(StoreError::Older { file: store.file, found: mark.version, known: VERSION });
        }
        store.check_if_small()?;
        Ok(store)
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// How long to wait for another process that writes, before [`StoreError::Locked`]; ten seconds unless set here.
    pub fn set_patience(&mut self, patience: Duration) -> Result<()> {
        self.sql(|db| db.busy_timeout(patience))
    }

    /// Reads every page and compares tables with indices: for `tollway doctor`, or after a disk has failed.
    pub fn check(&self) -> Result<()> {
        self.check_by("PRAGMA integrity_check(1)")?;
        let orphans = self.sql(|db| {
            db.prepare("PRAGMA foreign_key_check")?
                .query_map([], |row| row.get::<_, String>(0))?
                .next()
                .transpose()
        })?;
        match orphans {
            Some(table) => Err(self.damaged(format!("a row of table {table} belongs to none"))),
            None => Ok(()),
        }
    }

    fn connect(file: &Path, flags: OpenFlags) -> Result<Store> {
        // A name that SQLite would read as something else than a file (":memory:", none at all) is a file here.
        let plain = if file.is_absolute() { file.to_path_buf() } else { Path::new(".").join(file) };
        let writing = flags.contains(OpenFlags::SQLITE_OPEN_READ_WRITE);
        Store::prepare(file, Connection::open_with_flags(plain, flags), writing)
    }

    /// Opens a file that nobody can be writing to, without making any file beside it.
    fn connect_immutable(file: &Path, flags: OpenFlags) -> Result<Store> {
        let unreachable = |reason: String| StoreError::Unreachable { file: file.into(), reason };
        let absolute = fs::canonicalize(file).map_err(|e| unreachable(e.to_string()))?;
        let path = absolute.to_str().ok_or_else(|| unreachable("its name is not UTF-8".into()))?;
        let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let uri = format!("file:{path}?immutable=1");
        Store::prepare(file, Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI), false)
    }

    fn prepare(file: &Path, opened: rusqlite::Result<Connection>, writing: bool) -> Result<Store> {
        let connection = opened.map_err(|e| StoreError::from_sqlite(file, e))?;
        let store = Store { connection, here: None, file: file.into() };
        if writing && store.sql(|db| db.is_readonly("main"))? {
            return Err(StoreError::ReadOnly { file: store.file });
        }
        store.sql(|db| {
            db.busy_timeout(PATIENCE)?;
            db.set_prepared_statement_cache_capacity(64);
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            db.pragma_update(None, "foreign_keys", true)?;
            db.pragma_update(None, "cell_size_check", true)?;
            db.pragma_update(None, "cache_size", CACHE)?;
            // Every commit is on the disk before it returns; see the README.
            db.pragma_update(None, "synchronous", "FULL")
        })?;
        Ok(store)
    }

    fn marked(self) -> Result<(Store, Mark)> {
        let mark = self.mark()?;
        Ok((self, mark))
    }

    /// Reads the file's marks and refuses what is not a store of a version that this program knows.
    fn mark(&self) -> Result<Mark> {
        // As of one moment: another process may be making the store.
        let mark = self.sql(|db| Mark::read(&*db.unchecked_transaction()?))?;
        let file = self.file.clone();
        if mark.application_id != APPLICATION_ID && !mark.blank {
            return Err(StoreError::OtherApplication { file, application_id: mark.application_id });
        }
        if mark.version > VERSION {
            return Err(StoreError::Newer { file, found: mark.version, known: VERSION });
        }
        if mark.version < 0 || (mark.version == 0 && !mark.blank) {
            return Err(self.damaged(format!("its schema version is {}", mark.version)));
        }
        Ok(mark)
    }

    /// Switches to the write-ahead log, which SQLite refuses without waiting while another process opens the file.
    fn enter_wal(&self) -> Result<()> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let mode =
                self.connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
            match mode {
                Ok(mode) if mode == "wal" => return Ok(()),
                Ok(mode) => {
                    let reason = format!("its file system keeps no write-ahead log, only `{mode}`");
                    return Err(StoreError::Unreachable { file: self.file.clone(), reason });
                }
                Err(e)
                    if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < give_up =>
                {
                    sleep(Duration::from_millis(10));
                }
                Err(e) => return self.told(Err(e)),
            }
        }
    }

    fn check_if_small(&self) -> Result<()> {
        match fs::metadata(&self.file) {
            Ok(about) if about.len() <= CHECKED_ON_OPENING => self.check_by("PRAGMA quick_check(1)"),
            _ => Ok(()),
        }
    }

    fn check_by(&self, pragma: &str) -> Result<()> {
        let found = self.sql(|db| db.query_row(pragma, [], |row| row.get::<_, String>(0)))?;
        if found == "ok" { Ok(()) } else { Err(self.damaged(found)) }
    }

    /// Asks SQLite, and tells its refusal in our words.
    pub(crate) fn sql<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.told(ask(&self.connection))
    }

    /// An answer of SQLite, with a refusal in our words.
    pub(crate) fn told<T>(&self, answer: rusqlite::Result<T>) -> Result<T> {
        answer.map_err(|e| StoreError::from_sqlite(&self.file, e))
    }

    pub(crate) fn damaged(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Damaged { file: self.file.clone(), reason: reason.into() }
    }

    pub(crate) fn refused(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Refused { file: self.file.clone(), reason: reason.into() }
    }

    pub(crate) fn no_such(&self, what: impl Into<String>) -> StoreError {
        StoreError::NoSuch { file: self.file.clone(), what: what.into() }
    }
}

/// Whether there is such a file. A folder, a pipe or a device in its place is refused.
fn refuse_irregular(file: &Path) -> Result<bool> {
    let reason = match fs::metadata(file) {
        Ok(about) if about.is_file() => return Ok(true),
        Ok(_) => "it is no regular file".into(),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        Err(e) => e.to_string(),
    };
    Err(StoreError::Unreachable { file: file.into(), reason })
}

/// Removes a store that was to be made and could not be, as on a disk without room: it would be refused by all that read it. What holds anything
/// stays: another process may have made it meanwhile.
fn remove_begun(file: &Path) {
    let is_blank = match fs::metadata(file) {
        Ok(about) if about.len() == 0 => true,
        Ok(_) => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let opened = Store::connect(file, flags).or_else(|_| Store::connect_immutable(file, flags));
            opened.and_then(Store::marked).is_ok_and(|(_, mark)| mark.blank)
        }
        Err(_) => false,
    };
    if is_blank {
        // What cannot be removed stays.
        for name in [file.into(), beside(file, "-wal"), beside(file, "-shm"), beside(file, "-journal")] {
            let _ = fs::remove_file(name);
        }
    }
}

/// The file that SQLite keeps beside that one.
fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests;
