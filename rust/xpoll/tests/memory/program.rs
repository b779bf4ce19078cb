//! A random program over the safe interface of the crate: queues, all kinds of registrations,
//! changes that succeed and fail, operations with buffers, leaks, panics and threads.
//!
//! The program checks what must hold for every program: an operation gives its file and its buffer
//! back after its event and not before, gives them back in the end, and nothing stays registered
//! whose value was dropped. AddressSanitizer and Miri check memory meanwhile.

use std::any::Any;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use xpoll::{
    Aio, Change, Event, Events, FileNotes, Filter, Interest, Options, Process, ProcessNotes, Queue,
    Signal, Source, Timer, Vnode, Waker,
};

use super::polled;
use super::things::{content, guarded, Noted, Operation, Random, Thing};

/// Limits of a program: how much it does, and what it may do.
#[derive(Clone, Copy)]
pub struct Limits {
    pub steps: u64,
    /// The size of the file, and so the longest buffer.
    pub size: usize,
    /// The library and the system are real: signals are sent, processes made, streams read.
    pub real: bool,
}

/// The time after which an event counts as lost, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

const NOW: Option<Duration> = Some(Duration::ZERO);

const FILTERS: [Filter; 10] = [
    Filter::READ,
    Filter::WRITE,
    Filter::AIO,
    Filter::VNODE,
    Filter::PROC,
    Filter::SIGNAL,
    Filter::TIMER,
    Filter::USER,
    Filter::EMPTY,
    Filter::EXCEPT,
];

/// SIGWINCH, which nobody else sends here, and which ends no process.
const SIGNAL: i32 = 28;

/// Leaked values stay reachable from here, as a sanitizer reports everything else.
static LEAKED: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

fn leak(value: impl Send + 'static) {
    LEAKED.lock().unwrap().push(Box::new(value));
}

struct Program {
    random: Random,
    limits: Limits,
    leaks: bool,
    path: PathBuf,
    queues: Vec<Queue>,
    things: Vec<Thing>,
    /// Registrations and operations that changes may name, and some that never were.
    names: Vec<(Filter, u64)>,
    /// The last file that panics when it is dropped; one at a time, as two would abort.
    panics: Arc<Mutex<Option<Arc<()>>>>,
    alive: Arc<()>,
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Runs programs, from XPOLL_SEED on; XPOLL_PROGRAMS is how many instead of `count`.
pub fn run_all(count: u64, limits: Limits) {
    let first = number("XPOLL_SEED").unwrap_or(1);
    let count = number("XPOLL_PROGRAMS").unwrap_or(count);
    for seed in first..first + count {
        let begin = Instant::now();
        // Shown if it fails.
        println!("XPOLL_SEED={seed}");
        run(seed, limits);
        println!("{:?}", begin.elapsed());
    }
}

fn run(seed: u64, limits: Limits) {
    let root = env!("CARGO_CRATE_NAME"); // Two crates run programs.
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{root}-program-{seed}"));
    fs::write(&path, (0..limits.size).map(content).collect::<Vec<u8>>()).unwrap();
    let mut random = Random::new(seed);
    let leaks = random.once_in(3);
    let mut program = Program {
        random,
        limits,
        leaks,
        path: path.clone(),
        queues: Vec::new(),
        things: Vec::new(),
        names: FILTERS.map(|filter| (filter, 1)).to_vec(),
        panics: Arc::default(),
        alive: Arc::new(()),
    };
    program.open();
    for _ in 0..limits.steps {
        program.step();
    }
    program.finish();
    fs::remove_file(path).unwrap();
}

impl Program {
    fn open(&mut self) {
        let names = xpoll::backends();
        let name = self.random.of(&names);
        let mut options = Options::new().backend(name);
        if self.random.once_in(3) {
            options = options.all_ready().size_hint(1000);
        }
        self.queues.push(options.open().unwrap());
    }

    fn queue(&mut self) -> Queue {
        let at = self.random.below(self.queues.len() as u64) as usize;
        self.queues[at].clone()
    }

    fn take(&mut self) -> Option<Thing> {
        let count = self.things.len() as u64;
        (count > 0).then(|| self.things.swap_remove(self.random.below(count) as usize))
    }

