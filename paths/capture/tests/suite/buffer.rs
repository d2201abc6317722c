//! The packet buffer against a plain queue, and between two threads.

use std::collections::VecDeque;
use std::thread;

use proptest::prelude::*;
use tollway_capture::engine::Timestamp;
use tollway_capture::engine::buffer::{Header, MOST, buffer, room_for};

/// What is done to the buffer.
#[derive(Clone, Debug)]
enum Step {
    /// Append a packet of so many bytes, all of this value.
    Append(u32, u8),
    /// Tell the reader.
    Publish,
    /// Read into so many bytes.
    Read(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u32..1600, any::<u8>()).prop_map(|(n, b)| Step::Append(n, b)),
        2 => Just(Step::Publish),
        1 => (1usize..9000).prop_map(Step::Read),
    ]
}

proptest! {
    /// What comes out is what went in, whole and in order; what finds no room leaves no trace.
    #[test]
    fn a_buffer_is_a_queue(steps in prop::collection::vec(step(), 1..400)) {
        let (mut producer, mut consumer) = buffer(8192).unwrap();
        let capacity = producer.capacity();
        let mut queue: VecDeque<(u64, u32, u8)> = VecDeque::new();
        let (mut used, mut published, mut number) = (0, 0, 0);
        for step in steps {
            match step {
                Step::Append(kept, byte) => {
                    number += 1;
                    let header = Header { timestamp: Timestamp(number), kept, wire_length: kept + 4 };
                    let fits = used + room_for(kept) <= capacity;
                    match producer.place(header) {
                        Some(place) => {
                            prop_assert!(fits);
                            producer.bytes(place).fill(byte);
                            queue.push_back((number, kept, byte));
                            used += room_for(kept);
                        }
                        None => prop_assert!(!fits, "{} of {capacity} bytes used", used),
                    }
                }
                Step::Publish => {
                    producer.publish();
                    published = queue.len();
                }
                Step::Read(bytes) => {
                    let mut into = vec![0; bytes];
                    let first = queue.front().map(|(_, kept, _)| room_for(*kept));
                    match consumer.read(&mut into) {
                        Err(error) => {
                            prop_assert!(published > 0 && first.unwrap() > bytes, "{error}");
                        }
                        Ok(batch) => {
                            let mut room = 0;
                            for packet in batch.packets() {
                                let (number, kept, byte) = queue.pop_front().unwrap();
                                prop_assert_eq!(packet.timestamp, Timestamp(number));
                                prop_assert_eq!(packet.wire_length, kept + 4);
                                prop_assert_eq!(packet.bytes.len() as u32, kept);
                                prop_assert!(packet.bytes.iter().all(|b| *b == byte));
                                room += room_for(kept);
                                published -= 1;
                            }
                            prop_assert_eq!(batch.len(), room);
                            used -= room;
                            let next = queue.front().filter(|_| published > 0).map(|(_, kept, _)| room_for(*kept));
                            prop_assert!(next.is_none_or(|next| room + next > bytes), "a whole packet was left");
                        }
                    }
                }
            }
        }
    }
}

/// Packets of every length go from one thread to another, a million bytes at a time, through a buffer that they lap often.
#[test]
fn nothing_is_torn_between_two_threads() {
    const PACKETS: u64 = 300_000;
    let (mut producer, mut consumer) = buffer(1 << 16).unwrap();
    let tap = thread::spawn(move || {
        let mut number = 0;
        while number < PACKETS {
            let kept = (number % 200) as u32;
            let header = Header { timestamp: Timestamp(number), kept, wire_length: kept };
            let Some(place) = producer.place(header) else {
                producer.publish();
                thread::yield_now();
                continue;
            };
            producer.bytes(place).fill(number as u8);
            number += 1;
            if number.is_multiple_of(7) {
                producer.publish();
            }
        }
        producer.publish();
    });
    let mut into = vec![0; 20_000];
    let mut seen = 0;
    while seen < PACKETS {
        for packet in consumer.read(&mut into).unwrap().packets() {
            assert_eq!(packet.timestamp, Timestamp(seen));
            assert_eq!(packet.bytes.len() as u64, seen % 200);
            assert!(packet.bytes.iter().all(|b| *b == seen as u8), "packet {seen} is torn");
            seen += 1;
        }
    }
    tap.join().unwrap();
    assert_eq!(consumer.available(), 0);
}

#[test]
fn a_buffer_that_memory_cannot_hold_is_refused() {
    let error = buffer(MOST + 1).unwrap_err().to_string();
    assert!(error.contains("larger than") && error.contains("ask for less"), "{error}");
}

#[test]
fn a_packet_that_the_reader_has_no_room_for_is_told_and_kept() {
    let (mut producer, mut consumer) = buffer(4096).unwrap();
    let place = producer.place(Header { timestamp: Timestamp(9), kept: 500, wire_length: 500 }).unwrap();
    producer.bytes(place).fill(7);
    producer.publish();
    let error = consumer.read(&mut [0; 100]).unwrap_err().to_string();
    assert!(error.contains("the next packet is longer"), "{error}");
    assert_eq!(consumer.read(&mut [0; 1000]).unwrap().packets().count(), 1);
}
