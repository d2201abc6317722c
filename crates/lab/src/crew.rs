//! The agents of one block, and how one trial is played by them.
//!
//! A crew belongs to a block: its processes are started anew for each, so that a memory layout that is lucky once is
//! averaged out. Within a block the processes are kept, and every trial has actors of its own in them. When a tenant
//! dies or does not answer, the whole crew is dismissed and the next trial starts a fresh one.

use std::time::{Duration, Instant};

use tollway_core::{
    Address, Clock, Error, Params, Plan, Result, Spread, Tally, TenantKind, TrialSpec, Window,
};
use tollway_host::clock::RunClock;
use tollway_host::gap::{self, Gaps};
use tollway_host::meters::{Meters, MetersDelta};
use tollway_host::samplers::thread_time;
use tollway_tenant::protocol::{Answer, Command, Make, Ran};
use tollway_tenant::{Agent, Executable};

use crate::noise;

/// Between the last command and the opening of the warm-up: every actor has to have heard by then.
const LEAD: Duration = Duration::from_micros(400);

/// The same where a micro-guest has to be made in between.
const LEAD_MICRO_GUEST: Duration = Duration::from_millis(6);

/// How long an actor may take beyond its window, or for a command that has none.
pub const GRACE: Duration = Duration::from_secs(5);

/// How long the others may take once one has failed.
const AFTER_FAILURE: Duration = Duration::from_millis(500);

/// One trial to be played.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The path's name.
    pub path: &'a str,
    /// The variant's name.
    pub variant: &'a str,
    /// The point, complete.
    pub params: &'a Params,
    /// The variant's plan for it.
    pub plan: &'a Plan,
    /// Length of window and warm-up.
    pub spec: &'a TrialSpec,
    /// Operations timed together; 0 lets the actor find out.
    pub batch: u32,
    /// Steps of delay planted in every sample.
    pub planted: u32,
}

/// What a trial brought.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The measured role's distribution.
    pub spread: Spread,
    /// The counts of all roles.
    pub tally: Tally,
    /// What each role's run used, in the plan's order.
    pub roles: Vec<(String, Ran)>,
    /// What the machine did meanwhile.
    pub meters: MetersDelta,
    /// The meters as they stood after the window.
    pub after: Meters,
}

impl Outcome {
    /// What the measured core lost, as far as somebody watched: while the actor waited for the window, and within it
    /// where operations are batched. An operation that is stamped on its own may be long by its own nature.
    pub fn gaps(&self, hz: f64) -> Gaps {
        let mut gaps = Gaps::default();
        for (_, ran) in &self.roles {
            gaps += ran.gaps;
        }
        if self.spread.batch > 1 {
            let lost = self.spread.excess(gap::threshold(hz) as f64) as u64;
            gaps += Gaps { lost, watched: self.spread.ticks, ..Gaps::default() };
        }
        gaps
    }
}

/// The agent processes of a block.
pub struct Crew<'a> {
    executable: &'a Executable,
    cpus: &'a [u32],
    hz: f64,
    grace: Duration,
    agents: Vec<Agent>,
    actors: u32,
}

/// One actor of the trial under way.
struct Member {
    agent: usize,
    number: u32,
    role: String,
}

impl<'a> Crew<'a> {
    /// An empty crew; processes are started when a trial first needs them. `cpus` are the processors for the plan's
    /// core slots; `hz` is the rate of the clock; `grace` is how long an actor may take beyond its window.
    pub fn new(executable: &'a Executable, cpus: &'a [u32], hz: f64, grace: Duration) -> Self {
        Crew { executable, cpus, hz, grace, agents: Vec::new(), actors: 0 }
    }

    /// Plays one trial.
    ///
    /// # Errors
    /// [`Error::Missing`] where an actor found that the machine lacks something, [`Error::Wrong`] where its result
    /// failed verification, [`Error::Tenant`] where a tenant died or hung (the crew is then dismissed).
    pub fn play(&mut self, job: &Job<'_>) -> Result<Outcome> {
        let outcome = self.try_play(job);
        if outcome.is_err() {
            // Some actor may be stuck in the middle of something.
            self.agents.clear();
        }
        outcome
    }

    fn try_play(&mut self, job: &Job<'_>) -> Result<Outcome> {
        let members = self.assemble(job)?;
        let before = Meters::read();
        let roles = self.run(job, &members)?;
        let after = Meters::read();
        let meters = after.since(&before);
        let tally = self.finish(&members)?;
        let mut spread: Option<Spread> = None;
        for (_, ran) in &roles {
            if let Some(more) = &ran.spread {
                match &mut spread {
                    Some(all) => all.merge(more),
                    None => spread = Some(more.clone()),
                }
            }
        }
        match spread {
            Some(spread) if spread.samples() > 0 => Ok(Outcome { spread, tally, roles, meters, after }),
            _ => Err(Error::Wrong("nothing was recorded in the window".into())),
        }
    }

    /// Processor time that the agents, and processes that they started and that have ended, have used.
    pub fn processor_time(&self) -> Duration {
        let pids = self.agents.iter().map(|a| a.hello().pid);
        pids.map(|pid| {
            let own = thread_time::process_of(pid.cast_signed()).unwrap_or_default();
            own + noise::children_of(pid).unwrap_or_default()
        })
        .sum()
    }

