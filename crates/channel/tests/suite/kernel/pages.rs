//! Pages that are given and taken back, and room in a file.

use std::pin::pin;
use std::sync::atomic::Ordering;

use tollway_channel::linux::kernel::{Advice, Offer, Options, Pages, Ring};

use super::{has_rings, once, run, until};

/// Pages are there or not as asked, as a page table of this process tells (mincore(2)).
#[test]
fn pages_are_given_and_taken_back() {
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 4, ..Options::default() }).unwrap();
    if let Err(missing) = ring.offers(Offer::Memory) {
        return tollway_host::requirement::skip_test(&["io-uring"], &missing);
    }
    let kernel = &ring.kernel();
    let pages = Pages::new(1 << 20).unwrap();
    let resident = |pages: &Pages| {
        let mut is_there = vec![0u8; pages.len() / 4096];
        // SAFETY: the mapping lives, and the vector has a byte for each of its pages.
        let told = unsafe { libc::mincore(pages.as_ptr().cast(), pages.len(), is_there.as_mut_ptr()) };
        assert_eq!(told, 0);
        is_there.iter().filter(|byte| **byte & 1 != 0).count()
    };
    assert_eq!(resident(&pages), 0);
    run(&mut ring, async {
        let pages = &pages;
        let part = 4096 * 8..4096 * 72;
        kernel.madvise(pages, part.clone(), Advice::PopulateWrite).await.unwrap();
        assert_eq!(resident(pages), 64);
        pages.words()[4096].store(7, Ordering::Relaxed);
        kernel.madvise(pages, part.clone(), Advice::DontNeed).await.unwrap();
        assert_eq!((resident(pages), pages.words()[4096].load(Ordering::Relaxed)), (0, 0));
        let error = kernel.madvise(pages, 1..4096, Advice::DontNeed).await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        let file = tempfile::tempfile().unwrap();
        let same = file.try_clone().unwrap();
        let file = kernel.file(file);
        kernel.fallocate(&file, 0, 100, 5000).await.unwrap();
        assert_eq!(same.metadata().unwrap().len(), 5100);
    });
}

/// It holds no pages any more: what lies there by then may be anybody's.
#[test]
fn advice_that_is_over_and_polled_again_names_no_pages() {
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 1, ..Options::default() }).unwrap();
    if let Err(missing) = ring.offers(Offer::Memory) {
        return tollway_host::requirement::skip_test(&["io-uring"], &missing);
    }
    let pages = Pages::new(4096).unwrap();
    let kernel = &ring.kernel();
    let mut advice = pin!(kernel.madvise(&pages, 0..4096, Advice::DontNeed));
    until(&mut ring, || once(advice.as_mut()).is_ready());
    pages.words()[5].store(7, Ordering::Relaxed);
    until(&mut ring, || once(advice.as_mut()).is_ready());
    assert_eq!(pages.words()[5].load(Ordering::Relaxed), 7);
}

/// An entry's length has 32 bits: of more than 4 GiB the rest would be left.
#[test]
fn pages_beyond_4_gib_are_taken_back_too() {
    const LEN: usize = 5 << 30;
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 1, ..Options::default() }).unwrap();
    if let Err(missing) = ring.offers(Offer::Memory) {
        return tollway_host::requirement::skip_test(&["io-uring"], &missing);
    }
    // Nearly all of it is never there; but a system may count what it promises.
    let pages = match Pages::new(LEN) {
        Ok(pages) => pages,
        Err(refused) => return tollway_host::requirement::skip_test(&[], &refused),
    };
    // The first is left; the others are in each piece, beside where one ends, and last.
    let places = [0, 1 << 30, (2 << 30) - 8, 2 << 30, (4 << 30) - 8, 4 << 30, LEN - 8].map(|byte| byte / 8);
    places.iter().for_each(|at| pages.words()[*at].store(7, Ordering::Relaxed));
    let kernel = &ring.kernel();
    run(&mut ring, async {
        kernel.madvise(&pages, 4096..LEN, Advice::DontNeed).await.unwrap();
    });
    let left = places.map(|at| pages.words()[at].load(Ordering::Relaxed));
    assert_eq!(left, [7, 0, 0, 0, 0, 0, 0]);
}
