//! What a request and its reply are: every word follows from the request's number, so that a message that is lost, doubled or changed shows.

/// The shortest message, in bytes: its number.
pub const SHORTEST: usize = WORD;

/// The longest message, in bytes.
pub const LONGEST: usize = 4096;

const WORD: usize = size_of::<u64>();

/// By what one word differs from the next: 2^64 over the golden ratio (D. E. Knuth, The Art of Computer Programming, volume 3, section
/// 6.4), odd, so that no two words of a message are alike.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Writes the request of that number: its words are the number and what follows from it.
#[inline]
pub fn ask(number: u64, request: &mut [u8]) {
    write(number, request, |word| word);
}

/// Writes the reply to a request, as far as there is room, and how many bytes that were. `result` is what the server found out.
#[inline]
pub fn answer(request: &[u8], result: u64, reply: &mut [u8]) -> usize {
    let bytes = request.len().min(reply.len());
    let (asked, answered) = (request[..bytes].chunks_exact(WORD), reply[..bytes].chunks_exact_mut(WORD));
    let tail = asked.remainder();
    for (asked, answered) in asked.zip(answered) {
        let word = u64::from_le_bytes(asked.try_into().unwrap_or_default());
        answered.copy_from_slice(&replied(word, result).to_le_bytes());
    }
    for (asked, answered) in tail.iter().zip(&mut reply[bytes - tail.len()..bytes]) {
        *answered = !asked;
    }
    bytes
}

/// Whether that is the reply to the request of that number and so many bytes, with that result.
#[inline]
pub fn is_answer(number: u64, bytes: usize, result: u64, reply: &[u8]) -> bool {
    let words = reply.chunks_exact(WORD);
    let tail = words.remainder();
    let mut right = reply.len() == bytes;
    let mut word = number;
    for answered in words {
        right &= u64::from_le_bytes(answered.try_into().unwrap_or_default()) == replied(word, result);
        word = word.wrapping_add(STEP);
    }
    right && tail.iter().zip(word.to_le_bytes()).all(|(answered, asked)| *answered == !asked)
}

fn replied(word: u64, result: u64) -> u64 {
    (!word).wrapping_add(result)
}

fn write(number: u64, into: &mut [u8], of: impl Fn(u64) -> u64) {
    let mut word = number;
    let mut chunks = into.chunks_exact_mut(WORD);
    for chunk in &mut chunks {
        chunk.copy_from_slice(&of(word).to_le_bytes());
        word = word.wrapping_add(STEP);
    }
    for (to, from) in chunks.into_remainder().iter_mut().zip(of(word).to_le_bytes()) {
        *to = from;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn only_the_right_reply_is_right(
            number in any::<u64>(), other in any::<u64>(), result in any::<u64>(), bytes in SHORTEST..200, at in any::<usize>(), bit in 0u8..8,
        ) {
            let (mut request, mut reply) = (vec![0; bytes], vec![0; bytes + 3]);
            ask(number, &mut request);
            prop_assert_eq!(answer(&request, result, &mut reply), bytes);
            reply.truncate(bytes);
            prop_assert!(is_answer(number, bytes, result, &reply));
            prop_assert!(number == other || !is_answer(other, bytes, result, &reply));
            prop_assert!(!is_answer(number, bytes, result.wrapping_add(1), &reply));
            prop_assert!(!is_answer(number, bytes, result, &reply[1..]));
            reply[at % bytes] ^= 1u8 << bit;
            prop_assert!(!is_answer(number, bytes, result, &reply));
        }
    }
}
