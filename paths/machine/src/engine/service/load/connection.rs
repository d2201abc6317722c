//! A client's connection: one request at a time over HTTP/1.1, kept alive, never waiting where it is not asked to.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

/// The longest answer that is taken.
const LONGEST: usize = 1 << 20;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) target: String,
    pub(super) body: Option<Vec<u8>>,
}

pub(super) struct Connection {
    stream: TcpStream,
    host: SocketAddr,
    sending: Vec<u8>,
    received: Vec<u8>,
}

impl Connection {
    pub(super) fn open(host: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Connection { stream, host, sending: Vec::new(), received: Vec::new() })
    }

    /// Sends a request. The last one has been answered, so the socket has room for this one.
    pub(super) fn send(&mut self, request: &Request) -> io::Result<()> {
        self.sending.clear();
        let Request { method, target, body } = request;
        write!(self.sending, "{method} {target} HTTP/1.1\r\nHost: {}\r\n", self.host)?;
        if let Some(body) = body {
            let length = body.len();
            write!(self.sending, "Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n")?;
            self.sending.extend_from_slice(body);
        } else {
            self.sending.extend_from_slice(b"\r\n");
        }
        self.stream.write_all(&self.sending)
    }

    /// The answer, if all of it has come.
    pub(super) fn receive(&mut self) -> io::Result<Option<Answer>> {
        let mut more = [0; 16 << 10];
        loop {
            if let Some((answer, length)) = read(&self.received)? {
                self.received.drain(..length);
                return Ok(Some(answer));
            }
            match self.stream.read(&mut more) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received.extend_from_slice(&more[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The answer that these bytes begin with and its length, if all of it is there. Its length must be told, as this service does.
fn read(bytes: &[u8]) -> io::Result<Option<(Answer, usize)>> {
    let odd = |what: &str| io::Error::new(ErrorKind::InvalidData, what.to_string());
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Response::new(&mut headers);
    let begins = match head.parse(bytes).map_err(|e| odd(&e.to_string()))? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial if bytes.len() > LONGEST => return Err(odd("a head without an end")),
        httparse::Status::Partial => return Ok(None),
    };
    let status = head.code.unwrap_or_default();
    let told = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let told = told.and_then(|header| std::str::from_utf8(header.value).ok()?.parse::<usize>().ok());
    let length = match told {
        None if status == 204 => 0,
        None => return Err(odd("a body of unknown length")),
        Some(length) if length > LONGEST => return Err(odd("a body that is too long")),
        Some(length) => length,
    };
    let body = bytes.get(begins..begins + length);
    Ok(body.map(|body| (Answer { status, body: body.to_vec() }, begins + length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_when_all_of_it_has_come() {
        let all = b"HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 204 No Content\r\n\r\n";
        let first = all.len() - 27;
        for length in 0..first {
            assert_eq!(read(&all[..length]).unwrap(), None, "{length}");
        }
        let answer = Answer { status: 200, body: b"hello".to_vec() };
        assert_eq!(read(all).unwrap(), Some((answer, first)));
        assert_eq!(read(&all[first..]).unwrap(), Some((Answer { status: 204, body: Vec::new() }, 27)));
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for bytes in [
            &b"SSH-2.0-OpenSSH\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
        ] {
            assert!(read(bytes).is_err());
        }
    }
}
