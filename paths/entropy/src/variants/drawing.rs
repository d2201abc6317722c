//! `entropy-draw`: what a draw costs one that has the generator to itself, and each of several that draw at once. From
//! these two caps follows what many tenants get.

use tollway_core::{Actor, Axis, Crossing, Gate, Params, Plan, Requirement, Result, TollKey, Variant};

use super::drawer;
use crate::params;

/// So many that draw at once, each on a processor of its own.
pub(super) struct Drawing;

/// The key of that toll.
pub(super) fn key(params: &Params, kind: &str, depth: u32) -> Result<TollKey> {
    Ok(TollKey::of(Crossing::EntropyDraw).kind(kind).tenant(params.tenant()?).depth(depth))
}

impl Variant for Drawing {
    fn name(&self) -> &str {
        Crossing::EntropyDraw.name()
    }

    fn about(&self) -> &str {
        "64 bits drawn, alone or with others that draw at once on processors of their own: the caps of a generator"
    }

    fn caveats(&self) -> &str {
        "Includes the tries that failed (the tally counts them). RDSEED is tried again after a pause that doubles. The \
         generator is shared by the cores of a socket, other machines on them included. getrandom is asked for a kilobyte \
         at a time. rdrand-512 has the AES of its reduction in it: 64 outputs of 512 samples at a time."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![params::kind(), params::depth(), params::tenant()]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let depth = u32::try_from(params.int("depth")?).unwrap_or(u32::MAX);
        let key = key(params, params.word("kind")?, depth)?;
        let mut plan = drawer::plan(params, depth)?;
        plan.gates.push(Gate::new("draw", drawer::ROLE, key.clone()));
        plan.provides = Some(key);
        plan.requires.push(Requirement::Cores(depth));
        Ok(plan)
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        drawer::actor(params)
    }
}
