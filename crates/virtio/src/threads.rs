//! The threads of a device: of one that ends for a reason that should not be its user is told, and the end of all of them takes no
//! longer than it may.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tollway_core::{Error, Result};

/// How long the end may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long those that end are left alone before they are woken again.
const PAUSE: Duration = Duration::from_micros(200);

/// Threads that were started and not ended.
pub struct Threads {
    failed: Arc<dyn Fn(Error) + Send + Sync>,
    running: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Threads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.running).finish()
    }
}

impl Threads {
    /// None so far; `failed` is told why one ended, by that one.
    pub fn new(failed: impl Fn(Error) + Send + Sync + 'static) -> Threads {
        Threads { failed: Arc::new(failed), running: Vec::new() }
    }

    /// Starts one.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel refuses.
    pub fn start(&mut self, name: String, work: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
        let failed = self.failed.clone();
        let doing = format!("starting the thread {name}");
        let body = move || {
            if let Err(error) = work() {
                failed(error);
            }
        };
        let thread = thread::Builder::new().name(name).spawn(body).map_err(|e| Error::system(doing, e))?;
        self.running.push(thread);
        Ok(())
    }

    /// Waits until all have ended, after having told them: `wake` is called again and again, since it may wake one at a time. Who is
    /// still at work after two seconds, waiting in the kernel perhaps for what never comes, is left behind.
    pub fn end(&mut self, wake: impl Fn()) {
        self.end_within(PATIENCE, wake);
    }

    fn end_within(&mut self, most: Duration, wake: impl Fn()) {
        let deadline = Instant::now() + most;
        wake();
        while !self.running.iter().all(JoinHandle::is_finished) && Instant::now() < deadline {
            thread::sleep(PAUSE);
            wake();
        }
        for thread in self.running.drain(..).filter(JoinHandle::is_finished) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Longer than anybody is displaced.
    const HANG: Duration = Duration::from_secs(60);

    #[test]
    fn who_is_stuck_is_left_behind_and_keeps_nobody_else() {
        let mut threads = Threads::new(|error| panic!("{error}"));
        let ((stuck, never), (bell, rung), (gone, seen)) = (channel::<()>(), channel(), channel());
        threads.start("stuck".into(), move || never.recv().map_err(|e| Error::Wrong(e.to_string()))).unwrap();
        let rung = Arc::new(std::sync::Mutex::new(rung));
        for number in 0..3 {
            let (rung, gone) = (rung.clone(), gone.clone());
            let work = move || {
                rung.lock().unwrap().recv().unwrap();
                gone.send(()).unwrap();
                Ok(())
            };
            threads.start(format!("waits-{number}"), work).unwrap();
        }
        let (begun, most) = (Instant::now(), Duration::from_millis(300));
        // Each call wakes one of them.
        threads.end_within(most, || bell.send(()).unwrap_or_default());
        assert!((most..HANG).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        for _ in 0..3 {
            seen.recv_timeout(HANG).unwrap();
        }
        stuck.send(()).unwrap();
    }

    #[test]
    fn why_one_ended_is_told_and_a_panic_harms_nobody() {
        let (failed, told) = channel();
        let mut threads = Threads::new(move |error| failed.send(error.to_string()).unwrap());
        threads.start("fails".into(), || Err(Error::Wrong("it cannot".into()))).unwrap();
        threads.start("panics".into(), || panic!("as it is to")).unwrap();
        threads.start("ends".into(), || Ok(())).unwrap();
        threads.end_within(HANG, || ());
        let told: Vec<String> = told.try_iter().collect();
        assert!(told.len() == 1 && told[0].contains("it cannot"), "{told:?}");
    }
}
