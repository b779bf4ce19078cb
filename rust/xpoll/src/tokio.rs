//! A queue inside tokio.
//!
//! ```
//! use std::time::Duration;
//! use xpoll::{tokio::AsyncQueue, Queue, Timer};
//!
//! # fn main() -> std::io::Result<()> {
//! # tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(async {
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

use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

use crate::queue::{Descriptor, Queue};
use crate::stream::{self, Readiness};

/// A queue for tasks of tokio, which await its events.
pub type AsyncQueue = stream::AsyncQueue<AsyncFd<Descriptor>>;

impl AsyncQueue {
    /// The queue inside the runtime that this is called in.
    /// [`Unsupported`](io::ErrorKind::Unsupported) if the back end has no descriptor.
    ///
    /// # Panics
    ///
    /// Outside a runtime, and in one whose I/O is not enabled.
    // Deprecated in newer versions for what is unsafe with other types than Descriptor, and the
    // new name is not in older ones.
    #[allow(deprecated)]
    pub fn new(queue: &Queue) -> io::Result<AsyncQueue> {
        let ready = AsyncFd::with_interest(queue.descriptor()?, Interest::READABLE)?;
        Ok(AsyncQueue::with(queue.clone(), ready))
    }
}

impl Readiness for AsyncFd<Descriptor> {
    fn poll_look(
        &self,
        cx: &mut Context<'_>,
        look: &mut dyn FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let Poll::Ready(guard) = self.poll_read_ready(cx)? else { return Poll::Pending };
            let mut guard = guard;
            match look()? {
                // What comes from now on makes it ready again.
                0 => guard.clear_ready(),
                count => return Poll::Ready(Ok(count)),
            }
        }
    }
}
