//! `scale`: one generator, many tenants. What each gets is predicted from two caps, and then measured.

use tollway_core::{
    Actor, Axis, Error, Forecast, Missing, Params, Plan, Result, TollKey, TollSource, Variant,
};
use tollway_host::cpu::planned;

use super::drawer;
use super::drawing::key;
use crate::predict::Caps;
use crate::{params, predict};

/// So many tenants, more than processors if need be.
pub(super) struct Scale;

/// The tolls that the caps are made of: a draw that finds the generator rested, one after the other alone, and by all.
fn keys(params: &Params) -> Result<[TollKey; 3]> {
    let kind = params.word("kind")?;
    // RDSEED runs dry; what others take does not depend on what was drawn before.
    let rested = if kind == "rdseed" { "rdseed-rested" } else { kind };
    Ok([key(params, rested, 1)?, key(params, kind, 1)?, key(params, kind, planned()?)?])
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
        let mut plan = drawer::plan(params, tenants)?;
        for key in keys(params)? {
            if !plan.needs.contains(&key) {
                plan.needs.push(key);
            }
        }
        Ok(plan)
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        drawer::actor(params)
    }

    fn predict(&self, params: &Params, tolls: &dyn TollSource) -> Option<Result<Forecast>> {
        let known = |key: TollKey| {
            tolls.toll(&key).ok_or_else(|| {
                Error::Missing(Missing::new(
                    format!("toll {key}"),
                    "it was not measured on this machine",
                    "measure the preset `caps` first",
                ))
            })
        };
        let forecast = || {
            let tenants = u32::try_from(params.int("tenants")?).unwrap_or(u32::MAX);
            // The study is of RDRAND, reduced to seed grade.
            let kind = params.word("kind")?;
            let published = kind.starts_with("rdrand").then(predict::of_the_study);
            let [draw, alone, all] = keys(params)?.map(known);
            predict::shared(
                &Caps { draw: draw?, alone: alone?, all: all? },
                tenants,
                planned()?,
                predict::Gives::of(kind),
                published,
            )
        };
        Some(forecast())
    }
}
