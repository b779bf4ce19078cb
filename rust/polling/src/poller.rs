//! The poller: xpoll's poll-like level, xpoll_ctl(3) and xpoll_pwait(3).

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use libc::{c_int, c_void, POLLIN};
use xpoll::sys;
use xpoll::Queue;

use crate::event::{Event, Events};

/// How often an event is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PollMode {
    /// Once, until the source is modified.
    Oneshot,
    /// By each wait, while the condition holds.
    Level,
    /// Once for each new activity.
    Edge,
    /// Once, after new activity, until the source is modified.
    EdgeOneshot,
}

impl PollMode {
    fn flags(self) -> c_int {
        (match self {
            PollMode::Oneshot => sys::XPOLL_DISPATCH | sys::XPOLL_WHOLE,
            PollMode::Level => 0,
            PollMode::Edge => sys::XPOLL_CLEAR,
            PollMode::EdgeOneshot => sys::XPOLL_CLEAR | sys::XPOLL_DISPATCH | sys::XPOLL_WHOLE,
        }) as c_int
    }
}

/// A source as it is registered.
struct Registered {
    key: usize,
    mode: PollMode,
    directions: c_int, // those that xpoll knows, enabled or not
}

/// Room for what a wait returns; the pointers in it are keys.
#[derive(Default)]
struct Records(Vec<sys::xpoll_ready>);
unsafe impl Send for Records {}

/// Waits for I/O events.
pub struct Poller {
    queue: Queue,
    sources: Mutex<HashMap<RawFd, Registered>>,
    waiting: Mutex<Records>,
    notified: AtomicBool,
}

/// Whose holders leave its contents whole whatever happens.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn error(number: c_int) -> io::Error {
    io::Error::from_raw_os_error(number)
}

impl Poller {
    /// A new poller.
    pub fn new() -> io::Result<Poller> {
        Ok(Poller {
            queue: Queue::new()?,
            sources: Mutex::default(),
            waiting: Mutex::default(),
            notified: AtomicBool::new(false),
        })
    }

    /// Is [`PollMode::Level`] supported?
    pub fn supports_level(&self) -> bool {
        true
    }

    /// Is [`PollMode::Edge`] supported?
    pub fn supports_edge(&self) -> bool {
        true
    }

