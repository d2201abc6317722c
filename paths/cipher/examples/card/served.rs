//! A card on a processor of its own, and a process that uses it.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tollway_cipher::engine::device::{Card, Delivery, NewFunction, Options};
use tollway_core::{Error, Result};
use tollway_host::cpu::pin_current_thread;
use tollway_virtio::order::Share;
use tollway_virtio::socket::{Listener, Meeting};

use crate::processors;

/// Serves functions at the sockets `0`, `1` … of a folder, until this program, called with these words, has ended.
pub fn serve(folder: &Path, functions: usize, options: Options, words: &[&str]) -> Result<()> {
    let function = |number: usize| {
        let listener = Listener::bind(&folder.join(number.to_string()), 0o600)?;
        Ok(NewFunction {
            name: number.to_string(),
            meeting: Meeting::Listen(listener),
            share: Share::default(),
            delivery: Delivery::Each,
        })
    };
    let functions = (0..functions).map(function).collect::<Result<_>>()?;
    // It looks for itself all the time: nobody is to wait for it to wake up.
    let options = Options { engines: 0, lent: 1, spin: Duration::from_secs(3600), ..options };
    let mut card = Card::start(functions, &options, |_| ())?;
    let Some(mut engine) = card.engine() else {
        return Err(Error::Wrong("a card lends no engine".into()));
    };
    let [_, second] = processors()?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_over = &is_over;
        let works = scope.spawn(move || -> Result<()> {
            pin_current_thread(second)?;
            engine.work(|| !is_over.load(Ordering::Relaxed)).map(|_| ())
        });
        let used = run(words);
        is_over.store(true, Ordering::Relaxed);
        works.join().map_err(|_| Error::Wrong("the card's thread has panicked".into()))??;
        used
    })
}

/// This program once more, with these words.
fn run(words: &[&str]) -> Result<()> {
    let failed = |e: std::io::Error| Error::system("starting a tenant", e);
    let status =
        Command::new(std::env::current_exe().map_err(failed)?).args(words).status().map_err(failed)?;
    if status.success() { Ok(()) } else { Err(Error::Wrong(format!("the tenant has ended: {status}"))) }
}
