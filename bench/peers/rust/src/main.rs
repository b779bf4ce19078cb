//! mio, polling and the crate xpoll, by the name of this program; see ../../build.sh.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

/// A way of waiting. Keys are even for the read end of a pipe, odd for the write end.
trait Loop {
    fn watch_reads(&mut self, fd: i32, key: usize);
    fn enable_write(&mut self, fd: i32, key: usize);
    fn disable_write(&mut self, fd: i32, key: usize);
    /// Waits; the keys that are ready go to `ready`.
    fn wait(&mut self, ready: &mut Vec<usize>);
}

struct Pipe {
    read: i32,
    write: i32,
}

fn open_pipe() -> Pipe {
    let mut ends = [0; 2];
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    if unsafe { libc::pipe2(ends.as_mut_ptr(), flags) } < 0 {
        panic!("pipe2: {}", io::Error::last_os_error());
    }
    Pipe { read: ends[0], write: ends[1] }
}

fn give(pipe: &Pipe) {
    assert_eq!(unsafe { libc::write(pipe.write, b"t".as_ptr().cast(), 1) }, 1);
}

fn take(pipe: &Pipe) {
    let mut byte = 0u8;
    assert_eq!(unsafe { libc::read(pipe.read, (&raw mut byte).cast(), 1) }, 1);
}

fn looptest(way: &mut impl Loop, pipes: &[Pipe], count: u64, ready: &mut Vec<usize>) {
    let mut reads = 0;
    while reads < count {
        way.wait(ready);
        for &key in ready.iter() {
            let index = key / 2;
            if key % 2 == 0 {
                let next = (index + 1) % pipes.len();
                take(&pipes[index]);
                way.enable_write(pipes[next].write, 2 * next + 1);
                reads += 1;
            } else {
                way.disable_write(pipes[index].write, key);
                give(&pipes[index]);
            }
        }
    }
}

fn serve(way: &mut impl Loop, pipes: &[Pipe], active: usize, count: u64, ready: &mut Vec<usize>) {
    let mut left = count as usize;
    while left > 0 {
        let k = active.min(pipes.len()).min(left);
        for i in 0..k {
            give(&pipes[i * (pipes.len() / k)]);
        }
        let mut unread = k;
        while unread > 0 {
            way.wait(ready);
            for &key in ready.iter() {
                take(&pipes[key / 2]);
            }
            unread -= ready.len();
        }
        left -= k;
    }
}

/// The processor time of this process.
fn used() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// `looptest N 1 MS` or `serve N K MS`.
fn run(mut way: impl Loop) {
    let arguments: Vec<String> = std::env::args().collect();
    let [n, active, ms] = [2, 3, 4].map(|at| arguments[at].parse::<usize>().expect("a number"));
    let pipes: Vec<Pipe> = (0..n).map(|_| open_pipe()).collect();
    let token = arguments[1] == "looptest";
    let mut ready = Vec::with_capacity(256);

    for (i, pipe) in pipes.iter().enumerate() {
        way.watch_reads(pipe.read, 2 * i);
    }
    if token {
        give(&pipes[0]);
    }
    let mut go = |count| {
        if token {
            looptest(&mut way, &pipes, count, &mut ready);
        } else {
            serve(&mut way, &pipes, active, count, &mut ready);
        }
    };
    let mut reads = 0;

    go(2 * n as u64 + 1000); // the memory is there afterwards
    let start = used();
    while used() - start < Duration::from_millis(ms as u64) {
        go(1024);
        reads += 1024;
    }
    println!("{reads} {}", (used() - start).as_nanos());
}

/// The pipes stay open until the process ends.
fn borrow(fd: i32) -> BorrowedFd<'static> {
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// mio, edge-triggered, and no registration without an interest.
struct Mio {
    poll: mio::Poll,
    events: mio::Events,
}

impl Loop for Mio {
    fn watch_reads(&mut self, fd: i32, key: usize) {
        self.poll
            .registry()
            .register(&mut mio::unix::SourceFd(&fd), mio::Token(key), mio::Interest::READABLE)
            .unwrap();
    }

