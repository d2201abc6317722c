//! The agents of one block, and how one trial is played by them.
//!
//! A crew belongs to a block: its processes are started anew for each, so that a memory layout that is lucky once is
//! averaged out. Within a block the processes are kept, and every trial has actors of its own in them. When a tenant
//! dies or does not answer, the whole crew is dismissed and the next trial starts a fresh one.

use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tollway_core::{
    Address, Clock, Error, Lot, Params, Plan, Result, Spread, Tally, TenantKind, Ticks, TrialSpec, Window,
};
use tollway_host::clock::RunClock;
use tollway_host::gap::{self, Gaps};
use tollway_host::meters::{Meters, MetersDelta};
use tollway_host::samplers::thread_time;
use tollway_host::samplers::usage::children_of;
use tollway_tenant::protocol::{Answer, Command, Make, Ran};
use tollway_tenant::{Agent, Executable, Target};

use crate::guests::Guests;
use crate::seats::{Seat, Sitting, seats};
use crate::servers::Servers;

/// Between the last command and the opening of the warm-up: every actor has to have heard by then.
const LEAD: Duration = Duration::from_micros(400);

/// So much more where some of them live in a Linux guest, which a word takes longer to reach.
const LEAD_GUEST: Duration = Duration::from_millis(5);

/// So much more where they live on another host, besides the time that a word takes to get there and back.
const LEAD_ELSEWHERE: Duration = Duration::from_millis(5);

/// So much more for each actor after the first.
const LEAD_EACH: Duration = Duration::from_micros(40);

/// How long an actor may take beyond its window, or for a command that has none. A batch that took microseconds when its size was
/// chosen takes seconds beside programs that leave it little of its processor: 896 requests of the fast path, whose ends give way
/// to each other and so to everyone, came 2.6 s late.
pub const GRACE: Duration = Duration::from_secs(30);

/// How long the others may take once one has failed: if one of them has died, that is known by then.
const AFTER_FAILURE: Duration = Duration::from_secs(2);

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
    /// How long an actor may take beyond its window, where that is more than usual.
    pub patience: Duration,
    /// Operations timed together; 0 lets the actor find out.
    pub batch: u32,
    /// Steps of delay planted in every sample.
    pub planted: u32,
    /// What its actors draw of.
    pub seed: u64,
}

/// What a trial brought.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The measured role's distribution.
    pub spread: Spread,
    /// The counts of all roles.
    pub tally: Tally,
    /// What each actor's run brought, in the plan's order.
    pub actors: Vec<Played>,
    /// What the machine did meanwhile.
    pub meters: MetersDelta,
    /// The meters as they stood after the window.
    pub after: Meters,
    /// How long it took until processes and guests were there that were not before.
    pub starting: Duration,
    /// Processor time that this run had used by then of another host, where it is on one.
    pub elsewhere: Option<Duration>,
}

impl Outcome {
    /// What the measured core lost, as far as somebody watched: while the actor waited for the window, and within it
    /// where operations are batched. An operation that is stamped on its own may be long by its own nature.
    pub fn gaps(&self, hz: f64) -> Gaps {
        let mut gaps = Gaps::default();
        for actor in &self.actors {
            gaps += actor.ran.gaps;
        }
        if self.spread.batch > 1 {
            let lost = self.spread.excess(gap::threshold(hz) as f64) as u64;
            gaps += Gaps { lost, watched: self.spread.ticks, ..Gaps::default() };
        }
        gaps
    }
}

/// What one actor's run brought.
#[derive(Clone, Debug)]
pub struct Played {
    /// Its role.
    pub role: String,
    /// Which of the role's actors.
    pub number: u32,
    /// Where it lived.
    pub tenant: TenantKind,
    /// What it said of its run.
    pub ran: Ran,
    /// Share of a processor that this machine gave the virtual processor of its Linux guest in the window.
    pub given: Option<f64>,
}

/// The agent processes of a block.
pub struct Crew<'a> {
    target: &'a Target,
    executable: &'a Executable,
    cpus: &'a [u32],
    hz: f64,
    grace: Duration,
    agents: Vec<Agent>,
    /// Whose seat each agent has.
    seats: Vec<Chair>,
    actors: u32,
    /// How long it took to have those of the last trial seated.
    starting: Duration,
}

/// A seat that is the same from trial to trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chair {
    /// On the target itself.
    Here(Seat),
    /// In the Linux guest of that id, the process of that number.
    Guest(u32, u32),
}

