//! A question and its answer over TCP: one on its way at a time, as long as each other. The answer is the question come back.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpStream};

use tollway_core::{Error, Result};

use super::Listener;
use super::content::{Block, NUMBER};
use super::listener::{Purpose, at_once, come};
use super::wait::failed;

/// Who asks.
#[derive(Debug)]
pub struct Asker {
    socket: TcpStream,
    question: Block,
    answer: Vec<u8>,
    asked: u64,
}

impl Asker {
    /// Comes to who answers questions of so many bytes.
    ///
    /// # Errors
    /// Nobody is there.
    pub fn come(to: SocketAddrV4, bytes: usize) -> Result<Asker> {
        let socket = at_once(come(to, Purpose::Content)?)?;
        Ok(Asker { socket, question: Block::of(bytes), answer: vec![0; bytes], asked: 0 })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// There is none, or it is of another question.
    #[inline]
    pub fn ask(&mut self) -> Result<()> {
        let Asker { socket, question, answer, asked } = self;
        question.number(*asked);
        let came = socket.write_all(question.bytes()).and_then(|()| socket.read_exact(answer));
        came.map_err(|e| failed("asking over TCP", e))?;
        if !question.agrees(answer, *asked, NUMBER) {
            return Err(Error::Wrong(format!("the answer to question {asked} is none")));
        }
        *asked += 1;
        Ok(())
    }

    /// Says that this was all and hears how many were answered, which must be as many as were asked.
    ///
    /// # Errors
    /// They are not.
    pub fn finish(mut self) -> Result<u64> {
        let mut answered = [0; size_of::<u64>()];
        self.socket
            .shutdown(Shutdown::Write)
            .and_then(|()| self.socket.read_exact(&mut answered))
            .map_err(|e| failed("hearing how many were answered", e))?;
        match u64::from_le_bytes(answered) {
            answered if answered == self.asked => Ok(answered),
            answered => Err(Error::Wrong(format!("{} were asked, {answered} answered", self.asked))),
        }
    }
}

/// Answers questions of so many bytes until who comes has no more; how many.
///
/// # Errors
/// Nobody comes, or who came goes in the middle of a question or says nothing.
pub fn answer(listener: &Listener, bytes: usize) -> Result<u64> {
    let mut socket = at_once(listener.accept_for(Purpose::Content)?)?;
    let mut question = vec![0; bytes];
    let mut answered = 0u64;
    loop {
        match read_whole(&mut socket, &mut question) {
            Ok(true) => socket.write_all(&question).map_err(|e| failed("answering over TCP", e))?,
            Ok(false) => break,
            Err(error) => return Err(failed("waiting for a question over TCP", error)),
        }
        answered += 1;
    }
    socket.write_all(&answered.to_le_bytes()).map_err(|e| failed("telling how many were answered", e))?;
    Ok(answered)
}

/// Whether there was another question: an end in the middle of one is none.
#[inline]
fn read_whole(socket: &mut TcpStream, question: &mut [u8]) -> std::io::Result<bool> {
    let mut got = 0;
    while got < question.len() {
        match socket.read(&mut question[got..]) {
            Ok(0) if got == 0 => return Ok(false),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => got += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