    fn ctl(
        &self,
        op: u32,
        directions: c_int,
        fd: RawFd,
        key: usize,
        mode: c_int,
    ) -> io::Result<()> {
        let op = op as c_int | mode;
        // The key is a number to xpoll, which hands it back.
        let result =
            unsafe { sys::xpoll_ctl(self.queue.as_ptr(), op, directions, fd, key as *mut c_void) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Adds a source, in the mode [`PollMode::Oneshot`].
    ///
    /// # Safety
    ///
    /// It must be deleted before it is closed.
    pub unsafe fn add(&self, source: impl AsRawSource, interest: Event) -> io::Result<()> {
        // The caller has promised it.
        unsafe { self.add_with_mode(source, interest, PollMode::Oneshot) }
    }

    /// Adds a source.
    ///
    /// # Safety
    ///
    /// It must be deleted before it is closed.
    pub unsafe fn add_with_mode(
        &self,
        source: impl AsRawSource,
        interest: Event,
        mode: PollMode,
    ) -> io::Result<()> {
        check_key(interest.key)?;
        let fd = source.raw();
        let mut sources = lock(&self.sources);
        if sources.contains_key(&fd) {
            return Err(error(libc::EEXIST));
        }
        let mut source = Registered { key: interest.key, mode, directions: 0 };
        self.set(fd, &mut source, interest.directions())?;
        if source.directions == 0 {
            // So that a descriptor that cannot be watched is an error now.
            self.ctl(
                sys::XPOLL_ADD | sys::XPOLL_DISABLE,
                POLLIN.into(),
                fd,
                source.key,
                mode.flags(),
            )?;
            source.directions = POLLIN.into();
        }
        sources.insert(fd, source);
        Ok(())
    }

    /// Enables these directions, and disables all others.
    fn set(&self, fd: RawFd, source: &mut Registered, wanted: c_int) -> io::Result<()> {
        let known = source.directions;
        let (key, mode) = (source.key, source.mode.flags());
        if wanted & !known != 0 {
            self.ctl(sys::XPOLL_ADD, wanted & !known, fd, key, mode)?;
            source.directions |= wanted;
        }
        if wanted & known != 0 {
            self.ctl(sys::XPOLL_ENABLE, wanted & known, fd, 0, 0)?;
        }
        if known & !wanted != 0 {
            self.ctl(sys::XPOLL_DISABLE, known & !wanted, fd, 0, 0)?;
        }
        Ok(())
    }

    /// Changes what is wanted of a source, to the mode [`PollMode::Oneshot`].
    pub fn modify(&self, source: impl AsSource, interest: Event) -> io::Result<()> {
        self.modify_with_mode(source, interest, PollMode::Oneshot)
    }

    /// Changes what is wanted of a source.
    pub fn modify_with_mode(
        &self,
        source: impl AsSource,
        interest: Event,
        mode: PollMode,
    ) -> io::Result<()> {
        check_key(interest.key)?;
        let fd = source.source().as_raw_fd();
        let mut sources = lock(&self.sources);
        let source = sources.get_mut(&fd).ok_or_else(|| error(libc::ENOENT))?;
        if (source.key, source.mode) != (interest.key, mode) {
            // What ADD would leave as it is, such as a mode that is not wanted any more.
            self.clear(fd, source)?;
            *source = Registered { key: interest.key, mode, directions: 0 };
        }
        self.set(fd, source, interest.directions())
    }

    /// Removes a source.
    pub fn delete(&self, source: impl AsSource) -> io::Result<()> {
        let fd = source.source().as_raw_fd();
        let mut sources = lock(&self.sources);
        let source = sources.remove(&fd).ok_or_else(|| error(libc::ENOENT))?;
        self.clear(fd, &source)
    }

    /// Ends what xpoll has of it.
    fn clear(&self, fd: RawFd, source: &Registered) -> io::Result<()> {
        match source.directions {
            0 => Ok(()), // It was modified to nothing, in another mode.
            directions => self.ctl(sys::XPOLL_DELETE, directions, fd, 0, 0),
        }
    }

    /// Waits for an event, and appends all that are ready. Returns how many events `events` has.
    /// If another thread waits, the call returns at once.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<usize> {
        // A moment that is too far for an Instant never comes.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        self.wait_until(events, deadline)
    }

    /// As [`Poller::wait`], until a deadline.
    pub fn wait_deadline(&self, events: &mut Events, deadline: Instant) -> io::Result<usize> {
        self.wait_until(events, Some(deadline))
    }

    fn wait_until(&self, events: &mut Events, deadline: Option<Instant>) -> io::Result<usize> {
        let Ok(mut records) = self.waiting.try_lock() else { return Ok(0) };
        let list = &mut events.list;
        if list.len() == list.capacity() {
            list.reserve(1);
        }
        let room = list.capacity() - list.len();
        loop {
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            match self.pwait(&mut records.0, room, left) {
                Err(failed) if failed.kind() == io::ErrorKind::Interrupted => continue,
                result => break result?,
            }
        }
        self.notified.store(false, Ordering::SeqCst);
        list.extend(records.0.iter().map(|record| {
            // The library returns the number that it was given.
            let key = unsafe { record.__bindgen_anon_1.data64 } as usize;
            Event::from_bits(key, record.events)
        }));
        Ok(events.len())
    }

    /// Stores as many records as are ready, and for as many as there is room.
    fn pwait(
        &self,
        records: &mut Vec<sys::xpoll_ready>,
        room: usize,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        let time = timeout.map_or(-1, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
        let room = room.min(i32::MAX as usize);
        records.clear();
        records.reserve(room);
        // There is room for so many, and as many are stored as it returns.
        let (queue, list) = (self.queue.as_ptr(), records.as_mut_ptr());
        match unsafe { sys::xpoll_pwait(queue, list, room as c_int, time, null()) } {
            -1 => Err(io::Error::last_os_error()),
            count => {
                unsafe { records.set_len(count as usize) };
                Ok(())
            }
        }
    }

    /// Makes the wait in progress return, or else the next one.
    pub fn notify(&self) -> io::Result<()> {
        if self.notified.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        self.queue.wake()
    }
}

fn check_key(key: usize) -> io::Result<()> {
    if key == usize::MAX {
        let kind = io::ErrorKind::InvalidInput;
        return Err(io::Error::new(kind, "the key is not allowed to be `usize::MAX`"));
    }
    Ok(())
}

impl AsRawFd for Poller {
    /// -1 where the back end has no descriptor.
    fn as_raw_fd(&self) -> RawFd {
        unsafe { sys::xpoll_fd(self.queue.as_ptr()) }
    }
}

impl AsFd for Poller {
    /// # Panics
    ///
    /// Where the back end has no descriptor: poll and select.
    fn as_fd(&self) -> BorrowedFd<'_> {
        let fd = self.as_raw_fd();
        assert!(fd >= 0, "the back end {} has no descriptor", self.queue.backend());
        // It is the queue's, and open as long as the queue is there.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Poller").field(&self.queue).finish()
    }
}

/// What has a descriptor, by number.
pub trait AsRawSource {
    /// The number.
    fn raw(&self) -> RawFd;
}

impl<T: AsRawFd> AsRawSource for &T {
    fn raw(&self) -> RawFd {
        self.as_raw_fd()
    }
}

impl AsRawSource for RawFd {
    fn raw(&self) -> RawFd {
        *self
    }
}

/// What has a descriptor.
pub trait AsSource: AsFd {
    /// The descriptor.
    fn source(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }
}

impl<T: AsFd> AsSource for T {}
