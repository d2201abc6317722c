//! Who vanishes without a word: a client, the network, the stack. Those who are left are told within bounded time, and nothing hangs. With
//! `TOLLWAY_TCP_SECONDS` clients are given up after as long as they are by default.

use std::env;
use std::fmt::Debug;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::process;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use tollway_host::descriptor::{connect, listen_anonymously};
use tollway_ipc::engine::tcp::{
    Application, BYTES, Client, Itself, Network, Running, Speaker, Stack, Style, check, request,
};
use tollway_wire::{Interface, Namespace, delete_link, set_address};

use crate::asleep::{Thread, threads_of};
use crate::eventually::eventually;
use crate::other::{self, Other};
use crate::setting::{STYLES, connected, may};

const CONNECTIONS: usize = 2;

/// Does that with every style, all at once: they wait most of the time.
fn each_style(does: impl Fn(Style) + Sync) {
    thread::scope(|scope| {
        for style in STYLES {
            let does = &does;
            scope.spawn(move || does(style));
        }
    });
}

/// A stack that serves, and its application.
fn served(network: &Network, style: Style, does: impl FnOnce(&mut Stack)) -> (Running, Application) {
    let (listener, name) = listen_anonymously().unwrap();
    let application = Application::start(listener, style, style.links(CONNECTIONS), None).unwrap();
    let mut stack = Stack::open(network, CONNECTIONS).unwrap();
    does(&mut stack);
    (Running::start(stack, style, move || connect(&name), None).unwrap(), application)
}

fn asks(stream: &mut TcpStream, number: u32) {
    let mut reply = [0; BYTES];
    stream.write_all(&request(0, number)).unwrap();
    stream.read_exact(&mut reply).unwrap();
    check(&reply, 0, number).unwrap();
}

/// Its address is nobody's any more: what the stack sends there is dropped, and nothing comes from there. One had been answered, the other had just asked.
#[test]
fn a_client_that_vanishes_without_a_word_is_given_up() {
    if !may() {
        return;
    }
    let is_long = env::var_os("TOLLWAY_TCP_SECONDS").is_some();
    each_style(|style| {
        let network = Network::new(Speaker::Program).unwrap();
        let (stack, application) = served(&network, style, |stack| {
            if !is_long {
                stack.gives_up(Duration::from_millis(300), Duration::from_millis(900));
            }
        });
        let [mut silent, mut asking] = [(); CONNECTIONS].map(|()| connected(&network));
        asks(&mut silent, 1);
        asking.write_all(&request(0, 2)).unwrap();
        let elsewhere = Ipv4Addr::new(192, 0, 2, 77);
        network.client().run(|| set_address("client", elsewhere, 24).unwrap()).unwrap();
        let mut others = [(); CONNECTIONS].map(|()| connected(&network));
        assert!(others.iter().all(|other| other.local_addr().unwrap().ip() == elsewhere));
        for (number, other) in others.iter_mut().enumerate() {
            asks(other, number as u32);
        }
        drop(others);
        let counts = stack.stop().unwrap();
        assert_eq!((counts.malformed, counts.requests), (0, counts.replies + counts.late));
        application.end().unwrap();
        drop((silent, asking));
    });
}

/// The cable goes, as it does with the client's namespace: stack and application end, and the client does.
#[test]
fn a_network_that_vanishes_ends_all() {
    if !may() {
        return;
    }
    each_style(|style| {
        let network = Network::new(Speaker::Program).unwrap();
        let (stack, application) = served(&network, style, |_| ());
        let mut client = Client::connect(network.client(), Network::APPLICATION, CONNECTIONS).unwrap();
        let lost = thread::scope(|scope| {
            let (tell, told) = channel();
            let lost =
                scope.spawn(move || client.run(move |_| tell.send(()).is_ok()).unwrap_err().to_string());
            told.iter().take(100).for_each(drop);
            network.client().run(|| delete_link("client").unwrap()).unwrap();
            is_over(style, "stack", || stack.is_over());
            let ended = stack.stop().unwrap_err().to_string();
            // Down first, then gone: a stack says which of both it met.
            let is_told = ["down", "gone"].iter().any(|met| ended.contains(met));
            assert!(ended.contains("interface server") && is_told, "{ended}");
            is_over(style, "application", || application.is_over());
            application.served().unwrap();
            lost.join().unwrap()
        });
        println!("{style:?}: {lost}");
        assert!(lost.contains("no reply came") || lost.contains("connection"), "{lost}");
    });
}

