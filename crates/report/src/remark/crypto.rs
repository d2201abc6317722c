//! Rules about a shared crypto card: what it costs to be told that a request is done.

use super::{Facts, Said, sure, times};
use crate::number::time;

/// A request by interrupt, by looking, and by the library alone, at the largest size that has all of them.
pub(super) fn told_or_looking(facts: &Facts<'_>) -> Option<Said> {
    let sizes = [("16384", "16 KiB"), ("4096", "4 KiB"), ("64", "64 B")];
    let (size, told, looking, library) = sizes.into_iter().find_map(|(size, name)| {
        let takes = |way| facts.takes("cipher", way, &[("size", size)]);
        Some((name, takes("interrupt")?, takes("busy")?, takes("library")?))
    })?;
    let slower = sure(told.over(looking)?)?;
    if slower.lo <= 1.0 {
        return None;
    }
    let mut text = format!(
        "A request of {size} to a shared card takes {} where its tenant sleeps and is interrupted, {} as long as where it looks without end ({})",
        time(told.estimate),
        times(&slower),
        time(looking.estimate)
    );
    let beyond = looking.over(library).filter(|beyond| beyond.lo > 1.0);
    if beyond.is_some() {
        text += &format!("; the library alone takes {}", time(library.estimate));
    }
    Some(Said::new(text + ".", slower.lo))
}
