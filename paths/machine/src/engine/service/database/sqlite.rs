//! Users in a file of SQLite that has no name.
//!
//! The file and its write-ahead log are opened by name in a private [`Folder`] and unlinked at once. One connection has them for itself
//! (`locking_mode=EXCLUSIVE`), so the log's index is in memory and nothing is ever opened by name again; the kernel gives the space
//! back when the process ends, however it ends.
//!
//! `synchronous=NORMAL`: a commit is appended to the log and not waited for on the disk, only checkpoints are. A power cut could take
//! the last commits, and nothing else. With `FULL` the service would measure how long the disk takes for an fsync.

use std::future::ready;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{CachedStatement, Connection, Params, Row, ffi, params};
use tollway_core::Missing;
use tollway_host::scratch::{FOLDER, Folder};

use super::{Answer, Refused, Users, statement};
use crate::engine::service::user::{Draft, User};

/// `AUTOINCREMENT`: an id is never given again, so that who was deleted stays so.
const SCHEMA: &str = "CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, mail TEXT NOT NULL UNIQUE, created INTEGER NOT NULL, changed INTEGER NOT NULL) STRICT";

pub(super) struct Sqlite(Mutex<Connection>);

impl Sqlite {
    pub(super) fn open(parent: &Path) -> Result<Sqlite, Refused> {
        let within = |e: std::io::Error| {
            let what = format!("a place for the service's database in {}", parent.display());
            let remedy = format!("set {FOLDER} to a folder that exists and may be written to");
            Refused::Nowhere(Missing::new(what, e.to_string(), remedy))
        };
        let folder = Folder::make(parent).map_err(within)?;
        let connection = Connection::open(folder.path().join("users.db"))?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        let mode: String =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
        if mode != "wal" {
            return Err(Refused::Failed(format!(
                "SQLite keeps its journal as `{mode}`, not as a write-ahead log"
            )));
        }
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        // Written, so that the log is open too.
        connection.execute_batch(SCHEMA)?;
        drop(folder);
        Ok(Sqlite(Mutex::new(connection)))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn one(&self, sql: &str, params: impl Params) -> Result<User, Refused> {
        let connection = self.connection();
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        let one = rows.next()?.map(user).transpose()?;
        // To its end, where it commits: that may fail as well.
        while rows.next()?.is_some() {}
        one.ok_or(Refused::Absent)
    }

    fn removed(&self, id: i64) -> Result<(), Refused> {
        match self.connection().prepare_cached(statement::DELETE)?.execute([id])? {
            0 => Err(Refused::Absent),
            _ => Ok(()),
        }
    }

    fn listed(&self, after: i64, limit: i64) -> Result<Vec<User>, Refused> {
        let connection = self.connection();
        let mut list: CachedStatement<'_> = connection.prepare_cached(statement::LIST)?;
        let users = list.query_map([after, limit], user)?.collect::<Result<_, _>>()?;
        Ok(users)
    }
}

impl Users for Sqlite {
    fn create<'a>(&'a self, draft: &'a Draft, now: i64) -> Answer<'a, User> {
        Box::pin(ready(self.one(statement::CREATE, params![draft.name, draft.mail, now])))
    }

    fn find(&self, id: i64) -> Answer<'_, User> {
        Box::pin(ready(self.one(statement::FIND, [id])))
    }

    fn update<'a>(&'a self, id: i64, draft: &'a Draft, now: i64) -> Answer<'a, User> {
        Box::pin(ready(self.one(statement::UPDATE, params![draft.name, draft.mail, now, id])))
    }

    fn delete(&self, id: i64) -> Answer<'_, ()> {
        Box::pin(ready(self.removed(id)))
    }

    fn list(&self, after: i64, limit: i64) -> Answer<'_, Vec<User>> {
        Box::pin(ready(self.listed(after, limit)))
    }
}

fn user(row: &Row<'_>) -> rusqlite::Result<User> {
    Ok(User {
        id: row.get(0)?,
        name: row.get(1)?,
        mail: row.get(2)?,
        created: row.get(3)?,
        changed: row.get(4)?,
    })
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Refused {
        match &error {
            rusqlite::Error::SqliteFailure(cause, _)
                if cause.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE =>
            {
                Refused::Taken
            }
            rusqlite::Error::SqliteFailure(cause, _) if cause.code == ffi::ErrorCode::DiskFull => {
                Refused::Failed(format!(
                    "no space left on its disk; free some room there, or name another folder in {FOLDER}"
                ))
            }
            _ => Refused::Failed(format!("SQLite: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_name_it_goes_on_beyond_many_checkpoints() {
        let parent = tempfile::tempdir().unwrap();
        let sqlite = Sqlite::open(parent.path()).unwrap();
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
        // 3 pages or so a commit, and a checkpoint every thousand.
        let rounds = 3000;
        for n in 0..rounds {
            let draft = Draft { name: format!("user {n}"), mail: format!("{n}@{}", "x".repeat(200)) };
            sqlite.one(statement::CREATE, params![draft.name, draft.mail, n]).unwrap();
            if n % 3 == 0 {
                sqlite.removed(n + 1).unwrap();
            }
        }
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
        let connection = sqlite.connection();
        let checked: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        let count: i64 = connection.query_row("SELECT count(*) FROM users", [], |row| row.get(0)).unwrap();
        let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        assert_eq!((checked.as_str(), count), ("ok", rounds - rounds / 3));
        // All of it is the file's and not the log's: the log was moved into it.
        let moved: (i64, i64, i64) = connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .unwrap();
        assert!(moved.0 == 0 && pages > 100, "{moved:?}, {pages}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let refused = Sqlite::open(Path::new("/nowhere/at/all")).map(drop).unwrap_err();
        assert!(
            refused.to_string().contains("/nowhere/at/all") && matches!(refused, Refused::Nowhere(_)),
            "{refused}"
        );
    }
}
