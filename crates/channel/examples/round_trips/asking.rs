//! The end that asks, and looks at every reply.

use std::cell::{Cell, RefCell};
use std::os::unix::net::UnixStream;

use tollway_channel::coroutine::Executor;
use tollway_channel::linux::{self, Client, plain};
use tollway_host::cpu::pin_current_thread;

use crate::Outcome;
use crate::message::{fill, is_answer};
use crate::options::{Mode, Options};
use crate::other::Other;
use crate::stretches::Stretches;

type Asked<T> = Result<T, Box<dyn std::error::Error>>;

/// A reply that is not its request's.
const WRONG: &str = "a reply is not its request's";

pub fn asks(options: &Options) -> Outcome {
    let (other, link) = Other::start()?;
    let notices = match options.mode {
        Mode::Plain(way) => {
            let mut client = plainly_connected(link, way, options)?;
            one_at_a_time(options, |request, reply| Ok(client.call(0, request, reply)?.1))?;
            client.counts().notices
        }
        Mode::Futures => in_tasks(connected(link, options)?, options)?,
        _ if options.depth == 1 => {
            let mut client = connected(link, options)?;
            one_at_a_time(options, |request, reply| Ok(client.call(0, request, reply)?.1))?;
            client.counts().notices
        }
        _ => several_at_a_time(connected(link, options)?, options)?,
    };
    let notices = notices + other.notices()?;
    println!("notices {:.6}", notices as f64 / (2 * options.trips) as f64);
    Ok(())
}

fn connected(link: UnixStream, options: &Options) -> Asked<Client> {
    let wants = linux::Options { slots: options.depth, bytes: options.bytes, ..linux::Options::default() };
    let client = Client::over(link, &wants)?;
    pin_current_thread(options.cores[0])?;
    Ok(client)
}

fn plainly_connected(link: UnixStream, way: plain::Way, options: &Options) -> Asked<plain::Client> {
    let wants = plain::Options { way, bytes: options.bytes, ..plain::Options::default() };
    let client = plain::Client::over(link, &wants)?;
    pin_current_thread(options.cores[0])?;
    Ok(client)
}

/// `call` is given a request and room for its reply, and says how many bytes that has.
fn one_at_a_time(options: &Options, mut call: impl FnMut(&[u8], &mut [u8]) -> Asked<usize>) -> Asked<()> {
    let (mut request, mut reply) = (vec![0; options.bytes], vec![0; options.bytes]);
    let mut stretches = Stretches::begin(options.trips);
    for number in 0..options.trips {
        fill(&mut request, number);
        let bytes = call(&request, &mut reply)?;
        if bytes != options.bytes || !is_answer(&reply, number) {
            return Err(WRONG.into());
        }
        stretches.trip();
    }
    stretches.print();
    Ok(())
}

fn several_at_a_time(mut client: Client, options: &Options) -> Asked<u64> {
    let (mut request, mut reply) = (vec![0; options.bytes], vec![0; options.bytes]);
    let mut numbers = vec![0; options.depth.next_power_of_two()];
    let (mut sent, mut came) = (0, 0);
    let mut stretches = Stretches::begin(options.trips);
    while came < options.trips {
        while client.in_flight() < options.depth && sent < options.trips {
            fill(&mut request, sent);
            let slot = client.send(0, &request)?;
            numbers[usize::from(slot)] = sent;
            sent += 1;
        }
        client.wait()?;
        while let Some(answer) = client.take()? {
            let bytes = client.read(&answer, &mut reply);
            let number = numbers[usize::from(answer.slot())];
            client.release(answer);
            if bytes != options.bytes || !is_answer(&reply, number) {
                return Err(WRONG.into());
            }
            came += 1;
            stretches.trip();
        }
    }
    stretches.print();
    Ok(client.counts().notices)
}

fn in_tasks(client: Client, options: &Options) -> Asked<u64> {
    let (calls, mut dispatcher) = client.into_calls();
    let (next, is_wrong) = (Cell::new(0), Cell::new(None::<String>));
    let stretches = RefCell::new(Stretches::begin(options.trips));
    let mut executor = Executor::new(options.depth, dispatcher.rouser());
    for _ in 0..options.depth {
        executor.spawn(0, async {
            let (mut request, mut reply) = (vec![0; options.bytes], vec![0; options.bytes]);
            while next.get() < options.trips {
                let number = next.replace(next.get() + 1);
                fill(&mut request, number);
                match calls.call(0, &request, &mut reply).await {
                    Ok((_, bytes)) if bytes == options.bytes && is_answer(&reply, number) => {}
                    Ok(_) => is_wrong.set(Some(WRONG.into())),
                    Err(lost) => {
                        is_wrong.set(Some(lost.to_string()));
                        return;
                    }
                }
                stretches.borrow_mut().trip();
            }
        });
    }
    executor.run(&mut dispatcher)?;
    drop(executor);
    if let Some(wrong) = is_wrong.take() {
        return Err(wrong.into());
    }
    stretches.into_inner().print();
    Ok(dispatcher.counts().notices)
}
