//! A TCP server on loopback that answers each line with the same in capitals, and at its end says what its requests paid.
//!
//!     cargo run --release -p tollway-probe --example server -- REQUESTS CONNECTIONS

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use tollway_probe::{Bills, Probe};

type Failed = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let requests = arguments.next().map_or(Ok(10_000), |number| number.parse())?;
    let connections: usize = arguments.next().map_or(Ok(2), |number| number.parse())?;

    let probe = Probe::here()?;
    for line in probe.unseen() {
        eprintln!("{line}");
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let clients = thread::spawn(move || {
        let each = move || ask(address, requests / connections);
        let all: Vec<_> = (0..connections).map(|_| thread::spawn(each)).collect();
        all.into_iter().try_for_each(|one| one.join().expect("a client does not panic"))
    });
    let bills = thread::scope(|scope| {
        let mut all = Vec::new();
        for _ in 0..connections {
            let (link, _) = listener.accept()?;
            let probe = &probe;
            all.push(scope.spawn(move || serve(probe, link)));
        }
        let mut bills = Bills::new();
        for one in all {
            bills.merge(&one.join().expect("a server does not panic")?);
        }
        Ok::<_, Failed>(bills)
    })?;
    clients.join().expect("clients do not panic")?;
    println!("{bills}");
    Ok(())
}

/// Answers lines until there are no more.
fn serve(probe: &Probe, link: TcpStream) -> Result<Bills, Failed> {
    let mut bills = Bills::new();
    let (mut lines, mut link) = (BufReader::new(link.try_clone()?), link);
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        // To wait for a request is not part of it.
        let request = probe.request();
        line.make_ascii_uppercase();
        link.write_all(line.as_bytes())?;
        bills.add(&request.paid());
        line.clear();
    }
    Ok(bills)
}

fn ask(server: std::net::SocketAddr, times: usize) -> Result<(), Failed> {
    let mut link = TcpStream::connect(server)?;
    let mut answers = BufReader::new(link.try_clone()?);
    let mut answer = String::new();
    for number in 0..times {
        link.write_all(format!("request {number}\n").as_bytes())?;
        answer.clear();
        answers.read_line(&mut answer)?;
        if answer != format!("REQUEST {number}\n") {
            return Err(format!("an answer of another request: {answer}").into());
        }
    }
    Ok(())
}
