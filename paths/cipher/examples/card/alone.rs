//! What a card is held against: the library alone on the same texts, and the same texts copied on the other processor.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use aws_lc_sys::{AES_KEY, AES_cbc_encrypt, AES_ctr128_encrypt, AES_set_encrypt_key};
use tollway_cipher::engine::suite::{Algorithm, CipherMode};
use tollway_core::{Error, Result};
use tollway_host::cpu::pin_current_thread;
use tollway_host::shared::SharedPages;
use tollway_virtio::Area;

use crate::{IV, KEY, Load, processors};

/// The library's own functions, one text after the other: each is written, encrypted and read as a tenant's.
pub fn library(load: Load) -> Result<()> {
    let Load { algorithm, bytes, depth, time } = load;
    let [first, _] = processors()?;
    pin_current_thread(first)?;
    let area = Area::from(std::sync::Arc::new(SharedPages::new(2 * bytes * depth)?));
    let mut key = AES_KEY { rd_key: [0; 60], rounds: 0 };
    // SAFETY: the key has as many bits as is said.
    unsafe { AES_set_encrypt_key(KEY.as_ptr(), 128, &mut key) };
    let is_cbc = matches!(algorithm, Algorithm::Cipher(CipherMode::Cbc, _));
    let (mut text, mut result) = (vec![0; bytes], vec![0; bytes]);
    let mut once = |number: usize| {
        let at = 2 * bytes * (number % depth);
        text[0] = number as u8;
        area.write(at, &text);
        let (mut iv, mut stream, mut used) = (IV, [0; 16], 0);
        // SAFETY: the area has twice as many bytes from there on, which nobody else reaches.
        unsafe {
            let from = area.as_ptr().add(at);
            let to = from.add(bytes);
            if is_cbc {
                AES_cbc_encrypt(from, to, bytes, &key, iv.as_mut_ptr(), 1);
            } else {
                AES_ctr128_encrypt(from, to, bytes, &key, iv.as_mut_ptr(), stream.as_mut_ptr(), &mut used);
            }
        }
        area.read(at + bytes, &mut result);
        black_box(&result);
    };
    let (mut begun, mut done, mut counted) = (Instant::now(), 0, None);
    loop {
        for _ in 0..depth {
            once(done);
            done += 1;
        }
        let took = begun.elapsed();
        match counted {
            None if took >= time / 10 => (counted, begun) = (Some(done), Instant::now()),
            Some(before) if took >= time => {
                println!("{}", (done - before) as f64 / took.as_secs_f64());
                return Ok(());
            }
            _ => {}
        }
    }
}

/// Two threads and two counters: one writes texts and reads results, the other copies.
pub fn transfer(load: Load) -> Result<()> {
    let Load { bytes, depth, time, .. } = load;
    let [first, second] = processors()?;
    let area = Area::from(std::sync::Arc::new(SharedPages::new(2 * bytes * depth)?));
    let (shown, copied, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let place = |number: usize| 2 * bytes * (number % depth);
    thread::scope(|scope| {
        let (area, shown, copied, is_over) = (&area, &shown, &copied, &is_over);
        let copies = scope.spawn(move || -> Result<()> {
            pin_current_thread(second)?;
            let mut done = 0;
            while !is_over.load(Ordering::Relaxed) {
                let there = shown.load(Ordering::Acquire);
                while done < there {
                    // SAFETY: the area has twice as many bytes from there on, and nobody else reaches them until it is told.
                    unsafe {
                        let from = area.as_ptr().add(place(done));
                        std::ptr::copy_nonoverlapping(from, from.add(bytes), bytes);
                    }
                    done += 1;
                    copied.store(done, Ordering::Release);
                }
                spin_loop();
            }
            Ok(())
        });
        pin_current_thread(first)?;
        let (mut text, mut result) = (vec![0; bytes], vec![0; bytes]);
        let (mut begun, mut sent, mut done, mut counted) = (Instant::now(), 0, 0, None);
        let rate = loop {
            while sent < done + depth {
                text[0] = sent as u8;
                area.write(place(sent), &text);
                sent += 1;
                shown.store(sent, Ordering::Release);
            }
            let there = copied.load(Ordering::Acquire);
            while done < there {
                area.read(place(done) + bytes, &mut result);
                black_box(&result);
                done += 1;
            }
            let took = begun.elapsed();
            match counted {
                None if took >= time / 10 => (counted, begun) = (Some(done), Instant::now()),
                Some(before) if took >= time => break (done - before) as f64 / took.as_secs_f64(),
                _ => {}
            }
        };
        is_over.store(true, Ordering::Relaxed);
        copies.join().map_err(|_| Error::Wrong("the copying thread has panicked".into()))??;
        println!("{rate}");
        Ok(())
    })
}