    fn step(&mut self) {
        guarded(|| self.act());
        // More would make each step slower, and no state new.
        if self.things.len() > 60 {
            guarded(|| drop(self.take()));
        }
        let surplus = self.names.len().saturating_sub(50);
        self.names.drain(..surplus);
    }

    fn act(&mut self) {
        match self.random.below(24) {
            0 => self.open_or_close(),
            1..=4 => self.make(),
            5..=8 => self.submit(),
            9..=12 => self.wait(),
            13..=14 => self.change(),
            15..=21 => self.use_one(),
            22 => drop(self.take()),
            _ => self.crowd(),
        }
    }

    fn open_or_close(&mut self) {
        let at = self.random.below(self.queues.len() as u64) as usize;
        match self.random.below(3) {
            0 if self.queues.len() < 4 => self.open(),
            1 if self.queues.len() > 1 => drop(self.queues.swap_remove(at)),
            _ if self.leaks && self.random.once_in(8) => leak(self.queue()),
            _ => {}
        }
    }

    fn interest(&mut self) -> Interest {
        let of = [Interest::READ, Interest::WRITE, Interest::EXCEPT, Interest::EMPTY];
        let mut interest = self.random.of(&of);
        let change = [
            Interest::clear,
            Interest::oneshot,
            Interest::dispatch,
            Interest::disabled,
            Interest::count,
            Interest::socket_error,
            Interest::exclusive,
        ];
        while self.random.once_in(2) {
            interest = self.random.of(&change)(interest);
        }
        interest
    }

    fn noted(&mut self) -> Noted {
        if self.random.once_in(20) {
            // One at a time: two panics at once would end the process.
            let mut last = self.panics.lock().unwrap();
            if last.as_ref().map_or(true, |last| Arc::strong_count(last) == 1) {
                let alive = last.insert(Arc::new(()));
                return Noted::open(&self.path, true, alive);
            }
        }
        Noted::open(&self.path, false, &self.alive)
    }

    fn make(&mut self) {
        let (queue, token) = (self.queue(), self.random.below(1 << 40));
        let time = Duration::from_nanos(self.random.below(2_000_000));
        let made = match self.random.below(11) {
            0 | 1 => {
                let (ours, theirs) = UnixStream::pair().unwrap();
                if self.limits.real {
                    ours.set_nonblocking(true).unwrap();
                    theirs.set_nonblocking(true).unwrap();
                }
                self.things.push(Thing::Peer(theirs));
                Thing::Stream(queue.source(ours))
            }
            2 => {
                let (ours, _) = UnixStream::pair().unwrap();
                let ours = Arc::new(ours);
                self.things.push(Thing::Shared(queue.source(ours.clone())));
                Thing::Shared(self.queue().source(ours))
            }
            3 => match self.queue().descriptor() {
                Ok(descriptor) => Thing::Inner(queue.source(descriptor)),
                Err(_) => return,
            },
            4 => Thing::Timer(Timer::after(&queue, time, token).unwrap()),
            5 => Thing::Timer(Timer::every(&queue, time, token).unwrap()),
            6 => Thing::Timer(Timer::at(&queue, SystemTime::now() + time, token).unwrap()),
            7 => Thing::Signal(Signal::new(&queue, SIGNAL, token).unwrap()),
            8 => match Process::new(&queue, std::process::id(), ProcessNotes::FORK, token) {
                Ok(process) => Thing::Process(process),
                Err(_) => return, // Not every process may be followed.
            },
            9 => {
                let notes = FileNotes::WRITE | FileNotes::ATTRIB | FileNotes::DELETE;
                match Vnode::new(&queue, self.noted(), notes, token) {
                    Ok(vnode) => Thing::Vnode(vnode),
                    Err(_) => return, // The system allows so many.
                }
            }
            _ => Thing::Waker(Arc::new(Waker::new(&queue, token).unwrap())),
        };
        self.things.push(made);
    }

