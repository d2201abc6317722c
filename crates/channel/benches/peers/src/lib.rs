//! What the peers' programs share: messages that are looked at, stretches that are timed, a processor to stay on.

/// Bytes of a message: 64.
pub type Message = [u64; 8];

/// The first word of the message after which the other end ends.
pub const END: u64 = u64::MAX;

/// Round trips of a stretch.
const STRETCH: u64 = 256;

/// What the command line asks for: which peer, how many on their way at a time, how many round trips, on which two processors.
pub struct Asked {
    pub peer: String,
    pub depth: usize,
    pub trips: u64,
    pub cores: [usize; 2],
    /// What follows.
    pub rest: Vec<String>,
}

impl Asked {
    pub fn read() -> Asked {
        let usage = "usage: PEER DEPTH TRIPS CPU CPU";
        let mut words = std::env::args().skip(1);
        let peer = words.next().expect(usage);
        let mut number = || words.next().and_then(|word| word.parse::<usize>().ok()).expect(usage);
        let (depth, trips, cores) = (number(), number() as u64, [number(), number()]);
        Asked { peer, depth, trips, cores, rest: words.collect() }
    }
}

/// The message of that number.
pub fn request(number: u64) -> Message {
    std::array::from_fn(|at| number.wrapping_add(at as u64))
}

/// Each word plus one.
pub fn answer(request: &Message) -> Message {
    request.map(|word| word.wrapping_add(1))
}

/// Ends the program unless it is the answer to that request.
pub fn check(reply: &Message, number: u64) {
    assert_eq!(*reply, answer(&request(number)), "a reply is not its request's");
}

/// Keeps the calling thread on one processor.
pub fn pin(cpu: usize) {
    // SAFETY: all-zero is an empty set, and the kernel reads no more than its size.
    let failed = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set)
    };
    assert_eq!(failed, 0, "processor {cpu} is not to be had");
}

fn ticks() -> u64 {
    // SAFETY: every x86-64 has these.
    unsafe {
        std::arch::x86_64::_mm_lfence();
        std::arch::x86_64::_rdtsc()
    }
}

/// Ticks of stretches of round trips.
pub struct Stretches {
    begun: u64,
    trips: u64,
    ticks: Vec<u64>,
}

impl Stretches {
    pub fn begin(trips: u64) -> Stretches {
        Stretches { begun: ticks(), trips: 0, ticks: Vec::with_capacity((trips / STRETCH) as usize + 1) }
    }

    pub fn trip(&mut self) {
        self.trips += 1;
        if self.trips == STRETCH {
            let now = ticks();
            self.ticks.push(now - self.begun);
            (self.begun, self.trips) = (now, 0);
        }
    }

    /// Prints the median and the mean, in ticks per round trip, without the first tenth.
    pub fn print(mut self) {
        let counted = self.ticks.len() / 10;
        let counted = &mut self.ticks[counted..];
        assert!(!counted.is_empty(), "too few round trips");
        let mean = counted.iter().sum::<u64>() as f64 / counted.len() as f64;
        counted.sort_unstable();
        let median = counted[counted.len() / 2] as f64;
        println!("median {:.3}\nmean {:.3}", median / STRETCH as f64, mean / STRETCH as f64);
    }
}

/// Round trips with so many on their way at a time, whose replies come in order: `send` sends, and `receive` takes the next reply if there is one.
pub fn measure(asked: &Asked, mut send: impl FnMut(Message), mut receive: impl FnMut() -> Option<Message>) {
    let (mut sent, mut came) = (0, 0);
    let mut stretches = Stretches::begin(asked.trips);
    while came < asked.trips {
        while sent - came < asked.depth as u64 && sent < asked.trips {
            send(request(sent));
            sent += 1;
        }
        let before = came;
        while let Some(reply) = receive() {
            check(&reply, came);
            came += 1;
            stretches.trip();
            if came == sent {
                break;
            }
        }
        if came == before {
            std::hint::spin_loop();
        }
    }
    send([END; 8]);
    stretches.print();
}
