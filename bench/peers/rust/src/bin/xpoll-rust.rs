//! The Rust crate of xpoll, in level mode; what it adds to the C library is what is measured.

use std::collections::HashSet;
use std::os::fd::BorrowedFd;
use xpoll::{Change, Events, Filter, Interest, Queue};

struct Xpoll {
    queue: Queue,
    events: Events,
    changes: Vec<Change>, // made with the next wait
    known: HashSet<usize>,
}

/// The pipes stay open until the process ends.
fn borrow(fd: i32) -> BorrowedFd<'static> {
    unsafe { BorrowedFd::borrow_raw(fd) }
}

impl peers::Loop for Xpoll {
    fn watch_reads(&mut self, fd: i32, key: usize) {
        unsafe { self.queue.add(borrow(fd), Interest::READ, key as u64).unwrap() };
    }

    fn enable_write(&mut self, fd: i32, key: usize) {
        self.changes.push(if self.known.insert(key) {
            unsafe { Change::add(borrow(fd), Interest::WRITE, key as u64) }
        } else {
            Change::enable(Filter::WRITE, fd as u64)
        });
    }

    fn disable_write(&mut self, fd: i32, _: usize) {
        self.changes.push(Change::disable(Filter::WRITE, fd as u64));
    }

    fn wait(&mut self, ready: &mut Vec<usize>) {
        self.queue.wait_with(&self.changes, &mut self.events, None).unwrap();
        self.changes.clear();
        ready.clear();
        ready.extend(self.events.iter().map(|event| event.token() as usize));
    }
}

fn main() {
    let queue = Queue::new().unwrap();
    let events = Events::with_capacity(256);
    peers::run(Xpoll { queue, events, changes: Vec::new(), known: HashSet::new() });
}