/// One actor of the trial under way.
struct Member<'p> {
    sitting: Sitting<'p>,
    /// Index of its agent.
    agent: usize,
    /// The Linux guest that it lives in.
    guest: Option<u32>,
    /// Its number with that agent.
    number: u32,
}

impl fmt::Debug for Crew<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew")
            .field("target", self.target)
            .field("agents", &self.agents)
            .finish_non_exhaustive()
    }
}

impl<'a> Crew<'a> {
    /// An empty crew; processes are started on the target when a trial first needs them. `cpus` are the processors for the
    /// plan's core slots; `hz` is the rate of the clock; `grace` is how long an actor may take beyond its window.
    pub fn new(
        target: &'a Target,
        executable: &'a Executable,
        cpus: &'a [u32],
        hz: f64,
        grace: Duration,
    ) -> Self {
        Crew {
            target,
            executable,
            cpus,
            hz,
            grace,
            agents: Vec::new(),
            seats: Vec::new(),
            actors: 0,
            starting: Duration::ZERO,
        }
    }

    /// Plays one trial.
    ///
    /// # Errors
    /// [`Error::Missing`] where an actor found that the machine lacks something, [`Error::Wrong`] where its result
    /// failed verification, [`Error::Tenant`] where a tenant died or hung (the crew is then dismissed).
    pub fn play(&mut self, job: &Job<'_>, guests: &mut Guests) -> Result<Outcome> {
        let outcome = self.try_play(job, guests);
        if outcome.is_err() {
            // Some actor may be stuck in the middle of something.
            self.agents.clear();
            self.seats.clear();
        }
        outcome
    }

    fn try_play(&mut self, job: &Job<'_>, guests: &mut Guests) -> Result<Outcome> {
        let members = self.assemble(job, guests)?;
        let (before, _) = self.target.read()?;
        let actors = self.run(job, &members, guests)?;
        let (after, elsewhere) = self.target.read()?;
        let meters = after.since(&before);
        let tally = self.finish(&members, self.grace.max(job.patience))?;
        let mut spread: Option<Spread> = None;
        for actor in &actors {
            if let Some(more) = &actor.ran.spread {
                match &mut spread {
                    Some(all) => all.merge(more),
                    None => spread = Some(more.clone()),
                }
            }
        }
        match spread {
            Some(spread) if spread.samples() > 0 => {
                Ok(Outcome { spread, tally, actors, meters, after, starting: self.starting, elsewhere })
            }
            _ => Err(Error::Wrong("nothing was recorded in the window".into())),
        }
    }

    /// Processor time that the agents, and processes that they started and that have ended, have used.
    pub fn processor_time(&self) -> Duration {
        let pids = self.agents.iter().filter_map(Agent::process);
        pids.map(|pid| {
            let own = thread_time::process_of(pid.cast_signed()).unwrap_or_default();
            own + children_of(pid).unwrap_or_default()
        })
        .sum()
    }

