//! Instructions of what runs for every request, on either side of a queue, counted under callgrind. A limit fails `make guard`; it
//! is a few per cent above what was measured, so that no stored baseline is needed.

use gungraun::prelude::*;

use crate::at_most;
use crate::five_pieces::Both;

/// All memory has been touched, and the next batch is somewhere else.
fn warm() -> Both {
    let mut both = Both::new();
    for number in 0..2 {
        both.submit(number);
        both.serve();
        both.take();
    }
    both
}

fn submitted() -> Both {
    let mut both = warm();
    both.submit(0);
    both
}

fn served() -> Both {
    let mut both = submitted();
    both.serve();
    both
}

// Thirty-two requests of five pieces: measured 17_287.
#[library_benchmark(config = at_most(17_800))]
#[bench::batch(setup = warm)]
fn submit(mut both: Both) -> Both {
    both.submit(0);
    both
}

// Copied, checked, looked into, given back: measured 44_722; 44_372 where the compiler lays out the bench's own part otherwise.
#[library_benchmark(config = at_most(46_000))]
#[bench::batch(setup = submitted)]
fn serve(mut both: Both) -> Both {
    both.serve();
    both
}

// Measured 2_502.
#[library_benchmark(config = at_most(2_580))]
#[bench::batch(setup = served)]
fn take(mut both: Both) -> Both {
    both.take();
    both
}

library_benchmark_group!(name = virtio, benchmarks = [submit, serve, take]);
