//! Which loads need a check that the packet is long enough, and how few checks do.
//!
//! The program is translated twice. The **fast copy** begins with one check for the farthest constant offset that a
//! frame of the smallest kind has, and asks for more at once where a load at [x + k] is followed by others. Where such
//! a check fails the packet is not decided: the **careful copy** goes on from the very same instruction with the same
//! registers, and checks every load by itself. So a verdict never depends on how far a check looked ahead.
//!
//! In both copies a load whose bytes are known to be there has no check, and one that cannot succeed ends the program.

use super::super::instruction::{Meaning, Width};
use super::flow::{Facts, successors};

/// The shortest Ethernet frame without its check sequence: no check at the start looks farther than that.
const SMALLEST_FRAME: u32 = 60;
/// How many bytes beyond what a load at [x + k] needs its check may ask for.
const LOOK_AHEAD: u32 = 32;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Copy {
    Fast,
    Careful,
}

/// What a load has to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing: the bytes are there.
    None,
    /// That the packet, or what of it lies behind X, has so many bytes; else the verdict is 0.
    Exact(u32),
    /// That there are so many bytes, more than it needs; else the careful copy decides.
    Ahead(u32),
    /// The bytes are not there: the verdict is 0.
    Hopeless,
}

/// What is known of the packet's length before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// It has at least so many bytes.
    least: u32,
    /// It has at most so many.
    most: u32,
    /// Behind X there are at least so many; 0 says nothing.
    behind_x: u32,
}

impl Known {
    fn or(self, other: Known) -> Known {
        Known {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            behind_x: self.behind_x.min(other.behind_x),
        }
    }
}

/// The checks of both copies.
#[derive(Debug)]
pub(super) struct Checks {
    /// What the fast copy checks at its start; 0 for nothing.
    pub at_start: u32,
    fast: Vec<Check>,
    careful: Vec<Check>,
}

impl Checks {
    /// Those of a program.
    pub fn new(meanings: &[Meaning], facts: &[Facts]) -> Self {
        let ends =
            meanings.iter().enumerate().filter(|(at, _)| *at == 0 || facts[*at].ways_in > 0).filter_map(
                |(_, meaning)| match *meaning {
                    Meaning::LoadAbsolute(width, k) => Some(k + width.bytes()),
                    Meaning::LoadXHeader(k) => Some(k + Width::Byte.bytes()),
                    _ => None,
                },
            );
        let at_start = ends.filter(|end| *end <= SMALLEST_FRAME).max().unwrap_or(0);
        let mut careful_from = vec![None; meanings.len()];
        let start = Known { least: at_start, most: u32::MAX, behind_x: 0 };
        let mut fast_from = vec![None; meanings.len()];
        fast_from[0] = Some(start);
        if at_start > 0 {
            careful_from[0] = Some(Known { least: 0, most: at_start - 1, behind_x: 0 });
        }
        let fast = follow(meanings, facts, fast_from, Some(&mut careful_from));
        let careful = follow(meanings, facts, careful_from, None);
        Checks { at_start, fast, careful }
    }

    /// The check of a load.
    pub fn of(&self, copy: Copy, at: usize) -> Check {
        match copy {
            Copy::Fast => self.fast[at],
            Copy::Careful => self.careful[at],
        }
    }
}

fn follow(
    meanings: &[Meaning],
    facts: &[Facts],
    mut before: Vec<Option<Known>>,
    mut careful: Option<&mut Vec<Option<Known>>>,
) -> Vec<Check> {
    let mut checks = vec![Check::None; meanings.len()];
    for (at, &meaning) in meanings.iter().enumerate() {
        let Some(mut known) = before[at] else { continue };
        match meaning {
            Meaning::LoadAbsolute(width, k) => checks[at] = constant(&mut known, k + width.bytes()),
            Meaning::LoadXHeader(k) => {
                checks[at] = constant(&mut known, k + Width::Byte.bytes());
                known.behind_x = 0;
            }
            Meaning::LoadIndirect(width, k) => {
                let need = k + width.bytes();
                let reach = facts[at].reach_from_x;
                checks[at] = if need <= known.behind_x {
                    Check::None
                } else if need > known.most {
                    Check::Hopeless
                } else if let (true, Some(careful)) =
                    (reach > need && reach - need <= LOOK_AHEAD, careful.as_deref_mut())
                {
                    careful[at] = Some(careful[at].map_or(known, |other| known.or(other)));
                    known.behind_x = reach;
                    Check::Ahead(reach)
                } else {
                    known.behind_x = need;
                    Check::Exact(need)
                };
                // X is not negative.
                known.least = known.least.max(known.behind_x);
            }
            Meaning::LoadXLength | Meaning::LoadXImmediate(_) | Meaning::LoadXScratch(_) | Meaning::Tax => {
                known.behind_x = 0;
            }
            _ => {}
        }
        if checks[at] == Check::Hopeless {
            continue;
        }
        for next in successors(at, meaning) {
            before[next] = Some(before[next].map_or(known, |other| known.or(other)));
        }
    }
    checks
}

/// The check of a load that ends at a constant.
fn constant(known: &mut Known, end: u32) -> Check {
    if end <= known.least {
        Check::None
    } else if end > known.most {
        Check::Hopeless
    } else {
        known.least = end;
        Check::Exact(end)
    }
}