    /// Makes the actors and gets them ready, in the plan's order.
    fn assemble(&mut self, job: &Job<'_>) -> Result<Vec<Member>> {
        let deadline = Instant::now() + self.grace;
        let mut members = Vec::new();
        let mut addresses: Vec<Address> = Vec::new();
        let mut processes = 0;
        let mut threads_in = None;
        for role in &job.plan.roles {
            for _ in 0..role.count {
                let agent = match role.tenant {
                    TenantKind::Thread => *threads_in.get_or_insert_with(|| next(&mut processes)),
                    TenantKind::Process | TenantKind::MicroGuest => next(&mut processes),
                    TenantKind::LinuxGuest => {
                        return Err(Error::Missing(tollway_core::Missing::new(
                            "Linux guests",
                            "the laboratory does not start them yet",
                            "use a later version",
                        )));
                    }
                };
                while self.agents.len() <= agent {
                    self.agents.push(Agent::start(self.executable)?);
                }
                let number = self.actors;
                self.actors += 1;
                let make = Make {
                    path: job.path.into(),
                    variant: job.variant.into(),
                    role: role.name.clone(),
                    params: job.params.clone(),
                    tenant: role.tenant,
                    cpu: self.cpu(role.core)?,
                    doorbells: role.doorbells,
                    measured: role.measured,
                    hz: self.hz,
                };
                self.agents[agent].ask(number, Command::Make(make), deadline)?;
                match self.agents[agent].ask(number, Command::Ready(addresses.clone()), deadline)? {
                    Answer::Ready(address) => addresses.push(address),
                    other => return Err(out_of_turn(&role.name, &other)),
                }
                members.push(Member { agent, number, role: role.name.clone() });
            }
        }
        Ok(members)
    }

    fn cpu(&self, slot: u32) -> Result<u32> {
        self.cpus.get(slot as usize).copied().ok_or_else(|| Error::Input {
            place: "plan".into(),
            reason: format!("it wants {} cores, this process may use {}", slot + 1, self.cpus.len()),
            remedy: "run it where more cores are allowed (taskset, cgroup cpuset)".into(),
        })
    }

    /// Opens one window for all and collects what they bring.
    fn run(&mut self, job: &Job<'_>, members: &[Member]) -> Result<Vec<(String, Ran)>> {
        let lead = if job.plan.roles.iter().any(|r| r.tenant == TenantKind::MicroGuest) {
            LEAD_MICRO_GUEST
        } else {
            LEAD
        };
        let ticks = |d: Duration| (d.as_secs_f64() * self.hz) as u64;
        let (warmup, length) = (
            Duration::from_secs_f64(job.spec.warmup_ms / 1e3),
            Duration::from_secs_f64(job.spec.window_ms / 1e3),
        );
        let warm = RunClock::chosen().now() + ticks(lead);
        let open = warm + ticks(warmup);
        let window =
            Window { warm, open, close: open + ticks(length), batch: job.batch, planted: job.planted };
        for member in members {
            self.agents[member.agent].send(member.number, Command::Run(window))?;
        }
        let mut deadline = Instant::now() + lead + warmup + length + self.grace;
        let mut ran: Vec<Option<Ran>> = members.iter().map(|_| None).collect();
        let mut failed = vec![false; members.len()];
        let mut failure: Option<Error> = None;
        while let Some(waiting) = outstanding(members, &ran, &failed) {
            // Whoever speaks first is heard first: what failed first explains what hangs later.
            let reply = Agent::first_of(&mut self.agents, &waiting, deadline);
            let (at, reply) = match reply {
                Ok(heard) => heard,
                Err(error) => return Err(failure.unwrap_or(error)),
            };
            let Some(index) = members.iter().position(|m| m.agent == at && m.number == reply.actor) else {
                continue;
            };
            match reply.answer {
                Answer::Ran(result) => ran[index] = Some(*result),
                Answer::Failed(error) => {
                    failed[index] = true;
                    deadline = deadline.min(Instant::now() + AFTER_FAILURE);
                    failure.get_or_insert(error);
                }
                other => return Err(out_of_turn(&members[index].role, &other)),
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        Ok(members.iter().zip(ran).filter_map(|(m, r)| Some((m.role.clone(), r?))).collect())
    }

    /// Lets every actor verify and hand in its tally.
    fn finish(&mut self, members: &[Member]) -> Result<Tally> {
        let deadline = Instant::now() + self.grace;
        let mut all = Tally::default();
        for member in members {
            match self.agents[member.agent].ask(member.number, Command::Finish, deadline)? {
                Answer::Finished(tally) => all.merge(&tally),
                other => return Err(out_of_turn(&member.role, &other)),
            }
        }
        Ok(all)
    }
}

/// The agents that still owe an answer; `None` where none does.
fn outstanding(members: &[Member], ran: &[Option<Ran>], failed: &[bool]) -> Option<Vec<usize>> {
    let owing =
        members.iter().zip(ran.iter().zip(failed)).filter(|(_, (ran, failed))| ran.is_none() && !**failed);
    let mut agents: Vec<usize> = owing.map(|(member, _)| member.agent).collect();
    agents.sort_unstable();
    agents.dedup();
    (!agents.is_empty()).then_some(agents)
}

fn next(count: &mut usize) -> usize {
    *count += 1;
    *count - 1
}

fn out_of_turn(role: &str, answer: &Answer) -> Error {
    Error::Tenant { tenant: role.into(), reason: format!("it answered out of turn: {answer:?}") }
}
