//! Messages of which each word tells whose it is.

/// The number of the request is in its first word, and each word is one more than that before it.
pub fn fill(request: &mut [u8], number: u64) {
    let mut word = number;
    for bytes in request.as_chunks_mut::<8>().0 {
        *bytes = word.to_ne_bytes();
        word = word.wrapping_add(1);
    }
}

/// The answer has each word plus one.
pub fn answer(request: &[u8], reply: &mut [u8]) {
    for (to, from) in reply.as_chunks_mut::<8>().0.iter_mut().zip(request.as_chunks::<8>().0) {
        *to = u64::from_ne_bytes(*from).wrapping_add(1).to_ne_bytes();
    }
}

/// Whether it is the answer to that request, whole.
pub fn is_answer(reply: &[u8], number: u64) -> bool {
    let mut differs = 0;
    let mut word = number.wrapping_add(1);
    for bytes in reply.as_chunks::<8>().0 {
        differs |= u64::from_ne_bytes(*bytes) ^ word;
        word = word.wrapping_add(1);
    }
    differs == 0
}
