//! Ends that have nothing to do use no processor: each goes to sleep within 1 ms of its own processor time, and sleeps.

use std::cell::Cell;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tollway_channel::coroutine::Executor;
use tollway_channel::linux::{Caller, Client, Failed, Limits, Notice, Options, Server};

/// How long nobody does anything.
const WINDOW: Duration = Duration::from_millis(200);

/// What an end may use until it sleeps, a request or reply included; and what all threads of this process may, in that window. Of its own time: how
/// soon it is given a processor says nothing of it.
const MOST: Duration = Duration::from_millis(1);

/// Something else may interrupt an end, and is told of it: a busy machine has the more trials.
const TRIALS: u32 = 20;

fn time(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the one value that the pointer is to.
    assert_eq!(unsafe { libc::clock_gettime(clock, &raw mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A thread that is to sleep.
struct Thread {
    number: libc::pid_t,
    clock: libc::clockid_t,
}

impl Thread {
    /// This one.
    fn here() -> Thread {
        let mut clock = 0;
        // SAFETY: a thread that lives, and the call writes the one value that the pointer is to.
        assert_eq!(unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) }, 0);
        // SAFETY: it takes nothing.
        Thread { number: unsafe { libc::gettid() }, clock }
    }

    /// proc_pid_stat(5): the state comes after the name, which may have anything in it.
    fn is_asleep(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", self.number)).unwrap();
        stat[stat.rfind(')').unwrap()..].starts_with(") S")
    }
}

/// What was used: by the ends until they slept, and by this process while they did.
fn trial(ends: &[Thread], nudges: &mut dyn FnMut()) -> (Duration, Duration) {
    let of_ends = || ends.iter().map(|end| time(end.clock)).sum::<Duration>();
    let before = of_ends();
    nudges();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !ends.iter().all(Thread::is_asleep) {
        assert!(Instant::now() < deadline, "it does not sleep");
        thread::sleep(Duration::from_micros(200));
    }
    let awake = of_ends() - before;
    let asleep = time(libc::CLOCK_PROCESS_CPUTIME_ID);
    thread::sleep(WINDOW);
    (awake, time(libc::CLOCK_PROCESS_CPUTIME_ID) - asleep)
}

/// Has `nudges` give these threads something to do, after which they wait for more. Only one test runs in this process: all else sleeps.
fn sleep_soon(who: &str, notice: Notice, threads: usize, told: &Receiver<Thread>, mut nudges: impl FnMut()) {
    let ends: Vec<_> = told.iter().take(threads).collect();
    let mut trials = (0..TRIALS).map(|_| trial(&ends, &mut nudges));
    let is_idle = trials.any(|(awake, asleep)| {
        println!("{who} by {notice:?}: awake for {awake:?}, then {asleep:?} in {WINDOW:?}");
        awake < MOST * threads as u32 && asleep < MOST
    });
    assert!(is_idle, "{who} by {notice:?} is not idle");
}

fn meet(notice: Notice) -> (Client, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let answering = thread::spawn(move || Server::over(there, &Limits::default()).unwrap());
    (Client::over(here, &Options { notice, ..Options::default() }).unwrap(), answering.join().unwrap())
}

/// Answers so many requests.
fn answers(server: &mut Server, requests: usize) {
    let mut left = requests;
    while left > 0 {
        server.wait().unwrap();
        while left > 0
            && let Some(request) = server.take().unwrap()
        {
            server.answer(request, 5, &[]);
            left -= 1;
        }
        server.flush();
    }
}

fn a_server(notice: Notice) {
    let (mut client, mut server) = meet(notice);
    let (tells, told) = channel();
    let serving = thread::spawn(move || {
        tells.send(Thread::here()).unwrap();
        server.serve(|_, _, _| (5, 0))
    });
    sleep_soon("a server", notice, 1, &told, || assert_eq!(client.call(0, &[1], &mut []), Ok((5, 0))));
    drop(client);
    assert_eq!(serving.join().unwrap(), Ok(()));
}

fn a_servers_tasks(notice: Notice) {
    let (mut client, server) = meet(notice);
    let (tells, told) = channel();
    let serving = thread::spawn(move || {
        let (incoming, mut dispatcher) = server.into_incoming();
        let mut executor = Executor::new(2, dispatcher.rouser());
        for _ in 0..2 {
            executor.spawn(0, async {
                while let Some(request) = incoming.next().await {
                    incoming.answer(request, 5, &[]);
                }
            });
        }
        tells.send(Thread::here()).unwrap();
        executor.run(&mut dispatcher).unwrap();
    });
    sleep_soon("a server's tasks", notice, 1, &told, || {
        assert_eq!(client.call(0, &[1], &mut []), Ok((5, 0)));
    });
    drop(client);
    serving.join().unwrap();
}

fn a_client(notice: Notice) {
    let (mut client, mut server) = meet(notice);
    let (tells, told) = channel();
    let asking = thread::spawn(move || {
        tells.send(Thread::here()).unwrap();
        while client.call(0, &[1], &mut []) == Ok((5, 0)) {}
    });
    sleep_soon("a client", notice, 1, &told, || answers(&mut server, 1));
    drop(server);
    asking.join().unwrap();
}

fn a_clients_tasks(notice: Notice) {
    let (client, mut server) = meet(notice);
    let (tells, told) = channel();
    let asking = thread::spawn(move || {
        let (calls, mut dispatcher) = client.into_calls();
        let (calls, asked) = (&calls, &Cell::new(0));
        let mut executor = Executor::new(2, dispatcher.rouser());
        for _ in 0..2 {
            executor.spawn(0, async move {
                while calls.call(0, &[1], &mut []).await == Ok((5, 0)) {
                    asked.set(asked.get() + 1);
                }
            });
        }
        tells.send(Thread::here()).unwrap();
        executor.run(&mut dispatcher).unwrap();
        assert!(asked.get() >= 2);
    });
    sleep_soon("a client's tasks", notice, 1, &told, || answers(&mut server, 2));
    drop(server);
    asking.join().unwrap();
}

fn a_clients_threads(notice: Notice) {
    fn asks(caller: &Caller, tells: Sender<Thread>) {
        tells.send(Thread::here()).unwrap();
        while caller.call(0, &[1], &mut []) == Ok((5, 0)) {}
        assert_eq!(caller.call(0, &[1], &mut []), Err(Failed::Gone));
    }
    let (client, mut server) = meet(notice);
    let (tells, told) = channel();
    let caller = client.into_caller();
    thread::scope(|scope| {
        for _ in 0..3 {
            let (caller, tells) = (&caller, tells.clone());
            scope.spawn(move || asks(caller, tells));
        }
        sleep_soon("a client's threads", notice, 3, &told, || answers(&mut server, 3));
        drop(server);
    });
}

#[test]
fn who_waits_uses_no_processor() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        a_server(notice);
        a_servers_tasks(notice);
        a_client(notice);
        a_clients_tasks(notice);
        a_clients_threads(notice);
    }
}
