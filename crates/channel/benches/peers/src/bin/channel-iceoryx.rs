//! Two processes by way of iceoryx2, both of which poll: a topic each way, or requests and responses.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use iceoryx2::prelude::*;
use tollway_channel_peers::{Asked, END, Message, answer, measure, pin};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    set_log_level(LogLevel::Error);
    let asked = Asked::read();
    let is_topics = match asked.peer.as_str() {
        "publish-subscribe" => true,
        "request-response" => false,
        other => panic!("`{other}` is not here: publish-subscribe or request-response"),
    };
    match asked.rest.first() {
        Some(name) if is_topics => answers_by_topics(&asked, name),
        Some(name) => answers_requests(&asked, name),
        None if is_topics => asks_by_topics(&asked),
        None => asks_requests(&asked),
    }
}

/// This program again, to answer; killed if it is left behind.
struct Other(Child);

impl Other {
    fn start(name: &str) -> std::io::Result<Other> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(std::env::args().skip(1)).arg(name).stdin(Stdio::null());
        command.spawn().map(Other)
    }

    fn ends(mut self) -> Outcome {
        let status = self.0.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the other process failed ({status})").into()) }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where the library keeps what it makes: files in a folder, and shared memory whose name begins alike. It leaves some of both behind, which is removed
/// when the process that asks ends.
struct Home {
    name: String,
    is_asking: bool,
}

const SHARED_MEMORY: &str = "/dev/shm";

impl Home {
    fn of_this_process() -> Home {
        Home { name: format!("tollway-peer-{}", std::process::id()), is_asking: true }
    }

    /// That of the process that asks, by its name.
    fn of(name: &str) -> Home {
        Home { name: name.into(), is_asking: false }
    }

    fn folder(&self) -> PathBuf {
        std::env::temp_dir().join(&self.name)
    }

    /// How the names of its shared memory begin; with the dash no other process's begin so.
    fn prefix(&self) -> String {
        format!("{}-", self.name)
    }

    fn node(&self) -> Result<Node, Box<dyn std::error::Error>> {
        let mut config = Config::default();
        config.global.set_root_path(&Path::new(self.folder().as_os_str().as_bytes())?);
        config.global.prefix = FileName::new(self.prefix().as_bytes())?;
        Ok(NodeBuilder::new().config(&config).create::<ipc::Service>()?)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if !self.is_asking {
            return;
        }
        // What is not there any more need not be removed.
        let _ = std::fs::remove_dir_all(self.folder());
        let prefix = self.prefix();
        for entry in std::fs::read_dir(SHARED_MEMORY).into_iter().flatten().flatten() {
            if entry.file_name().as_bytes().starts_with(prefix.as_bytes()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

type Node = iceoryx2::node::Node<ipc::Service>;
type Topic = iceoryx2::service::port_factory::publish_subscribe::PortFactory<ipc::Service, Message, ()>;
type Requests =
    iceoryx2::service::port_factory::request_response::PortFactory<ipc::Service, Message, (), Message, ()>;

/// No more lie in a buffer than are on their way: nothing is overwritten.
fn topic(node: &Node, name: &str, depth: usize) -> Result<Topic, Box<dyn std::error::Error>> {
    let builder = node.service_builder(&name.try_into()?).publish_subscribe::<Message>();
    let builder = builder.enable_safe_overflow(false).subscriber_max_buffer_size(depth + 1);
    Ok(builder.max_publishers(1).max_subscribers(1).open_or_create()?)
}

fn asks_by_topics(asked: &Asked) -> Outcome {
    let home = Home::of_this_process();
    let (name, node) = (&home.name, home.node()?);
    let there = topic(&node, &format!("{name}-there"), asked.depth)?;
    let back = topic(&node, &format!("{name}-back"), asked.depth)?;
    let (publisher, subscriber) = (there.publisher_builder().create()?, back.subscriber_builder().create()?);
    let other = Other::start(name)?;
    while there.dynamic_config().number_of_subscribers() == 0
        || back.dynamic_config().number_of_publishers() == 0
    {
        std::thread::yield_now();
    }
    pin(asked.cores[0]);
    let send = |request: Message| {
        publisher.loan_uninit().unwrap().write_payload(request).send().unwrap();
    };
    measure(asked, send, || subscriber.receive().unwrap().map(|sample| *sample));
    other.ends()
}

fn answers_by_topics(asked: &Asked, name: &str) -> Outcome {
    let node = Home::of(name).node()?;
    let there = topic(&node, &format!("{name}-there"), asked.depth)?;
    let back = topic(&node, &format!("{name}-back"), asked.depth)?;
    let (publisher, subscriber) = (back.publisher_builder().create()?, there.subscriber_builder().create()?);
    pin(asked.cores[1]);
    loop {
        let Some(request) = subscriber.receive()? else {
            std::hint::spin_loop();
            continue;
        };
        if request[0] == END {
            return Ok(());
        }
        publisher.loan_uninit()?.write_payload(answer(&request)).send()?;
    }
}

fn requests(node: &Node, name: &str, depth: usize) -> Result<Requests, Box<dyn std::error::Error>> {
    let builder = node.service_builder(&name.try_into()?).request_response::<Message, Message>();
    let builder = builder.enable_safe_overflow_for_requests(false).enable_safe_overflow_for_responses(false);
    let builder = builder.max_active_requests_per_client(depth + 1).max_response_buffer_size(1);
    Ok(builder.max_clients(1).max_servers(1).open_or_create()?)
}

fn asks_requests(asked: &Asked) -> Outcome {
    let home = Home::of_this_process();
    let (name, node) = (&home.name, home.node()?);
    let service = requests(&node, name, asked.depth)?;
    let client = service.client_builder().create()?;
    let other = Other::start(name)?;
    while service.dynamic_config().number_of_servers() == 0 {
        std::thread::yield_now();
    }
    pin(asked.cores[0]);
    let pending = std::cell::RefCell::new(VecDeque::with_capacity(asked.depth + 1));
    let send = |request: Message| {
        let sent = client.loan_uninit().unwrap().write_payload(request).send().unwrap();
        pending.borrow_mut().push_back(sent);
    };
    let receive = || {
        let mut pending = pending.borrow_mut();
        let response = pending.front()?.receive().unwrap()?;
        let reply = *response;
        drop(response);
        pending.pop_front();
        Some(reply)
    };
    measure(asked, send, receive);
    other.ends()
}

fn answers_requests(asked: &Asked, name: &str) -> Outcome {
    let node = Home::of(name).node()?;
    let service = requests(&node, name, asked.depth)?;
    let server = service.server_builder().create()?;
    pin(asked.cores[1]);
    loop {
        let Some(request) = server.receive()? else {
            std::hint::spin_loop();
            continue;
        };
        if request[0] == END {
            return Ok(());
        }
        request.loan_uninit()?.write_payload(answer(&request)).send()?;
    }
}
