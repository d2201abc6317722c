//! A small web service that manages users, and clients that work with it without end: the load of a business that a machine has
//! beside what is measured, and a measurement of its own.
//!
//! The [`Server`] speaks HTTP/1.1 and JSON on one thread (hyper on a runtime of tokio) and keeps its users in SQLite or PostgreSQL:
//!
//! | request | answer |
//! |---|---|
//! | `POST /users` with `{"name", "mail"}` | 201, `Location`, the user |
//! | `GET /users?after=ID&limit=N` | 200, up to N users by rising id |
//! | `GET /users/ID` | 200, the user |
//! | `PUT /users/ID` with `{"name", "mail"}` | 200, the user |
//! | `DELETE /users/ID` | 204 |
//!
//! What it refuses has a status of 4xx and `{"error": …}`: 404 of what is not there, 409 of a mail that another user has, 413, 415, 422
//! and 400 of bodies, 408 of who is too slow. The clients of a [`Load`] know what must be there and hold every answer against it.

mod database;
mod load;
mod request;
mod routes;
mod server;
mod user;

pub use database::{Answer, Keep, OpenPostgres, POSTGRES, Refused, Users, no_postgres, statement};
pub use load::{Done, Kind, Load, PATIENCE, Pace};
pub use server::{Limits, Served, Server};
pub use user::{Draft, MAIL_BYTES, NAME_CHARS, User};
