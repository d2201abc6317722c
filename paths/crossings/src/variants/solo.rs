//! A variant of one operation and one actor.

use std::marker::PhantomData;

use tollway_core::{
    Actor, Address, Axis, Crossing, Error, Forecast, Gate, Params, Place, Plan, Recorder, Requirement,
    Result, Role, Tally, TenantKind, TollKey, TollSource, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::{Work, repeat};

use super::tenancy::settled;
use crate::engine::Operation;
use crate::params;

/// One actor that repeats `O`.
pub struct Solo<O> {
    crossing: Crossing,
    operation: &'static str,
    caveats: &'static str,
    axes: Vec<Axis>,
    requires: Vec<Requirement>,
    counted: Option<&'static str>,
    prediction: Option<Prediction>,
    /// Doorbells of the micro-guest in which it lives, if it can live nowhere else.
    guest: Option<u32>,
    /// It works on a disk.
    disk: bool,
    /// What it needs at a point beyond `requires`.
    needs: fn(&Params) -> Result<Needs>,
    of: PhantomData<fn() -> O>,
}

/// What an operation needs at one point of its axes.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Of where it lives.
    pub requires: Vec<Requirement>,
    /// A folder for measurements: in a Linux guest a disk of its own.
    pub folder: bool,
}

/// How the cost at one point follows from the tolls at others.
#[derive(Clone, Copy)]
pub struct Prediction {
    /// The tolls it needs at a point; none where the point is not predicted.
    pub needs: fn(&Params) -> Result<Vec<TollKey>>,
    /// What [`Variant::predict`] answers.
    pub predict: fn(&Params, &dyn TollSource) -> Option<Result<Forecast>>,
}

impl<O: Operation> Solo<O> {
    /// A variant named like the crossing; `operation` says in a word what is repeated.
    ///
    /// Its toll key has what its axes say: `kind`, `tenant`, `warmth`, `size` and `depth` go into the key.
    pub fn new(crossing: Crossing, operation: &'static str) -> Self {
        Solo {
            crossing,
            operation,
            caveats: "",
            axes: vec![params::tenant_with_kernel(), params::tenants()],
            requires: Vec::new(),
            counted: None,
            prediction: None,
            guest: None,
            disk: false,
            needs: |_| Ok(Needs::default()),
            of: PhantomData,
        }
    }

    /// What a reader of the figure must know.
    pub fn caveats(mut self, caveats: &'static str) -> Self {
        self.caveats = caveats;
        self
    }

    /// One more parameter.
    pub fn axis(mut self, axis: Axis) -> Self {
        self.axes.push(axis);
        self
    }

    /// One more requirement.
    pub fn requires(mut self, requirement: Requirement) -> Self {
        self.requires.push(requirement);
        self
    }

    /// What it needs, where that differs from point to point; refuses points that make no sense.
    pub fn needing(mut self, needs: fn(&Params) -> Result<Needs>) -> Self {
        self.needs = needs;
        self
    }

    /// One more gate, whose visits the operation's tally counts; it is part of the crossing and has no toll of its own.
    pub fn counts(mut self, gate: &'static str) -> Self {
        self.counted = Some(gate);
        self
    }

    /// Predicts some points from the tolls of others.
    pub fn predicted(mut self, prediction: Prediction) -> Self {
        self.prediction = Some(prediction);
        self
    }

    /// Makes no system call, so that it can live in a micro-guest as well.
    pub fn without_kernel(mut self) -> Self {
        for axis in self.axes.iter_mut().filter(|a| a.name == "tenant") {
            *axis = params::tenant_without_kernel();
        }
        self
    }

    /// Works in the folder for measurements, which in a Linux guest is on a disk of its own.
    pub fn on_a_disk(mut self) -> Self {
        self.disk = true;
        self.axis(params::disk())
    }

    /// Crosses from a micro-guest to its host: lives in one, with so many doorbells, and nowhere else.
    pub fn only_in_micro_guest(mut self, doorbells: u32) -> Self {
        self.axes.retain(|a| a.name != "tenant");
        self.guest = Some(doorbells);
        self
    }
}

impl<O: Operation> Variant for Solo<O> {
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
        let mut key = super::key_of(self.crossing, params)?;
        let mut guests = Vec::new();
        if self.disk {
            let disk = params::disk_of(params)?;
            key.kind = disk.kind;
            guests.extend(disk.guest);
        }
        let Needs { requires, folder } = (self.needs)(params)?;
        if folder && params.tenant()? == TenantKind::LinuxGuest {
            guests.push(params::own_disk());
        }
        let tenants = params.int("tenants")?;
        let caller = match self.guest {
            Some(doorbells) => Role::measured("caller").tenant(TenantKind::MicroGuest).doorbells(doorbells),
            None => Role::measured("caller").tenant(params.tenant()?),
        };
        let mut gates = vec![Gate::new(self.crossing.name(), "caller", key.clone())];
        gates.extend(self.counted.map(|name| Gate::counted(name, "caller")));
        let needs = self.prediction.map(|p| (p.needs)(params)).transpose()?.unwrap_or_default();
        Ok(settled(Plan {
            operation: self.operation.into(),
            roles: vec![Role { count: u32::try_from(tenants).unwrap_or(u32::MAX), ..caller }],
            gates,
            // What many pay at once is no toll: it has the others' share of the processors in it.
            provides: (tenants == 1).then_some(key),
            needs,
            requires: [&self.requires[..], &requires].concat(),
            guests,
        }))
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        Ok(Box::new(SoloActor::<O> { params: params.clone(), operation: None, done: 0 }))
    }

    fn predict(&self, params: &Params, tolls: &dyn TollSource) -> Option<Result<Forecast>> {
        self.prediction.and_then(|p| (p.predict)(params, tolls))
    }
}

struct SoloActor<O> {
    params: Params,
    operation: Option<O>,
    done: u64,
}

/// An operation as the work of a closed loop.
struct Repeated<'o, O>(&'o mut O);

impl<O: Operation> Work for Repeated<'_, O> {
    #[inline(always)]
    fn once(&mut self) {
        self.0.once();
    }

    fn operations(&self) -> u32 {
        self.0.operations()
    }

    fn uses_up(&self) -> bool {
        self.0.uses_up()
    }

    fn restock(&mut self) {
        self.0.restock();
    }
}

impl<O: Operation> Actor for SoloActor<O> {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        self.operation = Some(O::prepare(&self.params, place)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        if let Some(operation) = &mut self.operation {
            self.done = repeat(RunClock::chosen(), window, recorder, &mut Repeated(operation));
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match &mut self.operation {
            Some(operation) if self.done > 0 => operation.verify(self.done),
            _ => Err(Error::Wrong("the operation never ran".into())),
        }
    }

    fn tally(&mut self) -> Tally {
        self.operation.as_ref().map(|o| o.tally(self.done)).unwrap_or_default()
    }
}
