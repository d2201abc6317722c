//! Which agent plays which actor of a plan, and on which core slot.

use tollway_core::{Plan, Role, TenantKind};

/// An agent, by what makes it the same from trial to trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    /// A process that one actor has for itself.
    Process(u32),
    /// The process whose threads are actors.
    Threads,
    /// The process of whose memory all micro-guests of a trial are made.
    MicroGuests,
    /// A process of a Linux guest.
    Guest {
        /// The guest's number in the plan.
        guest: u32,
        /// Which of the guests of that number: actors of one role have a guest each, unless they are together.
        instance: u32,
        /// The process's number in that guest.
        process: u32,
    },
}

/// One actor and its seat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sitting<'p> {
    pub(crate) role: &'p Role,
    /// Which of the role's actors.
    pub(crate) number: u32,
    pub(crate) seat: Seat,
    /// Its core slot, in a Linux guest the virtual processor. Actors of one role take the slots from the role's own on; where there are more actors than slots
    /// the crew begins again with the first.
    pub(crate) slot: u32,
    /// The core slot that others of several actors keep off, where one has it alone.
    pub(crate) around: Option<u32>,
}

/// A seat for each actor, in the plan's order.
pub(crate) fn seats(plan: &Plan) -> Vec<Sitting<'_>> {
    let mut sittings: Vec<Sitting<'_>> = Vec::new();
    let mut processes = 0;
    let alone = plan.roles.iter().find(|role| role.alone).map(|role| role.core);
    for role in &plan.roles {
        for number in 0..role.count {
            let seat = match role.tenant {
                TenantKind::Thread => Seat::Threads,
                TenantKind::MicroGuest => Seat::MicroGuests,
                TenantKind::Process => {
                    processes += 1;
                    Seat::Process(processes - 1)
                }
                TenantKind::LinuxGuest => {
                    let (guest, instance) = (role.guest, if role.together { 0 } else { number });
                    let there = |s: &&Sitting<'_>| matches!(s.seat, Seat::Guest { guest: g, instance: i, .. } if (g, i) == (guest, instance));
                    let process = sittings.iter().filter(there).count() as u32;
                    Seat::Guest { guest, instance, process }
                }
            };
            let around = alone.filter(|_| !role.alone);
            let slot = match seat {
                Seat::Guest { .. } if !role.together => role.core,
                _ => role.core + number,
            };
            sittings.push(Sitting { role, number, seat, slot, around });
        }
    }
    sittings
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plan of nothing but roles.
    pub(crate) fn plan(roles: Vec<Role>) -> Plan {
        Plan {
            operation: String::new(),
            roles,
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires: Vec::new(),
            guests: Vec::new(),
        }
    }

    fn many(role: Role, count: u32) -> Role {
        Role { count, ..role }
    }

    #[test]
    fn processes_are_their_own_threads_and_micro_guests_share() {
        let plan = plan(vec![
            many(Role::serving("a"), 2),
            many(Role::serving("b").tenant(TenantKind::Thread), 2),
            many(Role::measured("c").tenant(TenantKind::MicroGuest).core(1), 2),
        ]);
        let found: Vec<_> = seats(&plan).iter().map(|s| (s.seat, s.slot)).collect();
        assert_eq!(
            found,
            [
                (Seat::Process(0), 0),
                (Seat::Process(1), 1),
                (Seat::Threads, 0),
                (Seat::Threads, 1),
                (Seat::MicroGuests, 1),
                (Seat::MicroGuests, 2),
            ]
        );
    }

    #[test]
    fn roles_share_a_linux_guest_and_their_actors_do_not() {
        let guest = |name: &str| many(Role::serving(name).tenant(TenantKind::LinuxGuest), 2);
        let plan = plan(vec![guest("server"), guest("client"), Role { guest: 1, ..guest("other") }]);
        let found: Vec<_> = seats(&plan)
            .iter()
            .map(|s| match s.seat {
                Seat::Guest { guest, instance, process } => (guest, instance, process),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(found, [(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 1, 0)]);
    }

    #[test]
    fn actors_that_are_together_share_a_linux_guest_and_no_processor_of_it() {
        let worker = Role { together: true, ..Role::measured("worker").tenant(TenantKind::LinuxGuest) };
        let found = |role: Role| {
            let sitting = |s: &Sitting<'_>| (s.seat, s.slot);
            seats(&plan(vec![many(role, 2)])).iter().map(sitting).collect::<Vec<_>>()
        };
        let seat = |instance, process| Seat::Guest { guest: 0, instance, process };
        assert_eq!(found(worker.clone()), [(seat(0, 0), 0), (seat(0, 1), 1)]);
        assert_eq!(found(Role { together: false, ..worker }), [(seat(0, 0), 0), (seat(1, 0), 0)]);
    }
}
