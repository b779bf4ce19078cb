//! A queue inside a runtime, by its descriptor.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;

use crate::event::{Event, Events};
use crate::queue::Queue;

/// How many events are taken from the queue at once.
const ROOM: usize = 64;

/// What a runtime has to wait for the descriptor of a queue.
pub trait Readiness: Unpin {
    /// Calls `look` until it finds something, and waits for the descriptor in between.
    fn poll_look(
        &self,
        cx: &mut Context<'_>,
        look: &mut dyn FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>>;
}

/// A queue inside a runtime: its events are awaited by one task, and other tasks of the runtime
/// run meanwhile.
///
/// It is made by the runtime's module, `xpoll::tokio` or `xpoll::async_io`. Changes are made by
/// the [`Queue`] as always, from any thread.
pub struct AsyncQueue<R> {
    queue: Queue,
    ready: R,
    events: Events, // taken from the queue
    given: usize,   // of these
}

impl<R: Readiness> AsyncQueue<R> {
    pub(crate) fn with(queue: Queue, ready: R) -> AsyncQueue<R> {
        AsyncQueue { queue, ready, events: Events::with_capacity(ROOM), given: 0 }
    }

    /// The queue.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Event>> {
        if self.given == self.events.len() {
            let AsyncQueue { queue, ready, events, given } = self;
            *given = 0;
            let mut look = || queue.wait(events, Some(Duration::ZERO));
            match ready.poll_look(cx, &mut look) {
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        let event = self.events.iter().nth(self.given).copied();
        self.given += 1;
        Poll::Ready(event.ok_or_else(|| io::Error::from(io::ErrorKind::Other)))
    }

    /// The next event. Dropping the future before it is ready loses no event.
    ///
    /// Events are taken from the queue many at a time. An event whose registration was deleted
    /// since is still returned.
    pub async fn next_event(&mut self) -> io::Result<Event> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// The events as a stream that does not end.
    pub fn events(&mut self) -> EventStream<'_, R> {
        EventStream { queue: self }
    }
}

impl<R> fmt::Debug for AsyncQueue<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncQueue").field(&self.queue).finish()
    }
}

/// The events of an [`AsyncQueue`] as a stream: [`AsyncQueue::events`].
#[derive(Debug)]
pub struct EventStream<'a, R> {
    queue: &'a mut AsyncQueue<R>,
}

impl<R: Readiness> Stream for EventStream<'_, R> {
    type Item = io::Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.queue.poll_event(cx).map(Some)
    }
}
