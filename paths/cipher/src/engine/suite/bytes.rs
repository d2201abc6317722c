//! Bytes of others, in pieces: read, written, and worked on where they lie.
//!
//! They may be a guest's, who may change them at any time. So nobody makes a Rust reference to them: they are reached by raw
//! pointers, by the library, or copied once.

use vm_memory::VolatileSlice;
use zeroize::Zeroize;

use crate::engine::protocol::Status;

/// Bytes of a block of AES.
pub(super) const BLOCK: usize = 16;

/// How many bytes there are.
#[inline]
pub(super) fn total(slices: &[VolatileSlice<'_>]) -> usize {
    slices.iter().map(|slice| slice.len()).sum()
}

/// Where one is in bytes that are in pieces.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'j, 'm> {
    rest: &'j [VolatileSlice<'m>],
    /// Bytes of the first piece that are behind.
    behind: usize,
}

impl<'j, 'm> Cursor<'j, 'm> {
    /// At their beginning.
    pub(super) fn new(slices: &'j [VolatileSlice<'m>]) -> Self {
        Cursor { rest: slices, behind: 0 }
    }

    /// The bytes that lie together from here: where, and how many. None are left at 0.
    pub(super) fn run(&mut self) -> (*mut u8, usize) {
        while let [first, rest @ ..] = self.rest {
            if self.behind < first.len() {
                let here = first.ptr_guard_mut().as_ptr().wrapping_add(self.behind);
                return (here, first.len() - self.behind);
            }
            *self = Cursor { rest, behind: 0 };
        }
        (std::ptr::null_mut(), 0)
    }

    /// So many bytes of the run are done.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.behind += bytes;
    }

    /// Goes so many bytes on.
    pub(super) fn skip(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let now = self.run().1.min(bytes);
            if now == 0 {
                return;
            }
            self.pass(now);
            bytes -= now;
        }
    }

    /// Copies the next bytes out; how many there were.
    pub(super) fn read(&mut self, into: &mut [u8]) -> usize {
        let mut done = 0;
        while done < into.len() {
            let (here, run) = self.run();
            let now = run.min(into.len() - done);
            if now == 0 {
                break;
            }
            // SAFETY: `run` says that so many bytes from here are those of a slice, which is valid memory while it is
            // borrowed; what they are copied into is our own.
            unsafe { std::ptr::copy_nonoverlapping(here, into[done..].as_mut_ptr(), now) };
            self.pass(now);
            done += now;
        }
        done
    }

    /// Copies bytes in; how many there was room for.
    pub(super) fn write(&mut self, from: &[u8]) -> usize {
        let mut done = 0;
        while done < from.len() {
            let (here, run) = self.run();
            let now = run.min(from.len() - done);
            if now == 0 {
                break;
            }
            // SAFETY: as in `read`, the other way.
            unsafe { std::ptr::copy_nonoverlapping(from[done..].as_ptr(), here, now) };
            self.pass(now);
            done += now;
        }
        done
    }
}

/// Writes a result that is made, from the beginning.
///
/// # Errors
/// There is no room for it.
pub(super) fn put(result: &[VolatileSlice<'_>], bytes: &[u8]) -> Result<usize, Status> {
    if total(result) < bytes.len() {
        return Err(Status::Err);
    }
    Ok(Cursor::new(result).write(bytes))
}

/// Pieces of a result at most, where there are more than one.
const PIECES: usize = 1024;

/// Source and result of one length that can be worked on in step. A byte of the source may lie where the byte of the result
/// with the same number goes (all of them: the work is done in place), but where no other does. The pieces of a result do not
/// overlap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'j, 'm> {
    pub(super) source: &'j [VolatileSlice<'m>],
    pub(super) result: &'j [VolatileSlice<'m>],
    /// Bytes that are worked on, the first of both.
    pub(super) len: usize,
}

