//! Users of the service of `tollway-machine`, in a schema of their own of a PostgreSQL server that is there already.
//!
//! A crate of its own because the program has it and the agent of guests has not: a guest reaches no such server.
//! The program gives [`open`] to the path. No feature tells the two apart, so both are built of the same compiled
//! crates.
//!
//! The schema is dropped when the service ends. Who uses one holds an advisory lock of its number, which the server
//! gives up with the connection: so the next that begins drops what those left that were killed, and never what
//! another still uses. Commits are not waited for (`synchronous_commit=off`): the same promise as of SQLite there.
#![warn(missing_debug_implementations)]

use std::pin::Pin;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, NoTls, Row, Statement};
use tollway_machine::engine::service::{Answer, Draft, Refused, User, Users, statement};

/// The first half of an advisory lock's name, so that it is no other program's: "toll".
const LOCKS: i32 = 0x746f_6c6c;

/// What schemas' names begin with; the rest is the number.
const PREFIX: &str = "tollway_service_";

struct Postgres {
    client: Client,
    schema: String,
    create: Statement,
    find: Statement,
    update: Statement,
    delete: Statement,
    list: Statement,
}

/// Opens an empty schema in the database of this URL, on the runtime that will use it.
pub fn open(url: &str) -> Answer<'_, Box<dyn Users>> {
    Box::pin(async move {
        let users: Box<dyn Users> = Box::new(opened(url).await.map_err(refused)?);
        Ok(users)
    })
}

async fn opened(url: &str) -> Result<Postgres, Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    // It ends with the client; what goes wrong before, the client's calls tell.
    tokio::spawn(connection);
    clear(&client).await?;
    let schema = own_schema(&client).await?;
    client
        .batch_execute(&format!(
            "DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}; SET search_path TO {schema};
             SET synchronous_commit TO off;
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

impl Postgres {
    async fn one(&self, statement: &Statement, params: &[&(dyn ToSql + Sync)]) -> Result<User, Refused> {
        let row = self.client.query_opt(statement, params).await.map_err(refused)?;
        row.map(|row| user(&row)).ok_or(Refused::Absent)
    }
}

impl Users for Postgres {
    fn create<'a>(&'a self, draft: &'a Draft, now: i64) -> Answer<'a, User> {
        Box::pin(async move { self.one(&self.create, &[&draft.name, &draft.mail, &now]).await })
    }

    fn find(&self, id: i64) -> Answer<'_, User> {
        Box::pin(async move { self.one(&self.find, &[&id]).await })
    }

    fn update<'a>(&'a self, id: i64, draft: &'a Draft, now: i64) -> Answer<'a, User> {
        Box::pin(async move { self.one(&self.update, &[&draft.name, &draft.mail, &now, &id]).await })
    }

    fn delete(&self, id: i64) -> Answer<'_, ()> {
        Box::pin(async move {
            match self.client.execute(&self.delete, &[&id]).await.map_err(refused)? {
                0 => Err(Refused::Absent),
                _ => Ok(()),
            }
        })
    }

    fn list(&self, after: i64, limit: i64) -> Answer<'_, Vec<User>> {
        Box::pin(async move {
            let rows = self.client.query(&self.list, &[&after, &limit]).await.map_err(refused)?;
            Ok(rows.iter().map(user).collect())
        })
    }

    fn discard(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            // Where that fails, the next that begins does it.
            let _ = self.client.batch_execute(&format!("DROP SCHEMA {} CASCADE", self.schema)).await;
        })
    }
}

async fn lock(client: &Client, number: i32) -> Result<bool, Error> {
    Ok(client.query_one("SELECT pg_try_advisory_lock($1, $2)", &[&LOCKS, &number]).await?.get(0))
}

/// Drops the schemas of the dead.
async fn clear(client: &Client) -> Result<(), Error> {
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
async fn own_schema(client: &Client) -> Result<String, Error> {
    let mut number = 1;
    while !lock(client, number).await? {
        number += 1;
    }
    Ok(format!("{PREFIX}{number}"))
}

fn user(row: &Row) -> User {
    User { id: row.get(0), name: row.get(1), mail: row.get(2), created: row.get(3), changed: row.get(4) }
}

fn refused(error: Error) -> Refused {
    match error.code() {
        Some(code) if *code == SqlState::UNIQUE_VIOLATION => Refused::Taken,
        _ => match error.as_db_error() {
            Some(cause) => Refused::Failed(format!("PostgreSQL: {}", cause.message())),
            None => Refused::Failed(format!("PostgreSQL: {error}")),
        },
    }
}
