//! Bytes cut into pieces that lie anywhere, as a guest's do.

use proptest::prelude::*;
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Job, Session};
use vm_memory::VolatileSlice;

/// What lies between pieces, and must lie there afterwards.
const BETWEEN: u8 = 0xa5;

/// Pieces: how long each is, and how far behind the one before it.
pub type Cuts = Vec<(usize, usize)>;

/// Bytes in pieces.
#[derive(Debug)]
pub struct Scattered {
    memory: Vec<u8>,
    /// Where each piece is, and how long.
    pieces: Vec<(usize, usize)>,
}

impl Scattered {
    /// Cut there; what the cuts leave is the last piece.
    pub fn new(bytes: &[u8], cuts: &Cuts) -> Scattered {
        let mut scattered = Scattered { memory: Vec::new(), pieces: Vec::new() };
        let mut rest = bytes;
        for (len, gap) in cuts.iter().copied().chain([(usize::MAX, 1)]) {
            let (piece, later) = rest.split_at(len.min(rest.len()));
            scattered.memory.extend(std::iter::repeat_n(BETWEEN, gap));
            scattered.pieces.push((scattered.memory.len(), piece.len()));
            scattered.memory.extend(piece);
            rest = later;
        }
        scattered.memory.push(BETWEEN);
        scattered
    }

    /// The pieces.
    pub fn slices(&mut self) -> Vec<VolatileSlice<'_>> {
        let memory = VolatileSlice::from(self.memory.as_mut_slice());
        self.pieces.iter().map(|(at, len)| memory.subslice(*at, *len).unwrap()).collect()
    }

    /// The bytes; what lies between them is as it was.
    pub fn bytes(&self) -> Vec<u8> {
        let mut between = self.memory.clone();
        self.pieces.iter().rev().for_each(|(at, len)| drop(between.drain(*at..at + len)));
        assert!(between.iter().all(|byte| *byte == BETWEEN), "bytes between the pieces were changed");
        self.pieces.iter().flat_map(|(at, len)| &self.memory[*at..at + len]).copied().collect()
    }
}

/// Some cuts: none, at whole blocks, or anywhere; pieces may be empty.
pub fn cuts() -> impl Strategy<Value = Cuts> {
    let blocks = (0usize..8, 0usize..40).prop_map(|(blocks, gap)| (16 * blocks, gap));
    prop_oneof![
        Just(Vec::new()),
        proptest::collection::vec(blocks, 1..6),
        proptest::collection::vec((0usize..70, 0usize..40), 1..12),
        proptest::collection::vec((1usize..3, 0usize..3), 1..80),
    ]
}

/// How what is asked for is laid out.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    pub associated: Cuts,
    pub source: Cuts,
    pub result: Cuts,
    /// Bytes of the result beyond those that are needed.
    pub room: usize,
}

/// Any.
pub fn layouts() -> impl Strategy<Value = Layout> {
    (cuts(), cuts(), cuts(), 0usize..40).prop_map(|(associated, source, result, room)| Layout {
        associated,
        source,
        result,
        room,
    })
}

/// What there is to do, in one piece.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub work: Work,
    pub iv: &'a [u8],
    pub associated: &'a [u8],
    pub source: &'a [u8],
    /// Bytes of the source that are a digest.
    pub digest: usize,
    /// Bytes that the result is to have.
    pub result: usize,
}

impl<'a> Asked<'a> {
    /// A cipher's.
    pub fn cipher(work: Work, iv: &'a [u8], source: &'a [u8]) -> Asked<'a> {
        Asked { work, iv, associated: &[], source, digest: 0, result: source.len() }
    }
}

/// Has it done, laid out like that. The source, what is authenticated, and the room beyond the result stay as they are.
pub fn run(session: &Session, asked: Asked<'_>, layout: &Layout) -> Result<Vec<u8>, Status> {
    let before = vec![0x77; asked.result + layout.room];
    let mut associated = Scattered::new(asked.associated, &layout.associated);
    let mut source = Scattered::new(asked.source, &layout.source);
    let mut result = Scattered::new(&before, &layout.result);
    let done = session.run(&Job {
        work: asked.work,
        iv: asked.iv,
        associated: &associated.slices(),
        source: &source.slices(),
        result: &result.slices(),
        digest: asked.digest,
    });
    assert_eq!(associated.bytes(), asked.associated);
    assert_eq!(source.bytes(), asked.source);
    let bytes = result.bytes();
    done.map(|done| {
        assert_eq!(bytes[done..], before[done..]);
        bytes[..done].to_vec()
    })
}

/// Has it done in place: the result begins where the source does, in the same memory cut in another way.
pub fn run_in_place(session: &Session, asked: Asked<'_>, layout: &Layout) -> Result<Vec<u8>, Status> {
    let mut memory = asked.source.to_vec();
    memory.resize(asked.result.max(asked.source.len()) + layout.room, 0x77);
    let all = VolatileSlice::from(memory.as_mut_slice());
    let pieces = |cuts: &Cuts, len: usize| {
        let mut at = 0;
        let mut pieces = Vec::new();
        for cut in cuts.iter().map(|(cut, _)| *cut).chain([usize::MAX]) {
            let cut = cut.min(len - at);
            pieces.push(all.subslice(at, cut).unwrap());
            at += cut;
        }
        pieces
    };
    let mut associated = asked.associated.to_vec();
    let done = session.run(&Job {
        work: asked.work,
        iv: asked.iv,
        associated: &[VolatileSlice::from(associated.as_mut_slice())],
        source: &pieces(&layout.source, asked.source.len()),
        result: &pieces(&layout.result, asked.result),
        digest: asked.digest,
    });
    done.map(|done| memory[..done].to_vec())
}

/// The bytes that a text in hexadecimal digits stands for; blanks between them stand for nothing.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}
