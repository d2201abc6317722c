//! The tables, and how a store of an older version is brought up to date.

use rusqlite::{Connection, TransactionBehavior};

/// What marks a file as a Tollway store: "Toll" in ASCII.
pub const APPLICATION_ID: i32 = 0x546f_6c6c;

/// The schema version that this program writes; it is the number of steps that lead to it.
pub const VERSION: i32 = STEPS.len() as i32;

/// Step *n* (from 0) leads from version *n* to *n* + 1. A released step never changes; a change is a new step.
const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
];

/// What marks a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) application_id: i32,
    pub(crate) version: i32,
    /// Whether it holds nothing at all yet.
    pub(crate) blank: bool,
}

impl Mark {
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Mark> {
        let number = |sql| connection.query_row(sql, [], |row| row.get(0));
        let application_id = number("PRAGMA application_id")?;
        let version = number("PRAGMA user_version")?;
        let objects = number("SELECT count(*) FROM sqlite_schema")?;
        Ok(Mark { application_id, version, blank: application_id == 0 && version == 0 && objects == 0 })
    }
}

/// Takes all steps that are missing, in one transaction, and marks the file.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    migrate_by(connection, STEPS)
}

fn migrate_by(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = Mark::read(&transaction)?.version;
    for step in steps.iter().skip(usize::try_from(from).unwrap_or(usize::MAX)) {
        transaction.execute_batch(step)?;
    }
    if usize::try_from(from).is_ok_and(|from| from < steps.len()) {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", steps.len() as i32)?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use tollway_core::{ActorRecord, GuestFacts};

    use super::*;

    #[test]
    fn steps_are_taken_once_and_in_order() {
        let mut db = Connection::open_in_memory().unwrap();
        let first = "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1);";
        let second = "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7;";
        migrate_by(&mut db, &[first]).unwrap();
        assert_eq!(Mark::read(&db).unwrap().version, 1);
        migrate_by(&mut db, &[first, second]).unwrap();
        migrate_by(&mut db, &[first, second]).unwrap();
        let row: (i64, i64) = db.query_row("SELECT x, y FROM a", [], |r| Ok((r.get(0)?, r.get(1)?))).unwrap();
        assert_eq!(row, (1, 7));
        assert_eq!(
            Mark::read(&db).unwrap(),
            Mark { application_id: APPLICATION_ID, version: 2, blank: false }
        );
    }

    #[test]
    fn a_step_that_fails_changes_nothing() {
        let mut db = Connection::open_in_memory().unwrap();
        assert!(migrate_by(&mut db, &["CREATE TABLE a (x INTEGER) STRICT;", "nonsense"]).is_err());
        assert!(Mark::read(&db).unwrap().blank);
    }

    #[test]
    fn trials_of_the_first_schema_keep_what_their_actors_used() {
        let mut db = Connection::open_in_memory().unwrap();
        migrate_by(&mut db, &STEPS[..1]).unwrap();
        db.execute_batch(
            r#"INSERT INTO run VALUES (1, 0, NULL, 'complete', 1, 't', '0.1.0', 'm', 1e9, 1, '[]', '[]', '{}', '{}');
            INSERT INTO point (id, run, path, variant, operation, title, params, caveats)
            VALUES (1, 1, 'p', 'v', 'o', 't', '{}', '');
            INSERT INTO trial (point, block, ordinal, started_us, median_ticks, mean_ticks, p99_ticks, min_ticks,
                max_ticks, ops, samples, batch, lost_ticks, cpu_ns, tally, meters, spread)
            VALUES (1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, '{"client": 5, "server": 9}', '{}',
                '{"machine": {"cores": 2}, "actors": [{"role": "server", "cpu_ns": 4, "late": 1},
                {"role": "server", "cpu_ns": 5, "late": 0, "minor_faults": 2},
                {"role": "client", "cpu_ns": 5, "late": 0, "minor_faults": null}]}', x''),
            (1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, '{"client": 6}', '{}', '{"switches": 12}', x'');"#,
        )
        .unwrap();
        migrate(&mut db).unwrap();
        let actors = |ordinal: u32| -> Vec<ActorRecord> {
            let text: String =
                db.query_row("SELECT actors FROM trial WHERE ordinal = ?1", [ordinal], |r| r.get(0)).unwrap();
            serde_json::from_str(&text).unwrap()
        };
        let used = |role: &str, number, ns| ActorRecord {
            role: role.into(),
            number,
            own_ns: Some(ns),
            given_ns: Some(ns),
            ..ActorRecord::default()
        };
        let servers = [
            ActorRecord { late_ticks: 1, ..used("server", 0, 4) },
            ActorRecord { minor_faults: Some(2), ..used("server", 1, 5) },
        ];
        assert_eq!(actors(0), [&servers[..], &[used("client", 0, 5)]].concat());
        assert_eq!(actors(1), [used("client", 0, 6)]);
        let meters: String =
            db.query_row("SELECT meters FROM trial WHERE ordinal = 0", [], |r| r.get(0)).unwrap();
        assert_eq!(meters, r#"{"machine":{"cores":2}}"#);
        let guests: String = db.query_row("SELECT guests FROM run", [], |r| r.get(0)).unwrap();
        assert!(serde_json::from_str::<GuestFacts>(&guests).unwrap().is_empty());
        assert!(db.execute("UPDATE trial SET meters = '{}'", []).is_err(), "the guard is back");
    }
}
