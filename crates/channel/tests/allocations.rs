//! No memory is allocated for a request once everybody has asked a few times: neither by who asks, nor by who answers, nor by who asks the kernel.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use tollway_channel::coroutine::{Driver, Executor};
use tollway_channel::linux::kernel::{self, Advice, Offer, Pages, Ring};
use tollway_channel::linux::{Client, Limits, Notice, Options, Server};
use tollway_core::Requirement;
use tollway_host::requirement::test_has;

/// Counts what this thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn counts() {
    // A thread that ends has no count any more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: the system's allocator does all of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        counts();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, len: usize) -> *mut u8 {
        counts();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(memory, layout, len) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocated() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// Rounds before it counts, and rounds in which it does.
const BEFORE: u64 = 200;
const COUNTED: u64 = 500;

/// Has tasks do something many times each; how much this thread allocated after all of them had done it a few times, and before any had done it for the
/// last time.
fn allocations<'t, F: Future<Output = ()> + 't>(
    driver: &mut impl Driver,
    rouser: tollway_channel::coroutine::Rouser,
    tasks: usize,
    does: impl Fn(usize) -> F + 't,
) -> u64 {
    let mut executor = Executor::new(tasks, rouser);
    let (warm, begun, ended) = (&Cell::new(0), &Cell::new(None), &Cell::new(None));
    let does = &does;
    for task in 0..tasks {
        executor.spawn(task % 8, async move {
            for _ in 0..BEFORE {
                does(task).await;
            }
            warm.set(warm.get() + 1);
            while warm.get() < tasks {
                does(task).await;
            }
            if begun.get().is_none() {
                begun.set(Some(allocated()));
            }
            for _ in 0..COUNTED {
                does(task).await;
            }
            if ended.get().is_none() {
                ended.set(Some(allocated()));
            }
        });
    }
    executor.run(driver).unwrap();
    drop(executor);
    ended.get().unwrap() - begun.get().unwrap()
}

#[test]
fn it_counts() {
    let before = allocated();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(allocated(), before + 1);
}

/// More tasks than slots, so that there is a line as well; at both ends.
#[test]
fn requests_and_replies_need_none() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        let (here, there) = UnixStream::pair().unwrap();
        let serving = thread::spawn(move || {
            let server = Server::over(there, &Limits::default()).unwrap();
            let (incoming, mut dispatcher) = server.into_incoming();
            let mut executor = Executor::new(3, dispatcher.rouser());
            let (served, begun, ended) = (&Cell::new(0), &Cell::new(0), &Cell::new(0));
            for _ in 0..3 {
                let incoming = &incoming;
                executor.spawn(0, async move {
                    while let Some(request) = incoming.next().await {
                        let mut bytes = [0; 64];
                        let long = incoming.read(&request, &mut bytes);
                        incoming.answer(request, 0, &bytes[..long]);
                        served.set(served.get() + 1);
                        if served.get() == 12 * BEFORE {
                            begun.set(allocated());
                        }
                        ended.set(allocated());
                    }
                });
            }
            executor.run(&mut dispatcher).unwrap();
            drop(executor);
            (served.get(), ended.get() - begun.get())
        });
        let options = Options { slots: 4, notice, ..Options::default() };
        let (calls, mut dispatcher) = Client::over(here, &options).unwrap().into_calls();
        let rouser = dispatcher.rouser();
        let asked = calls.clone();
        let mine = allocations(&mut dispatcher, rouser, 12, |task| {
            let calls = asked.clone();
            async move {
                let mut reply = [0; 8];
                calls.call(0, &task.to_le_bytes(), &mut reply).await.unwrap();
                assert_eq!(usize::from_le_bytes(reply), task);
            }
        });
        drop((calls, asked, dispatcher));
        let (served, its) = serving.join().unwrap();
        assert!(served >= 12 * (BEFORE + COUNTED));
        assert_eq!((mine, its), (0, 0), "{notice:?}");
    }
}

/// More tasks than operations and than buffers; each kind of operation.
#[test]
fn operations_of_the_kernel_need_none() {
    if !test_has(&[(Requirement::IoUring, "io-uring")]) {
        return;
    }
    let options = kernel::Options { operations: 8, buffers: 5, bytes: 64, files: 1, ..Default::default() };
    let mut ring = Ring::open(&options).unwrap();
    let (kernel, rouser) = (ring.kernel(), ring.rouser());
    let file = kernel.register(tempfile::tempfile().unwrap()).unwrap();
    let has_memory = ring.offers(Offer::Memory).is_ok();
    let pages = Pages::new(4096).unwrap();
    let (here, there) = UnixStream::pair().unwrap();
    let (here, there) = (kernel.file(OwnedFd::from(here)), kernel.file(OwnedFd::from(there)));
    let kernel = &kernel;
    let (file, pages, here, there) = (&file, &pages, &here, &there);
    let mine = allocations(&mut ring, rouser, 12, |task| async move {
        kernel.nop().await.unwrap();
        let buffer = kernel.buffer().await.with(&task.to_le_bytes());
        let (_, buffer) = kernel.write_at(file, task as u64 * 8, buffer).await.unwrap();
        let (count, buffer) = kernel.read_at(file, task as u64 * 8, buffer).await.unwrap();
        assert_eq!((count, &buffer[..]), (8, &task.to_le_bytes()[..]));
        let (_, buffer) = kernel.send(here, buffer).await.unwrap();
        kernel.receive(there, buffer).await.unwrap();
        if task == 0 {
            // Given up, too.
            let mut timeout = std::pin::pin!(kernel.timeout(Duration::from_secs(1000)));
            std::future::poll_fn(|context| {
                assert!(timeout.as_mut().poll(context).is_pending());
                std::task::Poll::Ready(())
            })
            .await;
        }
        if task == 1 && has_memory {
            kernel.madvise(pages, 0..4096, Advice::DontNeed).await.unwrap();
        }
    });
    assert_eq!(mine, 0);
}
