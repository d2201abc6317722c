//! Which rows are meant.

use tollway_store::Point;

/// Whether one of the wishes means that point: its path by name, or words each of which is in path, variant, title or toll.
pub(super) fn wanted(point: &Point, wishes: &[String]) -> bool {
    let spec = &point.spec;
    let toll = spec.toll.as_ref().map(ToString::to_string).unwrap_or_default();
    let text = format!("{} {} {} {toll}", spec.path, spec.variant, spec.title).to_lowercase();
    wishes.iter().any(|wish| {
        let mut words = wish.split_whitespace().map(str::to_lowercase).peekable();
        *wish == spec.path || words.peek().is_some() && words.all(|word| text.contains(&word))
    })
}
