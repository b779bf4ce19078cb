//! The poller, on the back end that XPOLL_BACKEND names.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use polling::{Event, Events, PollMode, Poller};

const NOW: Option<Duration> = Some(Duration::ZERO);

fn ready(poller: &Poller) -> Vec<Event> {
    let mut events = Events::new();
    let count = poller.wait(&mut events, NOW).unwrap();
    assert_eq!((count, count == 0), (events.len(), events.is_empty()));
    events.iter().map(Event::with_no_extra).collect()
}

/// A poller, and a stream in it with a peer. Whoever ends the test deletes it.
fn watched(interest: Event, mode: PollMode) -> (Poller, UnixStream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let poller = Poller::new().unwrap();
    unsafe { poller.add_with_mode(&ours, interest, mode) }.unwrap();
    (poller, ours, theirs)
}

#[test]
fn oneshot_reports_once_until_it_is_modified() {
    let (poller, ours, mut theirs) = watched(Event::all(1), PollMode::Oneshot);
    assert_eq!(ready(&poller), [Event::writable(1)]);
    // It ends the interest in reading, too.
    theirs.write_all(b"x").unwrap();
    assert_eq!(ready(&poller), []);
    poller.modify(&ours, Event::all(2)).unwrap();
    assert_eq!(ready(&poller), [Event::all(2)]);
    poller.modify(&ours, Event::readable(2)).unwrap();
    assert_eq!(ready(&poller), [Event::readable(2)]);
    poller.modify(&ours, Event::none(2)).unwrap();
    assert_eq!(ready(&poller), []);
    poller.delete(&ours).unwrap();
}

#[test]
fn other_modes_and_changes_between_them() {
    let (poller, mut ours, mut theirs) = watched(Event::readable(1), PollMode::Level);
    assert!(poller.supports_level() && poller.supports_edge());
    theirs.write_all(b"x").unwrap();
    assert_eq!(ready(&poller), [Event::readable(1)]);
    assert_eq!(ready(&poller), [Event::readable(1)]);
    poller.modify_with_mode(&ours, Event::readable(1), PollMode::Edge).unwrap();
    assert_eq!(ready(&poller), [Event::readable(1)]);
    assert_eq!(ready(&poller), []);
    theirs.write_all(b"y").unwrap();
    assert_eq!(ready(&poller), [Event::readable(1)]);
    poller.modify_with_mode(&ours, Event::writable(3), PollMode::EdgeOneshot).unwrap();
    assert_eq!(ready(&poller), [Event::writable(3)]);
    for _ in 0..2 {
        poller.modify_with_mode(&ours, Event::readable(3), PollMode::EdgeOneshot).unwrap();
        assert_eq!(ready(&poller), [Event::readable(3)]);
        assert_eq!(ready(&poller), []);
    }
    poller.modify_with_mode(&ours, Event::none(3), PollMode::Level).unwrap();
    assert_eq!(ready(&poller), []);
    poller.modify_with_mode(&ours, Event::all(3), PollMode::Level).unwrap();
    assert_eq!(ready(&poller), [Event::all(3)]);
    poller.modify_with_mode(&ours, Event::none(4), PollMode::Oneshot).unwrap();
    assert_eq!(ready(&poller), []);
    poller.delete(&ours).unwrap();
    assert_eq!(ours.read(&mut [0; 4]).unwrap(), 2);
}

#[test]
fn mistakes_are_errors() {
    let (poller, ours, _theirs) = watched(Event::none(1), PollMode::Oneshot);
    let twice = unsafe { poller.add(&ours, Event::all(1)) }.unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::AlreadyExists);
    let key = poller.modify(&ours, Event::all(usize::MAX)).unwrap_err();
    assert_eq!(key.kind(), ErrorKind::InvalidInput);
    poller.delete(&ours).unwrap();
    assert_eq!(poller.delete(&ours).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(poller.modify(&ours, Event::all(1)).unwrap_err().kind(), ErrorKind::NotFound);
    for interest in [Event::none(1), Event::all(1)] {
        let closed = unsafe { poller.add(1_000_000, interest) }.unwrap_err();
        assert_eq!(closed.raw_os_error(), Some(libc::EBADF));
    }
}

fn only(poller: &Poller) -> Event {
    let mut events = Events::new();
    assert_eq!(poller.wait(&mut events, None).unwrap(), 1);
    let event = events.iter().next().unwrap();
    events.clear();
    assert!(events.is_empty());
    event
}

