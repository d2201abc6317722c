//! What a plan needs of this machine, and what of the tenant, when its actors live elsewhere.

use tollway_core::{Plan, Requirement, TenantKind};

/// The same plan with requirements that suit where its actors live: a micro-guest wants KVM and a clock that it can
/// read, and what an operation wants of a Linux guest is asked there, not here.
pub(super) fn settled(mut plan: Plan) -> Plan {
    if plan.uses(TenantKind::MicroGuest) {
        plan.requires.extend([Requirement::Kvm, Requirement::InvariantTsc]);
    }
    if plan.uses(TenantKind::LinuxGuest) {
        // Cores are this machine's in any case: a guest's virtual processors run on them.
        let (here, there) = plan.requires.drain(..).partition(|r| matches!(r, Requirement::Cores(_)));
        plan.requires = here;
        plan.requires.push(Requirement::LinuxGuest);
        for role in plan.roles.iter_mut().filter(|r| r.tenant == TenantKind::LinuxGuest) {
            role.requires = Vec::clone(&there);
        }
    }
    plan
}
