//! Descriptors, waits, wakes and threads, on each back end of this machine.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use xpoll::{
    Change, Event, Events, Filter, Interest, Options, PollBits, PollInterest, Queue, ReadyList,
    Waker,
};

const NOW: Option<Duration> = Some(Duration::ZERO);

fn each_backend(test: impl Fn(Queue)) {
    let names = xpoll::backends();
    assert!(names.contains(&"poll"), "{names:?}");
    for name in names {
        let queue = Options::new().backend(name).open().unwrap();
        assert_eq!(queue.backend(), name);
        test(queue);
    }
}

/// Filters and tokens of what is ready now.
fn ready(queue: &Queue) -> Vec<(Filter, u64)> {
    let mut events = Events::with_capacity(16);
    queue.wait(&mut events, NOW).unwrap();
    let mut found: Vec<_> = events.iter().map(|e| (e.filter(), e.token())).collect();
    found.sort();
    found
}

#[test]
fn a_source_is_reported_with_its_token_until_it_is_read() {
    each_backend(|queue| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut ours = queue.source(ours);
        ours.add(Interest::READ, 1).unwrap();
        ours.add(Interest::WRITE.disabled(), u64::MAX).unwrap();
        assert_eq!(ready(&queue), []);
        theirs.write_all(b"x").unwrap();
        assert_eq!(ready(&queue), [(Filter::READ, 1)]);
        ours.enable(Filter::WRITE).unwrap();
        assert_eq!(ready(&queue), [(Filter::WRITE, u64::MAX), (Filter::READ, 1)]);
        ours.disable(Filter::WRITE).unwrap();
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1);
        assert_eq!(ready(&queue), []);
        ours.delete(Filter::READ).unwrap();
        assert_eq!(ours.enable(Filter::READ).unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn the_end_is_reported() {
    each_backend(|queue| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let ours = queue.source(ours);
        ours.add(Interest::READ.count(), 0).unwrap();
        (&theirs).write_all(b"four").unwrap();
        drop(theirs);
        let mut events = Events::with_capacity(4);
        queue.wait(&mut events, None).unwrap();
        let event = *events.iter().next().unwrap();
        assert!(event.is_eof());
        assert_eq!((event.data(), event.fd()), (4, Some(ours.as_raw_fd())));
        assert_eq!(event.to_string(), format!("READ ident={} data=4 EOF", ours.as_raw_fd()));
        assert!(format!("{event:?}").ends_with("token=0)"));
    });
}

#[test]
fn a_dropped_source_is_closed_and_never_reported() {
    each_backend(|queue| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let ours = Arc::new(ours);
        let source = queue.source(ours.clone());
        source.add(Interest::READ, 1).unwrap();
        source.add(Interest::WRITE, 1).unwrap();
        theirs.write_all(b"x").unwrap();
        assert_eq!(queue.stats().registered, 2);
        drop(source);
        assert_eq!(queue.stats().registered, 0);
        assert_eq!(ready(&queue), []);
        // By its last owner it is closed.
        drop(ours);
        assert_eq!(theirs.write(b"y").unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn into_inner_ends_the_registrations_alone() {
    let queue = Queue::new().unwrap();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let source = queue.source(ours);
    source.add(Interest::READ, 1).unwrap();
    let mut ours = source.into_inner();
    theirs.write_all(b"x").unwrap();
    assert_eq!(ready(&queue), []);
    assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1);
}

#[test]
fn a_source_keeps_its_queue() {
    let queue = Queue::new().unwrap();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let source = queue.source(ours);
    drop(queue);
    source.add(Interest::READ, 3).unwrap();
    theirs.write_all(b"x").unwrap();
    assert_eq!(ready(source.queue()), [(Filter::READ, 3)]);
}

#[test]
fn modes_are_the_library_s() {
    each_backend(|queue| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"x").unwrap();
        let ours = queue.source(ours);
        for (interest, again) in [
            (Interest::READ, true),
            (Interest::READ.clear(), false),
            (Interest::READ.oneshot(), false),
            (Interest::READ.dispatch(), false),
        ] {
            ours.add(interest, 2).unwrap();
            assert_eq!(ready(&queue), [(Filter::READ, 2)], "{interest:?}");
            assert_eq!(!ready(&queue).is_empty(), again, "{interest:?}");
            let _ = ours.delete(Filter::READ); // ONESHOT is gone.
        }
        ours.add(Interest::READ.low_water(3), 4).unwrap();
        assert_eq!(ready(&queue), []);
        theirs.write_all(b"yz").unwrap();
        assert_eq!(ready(&queue), [(Filter::READ, 4)]);
    });
}

#[test]
fn descriptors_of_others_and_changes_in_the_wait() {
    each_backend(|queue| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let ident = ours.as_raw_fd() as u64;
        // Deleted below, before it is closed.
        let add = unsafe { Change::add(&ours, Interest::READ.dispatch(), 5) };
        let mut events = Events::with_capacity(4);
        assert_eq!(queue.wait_with(&[add], &mut events, NOW).unwrap(), 0);
        theirs.write_all(b"x").unwrap();
        assert_eq!(queue.wait(&mut events, None).unwrap(), 1);
        let event = *events.iter().next().unwrap();
        assert_eq!(ready(&queue), []);
        queue.change(&[Change::enable_again(&event)]).unwrap();
        assert_eq!(ready(&queue), [(Filter::READ, 5)]);

        // A change that fails is an event; all others are made.
        let changes = [
            Change::enable(Filter::WRITE, ident),
            Change::delete(Filter::READ, ident),
            Change::disable(Filter::READ, ident),
        ];
        assert_eq!(queue.wait_with(&changes, &mut events, None).unwrap(), 2);
        let kinds = |event: &Event| event.change_error().unwrap().kind();
        assert!(events.iter().all(|event| kinds(event) == ErrorKind::NotFound), "{events:?}");
        let error = queue.change(&changes).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        // Deleted: nothing is registered.
        unsafe { queue.add(ours.as_fd(), Interest::WRITE, 6) }.unwrap();
        assert_eq!(ready(&queue), [(Filter::WRITE, 6)]);
        xpoll::forget(&ours).unwrap();
        assert_eq!(ready(&queue), []);
    });
}

