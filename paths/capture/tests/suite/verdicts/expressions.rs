//! Expressions: libpcap's optimiser held against libpcap without it, and our printing against tcpdump's.

use std::path::Path;
use std::process::Command;

use super::compare::{self, Engines, compare};
use super::list;
use super::plain::{self, Rules};
use super::random::Random;
use tollway_capture::engine::LinkType;
use tollway_capture::engine::bpf::{Origin, Program, Uncompiled, compile};
use tollway_host::requirement::skip_test;

/// tcpdump's snapshot length.
const SNAPSHOT: u32 = 262_144;

/// What a frame of Ethernet is, captured elsewhere.
fn as_link(link: LinkType, frame: &[u8]) -> Vec<u8> {
    match link {
        LinkType::RAW => frame.get(14..).unwrap_or_default().to_vec(),
        // The type of what follows is the header's last two bytes of 16, not of 14.
        LinkType::LINUX_SLL => [&[0, 0], frame].concat(),
        _ => frame.to_vec(),
    }
}

#[test]
fn the_optimiser_does_not_change_verdicts() {
    let mut random = Random(5);
    let long = std::env::var_os("TOLLWAY_LONG").is_some();
    let expressions = list::expressions(if long { 20_000 } else { 400 });
    let (mut compared, mut differ, mut refused, mut cut_short) = (0u64, Vec::new(), 0, 0);
    for link in [LinkType::ETHERNET, LinkType::RAW, LinkType::LINUX_SLL] {
        let mut packets = compare::packets(&mut random, 400);
        packets.extend(list::packets(&mut random));
        let packets: Vec<Vec<u8>> = packets.iter().map(|p| as_link(link, p)).collect();
        for expression in &expressions {
            let compiled = |optimize| compile(expression, link, Origin::Live, SNAPSHOT, optimize);
            let (optimized, plain) = match (compiled(true), compiled(false)) {
                (Ok(optimized), Ok(plain)) => (optimized, plain),
                // A link type may have no such thing; and what can never be true is an error of the optimiser only.
                (Err(_), _) | (_, Err(_)) => {
                    refused += 1;
                    continue;
                }
            };
            compare(&optimized, &packets[..20], &mut random, None);
            let engines = (Engines::new(&optimized), Engines::new(&plain));
            let mut different = 0;
            for bytes in &packets {
                let length = bytes.len() as u32;
                compared += 1;
                if engines.0.verdict(bytes, length) == engines.1.verdict(bytes, length) {
                    continue;
                }
                // The optimiser leaves out loads that no verdict needs: on a packet cut short one of the two programs
                // may end by a load beyond it, with verdict 0, where the other never looks.
                let judged = |program| plain::judge(program, bytes, length, Rules::Libpcap);
                if judged(&optimized).is_none() || judged(&plain).is_none() {
                    cut_short += 1;
                } else {
                    different += 1;
                }
            }
            if different > 0 {
                differ.push(format!("{expression} (link type {}): {different} packets", link.0));
            }
        }
    }
    println!(
        "{compared} verdicts compared, {refused} expressions not compiled, {cut_short} differ on packets cut short"
    );
    println!("libpcap's optimiser changes verdicts of {} expressions: {differ:#?}", differ.len());
    // Many that are put together can never be true, which libpcap says as an error.
    let tried = 3 * expressions.len();
    assert!(refused < tried / 2, "{refused} of {tried} were not compiled");
    let known = |d: &&String| list::KNOWN_TO_DIFFER.iter().any(|known| d.starts_with(known));
    // Its mistakes are not ours to mend: among 20,000 expressions there are some, among the usual ones only those known.
    let most = if long { expressions.len() / 500 } else { 0 };
    let new = differ.iter().filter(|d| !known(d)).count();
    assert!(new <= most, "libpcap's optimiser changes verdicts:\n{differ:#?}");
}

/// Programs are printed as tcpdump prints them, and read back.
#[test]
fn tcpdump_prints_the_same() {
    // An empty file of packets says link type and snapshot length.
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nothing.pcap");
    let mut header = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    header.extend(SNAPSHOT.to_le_bytes());
    header.extend(LinkType::ETHERNET.0.to_le_bytes());
    std::fs::write(&file, header).unwrap();
    let ask = |options: &[&str], expression: &str| {
        let output = Command::new("tcpdump").arg("-r").arg(&file).args(options).arg(expression).output();
        output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
    };
    if let Err(error) = ask(&["-d"], "ip") {
        return skip_test(&["tcpdump"], &format!("tcpdump cannot be started: {error}"));
    }
    for expression in list::expressions(400).iter().step_by(7) {
        for (options, optimize) in [(&[][..], true), (&["-O"][..], false)] {
            let program: Program =
                match compile(expression, LinkType::ETHERNET, Origin::Live, SNAPSHOT, optimize) {
                    Ok(program) => program,
                    Err(Uncompiled::Libpcap { .. }) => continue,
                    // `protochain` makes a loop.
                    Err(error) => {
                        assert!(expression.contains("protochain"), "{error}");
                        continue;
                    }
                };
            let tcpdump = |form: &str| ask(&[options, &[form]].concat(), expression).unwrap();
            assert_eq!(program.to_text(), tcpdump("-d"), "{expression}");
            assert_eq!(program.to_c(), tcpdump("-dd"), "{expression}");
            assert_eq!(program.to_numbers(), tcpdump("-ddd"), "{expression}");
            for form in ["-dd", "-ddd"] {
                assert_eq!(
                    Program::read(&tcpdump(form)),
                    Ok(program.clone()),
                    "{expression}, read from {form}"
                );
            }
        }
    }
}
