//! How many requests stand at a card: looked at when a function asks, and before and after each of its turns.
//!
//! A request stands from when the card may know of it until it has given it back. Between two looks the number is taken to have
//! gone from the one to the other evenly; out of nothing it came at once, when its function was noticed; and in a turn each of
//! those that are done leaves at the end of its own part. So what is added up is the time that requests stood there, which divided by
//! the time that passed is how many there are in the mean, and by how many were done how long each stood: Little's law,
//! L = λ W (J. D. C. Little, "A Proof for the Queuing Formula L = λ W", Operations Research 9, 1961).

/// Those who stand at a card.
#[derive(Clone, Debug)]
pub(super) struct Line {
    places: Vec<Place>,
    all: u64,
    most: u64,
}

/// Those of one function.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    now: u64,
    /// When it was looked at.
    at: u64,
    /// Twice the nanoseconds that requests have stood there until then.
    twice: u128,
    most: u64,
}

/// How many requests stand at a card, or at one of its functions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// Seconds that requests have stood there, those of all of them together.
    pub seconds: f64,
    /// How many there were at the last look.
    pub now: u64,
    /// How many there were at a look at most.
    pub most: u64,
}

impl Standing {
    /// Those here, and those there; the most is that of one of the two.
    pub(super) fn and(self, other: Standing) -> Standing {
        let (seconds, now) = (self.seconds + other.seconds, self.now + other.now);
        Standing { seconds, now, most: self.most.max(other.most) }
    }
}

impl Line {
    pub(super) fn new(functions: usize) -> Line {
        Line { places: vec![Place::default(); functions], all: 0, most: 0 }
    }

    /// So many of a function stand there, as was seen at that moment.
    pub(super) fn seen(&mut self, function: usize, count: u64, at: u64) {
        let was = self.places[function].now;
        self.pass(function, if was == 0 { 0 } else { was + count }, at);
        self.set(function, count);
    }

    /// A turn of a function is over: how many there were before and are now, and how many were done, at these moments.
    pub(super) fn served(
        &mut self,
        function: usize,
        [before, after]: [u64; 2],
        [begun, ended]: [u64; 2],
        done: usize,
    ) {
        self.seen(function, before, begun);
        self.pass(function, before + after + u64::from(done > 0), ended);
        self.set(function, after);
    }

    /// Nobody of a function stands there any more.
    pub(super) fn left(&mut self, function: usize, at: u64) {
        self.pass(function, 2 * self.places[function].now, at);
        self.set(function, 0);
    }

    /// Those of a function, and those of all, until now.
    pub(super) fn standing(&self, now: u64) -> (Vec<Standing>, Standing) {
        let until = |place: &Place| {
            let twice = place.twice + u128::from(2 * place.now) * u128::from(now.saturating_sub(place.at));
            Standing { seconds: twice as f64 / 2e9, now: place.now, most: place.most }
        };
        let each: Vec<Standing> = self.places.iter().map(until).collect();
        let seconds = each.iter().map(|standing| standing.seconds).sum();
        (each, Standing { seconds, now: self.all, most: self.most })
    }

    /// Time passes while there are half as many as `twice`.
    fn pass(&mut self, function: usize, twice: u64, until: u64) {
        let place = &mut self.places[function];
        place.twice += u128::from(twice) * u128::from(until.saturating_sub(place.at));
        place.at = place.at.max(until);
    }

    fn set(&mut self, function: usize, count: u64) {
        let place = &mut self.places[function];
        self.all = self.all - place.now + count;
        place.now = count;
        place.most = place.most.max(count);
        self.most = self.most.max(self.all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn seconds(line: &Line, now: u64) -> Vec<f64> {
        line.standing(now).0.iter().map(|standing| standing.seconds).collect()
    }

    #[test]
    fn one_that_is_noticed_stands_until_it_is_done() {
        let mut line = Line::new(2);
        line.seen(0, 1, 10 * SECOND);
        assert_eq!(seconds(&line, 12 * SECOND), [2.0, 0.0], "it did not stand before it was noticed");
        line.served(0, [1, 0], [13 * SECOND, 14 * SECOND], 1);
        assert_eq!(seconds(&line, 99 * SECOND), [4.0, 0.0]);
        assert_eq!(line.standing(0).1, Standing { seconds: 4.0, now: 0, most: 1 });
    }

    /// Eight that came together and take a second each: 8 + 7 + … + 1.
    #[test]
    fn each_leaves_at_the_end_of_its_own_part_of_a_turn() {
        let mut line = Line::new(1);
        line.seen(0, 8, 0);
        line.served(0, [8, 5], [0, 3 * SECOND], 3);
        line.served(0, [5, 0], [3 * SECOND, 8 * SECOND], 5);
        assert_eq!(seconds(&line, 8 * SECOND), [36.0]);
        // A closed loop: as many come as are done, each as late.
        line.served(0, [4, 4], [8 * SECOND, 10 * SECOND], 2);
        assert_eq!(seconds(&line, 10 * SECOND), [36.0 + 4.5 * 2.0]);
    }

    #[test]
    fn the_most_of_all_is_of_one_moment() {
        let mut line = Line::new(2);
        line.seen(0, 3, 0);
        line.served(0, [3, 0], [0, SECOND], 3);
        line.seen(1, 2, SECOND);
        line.seen(0, 2, SECOND);
        line.left(1, 5 * SECOND);
        let (each, all) = line.standing(5 * SECOND);
        assert_eq!((each[0].most, each[1].most, all.most), (3, 2, 4));
        assert_eq!((each[1].seconds, each[1].now, all.now), (8.0, 0, 2));
    }

    #[test]
    fn a_moment_before_the_last_look_adds_nothing() {
        let mut line = Line::new(1);
        line.seen(0, 2, 5 * SECOND);
        line.seen(0, 4, 3 * SECOND);
        assert_eq!(seconds(&line, 6 * SECOND), [4.0]);
    }
}