#[test]
fn hang_ups_errors_and_urgent_data_are_reported() {
    let interest = Event::none(1).with_interrupt();
    let (poller, ours, theirs) = watched(interest, PollMode::Oneshot);
    assert_eq!(ready(&poller), []);
    drop(theirs);
    let event = only(&poller);
    assert!(event.is_interrupt() && event.readable && event.writable);
    assert_eq!((event.is_err(), event.is_priority()), (Some(false), false));
    poller.delete(&ours).unwrap();

    let (reader, writer) = pipe();
    unsafe { poller.add(&writer, Event::writable(2)) }.unwrap();
    drop(reader);
    assert_eq!(only(&poller).is_err(), Some(true));
    poller.delete(&writer).unwrap();

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    unsafe { poller.add(&ours, Event::none(3).with_priority()) }.unwrap();
    let sent = unsafe { libc::send(theirs.as_raw_fd(), "u".as_ptr().cast(), 1, libc::MSG_OOB) };
    assert_eq!(sent, 1);
    let event = only(&poller);
    assert!(event.is_priority() && event.readable && !event.is_interrupt());
    poller.delete(&ours).unwrap();
}

fn pipe() -> (std::fs::File, std::fs::File) {
    use std::os::fd::FromRawFd;
    let mut ends = [0; 2];
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // Nobody else has them.
    ends.map(|end| unsafe { std::fs::File::from_raw_fd(end) }).into()
}

#[test]
fn waits_are_never_over_early() {
    let poller = Poller::new().unwrap();
    let mut events = Events::new();
    for time in [1, 400, 999, 1000, 1001, 2500, 10_000].map(Duration::from_micros) {
        let begin = Instant::now();
        assert_eq!(poller.wait(&mut events, Some(time)).unwrap(), 0);
        assert!(begin.elapsed() >= time, "{time:?}");
    }
    let end = Instant::now() + Duration::from_millis(2);
    assert_eq!(poller.wait_deadline(&mut events, end).unwrap(), 0);
    assert!(Instant::now() >= end);
}

/// A wait of a millisecond is never so short; one that a busy machine makes long is repeated.
#[test]
fn waits_are_not_by_the_millisecond() {
    let poller = Poller::new().unwrap();
    let mut events = Events::new();
    let mut shortest = Duration::MAX;
    for _ in 0..10_000 {
        let begin = Instant::now();
        poller.wait(&mut events, Some(Duration::from_micros(50))).unwrap();
        shortest = shortest.min(begin.elapsed());
        if shortest < Duration::from_millis(1) {
            return;
        }
    }
    panic!("the shortest of 10,000 waits took {shortest:?}");
}

#[test]
fn a_notification_ends_one_wait() {
    let poller = Poller::new().unwrap();
    let mut events = Events::new();
    for timeout in [None, Some(Duration::from_secs(600)), Some(Duration::MAX)] {
        poller.notify().unwrap();
        poller.notify().unwrap(); // They count as one.
        assert_eq!(poller.wait(&mut events, timeout).unwrap(), 0);
    }
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for () in receiver {
                poller.notify().unwrap();
            }
        });
        for _ in 0..1000 {
            sender.send(()).unwrap();
            assert_eq!(poller.wait(&mut events, None).unwrap(), 0);
        }
        drop(sender);
    });
    assert_eq!(format!("{events:?}"), "[]");
}

#[test]
fn what_has_no_room_comes_with_the_next_wait() {
    let poller = Poller::new().unwrap();
    let pairs: Vec<_> = (0..3).map(|_| UnixStream::pair().unwrap()).collect();
    for (key, (ours, _)) in pairs.iter().enumerate() {
        unsafe { poller.add(ours, Event::writable(key)) }.unwrap();
    }
    let mut events = Events::with_capacity(NonZeroUsize::new(1).unwrap());
    assert_eq!(events.capacity().get(), 1);
    let mut keys = Vec::new();
    for _ in 0..3 {
        events.clear();
        assert_eq!(poller.wait(&mut events, NOW).unwrap(), 1);
        keys.extend(events.iter().map(|event| event.key));
    }
    keys.sort();
    assert_eq!(keys, [0, 1, 2]);
    pairs.iter().for_each(|(ours, _)| poller.delete(ours).unwrap());
}

#[test]
fn it_has_a_descriptor_where_the_back_end_has_one() {
    let (poller, ours, mut theirs) = watched(Event::readable(1), PollMode::Oneshot);
    if poller.as_raw_fd() >= 0 {
        let outer = Poller::new().unwrap();
        unsafe { outer.add(&poller, Event::readable(9)) }.unwrap();
        theirs.write_all(b"x").unwrap();
        assert_eq!(only(&outer).with_no_extra(), Event::readable(9));
        outer.delete(poller.as_fd()).unwrap();
    }
    poller.delete(&ours).unwrap();
}
