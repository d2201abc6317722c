//! Messages of vhost-user for sessions and of the configuration, with any lengths, algorithms and keys, at a socket and inside.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_cipher::engine::device::{Card, NewFunction, Options as CardOptions};
use tollway_cipher::engine::protocol::{
    CLOSE_SESSION, CONFIG_FEATURE, CREATE_SESSION, CRYPTO_SESSION_FEATURE, GET_CONFIG, NewSession, Offer,
};
use tollway_virtio::frontend::{Link, LinkOptions};
use tollway_virtio::socket::{Listener, Meeting};

use super::alone;
use super::chains::{Choices, Known, known};

/// Messages that are sent by each door.
const MESSAGES: usize = 3000;

/// Sessions that a function may have.
const SESSIONS: usize = 4;

/// Where a message has numbers: operation, algorithm, kind, length, the two of public keys, what stands between them, and where those
/// of ciphers are.
const NUMBERS: [usize; 9] = [0, 8, 12, 16, 20, 24, 32, 36, 33];

/// A message for one of the sessions that are known, of which some things are others.
fn message(known: &[Known], choices: &mut Choices<'_>) -> Vec<u8> {
    let Known { algorithm, key, .. } = &known[choices.below(known.len())];
    let whole = NewSession { algorithm: *algorithm, key: key.len() }.message(key);
    let mut body = whole.map_or_else(|| vec![choices.byte(); 1072], |body| body.to_vec());
    for _ in 0..choices.byte() % 4 {
        let at = match choices.byte() % 4 {
            0 => NUMBERS[choices.below(NUMBERS.len())],
            // The first bytes of a key say how long it is.
            1 => 40 + choices.below(12),
            2 => choices.below(body.len()),
            _ => {
                let len = choices.below(1300);
                body.resize(len.max(1), 0);
                continue;
            }
        };
        if let Some(byte) = body.get_mut(at) {
            *byte ^= choices.byte();
        }
    }
    body
}

#[test]
fn messages_of_any_bytes_make_a_session_or_none() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.sock");
    let meetings = [Meeting::Listen(Listener::bind(&path, 0o600).unwrap()), Meeting::Inside];
    let functions =
        meetings.into_iter().enumerate().map(|(n, meeting)| NewFunction::new(format!("f{n}"), meeting));
    let options = CardOptions { sessions: SESSIONS, ..CardOptions::default() };
    let card = Card::start(functions.collect(), &options, |_| ()).unwrap();
    let wanted = LinkOptions {
        queues: 2,
        protocol_features: CRYPTO_SESSION_FEATURE | CONFIG_FEATURE,
        ..LinkOptions::default()
    };
    let links =
        [Link::connect(&path, &wanted).unwrap(), Link::inside(card.inside(1).unwrap(), &wanted).unwrap()];
    let (known, mut random) = (known(), Xoshiro256PlusPlus::seed_from_u64(26));
    for (function, mut link) in links.into_iter().enumerate() {
        // Sessions that are open, were made, and of these were of public keys; refusals by what they say; what there is not.
        let (mut open, mut made, mut keyed, mut refused, mut absent) = (Vec::new(), 0, 0, [0; 7], 0);
        for _ in 0..MESSAGES {
            let mut bytes = [0; 64];
            random.fill_bytes(&mut bytes);
            let mut choices = Choices(&bytes);
            match choices.byte() % 8 {
                0 if !open.is_empty() => {
                    let session: u64 = open.swap_remove(choices.below(open.len()));
                    link.tell(CLOSE_SESSION, &session.to_ne_bytes()).unwrap();
                }
                1 => {
                    let len = choices.below(80);
                    let mut body = vec![0; len];
                    body.iter_mut().take(12).for_each(|byte| *byte = choices.byte() % 64);
                    let right = Offer::of(1, options.longest).answer(&body);
                    absent += usize::from(right.is_none());
                    // Whoever asks for what there is not has no bytes, and goes on.
                    assert_eq!(link.ask(GET_CONFIG, &body).unwrap(), right.unwrap_or_default());
                }
                _ => {
                    let body = message(&known, &mut choices);
                    let answer = link.ask(CREATE_SESSION, &body).unwrap();
                    let number = i64::from_ne_bytes(*answer.last_chunk().unwrap());
                    assert!(answer[..answer.len() - 8].iter().all(|byte| *byte == 0), "a key came back");
                    match u64::try_from(number) {
                        Ok(session) => {
                            open.push(session);
                            (made, keyed) =
                                (made + 1, keyed + usize::from(body[..8] == 0x404u64.to_ne_bytes()));
                        }
                        Err(_) => refused[number.unsigned_abs() as usize] += 1,
                    }
                }
            }
            assert_eq!(card.status().functions[function].sessions, open.len());
        }
        println!(
            "function {function}: {made} made, {keyed} of public keys, refused {refused:?}, {absent} of what there is not"
        );
        let [_, wrong, _, not_supported, _, no_space, _] = refused;
        assert!(
            made > 100 && keyed > 50 && wrong > 100 && not_supported > 100 && no_space > 0 && absent > 20
        );
        // It still does what it is for.
        open.iter().for_each(|session| link.tell(CLOSE_SESSION, &session.to_ne_bytes()).unwrap());
        for Known { algorithm, key, .. } in &known {
            let Some(body) = (NewSession { algorithm: *algorithm, key: key.len() }).message(key) else {
                continue;
            };
            let answer = link.ask(CREATE_SESSION, &body).unwrap();
            let number = i64::from_ne_bytes(*answer.last_chunk().unwrap());
            assert!(number >= 0, "{algorithm:?}: {number}");
            link.tell(CLOSE_SESSION, &number.to_ne_bytes()).unwrap();
        }
    }
}
