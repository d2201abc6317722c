//! How much a system can take: the largest load, number of tenants or interrupt cap at which a service level is kept.
//!
//! A [`Question`] names a model of the catalogue, what is given, the parameter that is varied, and the [`Level`]s to keep.
//! Its [`Answer`] is the end of the range in which all of them are kept, with the figures there, what binds beyond, and
//! how the answer moves with everything else.
//!
//! Nothing is taken for granted of the model but that it answers: the whole range is scanned first, so that a level which
//! is kept on several intervals, or only above some load, is told as such. The search between two scanned points is
//! bracketed; its number of steps is bounded.

mod answer;
mod axis;
mod derived;
mod level;
mod perturb;
mod question;
mod search;
mod sensitivity;
mod words;

pub use answer::{Answer, Binds, CapacityError, Closest, Goal, Kept, Sensitivity};
pub use derived::Derived;
pub use level::Level;
pub use question::Question;
pub use words::said;
