//! Files: bytes of any number at any offset.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use proptest::prelude::*;
use tollway_channel::linux::kernel::{Options, Ring};

use super::{has_rings, run};

/// The ways in which a ring reads and writes.
fn ways() -> [Options; 4] {
    let small = Options { operations: 8, buffers: 4, bytes: 512, files: 2, ..Options::default() };
    let polled = Some(Duration::from_millis(5));
    [
        small,
        Options { registered: true, ..small },
        Options { polled, ..small },
        Options { polled, registered: true, ..small },
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Write { offset: u64, bytes: Vec<u8> },
    Read { offset: u64, len: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let write = (0..6000u64, prop::collection::vec(any::<u8>(), 0..=512))
        .prop_map(|(offset, bytes)| Step::Write { offset, bytes });
    let read = (0..7000u64, 0..=512usize).prop_map(|(offset, len)| Step::Read { offset, len });
    prop::collection::vec(prop_oneof![write, read], 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Reads and writes at any offset and of any length: a second file, treated by pread(2) and pwrite(2), has the same bytes all the time.
    #[test]
    fn reads_and_writes_do_what_the_plain_calls_do(steps in steps(), way in 0..4usize, register: bool) {
        if !has_rings() {
            return Ok(());
        }
        let mut ring = Ring::open(&ways()[way]).unwrap();
        let kernel = ring.kernel();
        let (asked, plain) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let same = asked.try_clone().unwrap();
        let file = if register { kernel.register(OwnedFd::from(asked)).unwrap() } else { kernel.file(asked) };
        prop_assert_eq!(file.is_registered(), register);
        let kernel = &kernel;
        run(&mut ring, async move {
            for step in &steps {
                let mut buffer = kernel.buffer().await;
                match step {
                    Step::Write { offset, bytes } => {
                        let written = kernel.write_at(&file, *offset, buffer.with(bytes)).await.unwrap().0;
                        assert_eq!(plain.write_at(bytes, *offset).unwrap(), written);
                    }
                    Step::Read { offset, len } => {
                        buffer.set_len(*len);
                        let (count, buffer) = kernel.read_at(&file, *offset, buffer).await.unwrap();
                        let mut expected = vec![0; *len];
                        assert_eq!(plain.read_at(&mut expected, *offset).unwrap(), count);
                        assert_eq!(buffer[..count], expected[..count]);
                    }
                }
            }
            let whole = |file: &std::fs::File| {
                let mut bytes = vec![0; 8192];
                let count = file.read_at(&mut bytes, 0).unwrap();
                bytes.truncate(count);
                bytes
            };
            assert_eq!(whole(&same), whole(&plain));
        });
    }
}

/// A place in one ring's table of files is another file's in the other's; the same holds for buffers.
#[test]
fn a_file_means_the_same_in_every_ring() {
    if !has_rings() {
        return;
    }
    let options = Options { operations: 4, files: 2, registered: true, ..Options::default() };
    let (mut ring, other) = (Ring::open(&options).unwrap(), Ring::open(&options).unwrap());
    let (kernel, others) = (&ring.kernel(), &other.kernel());
    let file = |text: &[u8]| {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(text, 0).unwrap();
        file
    };
    let own = kernel.register(file(b"own")).unwrap();
    let foreign = others.register(file(b"foreign")).unwrap();
    run(&mut ring, async {
        for (file, text) in [(&own, &b"own"[..]), (&foreign, b"foreign")] {
            for buffer in [kernel.buffer().await, others.buffer().await] {
                let (bytes, buffer) = kernel.read_at(file, 0, buffer).await.unwrap();
                assert_eq!(&buffer[..bytes], text);
            }
        }
        let buffer = kernel.buffer().await.with(b"FOREIGN");
        kernel.write_at(&foreign, 0, buffer).await.unwrap();
    });
    let mut text = [0; 7];
    std::fs::File::from(foreign.as_fd().try_clone_to_owned().unwrap()).read_exact_at(&mut text, 0).unwrap();
    assert_eq!(&text, b"FOREIGN");
    assert!(own.is_registered() && foreign.is_registered());
}
