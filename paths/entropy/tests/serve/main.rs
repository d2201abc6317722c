//! The device served for real: tenants are processes that speak vhost-user, some of them hostile, and who serves and
//! who is served is killed.

#[path = "../../../../crates/host/testing/eventually.rs"]
mod eventually;
mod fairness;
mod health;
mod killed;
mod numbered;
#[path = "../../../../crates/host/testing/pause.rs"]
mod pause;
mod player;
mod tiny;

/// Whether nobody else has the processors: only then rates are judged.
fn is_quiet() -> bool {
    let demanded = std::env::var("TOLLWAY_REQUIRE").unwrap_or_default();
    demanded.split([',', ' ']).any(|word| word == "quiet")
}
