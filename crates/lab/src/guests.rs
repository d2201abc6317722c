//! The Linux guests of a run: booted when a trial first needs them, all at the same time, and parked while trials are
//! played that need others.
//!
//! A guest outlives the crews, whose agents in it are processes that are started anew for each block: what stays is its
//! kernel. Of a comparison even that goes after each block: of two guests that are made alike one is faster by chance for as long as it lives (a disk by a
//! tenth where QEMU translates), and what is compared must not be the luck of two of them. Elsewhere a boot for each block would take longer than what is
//! measured.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tollway_core::{Error, GuestDevice, GuestFacts, LinuxGuestFacts, Plan, Result, TenantKind};
use tollway_host::memory;
use tollway_host::samplers::thread_time;
use tollway_tenant::Agent;
use tollway_tenant::linux::{Boot, CpuTime, GuestOptions, LinuxGuest};

use crate::seats::{Seat, Sitting};
use crate::servers::Servers;

/// How long guests may take to boot. Eight at once took 14 s on two processors, one alone 17 s where four programs were busy beside it;
/// a guest that ends or panics is an error at once.
const BOOT: Duration = Duration::from_secs(120);

/// So much longer for each further one of them.
const BOOT_EACH: Duration = Duration::from_secs(8);

/// Of the memory that is free when a run boots its first guest, the part that parked ones may have: what is measured has the rest.
const PARKED: f64 = 0.5;

/// Virtual processors, and agents, of a guest that has no other of its kind beside it, so that what needs one and what
/// needs two is played in the same.
const ROOMY: u32 = 2;

/// A guest that a plan asks for.
#[derive(Clone, Debug, PartialEq)]
struct Wanted {
    /// Its number in the plan.
    guest: u32,
    /// Which of the guests of that number.
    instance: u32,
    options: GuestOptions,
}

/// A guest that runs.
struct Kept {
    /// Unique in a run.
    id: u32,
    options: GuestOptions,
    guest: LinuxGuest,
    /// Who serves its devices; they go after it.
    servers: Vec<Agent>,
    awake: bool,
    /// The last trial that needed it.
    used: u64,
}

/// The guests of a run.
#[derive(Default)]
pub struct Guests {
    /// What they are booted from; the same for all.
    boot: Option<Arc<Boot>>,
    kept: Vec<Kept>,
    /// Memory that parked ones may have together, in MiB.
    room_mib: u64,
    next: u32,
    trials: u64,
    facts: GuestFacts,
    /// What the agent of guests must have been built from.
    build: String,
}

/// The guests that one trial needs, by their numbers in its plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lodging(Vec<(u32, u32, u32)>);

impl Lodging {
    /// The id of a guest.
    pub(crate) fn id(&self, guest: u32, instance: u32) -> Option<u32> {
        self.0.iter().find(|(g, i, _)| (*g, *i) == (guest, instance)).map(|(.., id)| *id)
    }
}

impl fmt::Debug for Guests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guests")
            .field("trials", &self.trials)
            .field("build", &self.build)
            .finish_non_exhaustive()
    }
}

impl Guests {
    /// None yet; of those that the run had before it was interrupted this is known.
    /// `build` is what their agents must have been built of.
    pub fn new(facts: GuestFacts, build: String) -> Self {
        Guests { facts, build, ..Guests::default() }
    }

    /// What virtual machines were used so far.
    pub(crate) fn facts(&self) -> &GuestFacts {
        &self.facts
    }

    /// Processor time of all that run.
    pub(crate) fn processor_time(&self) -> Duration {
        let guests = self.kept.iter().filter_map(|kept| kept.guest.cpu_time().ok()).map(|time| time.whole);
        let servers = self.kept.iter().flat_map(|kept| &kept.servers).filter_map(Agent::process);
        guests.chain(servers.filter_map(|pid| thread_time::process_of(pid.cast_signed()).ok())).sum()
    }