#[test]
fn close_is_exact_beside_a_duplicate() {
    each_backend(|queue| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let _duplicate = ours.try_clone().unwrap();
        // Closed by close().
        unsafe { queue.add(&ours, Interest::READ, 1) }.unwrap();
        xpoll::close(ours).unwrap();
        theirs.write_all(b"x").unwrap();
        assert_eq!(ready(&queue), []);
        assert_eq!(queue.stats().registered, 0);
    });
}

#[test]
fn errors_are_errno_s() {
    let error = Options::new().backend("none").open().unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOTSUP));
    assert_eq!(Options::new().backend("a\0b").open().unwrap_err().kind(), ErrorKind::InvalidInput);
    let queue = Queue::new().unwrap();
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let file = queue.source(file);
    let error = file.add(Interest::EMPTY, 0).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOTSUP));
    let poll = Options::new().backend("poll").open().unwrap();
    assert_eq!(poll.descriptor().unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(queue.supports(Filter::TIMER, 0) && !queue.supports(Filter::TIMER, 1 << 30));
}

#[test]
fn options_are_the_library_s() {
    let options = Options::new().size_hint(u32::MAX).vnode_as_bsd().all_ready();
    assert_eq!(ready(&options.open().unwrap()), []);
    assert!(format!("{options:?}").contains("flags: 6"), "{options:?}");
}

#[test]
fn a_wake_makes_one_wait_return() {
    each_backend(|queue| {
        let mut events = Events::with_capacity(1);
        queue.wake().unwrap();
        assert_eq!(queue.wait(&mut events, None).unwrap(), 0);
        queue.wake_all().unwrap(); // Nobody waits.
        assert_eq!(queue.wait(&mut events, NOW).unwrap(), 0);
        assert!(queue.stats().wakes >= 1);
    });
}

#[test]
fn a_waker_is_an_event_from_any_thread() {
    each_backend(|queue| {
        let waker = Arc::new(Waker::new(&queue, 8).unwrap());
        assert_eq!(ready(&queue), []);
        let other = waker.clone();
        thread::spawn(move || {
            other.wake().unwrap();
            std::task::Waker::from(other).wake_by_ref();
        })
        .join()
        .unwrap();
        assert_eq!(ready(&queue), [(Filter::USER, 8)]);
        assert_eq!(ready(&queue), []);
        waker.wake().unwrap();
        drop(waker);
        assert_eq!(ready(&queue), []);
    });
}

#[test]
fn an_interrupted_wait_goes_on() {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    unsafe { libc::signal(libc::SIGUSR2, handler) };
    let queue = Queue::new().unwrap();
    let waker = Waker::new(&queue, 1).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let queue = &queue;
        let waiting = scope.spawn(move || {
            sender.send(unsafe { libc::pthread_self() }).unwrap();
            queue.wait(&mut Events::with_capacity(1), None).unwrap()
        });
        let thread = receiver.recv().unwrap();
        // Each wait after the first is one that was interrupted.
        while queue.stats().waits < 3 {
            unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
            thread::yield_now();
        }
        waker.wake().unwrap();
        assert_eq!(waiting.join().unwrap(), 1);
    });
}