    fn enable_write(&mut self, fd: i32, key: usize) {
        self.poll
            .registry()
            .register(&mut mio::unix::SourceFd(&fd), mio::Token(key), mio::Interest::WRITABLE)
            .unwrap();
    }

    fn disable_write(&mut self, fd: i32, _: usize) {
        self.poll.registry().deregister(&mut mio::unix::SourceFd(&fd)).unwrap();
    }

    fn wait(&mut self, ready: &mut Vec<usize>) {
        self.poll.poll(&mut self.events, None).unwrap();
        ready.clear();
        ready.extend(self.events.iter().map(|event| event.token().0));
    }
}

/// Which keys were registered; a program would keep it with its connections.
#[derive(Default)]
struct Known(Vec<bool>);

impl Known {
    /// Was it new?
    fn insert(&mut self, key: usize) -> bool {
        if key >= self.0.len() {
            self.0.resize(2 * key + 1, false);
        }
        !std::mem::replace(&mut self.0[key], true)
    }
}

/// polling in level mode; a write end that is not wanted stays, without an interest.
struct Polling {
    poller: polling::Poller,
    events: polling::Events,
    known: Known,
}

impl Loop for Polling {
    fn watch_reads(&mut self, fd: i32, key: usize) {
        unsafe {
            self.poller
                .add_with_mode(fd, polling::Event::readable(key), polling::PollMode::Level)
                .unwrap();
        }
    }

    fn enable_write(&mut self, fd: i32, key: usize) {
        if self.known.insert(key) {
            unsafe {
                self.poller
                    .add_with_mode(fd, polling::Event::writable(key), polling::PollMode::Level)
                    .unwrap();
            }
            return;
        }
        self.poller
            .modify_with_mode(borrow(fd), polling::Event::writable(key), polling::PollMode::Level)
            .unwrap();
    }

    fn disable_write(&mut self, fd: i32, key: usize) {
        self.poller
            .modify_with_mode(borrow(fd), polling::Event::none(key), polling::PollMode::Level)
            .unwrap();
    }

    fn wait(&mut self, ready: &mut Vec<usize>) {
        self.events.clear();
        self.poller.wait(&mut self.events, None).unwrap();
        ready.clear();
        ready.extend(self.events.iter().map(|event| event.key));
    }
}

/// The Rust crate of xpoll, in level mode; what it adds to the C library is what is measured.
struct Xpoll {
    queue: xpoll::Queue,
    events: xpoll::Events,
    changes: Vec<xpoll::Change>, // made with the next wait
    known: Known,
}

impl Loop for Xpoll {
    fn watch_reads(&mut self, fd: i32, key: usize) {
        unsafe { self.queue.add(borrow(fd), xpoll::Interest::READ, key as u64).unwrap() };
    }

    fn enable_write(&mut self, fd: i32, key: usize) {
        self.changes.push(if self.known.insert(key) {
            unsafe { xpoll::Change::add(borrow(fd), xpoll::Interest::WRITE, key as u64) }
        } else {
            xpoll::Change::enable(xpoll::Filter::WRITE, fd as u64)
        });
    }

    fn disable_write(&mut self, fd: i32, _: usize) {
        self.changes.push(xpoll::Change::disable(xpoll::Filter::WRITE, fd as u64));
    }

    fn wait(&mut self, ready: &mut Vec<usize>) {
        self.queue.wait_with(&self.changes, &mut self.events, None).unwrap();
        self.changes.clear();
        ready.clear();
        ready.extend(self.events.iter().map(|event| event.token() as usize));
    }
}

fn main() {
    let program = std::env::args().next().expect("a name");
    match Path::new(&program).file_name().and_then(|name| name.to_str()) {
        Some("mio") => {
            let poll = mio::Poll::new().unwrap();
            run(Mio { poll, events: mio::Events::with_capacity(256) });
        }
        Some("polling") => {
            let events = polling::Events::with_capacity(NonZeroUsize::new(256).unwrap());
            let poller = polling::Poller::new().unwrap();
            run(Polling { poller, events, known: Known::default() });
        }
        _ => {
            let (queue, events) = (xpoll::Queue::new().unwrap(), xpoll::Events::with_capacity(256));
            run(Xpoll { queue, events, changes: Vec::new(), known: Known::default() });
        }
    }
}
