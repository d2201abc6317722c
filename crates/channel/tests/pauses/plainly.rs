//! One request at a time, by both of the plain ways.

use std::os::unix::net::UnixStream;
use std::thread;

use crate::linux::plain::{Client, Limits, Options, Server, Way};
use crate::{PATIENCES, Seen, message, number, reply_to, share};

#[test]
fn by_plain_ways_no_message_is_lost_doubled_or_changed() {
    for way in [Way::Seqpacket, Way::Handoff] {
        for patience in PATIENCES.map(Some) {
            let messages = share();
            let (here, there) = UnixStream::pair().unwrap();
            let serving = thread::spawn(move || {
                let mut server = Server::over(there, &Limits { patience, ..Limits::default() }).unwrap();
                let mut seen = Seen::new(messages);
                let mut answers = |tag: u16, request: &[u8], reply: &mut [u8]| {
                    let number = number(request);
                    seen.is_new(number);
                    assert_eq!(tag, number as u16);
                    reply[..64].copy_from_slice(&reply_to(number));
                    (!tag, 64)
                };
                server.serve(&mut answers).unwrap();
                seen.is_all();
            });
            let mut client =
                Client::over(here, &Options { way, bytes: 64, patience, ..Options::default() }).unwrap();
            for number in 0..messages {
                let mut reply = [0; 64];
                let answer = client.call(number as u16, &message(number), &mut reply);
                assert_eq!((answer, reply), (Ok((!(number as u16), 64)), reply_to(number)));
            }
            drop(client);
            serving.join().unwrap();
        }
    }
}
