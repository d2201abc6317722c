//! Where the users are kept: one face for all databases.

mod sqlite;
pub mod statement;

use std::future::ready;
use std::path::PathBuf;
use std::pin::Pin;

use tollway_core::Missing;

use super::user::{Draft, User};
use sqlite::Sqlite;

/// The environment variable that names a PostgreSQL server.
pub const POSTGRES: &str = "TOLLWAY_POSTGRES";

/// Where users are to be kept. Nothing of it is left when the server has ended, or when another begins after it
/// was killed.
#[derive(Clone, Debug)]
pub enum Keep {
    /// A file of SQLite in this folder, which has no name once it is open.
    Sqlite(PathBuf),
    /// A schema of one's own in the database of this URL, opened by code that not every program has.
    Postgres(String, OpenPostgres),
}

/// Opens an empty database of a PostgreSQL server by its URL, on the runtime that will use it.
pub type OpenPostgres = fn(&str) -> Answer<'_, Box<dyn Users>>;

/// What is known once the database has answered.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refused>> + Send + 'a>>;

/// An open database of users.
pub trait Users: Send + Sync {
    /// Adds a user.
    fn create<'a>(&'a self, draft: &'a Draft, now: i64) -> Answer<'a, User>;

    /// The user of that id.
    fn find(&self, id: i64) -> Answer<'_, User>;

    /// Changes the user of that id.
    fn update<'a>(&'a self, id: i64, draft: &'a Draft, now: i64) -> Answer<'a, User>;

    /// Removes the user of that id.
    fn delete(&self, id: i64) -> Answer<'_, ()>;

    /// Up to `limit` users whose ids are above `after`, by id.
    fn list(&self, after: i64, limit: i64) -> Answer<'_, Vec<User>>;

    /// Gives up what it has where it is kept.
    fn discard(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(ready(()))
    }
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The id is nobody's.
    #[error("there is no such user")]
    Absent,
    /// The mail address is not free.
    #[error("another user has this mail address")]
    Taken,
    /// The database failed.
    #[error("{0}")]
    Failed(String),
    /// There is no place for it.
    #[error("{0}")]
    Nowhere(Missing),
}

impl Keep {
    /// Opens an empty one. To be called on the runtime that uses it.
    pub(super) async fn open(&self) -> Result<Box<dyn Users>, Refused> {
        match self {
            Keep::Sqlite(folder) => Ok(Box::new(Sqlite::open(folder)?)),
            Keep::Postgres(url, open) => open(url).await,
        }
    }
}

/// In the place of PostgreSQL in a program that has none, as the agent of guests: it is never open.
pub fn no_postgres(_: &str) -> Answer<'_, Box<dyn Users>> {
    let reason = "PostgreSQL is not in this program, which was built without it";
    Box::pin(ready(Err(Refused::Failed(reason.into()))))
}