    fn submit(&mut self) {
        let (queue, token) = (self.queue(), self.random.below(1 << 40));
        let size = self.limits.size as u64;
        // Short ones are over at once; long ones run while the program goes on.
        let length = self.random.below(size);
        let length = if self.random.once_in(3) { length / 64 } else { length } as usize;
        let offset = self.random.below(size - length as u64 + 1) as usize;
        let file = Arc::new(self.noted());
        let shared = self.random.once_in(4).then(|| file.clone());
        let (at, reads) = (offset as u64, self.random.once_in(2));
        let started = match self.random.below(6) {
            0 => Aio::sync_all(&queue, file, token),
            1 => Aio::sync_data(&queue, file, token),
            _ if reads => Aio::read(&queue, file, vec![0; length], at, token),
            _ => {
                let bytes = (offset..offset + length).map(content).collect();
                Aio::write(&queue, file, bytes, at, token)
            }
        };
        let aio = started.unwrap();
        self.names.push((Filter::AIO, aio.ident()));
        self.things.push(Thing::Aio(Operation { aio, queue, reads, offset, shared }));
    }

    fn changes(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let (mut filter, ident) = self.random.of(&self.names);
            if self.random.once_in(8) {
                filter = self.random.of(&FILTERS);
            }
            changes.push(match self.random.below(3) {
                0 => Change::enable(filter, ident),
                1 => Change::disable(filter, ident),
                _ => Change::delete(filter, ident),
            });
        }
        changes
    }

    fn change(&mut self) {
        let changes = self.changes();
        let _ = self.queue().change(&changes);
    }

    fn wait(&mut self) {
        if self.random.once_in(4) {
            let queue = self.queue();
            return polled::wait(&queue, &mut self.random, &mut self.names);
        }
        let room = self.random.of(&[1, 2, 16, 64]);
        let mut events = Events::with_capacity(room);
        let queue = self.queue();
        let timeout = self.random.of(&[NOW, NOW, NOW, Some(Duration::from_micros(100))]);
        if self.random.once_in(3) {
            let changes = self.changes();
            let _ = queue.wait_with(&changes, &mut events, timeout);
        } else if let Err(error) = queue.wait(&mut events, timeout) {
            // Another thread is in a wait of the other level.
            assert_eq!(error.raw_os_error(), Some(libc::EBUSY));
        }
        for event in &events {
            self.names.push((event.filter(), event.ident()));
            read(event);
        }
        if let (Some(event), true) = (events.iter().next(), self.random.once_in(4)) {
            let _ = queue.change(&[Change::enable_again(event)]);
        }
    }

    fn use_one(&mut self) {
        let Some(mut thing) = self.take() else { return };
        let (choice, token) = (self.random.below(12), self.random.below(1 << 40));
        if self.leaks && self.random.once_in(30) {
            leak(thing);
            return;
        }
        match &mut thing {
            Thing::Stream(source) => {
                self.names.push((Filter::READ, source.as_raw_fd() as u64));
                if self.use_source(source, choice, token) {
                    return self.close(thing);
                }
                if self.limits.real {
                    let _ = source.read(&mut [0; 16]);
                }
            }
            Thing::Shared(source) => {
                let ends = self.use_source(source, choice, token);
                if ends {
                    return self.close(thing);
                }
            }
            Thing::Inner(source) => {
                let ends = self.use_source(source, choice, token);
                if ends {
                    return self.close(thing);
                }
            }
            Thing::Peer(stream) if self.limits.real => drop(stream.write(b"x")),
            Thing::Timer(timer) => timer.reset(Duration::from_nanos(token >> 20)).unwrap(),
            Thing::Signal(_) if self.limits.real && choice == 0 => {
                // Nothing is run for it; its default action is none.
                unsafe { libc::raise(SIGNAL) };
            }
            Thing::Process(_) if self.limits.real && choice == 0 => {
                // A fork, which is an event.
                let _ = std::process::Command::new("true").status();
            }
            Thing::Vnode(vnode) => match choice {
                0..=2 => drop(vnode.set(FileNotes::ATTRIB | FileNotes::OPEN, token)),
                3 => return self.close(thing),
                _ => {}
            },
            Thing::Waker(waker) => match choice {
                0..=3 => drop(waker.wake()),
                4 => std::task::Waker::from(waker.clone()).wake(),
                _ => {}
            },
            Thing::Aio(operation) => match choice {
                0 => drop(operation.aio.cancel()),
                // The library ends it, and delivers its event.
                1 => operation.shared.iter().for_each(|file| xpoll::forget(file).unwrap()),
                2..=4 if operation.aio.is_over() => return self.close(thing),
                5 => return drop(thread::spawn(move || drop(thing)).join()),
                _ => {}
            },
            _ => {}
        }
        self.things.push(thing);
    }

