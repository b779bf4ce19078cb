//! A queue inside async-io, the reactor of smol.
//!
//! ```
//! use std::time::Duration;
//! use xpoll::{async_io::AsyncQueue, Queue, Timer};
//!
//! # fn main() -> std::io::Result<()> {
//! # async_io::block_on(async {
//! let queue = Queue::new()?;
//! let _timer = Timer::after(&queue, Duration::from_millis(1), 7)?;
//! let mut queue = AsyncQueue::new(&queue)?;
//! assert_eq!(queue.next_event().await?.token(), 7);
//! # Ok(())
//! # })
//! # }
//! ```

use std::io;
use std::task::{Context, Poll};

use async_io::Async;

use crate::queue::{Descriptor, Queue};
use crate::stream::{self, Readiness};

/// A queue for tasks on async-io's reactor, which await its events.
pub type AsyncQueue = stream::AsyncQueue<Async<Descriptor>>;

impl AsyncQueue {
    /// The queue inside the reactor. [`Unsupported`](io::ErrorKind::Unsupported) if the back end
    /// has no descriptor.
    pub fn new(queue: &Queue) -> io::Result<AsyncQueue> {
        // The descriptor is never read, so nothing would block.
        let ready = Async::new_nonblocking(queue.descriptor()?)?;
        Ok(AsyncQueue::with(queue.clone(), ready))
    }
}

impl Readiness for Async<Descriptor> {
    fn poll_look(
        &self,
        cx: &mut Context<'_>,
        look: &mut dyn FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let count = look()?;
            if count > 0 {
                return Poll::Ready(Ok(count));
            }
            if self.poll_readable(cx)?.is_pending() {
                return Poll::Pending;
            }
        }
    }
}