/// A stack that nothing comes to sleeps when its cable goes, and ends nevertheless.
#[test]
fn an_idle_stack_whose_network_vanishes_ends() {
    if !may() {
        return;
    }
    each_style(|style| {
        let network = Network::new(Speaker::Program).unwrap();
        let ((stack, application), threads) = stack_threads(|| served(&network, style, |_| ()));
        eventually("an idle stack sleeps", || threads.iter().all(rests));
        network.client().run(|| delete_link("client").unwrap()).unwrap();
        is_over(style, "stack", || stack.is_over());
        assert!(stack.stop().is_err());
        is_over(style, "application", || application.is_over());
        application.served().unwrap();
    });
}

/// One that answers by itself ends as well, whether it sleeps or has something to do.
#[test]
fn a_stack_by_itself_whose_network_vanishes_ends() {
    if !may() {
        return;
    }
    for itself in [Itself::Tasks, Itself::Threads] {
        for is_busy in [false, true] {
            let network = Network::new(Speaker::Program).unwrap();
            let stack = Stack::open(&network, CONNECTIONS).unwrap();
            let (stack, threads) = stack_threads(|| Running::alone(stack, itself, None).unwrap());
            let mut stream = connected(&network);
            asks(&mut stream, 1);
            if is_busy {
                stream.write_all(&request(0, 2)).unwrap();
            } else {
                eventually("an idle stack sleeps", || threads.iter().all(rests));
            }
            network.client().run(|| delete_link("client").unwrap()).unwrap();
            is_over(itself, "stack", || stack.is_over());
            assert!(stack.stop().is_err(), "{itself:?}, {is_busy}");
        }
    }
}

fn is_over(style: impl Debug, what: &str, is_it: impl Fn() -> bool) {
    eventually(&format!("{style:?}: the {what} ends"), is_it);
}

/// What `starts` starts, and the threads of stacks that began meanwhile: its own, and those that other tests may have started at the same time.
fn stack_threads<T>(starts: impl FnOnce() -> T) -> (T, Vec<Thread>) {
    let before = threads_of(process::id());
    let started = starts();
    let mut began = threads_of(process::id());
    began.retain(|thread| thread.name() == "network stack" && !before.contains(thread));
    assert!(!began.is_empty(), "no thread of that name");
    (started, began)
}

fn rests(thread: &Thread) -> bool {
    thread.is_asleep() || thread.has_ended()
}

/// Tells a stack's process where its application is.
const APPLICATION: &str = "TOLLWAY_IPC_TEST_APPLICATION";

#[test]
#[ignore = "the other tests start it, as a process of its own, and kill it"]
fn a_stack() {
    let style = other::style();
    let application = env::var(APPLICATION).unwrap();
    let network = Network::new(Speaker::Program).unwrap();
    let stack = Stack::open(&network, CONNECTIONS).unwrap();
    let stack = Running::start(stack, style, move || connect(&application), None).unwrap();
    other::says(&network.client().as_fd().as_raw_fd().to_string());
    other::lasts();
    drop(stack);
}

/// A process with a stack, and the client's namespace, for as long as this process has it.
fn stack_elsewhere(style: usize, application: &str) -> (Other, Namespace) {
    let (other, number) = Other::start("vanishing::a_stack", style, &[(APPLICATION, application)]);
    let namespace = Namespace::at(&format!("/proc/{}/fd/{number}", other.id())).unwrap();
    (other, namespace)
}

#[test]
fn a_stack_that_is_killed_is_told_of() {
    if !may() {
        return;
    }
    thread::scope(|scope| {
        for (number, style) in STYLES.into_iter().enumerate() {
            for replies in [0, 1000] {
                scope.spawn(move || {
                    let (listener, name) = listen_anonymously().unwrap();
                    let application =
                        Application::start(listener, style, style.links(CONNECTIONS), None).unwrap();
                    let (other, namespace) = stack_elsewhere(number, &name);
                    let mut client = Client::connect(&namespace, Network::APPLICATION, CONNECTIONS).unwrap();
                    let (tell, told) = channel();
                    let killer = thread::spawn(move || {
                        told.iter().take(replies).for_each(drop);
                        drop(other);
                        told
                    });
                    let lost = client.run(move |_| tell.send(()).is_ok()).unwrap_err().to_string();
                    println!("{style:?} after {replies} replies: {lost}");
                    assert!(lost.contains("no reply came") || lost.contains("connection"), "{lost}");
                    killer.join().unwrap();
                    is_over(style, "application", || application.is_over());
                    application.served().unwrap();
                    // The server's namespace went with the stack, and with it the cable: the client's end of it is gone.
                    let cable = || namespace.run(|| Interface::named("client")).unwrap();
                    eventually("the cable goes", || cable().is_err());
                });
            }
        }
    });
}
