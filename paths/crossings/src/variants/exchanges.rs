//! Round trips between two processes.

use tollway_core::{Axis, Crossing, Domain, Placement, Requirement, Value, Variant};

use super::Duo;
use crate::engine::asleep::{Sleep, WakeUp};
use crate::engine::cache_line::CacheLineExchange;
use crate::engine::contended::ContendedAdd;
use crate::engine::echo::{Echo, LONGEST};
use crate::engine::eventfd::EventfdExchange;
use crate::engine::futex::FutexExchange;
use crate::engine::hand_over::{self, HandOver};
use crate::engine::passing::PassingExchange;
use crate::engine::pipe::Pipes;
use crate::engine::queue::QueueExchange;
use crate::engine::sockets::{TcpLoopback, UdpLoopback, UnixSeqpacket, UnixStream};
use crate::engine::yielding::YieldExchange;

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![
        Box::new(Duo::<YieldExchange>::new(Crossing::SchedYield).caveats(
            "Both stay runnable; nobody is woken. On one core a round trip is two switches, with as many calls of \
             sched_yield as the scheduler makes of it (counted as `yields`). Across cores nobody switches: both look \
             at a word of memory and yield in between.",
        )),
        Box::new(Duo::<FutexExchange>::new(Crossing::Futex).caveats(
            "A round trip is two FUTEX_WAKEs (made even if nobody sleeps) and at most two FUTEX_WAITs, not private. \
             Across cores an answer that comes before its caller has gone to sleep saves a sleep.",
        )),
        Box::new(Duo::<WakeUp>::new(Crossing::WakeUp).operation("wake-up").caveats(
            "One FUTEX_WAKE, not private, of one who sleeps, timed where it is called; `system-call/kind=futex-wake-none-shared` \
             less, it is what waking adds to a call. Across cores the sleeper has had 20 µs for its core to become \
             idle; the interrupt that ends that is sent within the call, and in a virtual machine an exit to the hypervisor \
             with it. On the same core the sleeper is of policy SCHED_BATCH, so that it does not take the core from its waker \
             before the call has returned: the switch to it is not in the figure. How often it did so all the same is \
             counted (`preempted`), and how often nobody slept (`idle`).",
        )),
        Box::new(Duo::<Sleep>::new(Crossing::Sleep).operation("sleep").caveats(
            "Processor time of the thread that sleeps (CLOCK_THREAD_CPUTIME_ID), in ticks of the clock: a FUTEX_WAIT, not private, \
             that goes to sleep, and the way back out of it; `system-call/kind=futex-wait-changed-shared` less, it is what \
             sleeping adds to a call. A switch is charged to who is switched to, so one is in it. On the same core another \
             process has the core meanwhile; across cores nobody, for 20 µs at least: the idle task, and the interrupt or \
             the hypervisor's exit that ends its halt, are charged to no thread and not in it.",
        )),
        Box::new(
            Duo::<HandOver>::new(Crossing::HandOver)
                .axis(Axis {
                    name: "kind",
                    about: "what they talk by, or sched-yield: both stay ready; lasting: once they have done so for a tenth of a second",
                    domain: Domain::Words(hand_over::KINDS),
                    default: Value::Text("pipe".into()),
                })
                .requires(Requirement::Loopback)
                .settles(hand_over::settles)
                .caveats(
                    "Processor time of both ends' processes (CLOCK_PROCESS_CPUTIME_ID), half of it, in ticks of the clock: \
                     a call that wakes the other and one that sleeps until it does (by sched-yield a call, and a switch). One byte, of an eventfd eight. On one \
                     core that is half of the round trip that the crossing `kind` names, without what others take of that core \
                     meanwhile; across cores it is less than half, as nobody is charged for the time that a core takes to wake. A hypervisor may treat two virtual \
                     processors otherwise once they have worked in turns for a while, so there are kinds that have lasted \
                     (seen: 10 µs in the first 20 ms, 15 to 19 µs from 60 ms on).",
                ),
        ),
        Box::new(
            Duo::<Echo<Pipes>>::new(Crossing::Pipe)
                .caveats("A round trip of one byte is two writes, two reads, two sleeps and two wake-ups."),
        ),
        Box::new(Duo::<EventfdExchange>::new(Crossing::Eventfd).caveats(
            "A round trip is two writes and two reads of eight bytes, two sleeps and two wake-ups.",
        )),
        Box::new(Duo::<Echo<UnixStream>>::new(Crossing::UnixStream).axis(size()).caveats(SOCKETS)),
        Box::new(Duo::<Echo<UnixSeqpacket>>::new(Crossing::UnixSeqpacket).axis(size()).caveats(SOCKETS)),
        Box::new(
            Duo::<QueueExchange>::new(Crossing::PosixQueue)
                .requires(Requirement::PosixQueues)
                .caveats("A round trip is two mq_sends and two mq_receives of four bytes, two sleeps, two wake-ups."),
        ),
        Box::new(
            Duo::<Echo<TcpLoopback>>::new(Crossing::TcpLoopback)
                .axis(size())
                .requires(Requirement::Loopback)
                .caveats(
                    "TCP_NODELAY. A round trip is two writes and two reads; the receiver's side of the protocol runs \
                     in a software interrupt of the sender, so it is part of the sender's write.",
                ),
        ),
        Box::new(
            Duo::<Echo<UdpLoopback>>::new(Crossing::UdpLoopback)
                .axis(size())
                .requires(Requirement::Loopback)
                .caveats("Connected sockets. A round trip is two writes and two reads, as with TCP."),
        ),
        Box::new(Duo::<PassingExchange>::new(Crossing::DescriptorPass).caveats(
            "SCM_RIGHTS over a Unix stream: a round trip is two sendmsgs and two recvmsgs, each with a descriptor, and \
             two closes. Without the descriptor it would be `unix-stream`.",
        )),
        Box::new(Duo::<CacheLineExchange>::new(Crossing::CacheLine).only(Placement::Across).without_kernel().caveats(
            "Both spin (with PAUSE) on one word: a round trip is two changes of its line's owner, no system call. \
             It is the floor under every exchange across cores, at the price of a core that never sleeps. On a virtual \
             machine it jumps when the hypervisor moves a core: take it as a range. With the caller in a micro-guest \
             nothing leaves the guest: a difference would be the price of the guest's own page tables, or of interrupts \
             that land in it.",
        )),
        Box::new(
            Duo::<ContendedAdd>::new(Crossing::AtomicContended)
                .operation("add")
                .only(Placement::Across)
                .without_kernel()
                .caveats(
                    "One other core adds to the same word without a pause. The mean is what counts: a core that has \
                     the line makes several adds before it loses it.",
                ),
        ),
    ]
}

const SOCKETS: &str = "A round trip is two writes and two reads, two sleeps and two wake-ups. Each message is a buffer \
                       that the kernel allocates and frees.";

/// Bytes of a message.
fn size() -> Axis {
    Axis {
        name: "size",
        about: "bytes of a message",
        domain: Domain::Whole(1, LONGEST as u64),
        default: Value::Int(1),
    }
}
