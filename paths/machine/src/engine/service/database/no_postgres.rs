//! In the place of PostgreSQL where this is built without it, as the agent of guests is: it is never open.

use super::Refused;
use crate::engine::service::user::{Draft, User};

/// There is none.
pub(in super::super) enum Postgres {}

impl Postgres {
    pub(super) async fn open(_url: &str) -> Result<Postgres, Refused> {
        Err(Refused::Failed(
            "PostgreSQL is not in this program, which was built without its feature `postgres`".into(),
        ))
    }

    pub(super) async fn create(&self, _draft: &Draft, _now: i64) -> Result<User, Refused> {
        match *self {}
    }

    pub(super) async fn find(&self, _id: i64) -> Result<User, Refused> {
        match *self {}
    }

    pub(super) async fn update(&self, _id: i64, _draft: &Draft, _now: i64) -> Result<User, Refused> {
        match *self {}
    }

    pub(super) async fn delete(&self, _id: i64) -> Result<(), Refused> {
        match *self {}
    }

    pub(super) async fn list(&self, _after: i64, _limit: i64) -> Result<Vec<User>, Refused> {
        match *self {}
    }

    pub(super) async fn discard(&self) {
        match *self {}
    }
}
