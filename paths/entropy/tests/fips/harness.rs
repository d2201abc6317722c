//! Any bytes in any chunks: every implementation counts as [`plain`](crate::plain) does, and a stream cuts blocks as it should.
//! Shared with the fuzz target `fips`.

use tollway_entropy::engine::fips::{BLOCK_BYTES, Bootstrap, Counts, Failed, Implementation, Stream, Tester};

use crate::plain;

/// The input's first byte chooses how it is read, and how often what follows is repeated, the next two how it is chunked.
pub fn check(input: &[u8]) {
    let Some((&[how, first, second], pattern)) = input.split_first_chunk() else { return };
    let bootstrap = if how & 1 == 0 { Bootstrap::Compared } else { Bootstrap::ThrownAway };
    // A pattern shorter than a block makes a block or two.
    let stream =
        pattern.repeat(if pattern.is_empty() { 1 } else { (usize::from(how) * 32).div_ceil(pattern.len()) });
    let sizes = [usize::from(first) * 16 + 1, usize::from(second) + 1];
    check_stream(&stream, bootstrap, sizes.into_iter().cycle());
}

/// All implementations on a stream in chunks of these sizes.
pub fn check_stream(
    stream: &[u8],
    bootstrap: Bootstrap,
    sizes: impl Iterator<Item = usize> + Clone,
) -> Vec<u8> {
    let mut before = &stream[..stream.len().min(bootstrap.bytes())];
    let blocks = stream[before.len()..].chunks_exact(BLOCK_BYTES);
    before = &before[before.len().saturating_sub(4)..];
    let mut expected = Vec::new();
    for block in blocks {
        expected.push(plain::count(block, before));
        before = &block[BLOCK_BYTES - 4..];
    }
    let verdicts: Vec<u8> = expected.iter().map(|counted| plain::failed(*counted)).collect();
    for implementation in Implementation::all() {
        let mut tested = Stream::with(implementation, bootstrap);
        let (mut rest, mut got) = (stream, Vec::new());
        for size in sizes.clone() {
            let (chunk, behind) = rest.split_at(size.min(rest.len()));
            tested.push(chunk, |_, failed: Failed| got.push(failed.bits()));
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        assert_eq!(got, verdicts, "{implementation}");
        let left = stream.len().checked_sub(bootstrap.bytes());
        assert_eq!(tested.has_begun(), left.is_some());
        let missing = match left {
            Some(left) => BLOCK_BYTES - left % BLOCK_BYTES,
            None => bootstrap.bytes() - stream.len(),
        };
        assert_eq!(tested.missing(), missing);
        if left.is_some() {
            let before = stream[..bootstrap.bytes()].last_chunk().unwrap();
            let mut tester = Tester::with(implementation, *before);
            let blocks = stream[bootstrap.bytes()..].as_chunks().0;
            for (block, expected) in blocks.iter().zip(&expected) {
                let Counts { ones, squares, zero_runs, one_runs, long_run, repeats } = tester.counts(block);
                let counts = (ones, squares, zero_runs, one_runs, long_run, repeats);
                assert_eq!(counts, *expected, "{implementation}");
            }
        }
    }
    verdicts
}
