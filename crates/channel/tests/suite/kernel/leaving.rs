//! Operations that are left on their way: dropped, or their ring closed.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tollway_channel::coroutine::Driver;
use tollway_channel::linux::kernel::{Options, Ring};

use super::{has_rings, once, until};

/// Who waits for a buffer and for a slot, has it or is on its way, and is dropped, leaves all as it was; and a buffer that the kernel may write is
/// nobody else's until the kernel has done with it.
#[test]
fn dropped_at_any_stage_nothing_is_written_that_is_anothers() {
    if !has_rings() {
        return;
    }
    for polled in [None, Some(Duration::from_millis(1))] {
        let options = Options { operations: 3, buffers: 2, bytes: 64, polled, ..Options::default() };
        let mut ring = Ring::open(&options).unwrap();
        let kernel = &ring.kernel();
        let (here, mut there) = UnixStream::pair().unwrap();
        let here = kernel.file(OwnedFd::from(here));
        for round in 0..60 {
            let buffer = kernel.try_buffer().unwrap().with(&[1; 64]);
            let mut kept = kernel.try_buffer().unwrap().with(&[2; 64]);
            assert!(kernel.try_buffer().is_none());
            let mut receive = Box::pin(kernel.receive(&here, buffer));
            let stage = round % 5;
            if stage > 0 {
                assert!(once(receive.as_mut()).is_pending());
            }
            if stage > 1 {
                ring.turn().unwrap();
            }
            if stage == 3 {
                // It comes as the operation is dropped: whether it is taken by it is open.
                there.write_all(&[9; 64]).unwrap();
            }
            if stage == 4 {
                there.write_all(&[9; 64]).unwrap();
                until(&mut ring, || once(receive.as_mut()).is_ready());
            }
            drop(receive);
            // Until the kernel has said that it is done nobody else has the buffer.
            assert_eq!(kernel.try_buffer().is_none(), (1..4).contains(&stage), "stage {stage}");
            // No byte of what is somebody's changes, whatever arrives from now on.
            assert!(kept.iter().all(|byte| *byte == 2));
            kept.fill(round as u8 | 0x80);
            until(&mut ring, || kernel.in_flight() == 0);
            let again = kernel.try_buffer().expect("it came back").with(&[4; 64]);
            there.write_all(&[5; 10]).unwrap();
            for _ in 0..3 {
                ring.turn().unwrap();
            }
            assert!(again.iter().all(|byte| *byte == 4));
            assert!(kept.iter().all(|byte| *byte == round as u8 | 0x80));
            // What was written is read, however much of it was.
            let mut come = 0;
            let mut buffer = Some(again);
            while come < 10 {
                let mut receive = pin!(kernel.receive(&here, buffer.take().unwrap()));
                let mut got = None;
                until(&mut ring, || match once(receive.as_mut()) {
                    Poll::Ready(done) => {
                        got = Some(done.unwrap());
                        true
                    }
                    Poll::Pending => false,
                });
                let (count, back) = got.unwrap();
                come += back[..count].iter().filter(|byte| **byte == 5).count();
                buffer = Some(back);
            }
        }
    }
}

/// A ring is closed with operations on their way: the kernel is done with all of them then, and who still waits is told.
#[test]
fn a_ring_closes_with_operations_on_their_way() {
    if !has_rings() {
        return;
    }
    for polled in [None, Some(Duration::from_millis(1))] {
        let ring =
            Ring::open(&Options { operations: 8, buffers: 8, bytes: 64, polled, ..Options::default() });
        let mut ring = ring.unwrap();
        let kernel = &ring.kernel();
        let (here, mut there) = UnixStream::pair().unwrap();
        let here = kernel.file(OwnedFd::from(here));
        let file = kernel.file(tempfile::tempfile().unwrap());
        let mut receives: Vec<_> = (0..3)
            .map(|_| Box::pin(kernel.receive(&here, kernel.try_buffer().unwrap().with(&[1; 64]))))
            .collect();
        receives.iter_mut().for_each(|receive| assert!(once(receive.as_mut()).is_pending()));
        ring.turn().unwrap();
        let mut writing = pin!(kernel.write_at(&file, 0, kernel.try_buffer().unwrap().with(&[3; 64])));
        let mut timing = pin!(kernel.timeout(Duration::from_secs(1000)));
        assert!(once(writing.as_mut()).is_pending() && once(timing.as_mut()).is_pending());
        drop(receives.pop());
        drop(ring);
        there.write_all(&[9; 64]).unwrap();
        for receive in &mut receives {
            let Poll::Ready(Err(error)) = once(receive.as_mut()) else {
                panic!("it waits, or has something")
            };
            assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
        }
        assert!(matches!(once(timing.as_mut()), Poll::Ready(Err(_))));
        assert!(once(writing.as_mut()).is_ready());
        assert_eq!(kernel.in_flight(), 0);
        // All buffers are back, none of them written by what came later.
        let buffers: Vec<_> = std::iter::from_fn(|| kernel.try_buffer()).collect();
        assert!(buffers.iter().all(|buffer| !buffer.contains(&9)));
        assert_eq!(buffers.len(), 8);
        assert!(matches!(once(pin!(kernel.nop())), Poll::Ready(Err(_))));
    }
}
