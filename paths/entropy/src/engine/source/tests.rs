//! Every source gives what it says, counts it, and fails by name.

use std::io::Write;

use super::*;
use crate::eventually::eventually;

fn draw(source: &mut dyn Source, bytes: usize) -> Vec<u8> {
    let mut drawn = vec![0; bytes];
    source.fill(&mut drawn).unwrap();
    drawn
}

#[test]
fn every_length_is_filled_and_counted() {
    for kind in ["rdrand", "rdseed", "getrandom"] {
        let mut source = match kind.parse::<Kind>().unwrap().open() {
            Ok(source) => source,
            Err(Error::Missing(missing)) => {
                println!("skipped: {missing}");
                continue;
            }
            Err(other) => panic!("{other}"),
        };
        let mut seen = 0;
        for length in [0, 1, 7, 8, 9, 16, 63] {
            // Of 16 bytes or more, none is all zeros but once in 2^128.
            let drawn = draw(&mut *source, length);
            assert!(length < 16 || drawn.iter().any(|b| *b != 0), "{kind} {length}");
            seen += length as u64;
        }
        let counts = source.counts();
        assert_eq!(counts.bytes, seen, "{kind}");
        assert!(counts.draws >= 6 && counts.draws > counts.failures, "{kind} {counts:?}");
        assert_eq!(source.name(), kind);
    }
}

#[test]
fn a_file_ends_and_says_where() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&[7; 100]).unwrap();
    let mut source = Kind::Path(file.path().into()).open().unwrap();
    assert_eq!(draw(&mut *source, 60), [7; 60]);
    let error = source.fill(&mut [0; 60]).unwrap_err();
    assert!(matches!(error, Error::Ended { bytes: 100, .. }), "{error}");
    let error = Kind::Path("/no/such/source".into()).open().err().unwrap();
    assert!(error.to_string().contains("/no/such/source"), "{error}");
}

#[test]
fn a_fifo_is_opened_at_once_and_its_writer_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let mut source = Kind::Path(path.clone()).open().unwrap();
    let writer = std::thread::spawn(move || {
        let mut writer = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        writer.write_all(&[7; 50]).unwrap();
        // It wants as many again, and waits for these.
        eventually("the first half is read", || rustix::io::ioctl_fionread(&writer).unwrap() == 0);
        writer.write_all(&[7; 50]).unwrap();
    });
    assert_eq!(draw(&mut *source, 100), [7; 100]);
    writer.join().unwrap();
    let error = source.fill(&mut [0; 60]).unwrap_err();
    assert!(matches!(error, Error::Ended { bytes: 100, .. }), "{error}");
    assert_eq!(source.counts().failures, 1);
}

#[test]
fn a_seed_gives_the_same_bytes() {
    assert_eq!(draw(&mut Seeded::new(5), 100), draw(&mut Seeded::new(5), 100));
    assert_ne!(draw(&mut Seeded::new(5), 100), draw(&mut Seeded::new(6), 100));
}

#[test]
fn faults_begin_and_end_where_they_are_planted() {
    let mut stuck = Planted::new(Seeded::new(1), Fault::Stuck(9), 64, 128);
    let whole: Vec<_> = (0..3).map(|_| draw(&mut stuck, 64)).collect();
    assert_ne!(whole[0], [9; 64]);
    assert_eq!(whole[1], [9; 64]);
    assert_ne!(whole[2], [9; 64]);
    let mut repeating = Planted::new(Seeded::new(1), Fault::Repeating { period: 16 }, 0, u64::MAX);
    let drawn = [draw(&mut repeating, 24), draw(&mut repeating, 40)].concat();
    assert!(drawn.chunks(16).all(|c| c == &drawn[..16]), "{drawn:?}");
    let mut dry = Planted::new(Seeded::new(1), Fault::Dry, 8, 16);
    draw(&mut dry, 8);
    assert!(matches!(dry.fill(&mut [0; 8]), Err(Error::Dry { .. })));
    draw(&mut dry, 8);
}

#[test]
fn names_are_read_back() {
    for name in Kind::NAMES.iter().copied().chain(["/dev/hwrng"]) {
        assert_eq!(name.parse::<Kind>().unwrap().to_string(), name);
    }
    assert!("rdrant".parse::<Kind>().unwrap_err().contains("rdrand"));
}