#[test]
fn threads_share_a_queue_in_dispatch_mode() {
    const STREAMS: usize = 20;
    const BYTES: usize = 2000;
    each_backend(|queue| {
        let (mut sources, mut peers) = (Vec::new(), Vec::new());
        for token in 0..STREAMS {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let source = queue.source(ours);
            source.add(Interest::READ.dispatch(), token as u64).unwrap();
            sources.push(source);
            peers.push(theirs);
        }
        let (read, done) = (AtomicUsize::new(0), Waker::new(&queue, u64::MAX).unwrap());
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut events = Events::with_capacity(4);
                    while read.load(Ordering::SeqCst) < BYTES {
                        queue.wait(&mut events, None).unwrap();
                        for event in events.iter().filter(|e| e.filter() == Filter::READ) {
                            let source = &sources[event.token() as usize];
                            let count = (&*source).read(&mut [0; 1]).unwrap();
                            source.enable(Filter::READ).unwrap();
                            read.fetch_add(count, Ordering::SeqCst);
                        }
                    }
                    done.wake().unwrap(); // Pass it on.
                });
            }
            for byte in 0..BYTES {
                peers[byte % STREAMS].write_all(b"x").unwrap();
            }
        });
        assert_eq!(read.load(Ordering::SeqCst), BYTES);
    });
}

#[test]
fn a_queue_within_a_queue() {
    let (outer, inner) = (Queue::new().unwrap(), Queue::new().unwrap());
    let Ok(descriptor) = inner.descriptor() else { return };
    let watched = outer.source(descriptor);
    watched.add(Interest::READ, 1).unwrap();
    assert_eq!(ready(&outer), []);
    let waker = Waker::new(&inner, 2).unwrap();
    waker.wake().unwrap();
    assert_eq!(ready(&outer), [(Filter::READ, 1)]);
    assert_eq!(ready((*watched).queue()), [(Filter::USER, 2)]);
    assert_eq!(ready(&outer), []);
}

#[test]
fn values_cross_threads() {
    fn check<T: Send + Sync>() {}
    check::<Queue>();
    check::<Events>();
    check::<Change>();
    check::<xpoll::Source<UnixStream>>();
    check::<xpoll::Aio>();
    check::<xpoll::Timer>();
    check::<xpoll::Process>();
    check::<xpoll::Signal>();
    check::<xpoll::Vnode>();
    check::<xpoll::Descriptor>();
    check::<Waker>();
}

fn both() -> PollBits {
    PollBits::IN | PollBits::OUT
}

/// Descriptors, bits and tokens of what is ready now.
fn polled(queue: &Queue) -> Vec<(i32, PollBits, u64)> {
    let mut ready = ReadyList::with_capacity(8);
    assert_eq!(queue.poll(&mut ready, NOW).unwrap(), ready.len());
    let found = ready.iter().map(|one| (one.fd(), one.bits(), one.token())).collect();
    assert!(ready.is_empty() || format!("{ready:?}").starts_with("[Ready(fd="));
    found
}

#[test]
fn one_record_has_the_bits_of_a_descriptor() {
    each_backend(|queue| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let ours = queue.source(ours);
        let fd = ours.as_raw_fd();
        theirs.write_all(b"x").unwrap();
        ours.poll_add(PollInterest::new(PollBits::OUT), u64::MAX).unwrap();
        assert_eq!(polled(&queue), [(fd, PollBits::OUT, u64::MAX)]);
        ours.poll_add(PollInterest::new(PollBits::IN), 1).unwrap();
        assert_eq!(polled(&queue), [(fd, both(), 1)]);
        ours.poll_disable(PollBits::OUT).unwrap();
        assert_eq!(polled(&queue), [(fd, PollBits::IN, 1)]);
        ours.poll_enable(PollBits::OUT).unwrap();
        assert_eq!(polled(&queue), [(fd, both(), 1)]);
        ours.poll_delete(PollBits::IN).unwrap();
        assert_eq!(polled(&queue), [(fd, PollBits::OUT, u64::MAX)]);
        let missing = ours.poll_enable(PollBits::IN).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        ours.poll_delete(PollBits::OUT).unwrap();
        // Nothing but its end.
        ours.poll_add(PollInterest::new(PollBits::empty()), 2).unwrap();
        assert_eq!(polled(&queue), []);
        drop(theirs);
        let ended = polled(&queue);
        assert!(ended.len() == 1 && ended[0].1.contains(PollBits::HUP), "{ended:?}");
        drop(ours);
        assert_eq!(queue.stats().registered, 0);
    });
}

