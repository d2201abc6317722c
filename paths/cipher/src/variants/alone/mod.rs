//! The gates of a request, each alone, as variants: what they measure are the tolls that its bill adds up.
//!
//! ```text
//!   laid       a request laid into a queue, done by the card, taken out again
//!   asleep     sleeping until one is called, and calling who sleeps
//!   table      a request's table of descriptors, copied and checked
//!   plain      the cipher; a look into a queue that has nothing
//!   lockstep   how two actors take turns
//! ```

mod asleep;
mod laid;
mod lockstep;
mod plain;
mod table;

use tollway_core::{Crossing, Variant};

pub(super) use asleep::{How, Waker, key as asleep};
pub(super) use laid::key as laid;
pub(super) use plain::{cipher_key, look_key};

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![
        Box::new(laid::Laid(Crossing::RequestSubmit)),
        Box::new(laid::Laid(Crossing::RequestTurn)),
        Box::new(laid::Laid(Crossing::RequestRound)),
        Box::new(laid::Laid(Crossing::RequestTake)),
        Box::new(table::Table),
        Box::new(plain::Cipher),
        Box::new(plain::Look),
        Box::new(asleep::Asleep(Crossing::KickAsleep)),
        Box::new(asleep::Asleep(Crossing::SleepWake)),
        Box::new(asleep::Asleep(Crossing::WakeLate)),
    ]
}
