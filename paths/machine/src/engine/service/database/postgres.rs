//! Users in a schema of one's own of a PostgreSQL server that is there already.
//!
//! The schema is dropped when the service ends. Who uses one holds an advisory lock of its number, which the server gives up with the
//! connection: so the next that begins drops what those left that were killed, and never what another still uses. Commits are not
//! waited for (`synchronous_commit=off`): the same promise as of SQLite here.

use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, NoTls, Row, Statement};

use super::{Refused, statement};
use crate::engine::service::user::{Draft, User};

/// The first half of an advisory lock's name, so that it is no other program's: "toll".
const LOCKS: i32 = 0x746f_6c6c;

/// What schemas' names begin with; the rest is the number.
const PREFIX: &str = "tollway_service_";

pub(in super::super) struct Postgres {
    client: Client,
    schema: String,
    create: Statement,
    find: Statement,
    update: Statement,
    delete: Statement,
    list: Statement,
}

impl Postgres {
    pub(super) async fn open(url: &str) -> Result<Postgres, Refused> {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        // It ends with the client; what goes wrong before, the client's calls tell.
        tokio::spawn(connection);
        clear(&client).await?;
        let schema = own_schema(&client).await?;
        client
            .batch_execute(&format!(
                "DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}; SET search_path TO {schema}; SET synchronous_commit TO off;
                 CREATE TABLE users (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name TEXT NOT NULL,
                     mail TEXT NOT NULL UNIQUE, created BIGINT NOT NULL, changed BIGINT NOT NULL)"
            ))
            .await?;
        Ok(Postgres {
            create: client.prepare(statement::CREATE).await?,
            find: client.prepare(statement::FIND).await?,
            update: client.prepare(statement::UPDATE).await?,
            delete: client.prepare(statement::DELETE).await?,
            list: client.prepare(statement::LIST).await?,
            client,
            schema,
        })
    }

    async fn one(&self, statement: &Statement, params: &[&(dyn ToSql + Sync)]) -> Result<User, Refused> {
        self.client.query_opt(statement, params).await?.map(|row| user(&row)).ok_or(Refused::Absent)
    }

    pub(super) async fn create(&self, draft: &Draft, now: i64) -> Result<User, Refused> {
        self.one(&self.create, &[&draft.name, &draft.mail, &now]).await
    }

    pub(super) async fn find(&self, id: i64) -> Result<User, Refused> {
        self.one(&self.find, &[&id]).await
    }

    pub(super) async fn update(&self, id: i64, draft: &Draft, now: i64) -> Result<User, Refused> {
        self.one(&self.update, &[&draft.name, &draft.mail, &now, &id]).await
    }

    pub(super) async fn delete(&self, id: i64) -> Result<(), Refused> {
        match self.client.execute(&self.delete, &[&id]).await? {
            0 => Err(Refused::Absent),
            _ => Ok(()),
        }
    }

    pub(super) async fn list(&self, after: i64, limit: i64) -> Result<Vec<User>, Refused> {
        Ok(self.client.query(&self.list, &[&after, &limit]).await?.iter().map(user).collect())
    }

    pub(super) async fn discard(&self) {
        // Where that fails, the next that begins does it.
        let _ = self.client.batch_execute(&format!("DROP SCHEMA {} CASCADE", self.schema)).await;
    }
}

async fn lock(client: &Client, number: i32) -> Result<bool, Refused> {
    Ok(client.query_one("SELECT pg_try_advisory_lock($1, $2)", &[&LOCKS, &number]).await?.get(0))
}

/// Drops the schemas of the dead.
async fn clear(client: &Client) -> Result<(), Refused> {
    let pattern = format!("^{PREFIX}[0-9]{{1,9}}$");
    let names =
        client.query("SELECT nspname::text FROM pg_namespace WHERE nspname ~ $1", &[&pattern]).await?;
    for name in names.iter().map(|row| row.get::<_, String>(0)) {
        let Some(number) = name.strip_prefix(PREFIX).and_then(|n| n.parse().ok()) else { continue };
        if lock(client, number).await? {
            client.batch_execute(&format!("DROP SCHEMA IF EXISTS {name} CASCADE")).await?;
            client.query_one("SELECT pg_advisory_unlock($1, $2)", &[&LOCKS, &number]).await?;
        }
    }
    Ok(())
}

/// A name for a schema that nobody has, and its lock.
async fn own_schema(client: &Client) -> Result<String, Refused> {
    let mut number = 1;
    while !lock(client, number).await? {
        number += 1;
    }
    Ok(format!("{PREFIX}{number}"))
}

fn user(row: &Row) -> User {
    User { id: row.get(0), name: row.get(1), mail: row.get(2), created: row.get(3), changed: row.get(4) }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        match error.code() {
            Some(code) if *code == SqlState::UNIQUE_VIOLATION => Refused::Taken,
            _ => match error.as_db_error() {
                Some(cause) => Refused::Failed(format!("PostgreSQL: {}", cause.message())),
                None => Refused::Failed(format!("PostgreSQL: {error}")),
            },
        }
    }
}