#[test]
fn a_dropped_source_takes_all_its_directions_along() {
    let (queue, all) = (Queue::new().unwrap(), PollBits::PRI | PollBits::OUT | PollBits::IN);
    for bits in [PollBits::empty(), PollBits::RDHUP, PollBits::PRI, PollBits::OUT, all] {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let source = queue.source(ours);
        source.poll_add(PollInterest::new(bits), 1).unwrap();
        assert!(queue.stats().registered > 0, "{bits:?}");
        let ours = source.into_inner();
        assert_eq!(queue.stats().registered, 0, "{bits:?}");
        drop(ours);
    }
}

#[test]
fn modes_act_on_a_direction_or_on_the_whole_descriptor() {
    each_backend(|queue| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let ours = queue.source(ours);
        theirs.write_all(b"x").unwrap();
        let interest = PollInterest::new(both());
        for (interest, enabled) in [
            (interest, both()),
            (interest.clear(), PollBits::empty()),
            (interest.oneshot().whole(), PollBits::empty()),
            (interest.dispatch(), PollBits::empty()),
            (interest.disabled(), PollBits::empty()),
        ] {
            ours.poll_add(interest, 1).unwrap();
            let first = polled(&queue);
            assert_eq!(first.is_empty(), interest == interest.disabled(), "{interest:?}");
            let bits = polled(&queue).first().map_or(PollBits::empty(), |one| one.1);
            assert_eq!(bits, enabled, "{interest:?}");
            let _ = ours.poll_delete(both()); // ONESHOT is gone.
        }
    });
}

#[test]
fn whole_disables_the_other_direction_too() {
    each_backend(|queue| {
        for whole in [false, true] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let ours = queue.source(ours);
            let interest = PollInterest::new(both()).dispatch();
            let interest = if whole { interest.whole() } else { interest };
            ours.poll_add(interest, 1).unwrap();
            assert_eq!(polled(&queue)[0].1, PollBits::OUT);
            theirs.write_all(b"x").unwrap();
            let others = polled(&queue);
            assert_eq!(others.is_empty(), whole, "{others:?}");
        }
    });
}

/// As many threads as like wait, and each record of a whole descriptor is for one of them.
#[test]
fn a_whole_descriptor_goes_to_one_thread() {
    each_backend(|queue| {
        const ROUNDS: usize = 200;
        let pairs: Vec<_> = (0..3).map(|_| UnixStream::pair().unwrap()).collect();
        let owners: Vec<_> = pairs.iter().map(|_| AtomicUsize::new(0)).collect();
        let left = AtomicUsize::new(ROUNDS);
        let mut sources = Vec::new();
        for (token, (ours, mut theirs)) in pairs.into_iter().enumerate() {
            theirs.write_all(b"x").unwrap();
            let source = queue.source(ours);
            let interest = PollInterest::new(both()).dispatch().whole();
            source.poll_add(interest, token as u64).unwrap();
            sources.push((source, theirs));
        }
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut ready = ReadyList::with_capacity(2);
                    while left.load(Ordering::SeqCst) > 0 {
                        queue.poll(&mut ready, None).unwrap();
                        for one in &ready {
                            let owner = &owners[one.token() as usize];
                            assert_eq!(owner.fetch_add(1, Ordering::SeqCst), 0);
                            assert_eq!(one.bits(), both());
                            owner.store(0, Ordering::SeqCst);
                            sources[one.token() as usize].0.poll_enable(both()).unwrap();
                            let _ = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                                left.checked_sub(1)
                            });
                        }
                    }
                    queue.wake().unwrap(); // Pass it on.
                });
            }
        });
    });
}

#[test]
fn a_mask_and_nanoseconds_belong_to_a_poll() {
    let queue = Queue::new().unwrap();
    let mut ready = ReadyList::with_capacity(1);
    let time = Duration::from_nanos(1_234_567);
    let begin = std::time::Instant::now();
    assert_eq!(queue.poll(&mut ready, Some(time)).unwrap(), 0);
    assert!(begin.elapsed() >= time);
    let mut mask: libc::sigset_t = unsafe { std::mem::zeroed() };
    // It is a set, and stays one until the call returns.
    unsafe { libc::sigfillset(&mut mask) };
    let mask: *const libc::sigset_t = &mask;
    assert_eq!(unsafe { queue.poll_masked(&mut ready, Some(time), mask.cast()) }.unwrap(), 0);
    queue.wake().unwrap();
    assert_eq!(queue.poll(&mut ready, None).unwrap(), 0);
}
