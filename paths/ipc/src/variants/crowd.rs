//! The toll of synchronous calls by datagrams, of which so many are under way: a thread at either end for each.
//!
//! However many there are, each end is switched to once a call. But of many the thread that is switched to was last here long ago: its stack and its
//! socket are not in the nearest caches any more, and it never finds its reply there before it sleeps.

use tollway_core::{Actor, Axis, Crossing, Params, Placement, Plan, Result, TollKey, Value, Variant};

use super::ping_pong;
use super::setting::{Setting, Way};
use crate::params;

/// The depth whose toll predictions are made from.
pub(crate) const CROWD: u32 = 48;

/// Calls of many threads.
pub(super) struct CrowdedCall;

/// The toll of such a call.
pub(super) fn key(placement: Placement, size: usize, calls: u32) -> TollKey {
    TollKey::of(Crossing::CrowdedCall).placement(placement).size(size as u64).depth(calls)
}

/// What so many threads add to one's call, in parts of what [`CROWD`] add: it grows with the logarithm, as the caches do of which each is the next larger.
/// Of 2 to 256 threads measured on a processor of AMD's (EPYC, in a virtual machine), 23.7, 24.8, 25.8, 26.7, 28, 30.1, 31.4 and 35 thousand
/// ticks, this is off by 13 % at most.
pub(crate) fn share(threads: usize) -> f64 {
    f64::log2(threads.max(1) as f64) / f64::log2(CROWD.into())
}

fn setting(params: &Params) -> Result<Setting> {
    Ok(Setting::awake(Way::Slow, params.int("depth")? as usize, params.int("size")? as usize))
}

impl Variant for CrowdedCall {
    fn name(&self) -> &str {
        Crossing::CrowdedCall.name()
    }

    fn about(&self) -> &str {
        Crossing::CrowdedCall.title()
    }

    fn caveats(&self) -> &str {
        "The figure is the time of a stretch of calls by their number. Writing, answering, reading and comparing each message are in it."
    }

    fn axes(&self) -> Vec<Axis> {
        let depth = Axis { default: Value::Int(CROWD.into()), ..params::depth() };
        vec![params::placement(), params::size(), depth]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let (setting, placement) = (setting(params)?, params.placement()?);
        let key = key(placement, setting.size, setting.requests as u32);
        Ok(ping_pong::toll("call", placement, key))
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        ping_pong::actor(self.name(), role, setting(params)?)
    }
}
