//! Asynchronous I/O.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::fmt;
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use crate::queue::{check, Flight, Queue};
use crate::sys;

/// The structure that the library works with, at a place that does not change.
struct Operation<T> {
    record: UnsafeCell<sys::xpoll_aio>,
    // They are the library's until `over`, then the Aio's.
    things: UnsafeCell<Option<(T, Vec<u8>)>>,
    over: AtomicBool,
}

// Until `over` nobody but the library touches what is in the cells, then the one Aio. What they
// hold may be dropped in another thread than the one it came from.
unsafe impl<T: Send> Send for Operation<T> {}
unsafe impl<T: Send> Sync for Operation<T> {}

impl<T: Send> Flight for Operation<T> {
    fn land(&self) {
        self.over.store(true, Ordering::Release);
    }
}

/// A read, write or sync of a file in the background. Its end is one event,
/// [`Filter::AIO`](crate::Filter::AIO).
///
/// It owns the file and the buffer. If it is dropped before its event was returned, the operation
/// is cancelled, and the queue keeps both until the operation has ended.
///
/// ```
/// use std::fs::File;
/// use xpoll::{Aio, Events, Queue};
///
/// # fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("xpoll-aio-{}", std::process::id()));
/// # std::fs::write(&path, "hello")?;
/// let queue = Queue::new()?;
/// let read = Aio::read(&queue, File::open(&path)?, vec![0; 100], 0, 3)?;
///
/// let mut events = Events::with_capacity(8);
/// queue.wait(&mut events, None)?;
/// assert_eq!(events.iter().next().unwrap().token(), 3);
/// let finished = read.finish().unwrap();
/// assert_eq!(&finished.buffer[..finished.result?], b"hello");
/// # std::fs::remove_file(&path)
/// # }
/// ```
pub struct Aio<T = File> {
    queue: Queue,
    operation: Arc<Operation<T>>,
}

/// An operation that is over.
#[derive(Debug)]
pub struct Finished<T = File> {
    /// How many bytes were read or written; fewer than requested at the end of the file.
    pub result: io::Result<usize>,
    /// The buffer, with its length unchanged.
    pub buffer: Vec<u8>,
    /// The file.
    pub file: T,
}

impl<T: AsFd + Send + 'static> Aio<T> {
    /// Reads into all of `buffer`, from this offset on.
    pub fn read(
        queue: &Queue,
        file: T,
        buffer: Vec<u8>,
        offset: u64,
        token: u64,
    ) -> io::Result<Aio<T>> {
        Aio::submit(queue, sys::XPOLL_AIO_READ, file, buffer, offset, token)
    }

    /// Writes all of `buffer`, from this offset on.
    pub fn write(
        queue: &Queue,
        file: T,
        buffer: Vec<u8>,
        offset: u64,
        token: u64,
    ) -> io::Result<Aio<T>> {
        Aio::submit(queue, sys::XPOLL_AIO_WRITE, file, buffer, offset, token)
    }

    /// As [`File::sync_all`].
    pub fn sync_all(queue: &Queue, file: T, token: u64) -> io::Result<Aio<T>> {
        Aio::submit(queue, sys::XPOLL_AIO_FSYNC, file, Vec::new(), 0, token)
    }

    /// As [`File::sync_data`].
    pub fn sync_data(queue: &Queue, file: T, token: u64) -> io::Result<Aio<T>> {
        Aio::submit(queue, sys::XPOLL_AIO_FDATASYNC, file, Vec::new(), 0, token)
    }

    fn submit(
        queue: &Queue,
        op: u32,
        file: T,
        mut buffer: Vec<u8>,
        offset: u64,
        token: u64,
    ) -> io::Result<Aio<T>> {
        let offset =
            i64::try_from(offset).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let udata =
            usize::try_from(token).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let record = sys::xpoll_aio {
            size: size_of::<sys::xpoll_aio>(),
            op: op as i32,
            fd: file.as_fd().as_raw_fd(),
            buffer: buffer.as_mut_ptr().cast(),
            length: buffer.len(),
            offset,
            udata: udata as *mut c_void,
            result: 0,
            priv_: [null_mut(); 2],
        };
        let operation = Arc::new(Operation {
            record: UnsafeCell::new(record),
            things: UnsafeCell::new(Some((file, buffer))),
            over: AtomicBool::new(false),
        });
        let aio = Aio { queue: queue.clone(), operation };
        // Before: another thread may have its event at once.
        queue.hold(aio.ident(), aio.operation.clone());
        // The record and the buffer stay where they are, and the descriptor open, as the queue
        // keeps them until the event, or until it is destroyed.
        let started = check(unsafe { sys::xpoll_aio_submit(queue.as_ptr(), aio.record()) });
        if let Err(error) = started {
            queue.release(aio.ident());
            aio.operation.land();
            return Err(error);
        }
        Ok(aio)
    }
}

impl<T> Aio<T> {
    fn record(&self) -> *mut sys::xpoll_aio {
        self.operation.record.get()
    }

    /// The ident of its event.
    pub fn ident(&self) -> u64 {
        self.record() as u64
    }

    /// Has its event been returned?
    pub fn is_over(&self) -> bool {
        self.operation.over.load(Ordering::Acquire)
    }

    /// Tries to cancel the operation. Its event is still delivered. It is an error if the event was
    /// returned already.
    pub fn cancel(&self) -> io::Result<()> {
        check(unsafe { sys::xpoll_aio_cancel(self.queue.as_ptr(), self.record()) }).map(drop)
    }

    /// Returns the result, the buffer and the file if its event was returned, otherwise `self`.
    pub fn finish(self) -> Result<Finished<T>, Aio<T>> {
        if !self.is_over() {
            return Err(self);
        }
        // It is over, so they are this value's alone, and taken here for the only time.
        let result = unsafe { (*self.record()).result };
        let things = unsafe { (*self.operation.things.get()).take() };
        let Some((file, buffer)) = things else { return Err(self) };
        let result =
            usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result as i32));
        // A destructor that runs with the queue may panic, which drops variables, but leaks what
        // is about to be returned (rust-lang/rust#47949).
        drop(self);
        Ok(Finished { result, buffer, file })
    }
}

impl<T> Drop for Aio<T> {
    fn drop(&mut self) {
        if !self.is_over() {
            // If it fails the operation has just ended.
            let _ = self.cancel();
        }
    }
}

impl<T> fmt::Debug for Aio<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aio").field("over", &self.is_over()).finish_non_exhaustive()
    }
}