    /// Has the guests of a plan run, and parks the others. `servers` starts who serves their devices, and has the environment
    /// of their agents.
    pub(crate) fn lodge(
        &mut self,
        plan: &Plan,
        sittings: &[Sitting<'_>],
        servers: &Servers<'_>,
    ) -> Result<Lodging> {
        if plan.uses(TenantKind::MicroGuest) && self.facts.micro_guests.is_none() {
            self.facts.micro_guests = Some(servers.target.micro_guests()?);
        }
        self.trials += 1;
        self.give_up_ended();
        let cpus = servers.cpus;
        let wanted = wanted(plan, sittings, &servers.executable.environment, cpus.len());
        let first_new = self.next;
        let lodging = self.assign(&wanted, servers);
        let lodging = lodging.and_then(|lodging| {
            self.move_in(first_new, &wanted, &lodging, cpus)?;
            Ok(lodging)
        });
        if lodging.is_err() {
            // Where one of them fails, nobody has waited for the others, nor pinned them: the next trial, for which they
            // would not be new, has fresh ones instead.
            self.kept.retain(|kept| kept.id < first_new);
        }
        lodging
    }

    /// Ends all of them: what comes next has fresh ones.
    pub(crate) fn part(&mut self) {
        self.kept.clear();
    }

    /// Those that have ended, or whose servers have; and who has a wire to one of them, which leads nowhere now.
    fn give_up_ended(&mut self) {
        let has_ended =
            |kept: &mut Kept| kept.guest.has_ended() || kept.servers.iter_mut().any(Agent::has_ended);
        let ended: Vec<bool> = self.kept.iter_mut().map(has_ended).collect();
        let devices: Vec<&[GuestDevice]> =
            self.kept.iter().map(|kept| &kept.options.spec.devices[..]).collect();
        let mut useless = cut_off(&ended, &devices).into_iter();
        self.kept.retain(|_| !useless.next().unwrap_or_default());
    }

    /// A guest for each that is wanted, started where none is free.
    fn assign(&mut self, wanted: &[Wanted], servers: &Servers<'_>) -> Result<Lodging> {
        let mut lodging = Lodging::default();
        for want in wanted {
            let trial = self.trials;
            let free = |kept: &&mut Kept| kept.options == want.options && kept.used < trial;
            let id = match self.kept.iter_mut().find(free) {
                Some(kept) => {
                    kept.used = trial;
                    kept.id
                }
                None => self.start(&want.options, servers)?,
            };
            lodging.0.push((want.guest, want.instance, id));
        }
        Ok(lodging)
    }

    /// Waits for the guests from this id on, and pins their virtual processors.
    fn move_in(&mut self, first_new: u32, wanted: &[Wanted], lodging: &Lodging, cpus: &[u32]) -> Result<()> {
        self.wake_or_park()?;
        self.booted(first_new)?;
        for (want, (.., id)) in wanted.iter().zip(&lodging.0).filter(|(_, (.., id))| *id >= first_new) {
            for vcpu in 0..want.options.vcpus {
                // Guests of the same number begin at different processors.
                let cpu = cpus[(vcpu + want.instance) as usize % cpus.len()];
                self.kept(*id)?.guest.pin(vcpu, cpu)?;
            }
        }
        Ok(())
    }

    /// A fresh agent of a guest.
    pub(crate) fn agent(&self, id: u32, process: u32) -> Result<Agent> {
        self.kept(id)?.guest.agent(process as usize)
    }

    /// Processor time that a guest was given so far.
    pub(crate) fn cpu_time(&self, id: u32) -> Result<CpuTime> {
        self.kept(id)?.guest.cpu_time()
    }

    fn kept(&self, id: u32) -> Result<&Kept> {
        self.kept.iter().find(|kept| kept.id == id).ok_or_else(|| Error::Tenant {
            tenant: "Linux guest".into(),
            reason: "it is no longer there".into(),
        })
    }

    /// Starts a guest, and before it who serves its devices; it is not waited for.
    fn start(&mut self, options: &GuestOptions, servers: &Servers<'_>) -> Result<u32> {
        let boot = match &self.boot {
            Some(boot) => boot.clone(),
            None => {
                self.room_mib = (memory::available().unwrap_or_default() as f64 * PARKED) as u64 >> 20;
                self.boot.insert(Arc::new(Boot::prepare(Some(&self.build))?)).clone()
            }
        };
        let mut served = options.clone();
        let servers = servers.serve(&mut served.spec.devices)?;
        let guest = LinuxGuest::start(&boot, &served)?;
        let id = self.next;
        self.next += 1;
        let (options, used) = (options.clone(), self.trials);
        self.kept.push(Kept { id, options, guest, servers, awake: true, used });
        Ok(id)
    }

    /// Wakes what this trial needs and parks the rest. What has not been needed for longest is given up where that are
    /// too many.
    fn wake_or_park(&mut self) -> Result<()> {
        let trial = self.trials;
        for kept in self.kept.iter_mut().filter(|kept| kept.awake != (kept.used == trial)) {
            kept.awake = kept.used == trial;
            if kept.awake { kept.guest.wake()? } else { kept.guest.park()? }
        }
        let parked = self.kept.iter().filter(|kept| !kept.awake);
        let memory = parked.map(|kept| (kept.used, kept.options.spec.memory_mib)).collect();
        let oldest = oldest_with_room(memory, self.room_mib);
        self.kept.retain(|kept| kept.awake || kept.used >= oldest);
        Ok(())
    }

    /// Waits for the guests from this id on.
    fn booted(&mut self, first: u32) -> Result<()> {
        let fresh = self.next - first;
        let deadline = Instant::now() + BOOT + BOOT_EACH * fresh;
        for kept in self.kept.iter_mut().filter(|kept| kept.id >= first) {
            kept.guest.booted(deadline)?;
        }
        for at in 0..self.kept.len() {
            if self.kept[at].id >= first {
                self.note(at)?;
            }
        }
        Ok(())
    }

    /// Takes down what is known of a guest that has just booted.
    fn note(&mut self, at: usize) -> Result<()> {
        let Kept { options, guest, .. } = &self.kept[at];
        let facts = match (&mut self.facts.linux_guests, &self.boot) {
            (Some(facts), _) => facts,
            (none, Some(boot)) => none.insert(LinuxGuestFacts {
                accelerator: guest.accelerator(),
                why: boot.choice().why.clone(),
                qemu: boot.found().qemu.version.clone(),
                kernel: guest.agent(0)?.hello().kernel.clone(),
                memory_mib: 0,
                boot_ms: Vec::new(),
            }),
            _ => return Ok(()),
        };
        facts.memory_mib = facts.memory_mib.max(options.spec.memory_mib);
        facts.boot_ms.extend(guest.boot_time().map(|time| time.as_secs_f64() * 1e3));
        Ok(())
    }
}

/// Of parked guests, by the trial that needed each last and with its memory in MiB: the first trial whose guests have room, where
/// those needed last come first. Guests of one trial are given up together, or kept together.
fn oldest_with_room(mut parked: Vec<(u64, u32)>, room_mib: u64) -> u64 {
    parked.sort_unstable_by(|a, b| b.cmp(a));
    let mut taken = 0;
    let beyond = parked.iter().find(|(_, mib)| {
        taken += u64::from(*mib);
        taken > room_mib
    });
    beyond.map_or(0, |(used, _)| used + 1)
}

/// Of guests with these devices, which have ended, or had a wire to one that has.
fn cut_off(ended: &[bool], devices: &[&[GuestDevice]]) -> Vec<bool> {
    let wires = |of: &[GuestDevice]| -> Vec<u32> {
        of.iter()
            .filter_map(|device| if let GuestDevice::Wire(n) = device { Some(*n) } else { None })
            .collect()
    };
    let cut: Vec<u32> =
        ended.iter().zip(devices).filter(|(ended, _)| **ended).flat_map(|(_, of)| wires(of)).collect();
    let is_cut = |of: &[GuestDevice]| wires(of).iter().any(|wire| cut.contains(wire));
    ended.iter().zip(devices).map(|(ended, of)| *ended || is_cut(of)).collect()
}

/// The guests of a plan, each once.
fn wanted(
    plan: &Plan,
    sittings: &[Sitting<'_>],
    environment: &[(String, String)],
    cpus: usize,
) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for sitting in sittings {
        let Seat::Guest { guest, instance, process } = sitting.seat else { continue };
        let (vcpus, agents) = (sitting.slot + 1, process as usize + 1);
        match wanted.iter_mut().find(|w| (w.guest, w.instance) == (guest, instance)) {
            Some(known) => {
                known.options.vcpus = known.options.vcpus.max(vcpus);
                known.options.agents = known.options.agents.max(agents);
            }
            None => wanted.push(Wanted {
                guest,
                instance,
                options: GuestOptions {
                    spec: plan.guest(guest),
                    vcpus,
                    agents,
                    accelerator: None,
                    environment: environment.to_vec(),
                },
            }),
        }
    }
    if let [alone] = &mut wanted[..] {
        alone.options.vcpus = alone.options.vcpus.max(ROOMY.min(cpus as u32));
        alone.options.agents = alone.options.agents.max(ROOMY as usize);
    }
    wanted
}

#[cfg(test)]
mod tests {
    use tollway_core::{GuestSpec, Role};

