//! The thread that traces: ptrace(2) takes requests from nobody else.
//!
//! Every call stops its caller twice. A seccomp filter, which spares others the stops at calls that are not wanted, would spare nothing here: all are wanted.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use procfs::FromRead;
use procfs::process::Status;
use rustix::io::Errno;

use super::files::{Creation, Files};
use super::ledger::Shared;
use super::requests::{self, Event, Side};
use crate::numbers::{ends_workers, frees_descriptors, is_last, is_on_file};
use crate::{File, FileKind, Paths, is_proc_own};

/// Who traces.
pub(super) struct Tracer {
    shared: Arc<Shared>,
    is_enough: Arc<AtomicBool>,
    living: HashMap<u32, Living>,
    files: Files,
    /// Whether children are traced as well; threads always are.
    children: bool,
    /// The process that was started.
    program: Option<u32>,
    /// It has not come to its exec yet.
    is_starting: bool,
}

/// A thread that is traced.
struct Living {
    process: u32,
    record: usize,
    /// The call in which it is.
    call: Option<(u32, File)>,
    /// What is known of the file that the call may make.
    creation: Option<Creation>,
    /// The path by which the call looks for a file.
    path: Option<Paths>,
}

impl Tracer {
    pub(super) fn new(shared: Arc<Shared>, is_enough: Arc<AtomicBool>, children: bool) -> Tracer {
        Tracer {
            shared,
            is_enough,
            living: HashMap::new(),
            files: Files::new(),
            children,
            program: None,
            is_starting: false,
        }
    }

    /// Counts a thread that was seized. It is not new.
    pub(super) fn add(&mut self, thread: u32, process: u32) {
        self.begin(thread, process, false);
    }

    /// Counts a program from its exec on, which is about to come.
    pub(super) fn add_program(&mut self, process: u32) {
        self.begin(process, process, true);
        self.program = Some(process);
        self.is_starting = true;
        if let Some(program) = self.living.get_mut(&process) {
            program.call = Some((libc::SYS_execve as u32, File::default()));
            self.files.change();
        }
    }

    pub(super) fn has(&self, thread: u32) -> bool {
        self.living.contains_key(&thread)
    }

    /// Counts no more than the processor time, from now on, of those threads that the kernel has in a process.
    pub(super) fn add_workers(&mut self, process: u32) {
        self.look_at_workers(process, false);
    }

    fn look_at_workers(&self, process: u32, are_new: bool) {
        let is_traced = |thread| self.living.contains_key(&thread);
        self.shared.ledger().look_at_workers(process, is_traced, are_new);
    }

    fn begin(&mut self, thread: u32, process: u32, is_new: bool) {
        let record = self.shared.ledger().begin(thread, process, is_new);
        self.living.insert(thread, Living { process, record, call: None, creation: None, path: None });
    }

