//! One request: read out of its buffer, done, answered.

use tollway_virtio::backend::{Chain, Memory, Refused};
use vm_memory::VolatileSlice;
use zeroize::Zeroizing;

use super::sessions::Sessions;
use crate::engine::protocol::{Control, FIXED, Request, SESSION_ANSWER, Status, Work, session_answer};
use crate::engine::suite::{Algorithm, Job, Session};

/// The longest IV: that of block ciphers, and J₀ of GCM.
const LONGEST_IV: usize = 16;

/// Pieces in which what a request is done to may lie at most: a page and more each of the longest request,
/// unless `longest` was raised. A buffer may have more, as Linux's driver makes them, that name the same
/// pages again; they are passed over.
const MAX_PIECES: usize = 1024;

/// Where the bytes of a request are: made once for many of them.
#[derive(Debug, Default)]
pub(super) struct Scratch<'m> {
    associated: Vec<VolatileSlice<'m>>,
    source: Vec<VolatileSlice<'m>>,
    result: Vec<VolatileSlice<'m>>,
    end: Vec<VolatileSlice<'m>>,
    /// Whether the last request was one of public keys.
    dear: bool,
}

/// What a request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) status: Status,
    /// Bytes that were worked on.
    pub(super) bytes: usize,
    /// Whether it may have taken much longer than its bytes tell: public keys.
    pub(super) dear: bool,
    /// Bytes written into the buffer.
    pub(super) written: u32,
}

/// Does a request of a data queue, if it is of so many bytes at most, and writes how it ended into the last byte of its
/// buffer.
///
/// # Errors
/// It has not even room for that, or lies outside of the memory.
pub(super) fn data<'m>(
    chain: &Chain,
    memory: &'m Memory,
    sessions: &Sessions,
    longest: u64,
    scratch: &mut Scratch<'m>,
) -> Result<Done, Refused> {
    let Some(room) = chain.room().checked_sub(1) else {
        return Err(Refused::Unfit("a request without room for its status"));
    };
    scratch.end.clear();
    chain.target(memory, room, 1, &mut scratch.end)?;
    let outcome = run(chain, memory, sessions, longest, scratch, room);
    let (status, bytes, written) = match outcome {
        Ok((bytes, result)) => (Status::Ok, bytes, result),
        Err(status) => (status, 0, 0),
    };
    let dear = scratch.dear;
    for slice in &scratch.end {
        slice.copy_from(&[status as u8]);
    }
    Ok(Done { status, bytes, dear, written: written + 1 })
}

/// How many bytes were worked on, and how long the result is.
fn run<'m>(
    chain: &Chain,
    memory: &'m Memory,
    sessions: &Sessions,
    longest: u64,
    scratch: &mut Scratch<'m>,
    room: u64,
) -> Result<(usize, u32), Status> {
    let unfit = |_: Refused| Status::Err;
    scratch.dear = false;
    let mut fixed = [0; FIXED];
    chain.read(memory, 0, &mut fixed).map_err(unfit)?;
    let request = Request::parse(&fixed)?;
    let session = sessions.get(request.session)?;
    if request.bytes() > longest {
        return Err(Status::Err);
    }
    let mut iv = [0; LONGEST_IV];
    let iv = iv.get_mut(..request.iv as usize).ok_or(Status::Err)?;
    let mut at = FIXED as u64;
    chain.read(memory, at, iv).map_err(unfit)?;
    at += u64::from(request.iv);
    let is_verified = request.work == Work::Verify;
    let digest = if is_verified { request.result } else { 0 };
    let result = if is_verified { 0 } else { request.result };
    let source = u64::from(request.source) + u64::from(digest);
    if u64::from(result) > room {
        return Err(Status::Err);
    }
    use Algorithm::{Agreement, Ecdsa, Rsa};
    scratch.dear = matches!(session.algorithm(), Rsa { .. } | Ecdsa { .. } | Agreement(_));
    let Scratch { associated, source: sources, result: results, .. } = scratch;
    for slices in [&mut *associated, &mut *sources, &mut *results] {
        slices.clear();
    }
    chain.source(memory, at, source, sources).map_err(unfit)?;
    chain.source(memory, at + source, request.associated.into(), associated).map_err(unfit)?;
    chain.target(memory, 0, result.into(), results).map_err(unfit)?;
    if [&*associated, sources, results].iter().any(|pieces| pieces.len() > MAX_PIECES) {
        return Err(Status::Err);
    }
    let job =
        Job { work: request.work, iv, associated, source: sources, result: results, digest: digest as usize };
    let written = session.run(&job)?;
    Ok((source as usize, written as u32))
}

/// Answers a request of the control queue; how many bytes were written.
///
/// # Errors
/// It has no room for the answer, or lies outside of the memory.
pub(super) fn control(chain: &Chain, memory: &Memory, sessions: &mut Sessions) -> Result<u32, Refused> {
    let mut fixed = [0; FIXED];
    let asked = match chain.read(memory, 0, &mut fixed) {
        Ok(()) => Control::parse(&fixed),
        Err(_) => Err(Status::Err),
    };
    // A new session has an answer of sixteen bytes, all else a byte.
    let answer: &[u8] = match asked {
        Ok(Control::Destroy(id)) => &[sessions.close(id).err().unwrap_or(Status::Ok) as u8],
        Ok(Control::Create(new)) => {
            let mut key = Zeroizing::new(vec![0; new.key]);
            let read = chain.read(memory, FIXED as u64, &mut key);
            let session = read.map_err(|_| Status::Err).and_then(|()| Session::new(new.algorithm, &key));
            let opened = session.and_then(|session| sessions.open(session));
            &session_answer(opened)
        }
        Err(status) if chain.room() >= SESSION_ANSWER as u64 => &session_answer(Err(status)),
        Err(status) => &[status as u8],
    };
    let mut slices = Vec::new();
    chain.target(memory, 0, answer.len() as u64, &mut slices)?;
    let mut rest = answer;
    for slice in slices {
        let (now, later) = rest.split_at(slice.len().min(rest.len()));
        slice.copy_from(now);
        rest = later;
    }
    Ok(answer.len() as u32)
}
