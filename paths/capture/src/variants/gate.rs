//! A gate of the in-process path alone, as a variant: what it measures is the toll that the path's bill adds up.

use std::marker::PhantomData;

use tollway_core::{
    Actor, Address, Axis, Crossing, Error, Gate, Params, Place, Plan, Recorder, Result, Role, Tally, TollKey,
    Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::{Work, repeat};

/// A gate that can be passed over and over without the rest of the path.
pub(super) trait Alone: Work + Send + Sized + 'static {
    /// Everything that must not be timed.
    fn prepare(params: &Params) -> Result<Self>;

    /// Whether what it did was really done.
    fn verify(&mut self) -> Result<()>;
}

/// The variant that measures gate `G`. Its axes `kind`, `size` and `depth`, where it has them, make its toll's key.
pub(super) struct Lone<G> {
    crossing: Crossing,
    caveats: &'static str,
    axes: Vec<Axis>,
    of: PhantomData<fn() -> G>,
}

impl<G: Alone> Lone<G> {
    pub(super) fn new(crossing: Crossing, caveats: &'static str, axes: Vec<Axis>) -> Self {
        Lone { crossing, caveats, axes, of: PhantomData }
    }
}

impl<G: Alone> Variant for Lone<G> {
    fn name(&self) -> &str {
        self.crossing.name()
    }

    fn about(&self) -> &str {
        self.crossing.title()
    }

    fn caveats(&self) -> &str {
        self.caveats
    }

    fn axes(&self) -> Vec<Axis> {
        self.axes.clone()
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let mut key = TollKey::of(self.crossing);
        for axis in &self.axes {
            key = match axis.name {
                "kind" => key.kind(params.word("kind")?),
                "size" => key.size(params.int("size")?),
                _ => key.depth(u32::try_from(params.int("depth")?).unwrap_or(u32::MAX)),
            };
        }
        Ok(Plan {
            operation: "packet".into(),
            roles: vec![Role::measured("gate")],
            gates: vec![Gate::new(self.crossing.name(), "gate", key.clone())],
            provides: Some(key),
            needs: Vec::new(),
            requires: Vec::new(),
            guests: Vec::new(),
        })
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        Ok(Box::new(LoneActor::<G> { params: params.clone(), gate: None, done: 0 }))
    }
}

struct LoneActor<G> {
    params: Params,
    gate: Option<G>,
    done: u64,
}

impl<G: Alone> Actor for LoneActor<G> {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        self.gate = Some(G::prepare(&self.params)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        if let Some(gate) = &mut self.gate {
            self.done = repeat(RunClock::chosen(), window, recorder, gate);
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match &mut self.gate {
            Some(gate) if self.done > 0 => gate.verify(),
            _ => Err(Error::Wrong("the gate was never passed".into())),
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.done)
    }
}