impl<'j, 'm> Pair<'j, 'm> {
    /// The first `len` bytes of both.
    ///
    /// # Errors
    /// [`Status::Err`] if one is shorter, they overlap as they may not, or the result has more pieces than [`PIECES`].
    #[inline]
    pub(super) fn new(
        source: &'j [VolatileSlice<'m>],
        result: &'j [VolatileSlice<'m>],
        len: usize,
    ) -> Result<Self, Status> {
        let pair = Pair { source, result, len };
        if let ([source], [result]) = (source, result) {
            let [from, to] = [source, result].map(|slice| slice.ptr_guard().as_ptr() as usize);
            let is_shifted = from != to && from.abs_diff(to) < len;
            return if source.len() < len || result.len() < len || is_shifted {
                Err(Status::Err)
            } else {
                Ok(pair)
            };
        }
        if total(source) < len || total(result) < len {
            return Err(Status::Err);
        }
        // Room for a few is made faster.
        if result.len() <= 32 {
            pair.places::<32>()?
        } else {
            pair.places::<PIECES>()?
        }
        Ok(pair)
    }

    /// Looks at where all pieces are, of which the result has so many at most. What it costs grows hardly faster than their
    /// number: pairs of pieces that overlap as they may are no more than pieces, and the first other one is the last.
    ///
    /// # Errors
    /// As of [`Pair::new`].
    #[inline(never)]
    fn places<const N: usize>(&self) -> Result<(), Status> {
        let mut room = [Place::default(); N];
        let mut count = 0;
        for place in places(self.result, self.len) {
            *room.get_mut(count).ok_or(Status::Err)? = place;
            count += 1;
        }
        let results = &mut room[..count];
        results.sort_unstable_by_key(|place| place.from);
        let is_twice = results.windows(2).any(|two| two[1].from < two[0].to);
        let is_shifted = |source: Place| {
            let first = results.partition_point(|result| result.to <= source.from);
            let over = results[first..].iter().take_while(|result| result.from < source.to);
            over.into_iter().any(|result| result.first() != source.first())
        };
        if is_twice || places(self.source, self.len).any(is_shifted) { Err(Status::Err) } else { Ok(()) }
    }

    /// Has `work` done to all of it, from the beginning to the end: to so many bytes from here, with the result there. It is
    /// called once where both lie in one piece. Else it is called with whole blocks where they lie, and with a block that
    /// is cut on the stack; only the last call may have a part of a block.
    ///
    /// What it is called with is valid memory; `here` and `there` are the same, or do not overlap.
    #[inline]
    pub(super) fn each(&self, mut work: impl FnMut(*const u8, *mut u8, usize)) {
        if let ([source], [result]) = (self.source, self.result) {
            work(source.ptr_guard().as_ptr(), result.ptr_guard_mut().as_ptr(), self.len);
        } else {
            self.each_piece(&mut work);
        }
    }

    #[inline(never)]
    fn each_piece(&self, work: &mut impl FnMut(*const u8, *mut u8, usize)) {
        let (mut source, mut result) = (Cursor::new(self.source), Cursor::new(self.result));
        let mut left = self.len;
        let mut block = [0; BLOCK];
        while left > 0 {
            let ((here, run), (there, room)) = (source.run(), result.run());
            let whole = run.min(room).min(left) / BLOCK * BLOCK;
            if whole > 0 {
                work(here, there, whole);
                source.pass(whole);
                result.pass(whole);
                left -= whole;
            } else {
                let cut = &mut block[..left.min(BLOCK)];
                source.read(cut);
                work(cut.as_ptr(), cut.as_mut_ptr(), cut.len());
                result.write(cut);
                left -= cut.len();
            }
        }
        block.zeroize();
    }

    /// Writes zeros over the result.
    pub(super) fn wipe(&self) {
        let mut cursor = Cursor::new(self.result);
        let mut left = self.len;
        while left > 0 {
            left -= cursor.write(&[0; 256][..left.min(256)]);
        }
    }
}

/// Where a piece is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The addresses of its first byte, and of that behind its last.
    from: usize,
    to: usize,
    /// The number of its first byte.
    at: usize,
}

impl Place {
    /// Where the first byte of all would be if everything lay together.
    fn first(&self) -> usize {
        self.from.wrapping_sub(self.at)
    }
}

/// Of the first bytes the places of the pieces.
fn places(slices: &[VolatileSlice<'_>], len: usize) -> impl Iterator<Item = Place> {
    let mut at = 0;
    slices.iter().filter_map(move |slice| {
        let from = slice.ptr_guard().as_ptr() as usize;
        let place = Place { from, to: from + slice.len().min(len - at), at };
        at += place.to - from;
        (place.to > from).then_some(place)
    })
}