    /// Counts until all have ended or it is enough. When this thread ends, the kernel lets go of all whom it traces, where they are: nobody is stopped for
    /// that, which would end a wait in some calls with EINTR.
    pub(super) fn count(mut self) {
        while !self.is_enough.load(Ordering::Acquire) {
            match requests::next() {
                Ok((thread, event)) => self.take(thread, event),
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        self.shared.ledger().close();
        self.shared.changed.notify_all();
    }

    fn take(&mut self, thread: u32, event: Event) {
        if let Event::Ended(status) = event {
            return self.ended(thread, status);
        }
        if !self.has(thread) && !self.welcome(thread) {
            return requests::let_go(thread);
        }
        match event {
            Event::Call => self.call(thread),
            Event::Exec => self.exec(thread),
            Event::Ends => {
                if self.living.get(&thread).is_some_and(|one| one.process == thread) {
                    self.look_at_workers(thread, true);
                }
                self.with(thread, |shared, one| shared.ledger().end(one.record));
            }
            Event::Signal(signal) => {
                if would_be_delivered(thread, signal) {
                    self.with(thread, |shared, one| shared.ledger().signalled(one.record));
                }
                return requests::go_on(thread, signal);
            }
            Event::Stopped => return requests::listen(thread),
            Event::Born | Event::Paused | Event::Ended(_) => {}
        }
        requests::go_on(thread, 0);
    }

    fn with(&mut self, thread: u32, what: impl FnOnce(&Shared, &mut Living)) {
        if let Some(living) = self.living.get_mut(&thread) {
            what(&self.shared, living);
        }
    }

    /// Takes in who was born to one who is traced; `false` for a child that is not wanted.
    fn welcome(&mut self, thread: u32) -> bool {
        let process = self.process_of(thread);
        let is_wanted = self.children || self.living.values().any(|one| one.process == process);
        if is_wanted {
            self.begin(thread, process, true);
        }
        is_wanted
    }

    fn process_of(&self, thread: u32) -> u32 {
        if is_proc_own() {
            let status = Status::from_file(format!("/proc/{thread}/status"));
            return status.map_or(thread, |status| status.tgid as u32);
        }
        // Without /proc it is asked of each process that is known whether the thread is in it.
        let processes: BTreeSet<u32> = self.living.values().map(|one| one.process).collect();
        processes.into_iter().find(|process| requests::is_in(thread, *process)).unwrap_or(thread)
    }

    fn call(&mut self, thread: u32) {
        let side = requests::call(thread);
        if let Some(Side::Entry { number, .. }) = side
            && ends_workers(number)
            && let Some(one) = self.living.get(&thread)
        {
            self.look_at_workers(one.process, true);
        }
        let Some(one) = self.living.get_mut(&thread) else { return };
        match side {
            Some(Side::Entry { number, first, asks, opens, path }) => {
                let file = match is_on_file(number) {
                    true => self.files.file(one.process, thread, first).with_flags(asks),
                    false => File::default(),
                };
                for (file, name) in self.files.named() {
                    self.shared.ledger().named(file, name);
                }
                if is_last(number) {
                    self.shared.ledger().called(one.record, (number, file), Some(0), None);
                    return;
                }
                one.call = Some((number, file));
                one.creation = Creation::of(opens);
                one.path = path;
                if frees_descriptors(number) {
                    self.files.change();
                }
            }
            Some(Side::Exit { result }) => {
                let (creation, path) = (one.creation.take(), one.path.take());
                if let Some((number, mut file)) = left(one, &mut self.files) {
                    if let Some((creation, descriptor)) = creation.zip(result)
                        && self.files.is_made(one.process, thread, descriptor, &creation)
                    {
                        file = File { kind: FileKind::Created, ..File::default() };
                    }
                    self.shared.ledger().called(one.record, (number, file), result, path);
                }
            }
            None => {}
        }
    }

    /// An exec came back, in another program. Whoever made it has its process' number from then on, and the process' other threads are no more: of the first one
    /// nothing else is heard.
    fn exec(&mut self, thread: u32) {
        let before = requests::message(thread).unwrap_or(thread);
        let Some(caller) = self.living.get_mut(&before) else { return };
        let (record, process, call) = (caller.record, caller.process, left(caller, &mut self.files));
        let mut ledger = self.shared.ledger();
        if let Some(call) = call {
            ledger.called(record, call, Some(0), None);
        }
        if self.is_starting {
            self.is_starting = false;
            ledger.faults_begin(record);
        }
        if before != thread {
            self.living.remove(&before);
            ledger.end_as(record, thread);
            if let Some(first) = self.living.get_mut(&thread) {
                left(first, &mut self.files);
                ledger.gone(first.record);
            }
            let record = ledger.begin(thread, process, false);
            self.living.insert(thread, Living { process, record, call: None, creation: None, path: None });
        }
    }

    fn ended(&mut self, thread: u32, status: i32) {
        if let Some(mut one) = self.living.remove(&thread) {
            left(&mut one, &mut self.files);
            if thread == one.process {
                self.files.forget(thread);
            }
            self.shared.ledger().gone(one.record);
        }
        if self.program == Some(thread) {
            self.shared.ledger().status = Some(status);
            self.shared.changed.notify_all();
        }
    }
}

/// The call in which a thread was.
fn left(one: &mut Living, files: &mut Files) -> Option<(u32, File)> {
    let call = one.call.take();
    if call.is_some_and(|(number, _)| frees_descriptors(number)) {
        files.changed();
    }
    call
}

/// Whether a signal would reach the process if nobody traced it: of one who is traced the kernel drops none that is ignored (kernel/signal.c, `sig_ignored`), to
/// tell its tracer.
fn would_be_delivered(thread: u32, signal: i32) -> bool {
    // Where /proc has others' numbers nothing is said of signals.
    if !is_proc_own() {
        return true;
    }
    let Ok(status) = Status::from_file(format!("/proc/{thread}/status")) else { return true };
    let bit = 1u64 << (signal - 1);
    let is_ignored_unless_caught =
        matches!(signal, libc::SIGCHLD | libc::SIGCONT | libc::SIGURG | libc::SIGWINCH);
    status.sigign & bit == 0 && (status.sigcgt & bit != 0 || !is_ignored_unless_caught)
}