    use super::*;
    use crate::seats::{self, seats};

    fn plan(roles: Vec<Role>) -> Plan {
        Plan {
            guests: vec![GuestSpec { memory_mib: 256, ..GuestSpec::default() }],
            ..seats::tests::plan(roles)
        }
    }

    fn of(roles: Vec<Role>) -> Vec<(u32, u32, u32, usize, u32)> {
        let plan = plan(roles);
        let all = wanted(&plan, &seats(&plan), &[], 2);
        let brief =
            |w: &Wanted| (w.guest, w.instance, w.options.vcpus, w.options.agents, w.options.spec.memory_mib);
        all.iter().map(brief).collect()
    }

    fn guest(name: &str) -> Role {
        Role::measured(name).tenant(TenantKind::LinuxGuest)
    }

    #[test]
    fn what_needs_one_processor_and_what_needs_two_lives_in_the_same() {
        let one = of(vec![guest("caller")]);
        assert_eq!(one, [(0, 0, 2, 2, 256)]);
        assert_eq!(of(vec![guest("server").core(1), guest("caller")]), one);
        assert!(of(vec![Role::measured("here")]).is_empty());
    }

    #[test]
    fn what_was_needed_last_is_kept_as_long_as_there_is_room() {
        let parked = || vec![(3, 256), (7, 512), (5, 256), (7, 256), (9, 1024)];
        let kept = |room| {
            let oldest = oldest_with_room(parked(), room);
            parked().into_iter().filter(|(used, _)| *used >= oldest).map(|(used, _)| used).collect::<Vec<_>>()
        };
        assert_eq!(kept(4096), [3, 7, 5, 7, 9]);
        assert_eq!(kept(2304), [3, 7, 5, 7, 9]);
        assert_eq!(kept(2303), [7, 5, 7, 9]);
        // The two of one trial go together.
        assert_eq!(kept(1791), [9]);
        assert_eq!(kept(1000), [0; 0]);
    }

    #[test]
    fn who_had_a_wire_to_one_that_ended_goes_with_it() {
        let wire = |number| [GuestDevice::Rng { bytes_per_second: None }, GuestDevice::Wire(number)];
        let (zero, one, none) = (wire(0), wire(1), [GuestDevice::Crypto]);
        let devices = [&zero[..], &one, &zero, &none, &one];
        assert_eq!(cut_off(&[false, false, true, false, false], &devices), [true, false, true, false, false]);
        assert_eq!(
            cut_off(&[false, false, false, true, false], &devices),
            [false, false, false, true, false]
        );
    }

    #[test]
    fn each_actor_of_a_role_has_a_guest_of_its_own() {
        let three = of(vec![Role { count: 3, ..guest("caller") }]);
        assert_eq!(three, [(0, 0, 1, 1, 256), (0, 1, 1, 1, 256), (0, 2, 1, 1, 256)]);
        let two_kinds = of(vec![guest("a"), Role { guest: 1, ..guest("b") }]);
        assert_eq!(two_kinds, [(0, 0, 1, 1, 256), (1, 0, 1, 1, GuestSpec::default().memory_mib)]);
    }
}
