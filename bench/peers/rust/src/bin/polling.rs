//! polling, in level mode; a write end that is not wanted stays, without an interest.

use polling::{Event, Events, PollMode, Poller};
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;

struct Polling {
    poller: Poller,
    events: Events,
    known: HashSet<usize>,
}

/// The pipes stay open until the process ends.
fn borrow(fd: i32) -> BorrowedFd<'static> {
    unsafe { BorrowedFd::borrow_raw(fd) }
}

impl peers::Loop for Polling {
    fn watch_reads(&mut self, fd: i32, key: usize) {
        unsafe {
            self.poller.add_with_mode(fd, Event::readable(key), PollMode::Level).unwrap();
        }
    }

    fn enable_write(&mut self, fd: i32, key: usize) {
        if self.known.insert(key) {
            unsafe {
                self.poller.add_with_mode(fd, Event::writable(key), PollMode::Level).unwrap();
            }
            return;
        }
        self.poller.modify_with_mode(borrow(fd), Event::writable(key), PollMode::Level).unwrap();
    }

    fn disable_write(&mut self, fd: i32, key: usize) {
        self.poller.modify_with_mode(borrow(fd), Event::none(key), PollMode::Level).unwrap();
    }

    fn wait(&mut self, ready: &mut Vec<usize>) {
        self.events.clear();
        self.poller.wait(&mut self.events, None).unwrap();
        ready.clear();
        ready.extend(self.events.iter().map(|event| event.key));
    }
}

fn main() {
    peers::run(Polling {
        poller: Poller::new().unwrap(),
        events: Events::with_capacity(NonZeroUsize::new(256).unwrap()),
        known: HashSet::new(),
    });
}
