//! Every frame is accounted for, when there is room and when there is none.

use std::time::Duration;

use tollway_capture::engine::bpf::{Instruction, Program};
use tollway_capture::engine::source::{Kind, Placement, Settings};

use crate::cable::{drain, now, on_a_cable, open, settings};

#[test]
fn overload_balances_to_the_frame() {
    on_a_cable(|sender| {
        // Half of the frames, by their number's last bit.
        let odd = [(0x30, 0, 0, 17), (0x45, 0, 1, 1), (6, 0, 0, 262_144), (6, 0, 0, 0)];
        let odd = odd.map(|(code, jt, jf, k)| Instruction { code, jt, jf, k });
        let odd = Program::new(odd.to_vec()).unwrap();
        for kind in Kind::ALL {
            for filter in [None, Some(odd.clone())] {
                for placement in [Placement::User, Placement::Kernel] {
                    let about = format!("{kind} {placement:?} {}", filter.is_some());
                    let settings =
                        Settings { buffer: 128 << 10, filter: filter.clone(), placement, ..settings(kind) };
                    let mut source = open(&settings);
                    // Without anybody reading, then with a reader who is slow.
                    sender.numbered(0..30_000, 60);
                    let mut slowly = 0;
                    for burst in 1..=4 {
                        sender.numbered(burst * 30_000..(burst + 1) * 30_000, 60);
                        let stamp = |_: Option<_>| now();
                        source.read(50, Duration::ZERO, stamp, |_| slowly += 1).unwrap();
                    }
                    let (kept, books) = drain(&mut source);
                    println!("{about}: {books:?}");
                    assert_eq!(books.offered, Some(150_000), "{about}: {books:?}");
                    assert_eq!(books.balances(), Some(true), "{about}: {books:?}");
                    assert_eq!(books.delivered, kept.len() as u64 + slowly, "{about}");
                    assert!(books.dropped.unwrap() > 10_000, "{about}: {books:?}");
                    let filtered = books.filtered_out.unwrap();
                    assert_eq!(filtered > 0, filter.is_some(), "{about}: {books:?}");
                }
            }
        }
    });
}

#[test]
fn in_the_middle_nothing_is_counted_twice() {
    on_a_cable(|sender| {
        for kind in Kind::ALL {
            let mut source = open(&settings(kind));
            sender.numbered(0..1000, 60);
            std::thread::sleep(Duration::from_millis(20));
            source.read(300, Duration::from_secs(1), |_| now(), |_| ()).unwrap();
            let half_way = source.accounting().unwrap();
            assert_eq!((half_way.offered, half_way.balances()), (Some(1000), Some(false)), "{kind}");
            assert!(half_way.delivered > 0 && half_way.delivered <= 300, "{kind}");
            let end = source.finish(|_| now(), |_| ()).unwrap();
            assert_eq!((end.delivered, end.balances()), (1000, Some(true)), "{kind}: {end:?}");
            // What comes later is of no concern.
            sender.numbered(0..10, 60);
            assert_eq!(source.accounting().unwrap(), end, "{kind}");
        }
    });
}
