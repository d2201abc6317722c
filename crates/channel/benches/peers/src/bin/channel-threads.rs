//! Two threads, a request and its reply each through a channel of its own: rtrb polled, crossbeam and tokio waiting as they do.

use std::thread;

use tollway_channel_peers::{Asked, END, Message, answer, measure, pin};

fn main() {
    let asked = Asked::read();
    match asked.peer.as_str() {
        "rtrb" => rtrb(&asked),
        "crossbeam" => crossbeam(&asked),
        "tokio" => tokio(&asked),
        other => panic!("`{other}` is not here: rtrb, crossbeam or tokio"),
    }
}

fn rtrb(asked: &Asked) {
    let (mut requests, mut asking) = rtrb::RingBuffer::<Message>::new(asked.depth);
    let (mut answering, mut replies) = rtrb::RingBuffer::<Message>::new(asked.depth);
    thread::scope(|scope| {
        scope.spawn(move || {
            pin(asked.cores[1]);
            loop {
                let Ok(request) = asking.pop() else {
                    std::hint::spin_loop();
                    continue;
                };
                if request[0] == END {
                    return;
                }
                answering.push(answer(&request)).unwrap();
            }
        });
        pin(asked.cores[0]);
        measure(asked, |request| requests.push(request).unwrap(), || replies.pop().ok());
    });
}

fn crossbeam(asked: &Asked) {
    let (requests, asking) = crossbeam_channel::bounded::<Message>(asked.depth);
    let (answering, replies) = crossbeam_channel::bounded::<Message>(asked.depth);
    thread::scope(|scope| {
        scope.spawn(move || {
            pin(asked.cores[1]);
            while let Ok(request) = asking.recv()
                && request[0] != END
            {
                answering.send(answer(&request)).unwrap();
            }
        });
        pin(asked.cores[0]);
        // The first reply is waited for, and what else there is is taken with it.
        let mut waits = true;
        let receive = || {
            let reply = if waits { replies.recv().ok() } else { replies.try_recv().ok() };
            waits = reply.is_none() || asked.depth == 1;
            reply
        };
        measure(asked, |request| requests.send(request).unwrap(), receive);
    });
}

fn tokio(asked: &Asked) {
    let (requests, mut asking) = tokio::sync::mpsc::channel::<Message>(asked.depth);
    let (answering, mut replies) = tokio::sync::mpsc::channel::<Message>(asked.depth);
    let runtime = || tokio::runtime::Builder::new_current_thread().build().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            pin(asked.cores[1]);
            runtime().block_on(async {
                while let Some(request) = asking.recv().await
                    && request[0] != END
                {
                    answering.send(answer(&request)).await.unwrap();
                }
            });
        });
        pin(asked.cores[0]);
        let waiting = runtime();
        let mut waits = true;
        let receive = || {
            let reply = if waits { waiting.block_on(replies.recv()) } else { replies.try_recv().ok() };
            waits = reply.is_none() || asked.depth == 1;
            reply
        };
        measure(asked, |request| requests.try_send(request).unwrap(), receive);
    });
}
