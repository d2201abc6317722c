//! The toll of synchronous calls by datagrams, of which so many are under way: a thread at either end for each.
//!
//! However many there are, each end is switched to once a call. But of many the thread that is switched to was last here long ago: its stack and its
//! socket are not in the nearest caches any more, and it never finds its reply there before it sleeps.

use tollway_core::{Actor, Axis, Crossing, Params, Plan, Result, Value, Variant};

use super::ping_pong;
use crate::params;
use crate::setting::{Setting, Way};
use crate::tolls;

/// Calls of many threads.
pub(super) struct CrowdedCall;

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
        let depth = Axis { default: Value::Int(tolls::CROWD.into()), ..params::depth() };
        vec![params::placement(), params::size(), depth]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let (setting, placement) = (setting(params)?, params.placement()?);
        let key = tolls::crowded_call(placement, setting.size, setting.requests as u32);
        Ok(ping_pong::toll("call", placement, key))
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        ping_pong::actor(self.name(), role, setting(params)?)
    }
}
