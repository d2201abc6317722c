//! One design a file: each group of crossings says here which variants it has.

mod clocks;
mod disk;
mod duo;
mod exchanges;
mod guests;
mod instructions;
mod interruptions;
mod memory;
mod single;
mod solo;
mod starts;
mod syscalls;
mod tenancy;

pub use duo::Duo;
pub use solo::{Needs, Prediction, Solo};

use tollway_core::{Crossing, Params, Result, TollKey, Variant, Warmth};

/// Every variant, in the order of the price list.
pub fn all() -> Vec<Box<dyn Variant>> {
    let mut all = Vec::new();
    all.extend(instructions::variants());
    all.extend(clocks::variants());
    all.extend(syscalls::variants());
    all.push(Box::new(single::variant()));
    all.extend(memory::variants());
    all.extend(disk::variants());
    all.extend(starts::variants());
    all.push(Box::new(interruptions::Interruptions));
    all.extend(exchanges::variants());
    all.extend(guests::variants());
    all
}

/// The toll key of a crossing at a point: the axes `kind`, `tenant`, `placement`, `warmth`, `size` and `depth`, where it
/// has them.
fn key_of(crossing: Crossing, params: &Params) -> Result<TollKey> {
    let mut key = TollKey::of(crossing).tenant(params.tenant()?);
    // A fault is of anonymous memory where its key says nothing else.
    if params.get("kind").is_some() && (crossing, params.word("kind")?) != (Crossing::MinorFault, "anonymous")
    {
        key = key.kind(params.word("kind")?);
    }
    if params.get("placement").is_some() {
        key = key.placement(params.placement()?);
    }
    // A system call is hot where its key says nothing else.
    if params.get("warmth").is_some() && (crossing, params.warmth()?) != (Crossing::SystemCall, Warmth::Hot) {
        key = key.warmth(params.warmth()?);
    }
    // 0 is the size of what has none.
    if params.get("size").is_some() && params.int("size")? > 0 {
        key = key.size(params.int("size")?);
    }
    if params.get("depth").is_some() {
        let depth = params.int("depth")?;
        key = key.depth(u32::try_from(depth).unwrap_or(u32::MAX));
    }
    Ok(key)
}
