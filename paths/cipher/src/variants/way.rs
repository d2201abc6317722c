//! The ways to tell a tenant that its request is done: what the card does, and what the tenant does meanwhile.

use std::time::Duration;

use tollway_core::{Axis, Error, Params, Result};

use crate::engine::device::Delivery;
use crate::engine::driver::Waiting;
use crate::params;

/// A way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Interrupt,
    Coalesced,
    Capped,
    Adaptive,
    Epoll,
    Periodic,
    Hybrid,
    Busy,
}

impl Way {
    pub(super) const ALL: [Way; 8] = [
        Way::Interrupt,
        Way::Coalesced,
        Way::Capped,
        Way::Adaptive,
        Way::Epoll,
        Way::Periodic,
        Way::Hybrid,
        Way::Busy,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Interrupt => "interrupt",
            Way::Coalesced => "coalesced",
            Way::Capped => "capped",
            Way::Adaptive => "adaptive",
            Way::Epoll => "epoll",
            Way::Periodic => "periodic",
            Way::Hybrid => "hybrid",
            Way::Busy => "busy",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Way::Interrupt => "each request is told by an interrupt, for which the tenant sleeps",
            Way::Coalesced => "an interrupt for several requests, or when the first was held long enough",
            Way::Capped => "so many interrupts a second at most",
            Way::Adaptive => "interrupts are the rarer the more there is to tell",
            Way::Epoll => {
                "the tenant sleeps in epoll, takes what is done, and wants no interrupts until nothing is"
            }
            Way::Periodic => "the tenant is never told: it sleeps for a while, and looks",
            Way::Hybrid => "the tenant looks for a while, and then sleeps until it is told",
            Way::Busy => "the tenant is never told, and looks without end",
        }
    }

    /// Its own axes.
    pub(super) fn axes(self) -> Vec<Axis> {
        match self {
            Way::Coalesced => vec![params::count(), params::hold()],
            Way::Capped => vec![params::cap()],
            Way::Periodic => vec![params::period()],
            Way::Hybrid => vec![params::spin()],
            Way::Interrupt | Way::Adaptive | Way::Epoll | Way::Busy => Vec::new(),
        }
    }

    /// When the card tells.
    ///
    /// # Errors
    /// Of coalesced interrupts, neither number nor time: nobody would ever be told.
    pub(super) fn delivery(self, params: &Params) -> Result<Delivery> {
        Ok(match self {
            Way::Interrupt | Way::Epoll | Way::Hybrid => Delivery::Each,
            Way::Coalesced => {
                let count = u32::try_from(params.int("count")?).ok().filter(|count| *count > 0);
                let hold = Some(micros(params, "hold")?).filter(|hold| !hold.is_zero());
                if (count, hold) == (None, None) {
                    return Err(Error::Input {
                        place: "axes `count` and `hold`".into(),
                        reason: "neither a number nor a time: nobody would ever be told".into(),
                        remedy: "give one of them".into(),
                    });
                }
                Delivery::Coalesced { count: count.unwrap_or(u32::MAX), hold }
            }
            Way::Capped => Delivery::Capped { gap: Duration::from_secs_f64(1.0 / params.int("cap")? as f64) },
            Way::Adaptive => Delivery::adaptive(),
            Way::Periodic | Way::Busy => Delivery::Never,
        })
    }

    /// What the tenant does.
    pub(super) fn waiting(self, params: &Params) -> Result<Waiting> {
        Ok(match self {
            Way::Interrupt | Way::Coalesced | Way::Capped | Way::Adaptive => Waiting::Interrupt,
            Way::Epoll => Waiting::Epoll,
            Way::Periodic => Waiting::Periodic(micros(params, "period")?),
            Way::Hybrid => Waiting::Hybrid(micros(params, "spin")?),
            Way::Busy => Waiting::Busy,
        })
    }

    /// About how long a tenant that has one request on its way is without news of it, where the way has a time of its own.
    pub(super) fn holds(self, params: &Params) -> Result<Option<Duration>> {
        Ok(match self {
            Way::Coalesced => Some(micros(params, "hold")?).filter(|hold| !hold.is_zero()),
            Way::Capped => Some(Duration::from_secs_f64(1.0 / params.int("cap")? as f64)),
            Way::Periodic => Some(micros(params, "period")?),
            Way::Interrupt | Way::Adaptive | Way::Epoll | Way::Hybrid | Way::Busy => None,
        })
    }

    /// Why no tenant in a micro-guest can be told so, if that is so. `is_open`: whether its requests come at times of their own.
    pub(super) fn needs_a_kernel(self, is_open: bool) -> Option<&'static str> {
        match self {
            Way::Epoll => Some("epoll is the kernel's"),
            Way::Periodic => Some("nothing there ends a sleep after a while"),
            Way::Busy => None,
            _ if is_open => {
                Some("who idles there is woken by the card alone, and not when the next request is due")
            }
            _ => None,
        }
    }

    /// How many requests an interrupt tells of, where it comes for none fewer, however long they wait.
    ///
    /// # Errors
    /// As [`Way::delivery`].
    pub(super) fn awaits(self, params: &Params) -> Result<Option<u32>> {
        Ok(match self.delivery(params)? {
            Delivery::Coalesced { count, hold: None } => Some(count),
            _ => None,
        })
    }

    /// Whether the card sets itself moments at which to tell.
    pub(super) fn has_deadlines(self) -> bool {
        matches!(self, Way::Coalesced | Way::Capped | Way::Adaptive)
    }

    /// Whether a tenant of it ever sleeps until it is called.
    pub(super) fn is_called(self) -> bool {
        !matches!(self, Way::Periodic | Way::Busy)
    }
}

fn micros(params: &Params, axis: &str) -> Result<Duration> {
    Ok(Duration::from_micros(params.int(axis)?))
}
