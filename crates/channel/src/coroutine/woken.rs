//! Which tasks are to be polled, by priority: found by three steps down a tree of bits, however many tasks there are.
//!
//! What the executor's own thread wakes, as it does for every reply that comes, lies in bits that nobody else touches: no access is a locked one. What
//! other threads wake lies in bits beside them, which the executor takes over when there are any.

use alloc::boxed::Box;

use crate::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// How many priorities there are; 0 is served first.
pub const PRIORITIES: usize = 8;

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// Tasks to be polled: those that this thread woke, and those that others did.
#[derive(Debug)]
pub struct Woken {
    here: Bits,
    elsewhere: Bits,
    /// Whether the executor's thread may be asleep.
    is_waiting: AtomicBool,
}

impl Woken {
    /// None of so many tasks.
    pub fn new(tasks: usize) -> Woken {
        Woken { here: Bits::new(tasks), elsewhere: Bits::new(tasks), is_waiting: AtomicBool::new(false) }
    }

    /// A task is woken by the executor's own thread.
    #[inline]
    pub fn wake_here(&self, priority: usize, number: usize) {
        self.here.add_alone(priority, number);
    }

    /// A task is woken by whatever thread. Whether the executor's has to be roused.
    pub fn wake_from_elsewhere(&self, priority: usize, number: usize) -> bool {
        // Either this sees that it waits, or it sees the bit before it sleeps: between each one's write and its look is a full fence.
        self.elsewhere.add(priority, number) && {
            fence(Ordering::SeqCst);
            self.is_waiting.load(Ordering::Relaxed)
        }
    }

    /// The executor's thread is about to wait. After this it looks whether there [is any](Woken::is_any) once more.
    pub fn waits(&self) {
        self.is_waiting.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// It does not wait any more.
    pub fn waits_no_more(&self) {
        self.is_waiting.store(false, Ordering::Relaxed);
    }

    /// Whether any task is to be polled.
    pub fn is_any(&self) -> bool {
        self.elsewhere.top.load(Ordering::Relaxed) != 0 || self.here.top.load(Ordering::Relaxed) != 0
    }

    /// The next task to be polled: of the first priority that has any, the next after the one before. For the executor's thread alone.
    #[inline]
    pub fn next(&self, turns: &mut Turns) -> Option<usize> {
        if self.elsewhere.top.load(Ordering::Relaxed) != 0 {
            self.elsewhere.pour(&self.here);
        }
        self.here.take_alone(turns)
    }
}

/// Whose turn is next, in each priority.
#[derive(Debug, Default)]
pub struct Turns([usize; PRIORITIES]);

/// A bit for each task and priority; for each word of these, whether it has any; and for each priority.
#[derive(Debug)]
struct Bits {
    top: AtomicU64,
    words: Box<[AtomicU64]>,
    tasks: Box<[AtomicU64]>,
    /// Words of tasks in a priority.
    each: usize,
    /// Words of those words.
    over: usize,
}

impl Bits {
    fn new(tasks: usize) -> Bits {
        let each = tasks.div_ceil(WORD).max(1);
        let over = each.div_ceil(WORD);
        let none = |n: usize| (0..n).map(|_| AtomicU64::new(0)).collect();
        Bits {
            top: AtomicU64::new(0),
            words: none(PRIORITIES * over),
            tasks: none(PRIORITIES * each),
            each,
            over,
        }
    }

    /// The word of a task's bit, and the word that tells of it.
    #[inline]
    fn places(&self, priority: usize, word: usize) -> (&AtomicU64, &AtomicU64) {
        (&self.tasks[priority * self.each + word], &self.words[priority * self.over + word / WORD])
    }

    /// Only one thread adds and takes so.
    #[inline]
    fn add_alone(&self, priority: usize, number: usize) {
        let (task, word) = self.places(priority, number / WORD);
        for (of, bit) in [(task, number % WORD), (word, number / WORD % WORD), (&self.top, priority)] {
            of.store(of.load(Ordering::Relaxed) | 1 << bit, Ordering::Relaxed);
        }
    }

    /// Any thread adds so. Whether it told of it: if not, somebody else has told, or will.
    fn add(&self, priority: usize, number: usize) -> bool {
        let (task, word) = self.places(priority, number / WORD);
        // From below, while they are taken from above: what is told of is there already.
        [(task, number % WORD), (word, number / WORD % WORD), (&self.top, priority)]
            .into_iter()
            .all(|(of, bit)| of.fetch_or(1 << bit, Ordering::AcqRel) == 0)
    }

    /// Takes all that there is over to bits that this thread alone has.
    #[cold]
    fn pour(&self, into: &Bits) {
        for priority in ones(self.top.swap(0, Ordering::AcqRel)) {
            for over in 0..self.over {
                for word in ones(self.words[priority * self.over + over].swap(0, Ordering::AcqRel)) {
                    let word = over * WORD + word;
                    for task in ones(self.tasks[priority * self.each + word].swap(0, Ordering::AcqRel)) {
                        into.add_alone(priority, word * WORD + task);
                    }
                }
            }
        }
    }

    #[inline]
    fn take_alone(&self, turns: &mut Turns) -> Option<usize> {
        let top = self.top.load(Ordering::Relaxed);
        if top == 0 {
            return None;
        }
        let priority = top.trailing_zeros() as usize;
        let next = turns.0[priority];
        let mut at = next / WORD;
        let mut bits = self.tasks[priority * self.each + at].load(Ordering::Relaxed) & from(next % WORD);
        if bits == 0 {
            at = self.following(priority, at + 1);
            bits = self.tasks[priority * self.each + at].load(Ordering::Relaxed);
        }
        let number = at * WORD + bits.trailing_zeros() as usize;
        turns.0[priority] = if number + 1 == self.each * WORD { 0 } else { number + 1 };
        let (task, word) = self.places(priority, at);
        for (of, bit) in [(task, number % WORD), (word, at % WORD)] {
            let left = of.load(Ordering::Relaxed) & !(1 << bit);
            of.store(left, Ordering::Relaxed);
            if left != 0 {
                return Some(number);
            }
        }
        let words = &self.words[priority * self.over..][..self.over];
        if words.iter().all(|word| word.load(Ordering::Relaxed) == 0) {
            self.top.store(top & !(1 << priority), Ordering::Relaxed);
        }
        Some(number)
    }

    /// The first word from that one on that has bits; then from the beginning. There is one.
    fn following(&self, priority: usize, word: usize) -> usize {
        let words = &self.words[priority * self.over..][..self.over];
        let first = |from_bit: usize, over: usize| {
            let bits = words.get(over)?.load(Ordering::Relaxed) & from(from_bit);
            (bits != 0).then(|| over * WORD + bits.trailing_zeros() as usize)
        };
        first(word % WORD, word / WORD)
            .or_else(|| (word / WORD + 1..self.over).find_map(|over| first(0, over)))
            .or_else(|| (0..self.over).find_map(|over| first(0, over)))
            .unwrap_or(0)
    }
}

/// All bits from that one on.
fn from(bit: usize) -> u64 {
    u64::MAX << bit
}

/// The bits of a word, the lowest first.
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        (word != 0).then(|| {
            word &= word - 1;
            bit as usize
        })
    })
}
