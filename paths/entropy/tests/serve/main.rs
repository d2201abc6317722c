//! The device served for real: tenants are processes that speak vhost-user, some of them hostile, and who serves and
//! who is served is killed.

mod fairness;
mod health;
mod killed;
mod numbered;
mod player;
mod tiny;
