//! The poller: xpoll's poll-like level, xpoll_ctl(3) and xpoll_wait(3).

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use libc::{c_int, c_void, POLLIN};
use xpoll::sys;
use xpoll::Queue;

use crate::event::{Event, Events};

const MILLISECOND: Duration = Duration::from_millis(1);
const NAP: Duration = Duration::from_micros(100);

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
            PollMode::Oneshot => sys::XPOLL_DISPATCH,
            PollMode::Level => 0,
            PollMode::Edge => sys::XPOLL_CLEAR,
            PollMode::EdgeOneshot => sys::XPOLL_CLEAR | sys::XPOLL_DISPATCH,
        }) as c_int
    }
}

/// A source as it is registered.
struct Registered {
    key: usize,
    mode: PollMode,
    directions: c_int, // those that xpoll knows, enabled or not
}

/// Waits for I/O events.
pub struct Poller {
    queue: Queue,
    sources: Mutex<HashMap<RawFd, Registered>>,
    waiting: Mutex<()>,
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
        let Ok(_waiting) = self.waiting.try_lock() else { return Ok(0) };
        loop {
            match self.wait_once(deadline) {
                Err(failed) if failed.kind() == io::ErrorKind::Interrupted => continue,
                Err(failed) => return Err(failed),
                Ok(false) => continue,
                Ok(true) => break,
            }
        }
        self.notified.store(false, Ordering::SeqCst);
        self.take(events);
        Ok(events.len())
    }

    /// False if there is time left, and neither an event nor a notification.
    fn wait_once(&self, deadline: Option<Instant>) -> io::Result<bool> {
        let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
        let over = match left {
            None => return self.xpoll_wait(-1).map(|_| true),
            Some(left) if left >= MILLISECOND => {
                let whole = left.as_millis().min(1 << 30) as c_int;
                let over = Instant::now() + Duration::from_millis(whole as u64);
                if self.xpoll_wait(whole)? > 0 {
                    return Ok(true);
                }
                over
            }
            Some(left) => {
                if !left.is_zero() {
                    self.sleep(left)?;
                }
                if self.xpoll_wait(0)? > 0 {
                    return Ok(true);
                }
                Instant::now()
            }
        };
        // Before that moment it was a notification.
        let now = Instant::now();
        Ok(now < over || deadline.is_some_and(|end| now >= end) || self.is_notified())
    }

    fn is_notified(&self) -> bool {
        self.notified.load(Ordering::SeqCst)
    }

    fn xpoll_wait(&self, milliseconds: c_int) -> io::Result<c_int> {
        match unsafe { sys::xpoll_wait(self.queue.as_ptr(), milliseconds) } {
            -1 => Err(io::Error::last_os_error()),
            count => Ok(count),
        }
    }

    /// Less than a millisecond, which xpoll_wait(3) does not know, or until there is an event.
    fn sleep(&self, time: Duration) -> io::Result<()> {
        let fd = unsafe { sys::xpoll_fd(self.queue.as_ptr()) };
        if fd < 0 {
            // A back end that has none: it is asked at the end of each nap.
            std::thread::sleep(time.min(NAP));
            return Ok(());
        }
        let mut watched = libc::pollfd { fd, events: POLLIN, revents: 0 };
        let time = libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos() as libc::c_long };
        match unsafe { libc::ppoll(&mut watched, 1, &time, std::ptr::null()) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Appends what the wait has found, as far as there is room; the next wait finds the rest.
    fn take(&self, events: &mut Events) {
        let list = &mut events.list;
        if list.len() == list.capacity() {
            list.reserve(1);
        }
        while list.len() < list.capacity() {
            let mut key = null_mut();
            let bits = unsafe { sys::xpoll_revents(self.queue.as_ptr(), &mut key) };
            if bits == 0 {
                break;
            }
            list.push(Event::from_bits(key as usize, bits));
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
