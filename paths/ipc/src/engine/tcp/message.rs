//! What a client asks over its connection and what the application answers: 64 bytes each, of which every one is checked.
//!
//! A request has its connection's number and its own, then six words that follow from these two, then a checksum. The application makes
//! its reply of the words that came, so that one that was lost, doubled, swapped or given to another connection is noticed.

use std::fmt;

/// Bytes of a request, and of a reply: those of the study's measurements.
pub const BYTES: usize = 64;

const WORDS: usize = BYTES / 8;

/// A request or a reply as it is on the wire, its words in little-endian order.
pub type Message = [u8; BYTES];

/// What an application answers to what is no request: nothing.
pub const REFUSED: usize = 0;

/// The request with that number of the connection with that number.
pub fn request(connection: u32, number: u32) -> Message {
    let mut words = [0; WORDS];
    words[0] = u64::from(connection) << 32 | u64::from(number);
    for at in 1..WORDS - 1 {
        words[at] = mixed(words[0].wrapping_add((at as u64).wrapping_mul(STEP)));
    }
    words[WORDS - 1] = sum(&words);
    bytes(&words)
}

/// What the application does: lays the reply to a request into `reply`, and says how long that is; [`REFUSED`] if it is no request, or
/// there is no room.
pub fn answer(request: &[u8], reply: &mut [u8]) -> usize {
    let Some(request) = whole(request) else { return REFUSED };
    match reply.first_chunk_mut::<BYTES>() {
        Some(reply) => {
            *reply = answered(&request);
            BYTES
        }
        None => REFUSED,
    }
}

/// Nothing, if it is the reply to [`request`]`(connection, number)`.
///
/// # Errors
/// [`Wrong`] otherwise.
pub fn check(reply: &Message, connection: u32, number: u32) -> Result<(), Wrong> {
    if *reply == answered(&words(&request(connection, number))) {
        return Ok(());
    }
    let first = !words(reply)[0];
    Err(Wrong { wanted: (connection, number), has: ((first >> 32) as u32, first as u32) })
}

/// A reply that is not the one to what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Connection and number of the request.
    pub wanted: (u32, u32),
    /// Connection and number that the reply has.
    pub has: (u32, u32),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((connection, number), (has_connection, has_number)) = (self.wanted, self.has);
        write!(f, "the reply to request {number} of connection {connection} ")?;
        if self.wanted == self.has {
            return f.write_str("is damaged");
        }
        write!(f, "says that it is of request {has_number} of connection {has_connection}")
    }
}

impl std::error::Error for Wrong {}

fn answered(request: &[u64; WORDS]) -> Message {
    let mut reply = request.map(|word| word.rotate_left(17) ^ request[WORDS - 1]);
    reply[0] = !request[0];
    reply[WORDS - 1] = sum(&reply);
    bytes(&reply)
}

/// The words of a request, if it is one.
fn whole(request: &[u8]) -> Option<[u64; WORDS]> {
    let words = words(request.try_into().ok()?);
    (sum(&words) == words[WORDS - 1]).then_some(words)
}

/// Of all words but the last.
fn sum(words: &[u64; WORDS]) -> u64 {
    words[..WORDS - 1].iter().fold(STEP, |sum, word| mixed(sum ^ *word))
}

/// The increment and the finalizer of splitmix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom Number Generators",
/// OOPSLA 2014, figure 17).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

fn words(message: &Message) -> [u64; WORDS] {
    let (chunks, _) = message.as_chunks::<8>();
    std::array::from_fn(|at| u64::from_le_bytes(chunks[at]))
}

fn bytes(words: &[u64; WORDS]) -> Message {
    let mut message = [0; BYTES];
    for (to, word) in message.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_that_of_its_request_and_of_no_other() {
        let mut reply = [0; BYTES];
        for (connection, number) in [(0, 0), (3, 7), (127, u32::MAX)] {
            assert_eq!(answer(&request(connection, number), &mut reply), BYTES);
            assert_eq!(check(&reply, connection, number), Ok(()));
            let other = check(&reply, connection, number.wrapping_add(1)).unwrap_err();
            assert_eq!(other.has, (connection, number));
            assert!(check(&reply, connection + 1, number).is_err());
        }
    }

    #[test]
    fn no_byte_can_be_changed_unnoticed() {
        for at in 0..BYTES {
            let mut asked = request(5, 6);
            asked[at] ^= 0x10;
            assert_eq!(answer(&asked, &mut [0; BYTES]), REFUSED, "byte {at} of a request");
            let mut reply = [0; BYTES];
            answer(&request(5, 6), &mut reply);
            reply[at] ^= 1;
            assert!(check(&reply, 5, 6).is_err(), "byte {at} of a reply");
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let whole = request(1, 2);
        for length in 0..BYTES {
            assert_eq!(answer(&whole[..length], &mut [0; BYTES]), REFUSED);
            assert_eq!(answer(&whole, &mut [0; BYTES][..length]), REFUSED);
        }
        assert_eq!(answer(&[0; BYTES], &mut [0; BYTES]), REFUSED);
    }
}
