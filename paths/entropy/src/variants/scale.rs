//! `scale`: one generator, many tenants. What each gets is predicted from two caps, and then measured.

use tollway_core::{Actor, Axis, Error, Forecast, Params, Plan, Result, TollSource, Variant};
use tollway_host::cpu::allowed_cpus;

use super::drawer;
use super::drawing::key;
use crate::{params, predict};

/// So many tenants, more than processors if need be.
pub(super) struct Scale;

/// Processors that tenants are spread over: those that this process may run on.
fn processors() -> Result<u32> {
    Ok(allowed_cpus()?.len() as u32)
}

impl Variant for Scale {
    fn name(&self) -> &str {
        "scale"
    }

    fn about(&self) -> &str {
        "one generator, many tenants: what each gets, predicted from the cap of one and the cap of all"
    }

    fn caveats(&self) -> &str {
        "Tenants are spread over the processors in turn; where there are more tenants than processors the kernel gives each \
         its time in slices, so a window must be much longer than one round of slices. What each got is counted by itself."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![params::kind(), params::tenants(), params::tenant()]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let tenants = u32::try_from(params.int("tenants")?).unwrap_or(u32::MAX);
        let (alone, together) = (key(params, 1)?, key(params, processors()?)?);
        let mut plan = drawer::plan(params, tenants)?;
        plan.needs.push(alone.clone());
        if together != alone {
            plan.needs.push(together);
        }
        Ok(plan)
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        drawer::actor(params)
    }

    fn predict(&self, params: &Params, tolls: &dyn TollSource) -> Option<Result<Forecast>> {
        let forecast = || {
            let tenants = u32::try_from(params.int("tenants")?).unwrap_or(u32::MAX);
            let processors = processors()?;
            let known = |depth| {
                let key = key(params, depth)?;
                tolls.toll(&key).ok_or_else(|| {
                    Error::Missing(tollway_core::Missing::new(
                        format!("toll {key}"),
                        "it was not measured on this machine",
                        "measure the preset `caps` first",
                    ))
                })
            };
            predict::shared(&known(1)?, &known(processors)?, tenants, processors)
        };
        Some(forecast())
    }
}
