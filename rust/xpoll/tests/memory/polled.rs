//! What a random program does at the poll-like level.

use std::os::fd::AsFd;
use std::time::Duration;

use xpoll::{Filter, PollBits, PollInterest, Queue, ReadyList, Source};

use super::things::Random;

fn bits(random: &mut Random) -> PollBits {
    let mut bits = PollBits::empty();
    for bit in [PollBits::IN, PollBits::OUT, PollBits::PRI, PollBits::RDHUP] {
        if random.once_in(2) {
            bits |= bit;
        }
    }
    bits
}

/// Waits, and changes what came; with threads the other level may be in use.
pub fn wait(queue: &Queue, random: &mut Random, names: &mut Vec<(Filter, u64)>) {
    let mut ready = ReadyList::with_capacity(random.of(&[1, 2, 16]));
    let time = random.of(&[Duration::ZERO, Duration::ZERO, Duration::from_micros(100)]);
    match queue.poll(&mut ready, Some(time)) {
        Ok(count) => assert_eq!(count, ready.len()),
        Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EBUSY)),
    }
    for one in &ready {
        assert!(one.fd() >= 0 && !one.bits().is_empty(), "{one:?}");
        names.push((Filter::READ, one.fd() as u64));
        if random.once_in(2) {
            let _ = queue.poll_enable(one.fd(), bits(random));
        }
        if random.once_in(8) {
            let _ = queue.poll_delete(one.fd(), bits(random));
        }
    }
}

/// Changes what is registered; the call may fail.
pub fn change<T: AsFd>(source: &Source<T>, random: &mut Random, token: u64) {
    let modes: [fn(PollInterest) -> PollInterest; 7] = [
        |interest| interest,
        PollInterest::clear,
        PollInterest::oneshot,
        PollInterest::dispatch,
        |interest: PollInterest| interest.oneshot().whole(),
        |interest: PollInterest| interest.dispatch().whole(),
        PollInterest::disabled,
    ];
    let mode = random.of(&modes);
    let bits = bits(random);
    let _ = match random.below(8) {
        0..=3 => source.poll_add(mode(PollInterest::new(bits)), token),
        4..=5 => source.poll_enable(bits),
        6 => source.poll_disable(bits),
        _ => source.poll_delete(bits),
    };
}
