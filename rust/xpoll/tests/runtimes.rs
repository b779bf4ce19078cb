//! A queue inside tokio and async-io: every event arrives, whatever the order of steps.

use std::cell::Cell;
use std::future::Future;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use futures_lite::{future, StreamExt};
use xpoll::{AsyncQueue, Filter, Interest, Options, Queue, Readiness, Timer, Waker};

fn in_tokio<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    runtime.unwrap().block_on(future)
}

fn in_async_io<T>(future: impl Future<Output = T>) -> T {
    async_io::block_on(future)
}

/// A byte to a peer makes an event; then the answer makes the peer's thread go on. So each
/// event is alone, and one that is lost stops all.
async fn ping_pong(queue: &Queue, mut events: AsyncQueue<impl Readiness>) {
    const ROUNDS: u64 = 2000;
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut ours = queue.source(ours);
    ours.add(Interest::READ.dispatch(), 1).unwrap();
    let peer = thread::spawn(move || {
        for _ in 0..ROUNDS {
            (&theirs).write_all(b"x").unwrap();
            (&theirs).read_exact(&mut [0]).unwrap();
        }
    });
    let mut events = events.events();
    for _ in 0..ROUNDS {
        let event = events.next().await.unwrap().unwrap();
        assert_eq!((event.filter(), event.token()), (Filter::READ, 1));
        ours.read_exact(&mut [0]).unwrap();
        ours.enable(Filter::READ).unwrap();
        ours.write_all(b"y").unwrap();
    }
    peer.join().unwrap();
}

/// The same with events that no descriptor brings.
async fn wakes(queue: &Queue, mut events: AsyncQueue<impl Readiness>) {
    const ROUNDS: u64 = 2000;
    let waker = Waker::new(queue, 2).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let peer = thread::spawn(move || {
        for () in receiver {
            waker.wake().unwrap();
        }
    });
    for _ in 0..ROUNDS {
        sender.send(()).unwrap();
        assert_eq!(events.next_event().await.unwrap().token(), 2);
    }
    drop(sender);
    peer.join().unwrap();
}

/// More events than are taken at once, in the order of their moments; and none for a future
/// that was dropped.
async fn timers(queue: &Queue, mut events: AsyncQueue<impl Readiness>) {
    assert!(future::poll_once(events.next_event()).await.is_none());
    let timer = |token| Timer::after(queue, Duration::from_micros(100 * token), token).unwrap();
    let _timers: Vec<Timer> = (1..=200).map(timer).collect();
    for token in 1..=200 {
        assert_eq!(events.next_event().await.unwrap().token(), token);
    }
    assert!(future::poll_once(events.next_event()).await.is_none());
}

/// While it waits, another task runs.
async fn beside_others(queue: &Queue, mut events: AsyncQueue<impl Readiness>) {
    let waker = Waker::new(queue, 3).unwrap();
    let polled = Cell::new(0);
    let waiting = async {
        assert_eq!(events.next_event().await.unwrap().token(), 3);
    };
    let other = std::future::poll_fn(|cx: &mut Context<'_>| {
        polled.set(polled.get() + 1);
        if polled.get() == 10 {
            waker.wake().unwrap();
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    });
    future::zip(pin!(waiting), pin!(other)).await;
    assert_eq!(polled.get(), 10);
}

macro_rules! in_both {
    ($($test:ident)*) => {
        mod tokio_runs {
            $(#[test]
            fn $test() {
                let queue = super::Queue::new().unwrap();
                super::in_tokio(async {
                    super::$test(&queue, xpoll::tokio::AsyncQueue::new(&queue).unwrap()).await
                });
            })*
        }
        mod async_io_runs {
            $(#[test]
            fn $test() {
                let queue = super::Queue::new().unwrap();
                super::in_async_io(async {
                    super::$test(&queue, xpoll::async_io::AsyncQueue::new(&queue).unwrap()).await
                });
            })*
        }
    };
}

in_both! { ping_pong wakes timers beside_others }

#[test]
fn a_back_end_without_a_descriptor_is_refused() {
    let queue = Options::new().backend("poll").open().unwrap();
    let kind = std::io::ErrorKind::Unsupported;
    assert_eq!(xpoll::async_io::AsyncQueue::new(&queue).unwrap_err().kind(), kind);
    let error = in_tokio(async { xpoll::tokio::AsyncQueue::new(&queue).unwrap_err() });
    assert_eq!(error.kind(), kind);
}