    /// Makes the actors and gets them ready, role by role; the actors of one role all at once.
    fn assemble<'p>(&mut self, job: &Job<'p>, guests: &mut Guests) -> Result<Vec<Member<'p>>> {
        let (begun, already) = (Instant::now(), self.agents.len());
        let sittings = seats(job.plan);
        let servers =
            Servers { target: self.target, executable: self.executable, cpus: self.cpus, hz: self.hz };
        let lodging = guests.lodge(job.plan, &sittings, &servers)?;
        let mut members: Vec<Member<'p>> = Vec::new();
        for sitting in sittings {
            let guest = match sitting.seat {
                Seat::Guest { guest, instance, .. } => lodging.id(guest, instance),
                _ => None,
            };
            let agent = self.seated(sitting.seat, guest, guests)?;
            members.push(Member { sitting, agent, guest, number: self.actors });
            self.actors += 1;
        }
        self.starting = if self.agents.len() > already { begun.elapsed() } else { Duration::ZERO };
        let mut guests: Vec<(Option<u32>, usize)> = members.iter().map(|m| (m.guest, m.agent)).collect();
        guests.dedup_by_key(|(guest, _)| *guest);
        for (_, agent) in guests.iter().filter(|(guest, _)| guest.is_some()) {
            self.agents[*agent].synchronise()?;
        }
        let mut addresses: Vec<Address> = Vec::new();
        for role in &job.plan.roles {
            let of_role = |m: &&Member<'p>| m.sitting.role.name == role.name;
            let now: Vec<&Member<'p>> = members.iter().filter(of_role).collect();
            for member in &now {
                let make = self.make(job, &member.sitting)?;
                self.agents[member.agent].send(member.number, Command::Make(make))?;
            }
            self.gather(&now, self.grace.max(job.patience), "to be made")?;
            for member in &now {
                self.agents[member.agent].send(member.number, Command::Ready(addresses.clone()))?;
            }
            let ready = self.gather(&now, self.grace.max(job.patience), "to get ready")?;
            for (member, answer) in now.iter().zip(ready) {
                match answer {
                    Answer::Ready(address) => addresses.push(address),
                    other => return Err(out_of_turn(member, &other)),
                }
            }
        }
        Ok(members)
    }

    /// The agent of a seat, started where there is none yet.
    fn seated(&mut self, seat: Seat, guest: Option<u32>, guests: &Guests) -> Result<usize> {
        let chair = match (seat, guest) {
            (Seat::Guest { process, .. }, Some(id)) => Chair::Guest(id, process),
            (seat, _) => Chair::Here(seat),
        };
        if let Some(at) = self.seats.iter().position(|taken| *taken == chair) {
            return Ok(at);
        }
        self.agents.push(match chair {
            Chair::Guest(id, process) => guests.agent(id, process)?,
            Chair::Here(_) => self.target.start(self.executable)?,
        });
        self.seats.push(chair);
        Ok(self.agents.len() - 1)
    }

    fn make(&self, job: &Job<'_>, sitting: &Sitting<'_>) -> Result<Make> {
        let role = sitting.role;
        Ok(Make {
            path: job.path.into(),
            variant: job.variant.into(),
            role: role.name.clone(),
            params: job.params.clone(),
            tenant: role.tenant,
            cpu: Some(self.cpu(sitting)?),
            doorbells: role.doorbells,
            measured: role.measured,
            hz: self.hz,
            requires: role.requires.clone(),
            lot: Lot { number: sitting.number, seed: job.seed },
        })
    }

    /// The processor of a core slot. Only where many actors play a role do they begin again with the first.
    fn cpu(&self, sitting: &Sitting<'_>) -> Result<u32> {
        if sitting.role.tenant == TenantKind::LinuxGuest {
            // One of the guest's own: its virtual processors are pinned to this machine's.
            return Ok(sitting.slot);
        }
        let slot = match sitting.role.count {
            1 => sitting.slot as usize,
            _ => self.slot_of_many(sitting),
        };
        self.cpus.get(slot).copied().ok_or_else(|| Error::Input {
            place: "plan".into(),
            reason: format!("it wants {} cores, this process may use {}", slot + 1, self.cpus.len()),
            remedy: "run it where more cores are allowed (taskset, cgroup cpuset)".into(),
        })
    }

    /// The slots that there are, in turn; but not the one that somebody has alone, where there is another.
    fn slot_of_many(&self, sitting: &Sitting<'_>) -> usize {
        let kept = sitting.around.map_or(usize::MAX, |slot| slot as usize);
        let free: Vec<usize> = (0..self.cpus.len()).filter(|slot| *slot != kept).collect();
        free.get(sitting.slot as usize % free.len().max(1)).copied().unwrap_or_default()
    }

    /// Opens one window for all and collects what they bring.
    fn run(&mut self, job: &Job<'_>, members: &[Member<'_>], guests: &Guests) -> Result<Vec<Played>> {
        let lead = if members.iter().any(|m| m.guest.is_some()) { LEAD_GUEST } else { Duration::ZERO };
        let (now, way) = self.target.now()?;
        let lead = if self.target.is_here() { lead } else { lead + LEAD_ELSEWHERE + way };
        let lead = lead + LEAD + LEAD_EACH * (members.len() as u32).saturating_sub(1);
        let ticks = |d: Duration| (d.as_secs_f64() * self.hz) as u64;
        let (warmup, length) = (
            Duration::from_secs_f64(job.spec.warmup_ms / 1e3),
            Duration::from_secs_f64(job.spec.window_ms / 1e3),
        );
        let warm = now + ticks(lead);
        let open = warm + ticks(warmup);
        let window =
            Window { warm, open, close: open + ticks(length), batch: job.batch, planted: job.planted };
        for member in members {
            self.agents[member.agent].send(member.number, Command::Run(window))?;
        }
        let given = watch(members, guests, &window, self.hz);
        let all: Vec<&Member<'_>> = members.iter().collect();
        let answers = self.gather(&all, lead + warmup + length + self.grace.max(job.patience), "to run")?;
        let mut played = Vec::new();
        for ((member, answer), given) in members.iter().zip(answers).zip(given) {
            let Answer::Ran(ran) = answer else { return Err(out_of_turn(member, &answer)) };
            played.push(Played {
                role: member.sitting.role.name.clone(),
                number: member.sitting.number,
                tenant: member.sitting.role.tenant,
                ran: *ran,
                given,
            });
        }
        Ok(played)
    }

    /// Lets every actor verify and hand in its tally.
    fn finish(&mut self, members: &[Member<'_>], patience: Duration) -> Result<Tally> {
        for member in members {
            self.agents[member.agent].send(member.number, Command::Finish)?;
        }
        let all: Vec<&Member<'_>> = members.iter().collect();
        let mut tally = Tally::default();
        for (member, answer) in members.iter().zip(self.gather(&all, patience, "to finish")?) {
            match answer {
                Answer::Finished(more) => tally.merge(&more),
                other => return Err(out_of_turn(member, &other)),
            }
        }
        Ok(tally)
    }

    /// Waits until each of these has answered its last command, and returns the answers in their order.
    ///
    /// An actor that fails first explains others that hang later, and an actor that has died explains others that failed before its death was
    /// known, as by a broken connection. `doing` is for the error of an actor that does not answer.
    fn gather(&mut self, members: &[&Member<'_>], patience: Duration, doing: &str) -> Result<Vec<Answer>> {
        let mut deadline = Instant::now() + patience;
        let mut answers: Vec<Option<Answer>> = members.iter().map(|_| None).collect();
        let mut failure: Option<Error> = None;
        while let Some(waiting) = outstanding(members, &answers) {
            let (at, reply) = match Agent::first_of(&mut self.agents, &waiting, deadline) {
                Ok(heard) => heard,
                Err(error) => {
                    let has_died = Instant::now() < deadline;
                    return Err(failure.filter(|_| !has_died).unwrap_or_else(|| when(doing, error)));
                }
            };
            let index = members.iter().position(|m| m.agent == at && m.number == reply.actor);
            let Some(index) = index.filter(|i| answers[*i].is_none()) else {
                let reason = format!("it answered for actor {}, of which nothing was asked", reply.actor);
                return Err(Error::Tenant { tenant: "agent".into(), reason });
            };
            if let Answer::Failed(error) = &reply.answer {
                deadline = deadline.min(Instant::now() + AFTER_FAILURE);
                failure.get_or_insert(error.clone());
            }
            answers[index] = Some(reply.answer);
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(answers.into_iter().flatten().collect()),
        }
    }
}

/// The share of a processor that the Linux guest of each gets in the window: read when it opens and when it closes,
/// while nobody else here has anything to do.
fn watch(members: &[Member<'_>], guests: &Guests, window: &Window, hz: f64) -> Vec<Option<f64>> {
    if members.iter().all(|m| m.guest.is_none()) {
        return vec![None; members.len()];
    }
    let clock = RunClock::chosen();
    let read = |at: Ticks| -> Vec<(Ticks, Option<Duration>)> {
        let left = at.saturating_sub(clock.now()) as f64 / hz;
        sleep(Duration::try_from_secs_f64(left).unwrap_or_default());
        let time = |member: &Member<'_>| {
            let vcpu = member.sitting.slot as usize;
            guests.cpu_time(member.guest?).ok()?.vcpus.get(vcpu).copied()
        };
        members.iter().map(|member| (clock.now(), time(member))).collect()
    };
    let (opened, closed) = (read(window.open), read(window.close));
    let share = |((from, before), (to, after)): ((Ticks, Option<Duration>), (Ticks, Option<Duration>))| {
        let given = after?.checked_sub(before?)?;
        (to > from).then(|| given.as_secs_f64() * hz / (to - from) as f64)
    };
    opened.into_iter().zip(closed).map(share).collect()
}

/// The agents that still owe an answer; `None` where none does.
fn outstanding(members: &[&Member<'_>], answers: &[Option<Answer>]) -> Option<Vec<usize>> {
    let owing = members.iter().zip(answers).filter(|(_, answer)| answer.is_none());
    let mut agents: Vec<usize> = owing.map(|(member, _)| member.agent).collect();
    agents.sort_unstable();
    agents.dedup();
    (!agents.is_empty()).then_some(agents)
}

/// The error of a tenant, with what it was about.
fn when(doing: &str, error: Error) -> Error {
    match error {
        Error::Tenant { tenant, reason } => {
            Error::Tenant { tenant, reason: format!("when it was {doing}, {reason}") }
        }
        other => other,
    }
}

fn out_of_turn(member: &Member<'_>, answer: &Answer) -> Error {
    let tenant = member.sitting.role.name.clone();
    Error::Tenant { tenant, reason: format!("it answered out of turn: {answer:?}") }
}
