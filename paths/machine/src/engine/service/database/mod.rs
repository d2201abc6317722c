//! Where the users are kept: one face for both databases.

#[cfg_attr(not(feature = "postgres"), path = "no_postgres.rs")]
mod postgres;
mod sqlite;

use std::path::PathBuf;

use tollway_core::Missing;

use super::user::{Draft, User};
use postgres::Postgres;
use sqlite::Sqlite;

/// The environment variable that names a PostgreSQL server.
pub const POSTGRES: &str = "TOLLWAY_POSTGRES";

/// Where users are to be kept. Nothing of it is left when the server has ended, or when another begins after it was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// A file of SQLite in this folder, which has no name once it is open.
    Sqlite(PathBuf),
    /// A schema of one's own in the database of this URL.
    Postgres(String),
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error("there is no such user")]
    Absent,
    #[error("another user has this mail address")]
    Taken,
    #[error("{0}")]
    Failed(String),
    /// There is no place for it.
    #[error("{0}")]
    Nowhere(Missing),
}

/// An open one.
pub(super) enum Database {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Database {
    /// Opens an empty one. To be called on the runtime that uses it.
    pub(super) async fn open(keep: &Keep) -> Result<Database, Refused> {
        Ok(match keep {
            Keep::Sqlite(folder) => Database::Sqlite(Sqlite::open(folder)?),
            Keep::Postgres(url) => Database::Postgres(Postgres::open(url).await?),
        })
    }

    pub(super) async fn create(&self, draft: &Draft, now: i64) -> Result<User, Refused> {
        match self {
            Database::Sqlite(sqlite) => sqlite.create(draft, now),
            Database::Postgres(postgres) => postgres.create(draft, now).await,
        }
    }

    pub(super) async fn find(&self, id: i64) -> Result<User, Refused> {
        match self {
            Database::Sqlite(sqlite) => sqlite.find(id),
            Database::Postgres(postgres) => postgres.find(id).await,
        }
    }

    pub(super) async fn update(&self, id: i64, draft: &Draft, now: i64) -> Result<User, Refused> {
        match self {
            Database::Sqlite(sqlite) => sqlite.update(id, draft, now),
            Database::Postgres(postgres) => postgres.update(id, draft, now).await,
        }
    }

    pub(super) async fn delete(&self, id: i64) -> Result<(), Refused> {
        match self {
            Database::Sqlite(sqlite) => sqlite.delete(id),
            Database::Postgres(postgres) => postgres.delete(id).await,
        }
    }

    /// Up to `limit` users whose ids are above `after`, by id.
    pub(super) async fn list(&self, after: i64, limit: i64) -> Result<Vec<User>, Refused> {
        match self {
            Database::Sqlite(sqlite) => sqlite.list(after, limit),
            Database::Postgres(postgres) => postgres.list(after, limit).await,
        }
    }

    /// Gives up what it has where it is kept, which SQLite's has no need of.
    pub(super) async fn discard(&self) {
        if let Database::Postgres(postgres) = self {
            postgres.discard().await;
        }
    }
}

/// Statements that both databases understand. SQLite takes `$1` for a name and numbers names as they come, so they have to come in order.
mod statement {
    pub(super) const CREATE: &str = "INSERT INTO users (name, mail, created, changed) VALUES ($1, $2, $3, $3) RETURNING id, name, mail, created, changed";
    pub(super) const FIND: &str = "SELECT id, name, mail, created, changed FROM users WHERE id = $1";
    pub(super) const UPDATE: &str = "UPDATE users SET name = $1, mail = $2, changed = $3 WHERE id = $4 RETURNING id, name, mail, created, changed";
    pub(super) const DELETE: &str = "DELETE FROM users WHERE id = $1";
    pub(super) const LIST: &str =
        "SELECT id, name, mail, created, changed FROM users WHERE id > $1 ORDER BY id LIMIT $2";
}
