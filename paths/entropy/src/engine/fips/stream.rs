//! A stream in chunks of any size, cut into blocks.

use super::{BLOCK_BYTES, Block, Failed, Implementation, Tester};

/// What comes before the first block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bootstrap {
    /// Four bytes, which the continuous test compares the first word with. As rngtest reads.
    #[default]
    Compared,
    /// Four bytes that are thrown away, then those. As rngtest --pipe reads.
    ThrownAway,
}

impl Bootstrap {
    /// Bytes before the first block.
    pub const fn bytes(self) -> usize {
        match self {
            Bootstrap::Compared => 4,
            Bootstrap::ThrownAway => 8,
        }
    }
}

/// Tests a stream that comes in chunks.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Nothing, until what comes before the first block is complete.
    tester: Option<Tester>,
    implementation: Implementation,
    bootstrap: Bootstrap,
    /// The beginning of a block that is not complete, or of what comes before the first.
    partial: Box<Block>,
    filled: usize,
}

impl Stream {
    /// At the beginning of a stream.
    pub fn new(bootstrap: Bootstrap) -> Stream {
        Stream::with(Implementation::best(), bootstrap)
    }

    /// With an implementation of choice. All of them give the same.
    pub fn with(implementation: Implementation, bootstrap: Bootstrap) -> Stream {
        Stream { tester: None, implementation, bootstrap, partial: Box::new([0; BLOCK_BYTES]), filled: 0 }
    }

    /// Whether what comes before the first block is there.
    pub fn has_begun(&self) -> bool {
        self.tester.is_some()
    }

    /// Bytes that are missing until the next block, or what comes before the first, is complete.
    pub fn missing(&self) -> usize {
        match self.tester {
            Some(_) => BLOCK_BYTES - self.filled,
            None => self.bootstrap.bytes() - self.filled,
        }
    }

    /// Takes the next chunk, and tells `tested` of each block that it completes.
    pub fn push(&mut self, mut chunk: &[u8], mut tested: impl FnMut(&Block, Failed)) {
        if self.tester.is_none() && !self.begin(&mut chunk) {
            return;
        }
        let tester = self.tester.as_mut().expect("it has begun");
        if self.filled > 0 {
            let taken = chunk.len().min(BLOCK_BYTES - self.filled);
            let (now, rest) = chunk.split_at(taken);
            self.partial[self.filled..][..taken].copy_from_slice(now);
            self.filled += taken;
            chunk = rest;
            if self.filled < BLOCK_BYTES {
                return;
            }
            self.filled = 0;
            tested(&self.partial, tester.test(&self.partial));
        }
        let (blocks, rest) = chunk.as_chunks();
        for block in blocks {
            tested(block, tester.test(block));
        }
        self.partial[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
    }

    /// Takes what comes before the first block; whether it is complete.
    fn begin(&mut self, chunk: &mut &[u8]) -> bool {
        let taken = chunk.len().min(self.missing());
        let (now, rest) = chunk.split_at(taken);
        self.partial[self.filled..][..taken].copy_from_slice(now);
        self.filled += taken;
        *chunk = rest;
        if self.missing() > 0 {
            return false;
        }
        let before = *self.partial[..self.filled].last_chunk().expect("four bytes at least");
        self.tester = Some(Tester::with(self.implementation, before));
        self.filled = 0;
        true
    }
}