    /// Returns true if its owner should end it.
    fn use_source<T: AsFd>(&mut self, source: &Source<T>, choice: u64, token: u64) -> bool {
        match choice {
            0..=2 => {
                let interest = self.interest();
                let _ = source.add(interest, token);
            }
            3 => drop(source.enable(self.random.of(&FILTERS))),
            4 => drop(source.disable(self.random.of(&FILTERS))),
            5 => drop(source.delete(self.random.of(&FILTERS))),
            6 => xpoll::forget(source).unwrap(),
            7..=10 => polled::change(source, &mut self.random, token),
            _ => return true,
        }
        false
    }

    /// Ends it in another way than by dropping it.
    fn close(&mut self, thing: Thing) {
        match thing {
            Thing::Stream(source) => match self.random.below(2) {
                0 => drop(source.into_inner()),
                _ => xpoll::close(source.into_inner()).unwrap(),
            },
            Thing::Shared(source) => drop(source.into_inner()),
            Thing::Inner(source) => drop(source.into_inner()),
            Thing::Vnode(vnode) => drop(vnode.into_inner()),
            Thing::Aio(operation) => operation.check(),
            other => drop(other),
        }
    }

    /// Threads that share the queues, each with some of the things.
    fn crowd(&mut self) {
        let mut parts = Vec::new();
        for _ in 0..2 {
            let count = self.random.below(6);
            let things = (0..count).filter_map(|_| self.take()).collect();
            parts.push(Program {
                random: Random::new(self.random.below(u64::MAX)),
                limits: self.limits,
                leaks: self.leaks,
                path: self.path.clone(),
                queues: self.queues.clone(),
                things,
                names: self.names.clone(),
                panics: self.panics.clone(),
                alive: self.alive.clone(),
            });
        }
        let parts = thread::scope(|scope| {
            let alone = |mut part: Program| {
                for _ in 0..20 {
                    // No threads of its threads.
                    match part.random.below(8) {
                        0..=1 => guarded(|| part.submit()),
                        2..=4 => guarded(|| part.wait()),
                        5 => guarded(|| part.make()),
                        6 => drop(part.queue().wake_all()),
                        _ => guarded(|| part.use_one()),
                    }
                }
                part
            };
            let threads: Vec<_> =
                parts.into_iter().map(|part| scope.spawn(move || alone(part))).collect();
            threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
        });
        for part in parts {
            let mut part = part.unwrap_or_else(|payload| resume_unwind(payload));
            self.things.append(&mut part.things);
            self.names.extend(part.names.iter().rev().take(10));
        }
    }

    /// Waits for all operations, drops everything, and checks that nothing is left.
    fn finish(mut self) {
        let begin = Instant::now();
        let millisecond = Some(Duration::from_millis(1));
        let mut events = Events::with_capacity(16);
        while let Some(thing) = self.things.pop() {
            let Thing::Aio(operation) = thing else {
                guarded(|| drop(thing));
                continue;
            };
            while !operation.aio.is_over() {
                guarded(|| _ = operation.queue.wait(&mut events, millisecond).unwrap());
                assert!(begin.elapsed() < PATIENCE, "the event of {:?} is lost", operation.aio);
            }
            guarded(|| operation.check());
        }
        if self.leaks {
            // An operation whose Aio was dropped may end with its queue.
            return guarded(|| drop(self));
        }
        for queue in std::mem::take(&mut self.queues) {
            // Operations whose Aio was dropped end, and then nothing is registered.
            while queue.stats().registered > 0 {
                guarded(|| _ = queue.wait(&mut events, millisecond).unwrap());
                assert!(begin.elapsed() < PATIENCE, "{} are left", queue.stats().registered);
            }
            guarded(|| drop(queue));
        }
        assert_eq!(Arc::strong_count(&self.alive), 1, "files are left");
    }
}

/// Everything that an event has.
fn read(event: &Event) {
    let text = format!("{event} {event:?}");
    assert!(!text.is_empty());
    let silent = event.file_notes().is_empty() && event.process_notes().is_empty();
    let of_change = event.change_error().is_some();
    assert!(silent || !of_change, "{text}");
    assert!(event.exit_status().is_none() || !of_change, "{text}");
    let _ = (event.fd(), event.token(), event.data(), event.fflags(), event.is_eof());
    let _ = (event.socket_error(), event.parent());
}
