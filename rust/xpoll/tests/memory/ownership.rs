//! Tests of what the values of the crate own, and when they give it back.

use std::fs;
use std::io::ErrorKind;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use xpoll::{Aio, Change, Event, Events, Filter, Queue};

use super::things::{content, Noted};

const NOW: Option<Duration> = Some(Duration::ZERO);

/// More than the library reads at once.
const LENGTH: usize = if cfg!(miri) { 200 } else { 100 << 10 };

/// A file with the bytes of `content`, which goes with the test.
struct Path(PathBuf);

impl Path {
    fn new(name: &str) -> Path {
        let root = env!("CARGO_CRATE_NAME"); // Two crates run these tests.
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{root}-{name}"));
        fs::write(&path, (0..LENGTH).map(content).collect::<Vec<u8>>()).unwrap();
        Path(path)
    }

    fn noted(&self, alive: &Arc<()>, panics: bool) -> Noted {
        Noted::open(&self.0, panics, alive)
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn next(queue: &Queue) -> Event {
    let mut events = Events::with_capacity(1);
    assert_eq!(queue.wait(&mut events, None).unwrap(), 1);
    *events.iter().next().unwrap()
}

#[test]
fn a_buffer_comes_back_after_its_event() {
    let path = Path::new("buffer");
    let (queue, alive) = (Queue::new().unwrap(), Arc::new(()));
    let read = Aio::read(&queue, path.noted(&alive, false), vec![0; LENGTH], 0, 1).unwrap();
    let read = read.finish().expect_err("its event was not returned");
    let event = next(&queue);
    assert_eq!((event.filter(), event.token(), event.ident()), (Filter::AIO, 1, read.ident()));
    assert!(read.is_over() && read.cancel().is_err());
    let finished = read.finish().unwrap();
    assert_eq!(*finished.result.as_ref().unwrap(), LENGTH);
    assert!((0..LENGTH).all(|at| finished.buffer[at] == content(at)));
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(finished);
    assert_eq!(Arc::strong_count(&alive), 1);
}

/// The record of a failed change would have the filter and the ident of the event.
#[test]
fn a_buffer_does_not_come_back_after_a_change() {
    let path = Path::new("change");
    let (queue, alive) = (Queue::new().unwrap(), Arc::new(()));
    let mut events = Events::with_capacity(4);
    for change in [Change::delete, Change::disable, Change::enable] {
        let read = Aio::read(&queue, path.noted(&alive, false), vec![0; LENGTH], 0, 1).unwrap();
        let changes = [change(Filter::AIO, read.ident())];
        let refused = queue.wait_with(&changes, &mut events, NOW).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        let read = read.finish().expect_err("its event was not returned");
        assert_eq!(next(&queue).ident(), read.ident());
        let buffer = read.finish().unwrap().buffer;
        assert!((0..LENGTH).all(|at| buffer[at] == content(at)));
    }
}

#[test]
fn a_dropped_operation_keeps_its_things_until_its_event() {
    let path = Path::new("dropped");
    let (queue, alive) = (Queue::new().unwrap(), Arc::new(()));
    let read = || Aio::read(&queue, path.noted(&alive, false), vec![0; LENGTH], 0, 1).unwrap();
    drop(read());
    assert_eq!(Arc::strong_count(&alive), 2);
    assert_eq!(next(&queue).token(), 1);
    assert_eq!(Arc::strong_count(&alive), 1);
    // Or until the queue is gone.
    for _ in 0..10 {
        drop(read());
    }
    assert_eq!(Arc::strong_count(&alive), 11);
    drop(queue);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn an_operation_may_end_in_any_thread() {
    let path = Path::new("threads");
    let (queue, alive) = (Queue::new().unwrap(), Arc::new(()));
    let read = || Aio::read(&queue, path.noted(&alive, false), vec![0; LENGTH], 0, 1).unwrap();
    for _ in 0..if cfg!(miri) { 3 } else { 30 } {
        let (first, second) = (read(), read());
        let finish = |mut aio: Aio<Noted>| loop {
            match aio.finish() {
                Ok(finished) => return finished.result,
                Err(running) => aio = running,
            }
            thread::yield_now();
        };
        thread::scope(|scope| {
            let first = scope.spawn(move || finish(first));
            scope.spawn(move || drop(second));
            next(&queue);
            next(&queue);
            assert_eq!(first.join().unwrap().unwrap(), LENGTH);
        });
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}

/// Nothing is kept because a destructor panicked, in a wait or with the queue.
#[test]
fn a_panic_of_a_destructor_ends_only_its_operation() {
    let path = Path::new("panic");
    let (queue, alive) = (Queue::new().unwrap(), Arc::new(()));
    let read =
        |panics| Aio::read(&queue, path.noted(&alive, panics), vec![0; LENGTH], 0, 1).unwrap();
    for dropped in 0..3 {
        let mut kept = Vec::new();
        for number in 0..3 {
            match read(number == dropped) {
                aio if number == dropped => drop(aio),
                aio => kept.push(aio),
            }
        }
        let (mut panics, mut events) = (0, Events::with_capacity(3));
        while panics == 0 || !kept.iter().all(Aio::is_over) {
            let wait = AssertUnwindSafe(|| queue.wait(&mut events, None).unwrap());
            panics += usize::from(catch_unwind(wait).is_err());
        }
        assert_eq!((panics, Arc::strong_count(&alive)), (1, 3));
        drop(kept);
    }
    for number in 0..9 {
        drop(read(number == 4));
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(queue))).is_err());
    assert_eq!(Arc::strong_count(&alive), 1);
}

/// The queue goes with its last handle, and takes along an operation whose file panics.
#[test]
fn a_panic_with_the_queue_drops_what_would_be_returned() {
    let path = Path::new("last");
    let (queue, alive) = (Queue::new().unwrap(), Arc::new(()));
    let panicking =
        |queue: Queue| drop(Aio::sync_all(&queue, path.noted(&alive, true), 0).unwrap());
    fn panics(last: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(last)).is_err()
    }

    let read = Aio::read(&queue, path.noted(&alive, false), vec![0; LENGTH], 0, 1).unwrap();
    assert_eq!(next(&queue).token(), 1);
    panicking(queue);
    assert!(panics(|| drop(read.finish())));
    assert_eq!(Arc::strong_count(&alive), 1, "finish");

    for returns in [true, false] {
        let queue = Queue::new().unwrap();
        let source = queue.source(path.noted(&alive, false));
        panicking(queue);
        assert!(panics(|| if returns { drop(source.into_inner()) } else { drop(source) }));
        assert_eq!(Arc::strong_count(&alive), 1, "into_inner: {returns}");
    }
}
