//! The queue.

use std::collections::HashMap;
use std::ffi::{c_char, CStr, CString};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr::{null, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::event::{Event, Events, Filter};
use crate::interest::{Change, Interest};
use crate::sys;

/// Counters of a queue since it was made.
pub use crate::sys::xpoll_stats as Stats;

/// 0 or more, or the error that `errno` names.
pub(crate) fn check(result: i32) -> io::Result<i32> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// What a queue keeps of an operation until it is over.
pub(crate) trait Flight: Send + Sync {
    /// Its event was returned.
    fn land(&self);
}

/// Nanoseconds for the library, to which a negative number means "for ever".
fn nanoseconds(timeout: Option<Duration>) -> i64 {
    timeout.map_or(-1, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}

/// The result of a wait, which takes nanoseconds. After a signal handler it is called again, for
/// the rest of the time.
pub(crate) fn uninterrupted(
    timeout: Option<Duration>,
    mut wait: impl FnMut(i64) -> io::Result<usize>,
) -> io::Result<usize> {
    // The clock is only asked if there is time that can pass.
    let long = timeout.filter(|time| !time.is_zero());
    let end = long.and_then(|time| Instant::now().checked_add(time));
    let mut timeout = timeout;
    loop {
        match wait(nanoseconds(timeout)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                if let Some(end) = end {
                    timeout = Some(end.saturating_duration_since(Instant::now()));
                }
            }
            result => return result,
        }
    }
}

/// A queue of events.
///
/// This is a handle: [`Clone`] makes another one of the same queue, and the queue is destroyed
/// when the last handle and the last [`Source`](crate::Source), [`Timer`](crate::Timer) and so on
/// are dropped.
#[derive(Clone)]
pub struct Queue {
    inner: Arc<Inner>,
}

struct Inner {
    raw: NonNull<sys::xpoll>,
    /// Operations whose events have not been returned, by ident. They are the library's, and
    /// are dropped after the queue.
    flights: Mutex<HashMap<u64, Arc<dyn Flight>>>,
    /// Which value of this crate made a registration without a descriptor.
    owners: Mutex<HashMap<(Filter, u64), u64>>,
    next: AtomicU64,
}

// Every function of the library may be called from any thread at any time.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nobody waits, as nobody has a handle. What is in flight has ended when it returns.
        unsafe { sys::xpoll_destroy(self.raw.as_ptr()) };
        // A map leaks the rest if one destructor panics; a vector drops it.
        let flights = self.flights.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(flights.drain().collect::<Vec<_>>());
    }
}

/// A mutex whose contents stay valid even if a holder panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a queue is made.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// let queue = xpoll::Options::new().backend("poll").size_hint(1000).open()?;
/// assert_eq!(queue.backend(), "poll");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    backend: Option<String>,
    size_hint: i32,
    flags: u32,
    busy_poll_us: u32,
}

impl Options {
    /// The defaults.
    pub fn new() -> Options {
        Options::default()
    }

    /// Use this back end, one of [`backends`]. The default is the one that the environment variable
    /// `XPOLL_BACKEND` names, or else the best one.
    pub fn backend(mut self, name: impl Into<String>) -> Options {
        self.backend = Some(name.into());
        self
    }

    /// How many descriptors are expected; a hint.
    pub fn size_hint(mut self, descriptors: u32) -> Options {
        self.size_hint = i32::try_from(descriptors).unwrap_or(i32::MAX);
        self
    }

    /// Report each name of a file, as the BSDs do: `XPOLL_VNODE_AS_BSD` of xpoll_open(3).
    pub fn vnode_as_bsd(mut self) -> Options {
        self.flags |= sys::XPOLL_VNODE_AS_BSD;
        self
    }

    /// Each wait returns all that is ready, as far as there is room, at the price of some system
    /// calls.
    pub fn all_ready(mut self) -> Options {
        self.flags |= sys::XPOLL_ALL_READY;
        self
    }

    /// Count the time that threads sleep in waits: `idle_ns` of [`Queue::stats`]. Each sleep then
    /// reads a clock twice.
    pub fn count_idle(mut self) -> Options {
        self.flags |= sys::XPOLL_COUNT_IDLE;
        self
    }

    /// No wait fails with [`Interrupted`](io::ErrorKind::Interrupted): `XPOLL_RESTART` of
    /// xpoll_open(3).
    pub fn restart(mut self) -> Options {
        self.flags |= sys::XPOLL_RESTART;
        self
    }

    /// Before a wait sleeps, the kernel polls the network device for up to this time: Linux 6.9 and
    /// epoll. Elsewhere [`Options::open`] fails with [`Unsupported`](io::ErrorKind::Unsupported).
    pub fn busy_poll(mut self, time: Duration) -> Options {
        self.busy_poll_us = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        self
    }

    /// Makes the queue.
    pub fn open(&self) -> io::Result<Queue> {
        let name = self.backend.as_deref().map(CString::new).transpose()?;
        let options = sys::xpoll_options {
            size: std::mem::size_of::<sys::xpoll_options>(),
            backend: name.as_ref().map_or(null(), |name| name.as_ptr()),
            flags: self.flags,
            size_hint: self.size_hint,
            busy_poll_us: self.busy_poll_us,
            reserved: 0,
        };
        let raw = unsafe { sys::xpoll_open(&options) };
        let raw = NonNull::new(raw).ok_or_else(io::Error::last_os_error)?;
        let inner = Inner {
            raw,
            flights: Mutex::default(),
            owners: Mutex::default(),
            next: AtomicU64::new(1 << 63),
        };
        Ok(Queue { inner: Arc::new(inner) })
    }
}

impl Queue {
    /// A queue with the default options.
    pub fn new() -> io::Result<Queue> {
        Options::new().open()
    }

    /// The queue of the C interface, for functions that this crate lacks: xpoll(3) and [`sys`]. It
    /// is valid as long as this queue. Do not destroy it. Only [`Queue::wait`] and
    /// [`Queue::wait_with`] may take the events of an [`Aio`](crate::Aio).
    pub fn as_ptr(&self) -> *mut sys::xpoll {
        self.inner.raw.as_ptr()
    }

    /// Makes all changes, in their order. If some fail, the error is that of the first. If one of
    /// them is for [`Filter::AIO`], none is made, and the error is
    /// [`InvalidInput`](io::ErrorKind::InvalidInput).
    pub fn change(&self, changes: &[Change]) -> io::Result<()> {
        self.event(changes, std::ptr::null_mut(), 0, 0).map(drop)
    }

    /// Registers a descriptor that something else owns.
    ///
    /// # Safety
    ///
    /// That of [`Change::add`].
    pub unsafe fn add(&self, fd: impl AsFd, interest: Interest, token: u64) -> io::Result<()> {
        // The caller has promised it.
        self.change(&[unsafe { Change::add(fd, interest, token) }])
    }

    /// Waits for events, at most for `timeout`; `None` waits for ever. Returns how many events
    /// there are: 0 after the timeout and after [`Queue::wake`].
    ///
    /// Any number of threads may wait. If they share a [`Source`](crate::Source), register it with
    /// [`Interest::dispatch`].
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<usize> {
        self.wait_with(&[], events, timeout)
    }

    /// Makes all changes, in their order, and then waits, in one call. If a change fails, the call
    /// does not wait, and returns a record for each that failed. Such a record is no event: look
    /// at [`Event::change_error`] before its filter and token, which are those of the change.
    /// Changes for [`Filter::AIO`] are refused as by [`Queue::change`].
    pub fn wait_with(
        &self,
        changes: &[Change],
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<usize> {
        let mut changes = changes;
        let count = uninterrupted(timeout, |time| {
            // Once they are made, they are not made again.
            let changes = std::mem::take(&mut changes);
            events.fill(|list, room| self.event(changes, list, room, time))
        })?;
        if events.iter().any(Event::ends_operation) {
            self.land(events);
        }
        Ok(count)
    }

    /// Gives back what the operations held whose events these are. All are over before the first
    /// file or buffer is dropped, as a destructor may panic.
    fn land(&self, events: &Events) {
        let mut over = Vec::new();
        let mut flights = lock(&self.inner.flights);
        for event in events.iter().filter(|event| event.ends_operation()) {
            if let Some(flight) = flights.remove(&event.ident()) {
                flight.land();
                over.push(flight);
            }
        }
        drop(flights); // A destructor may call the queue.
        drop(over);
    }

    fn event(
        &self,
        changes: &[Change],
        list: *mut sys::xpoll_event,
        room: i32,
        timeout: i64,
    ) -> io::Result<i32> {
        let count = i32::try_from(changes.len())
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        if changes.iter().any(|change| change.filter() == Filter::AIO) {
            // A delete would discard the event, and with it the buffer.
            let text = "AIO cannot be changed: Aio::cancel ends an operation";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        // A Change is a record, and there is room for so many events.
        check(unsafe {
            sys::xpoll_event(self.as_ptr(), changes.as_ptr().cast(), count, list, room, timeout)
        })
    }

    /// Makes one wait return without events: one in progress, otherwise the next one. For an event
    /// that has a token use a [`Waker`](crate::Waker).
    pub fn wake(&self) -> io::Result<()> {
        check(unsafe { sys::xpoll_wake(self.as_ptr()) }).map(drop)
    }

    /// Makes all waits in progress return without events.
    pub fn wake_all(&self) -> io::Result<()> {
        check(unsafe { sys::xpoll_wake_all(self.as_ptr()) }).map(drop)
    }

    /// A descriptor that is readable when events are there, to put this queue into another loop.
    ///
    /// The queue itself is not [`AsFd`], because not every back end has a descriptor. On one that
    /// has none this call fails with [`Unsupported`](io::ErrorKind::Unsupported).
    pub fn descriptor(&self) -> io::Result<Descriptor> {
        let fd = check(unsafe { sys::xpoll_fd(self.as_ptr()) })?;
        Ok(Descriptor { queue: self.clone(), fd })
    }

    /// How long it is until the next timer is due.
    pub fn next_timeout(&self) -> Option<Duration> {
        let time = unsafe { sys::xpoll_next_timeout(self.as_ptr()) };
        u64::try_from(time).ok().map(Duration::from_nanos)
    }

    /// The name of the back end.
    pub fn backend(&self) -> &'static str {
        text(unsafe { sys::xpoll_backend(self.as_ptr()) })
    }

    /// Can it register this filter with all of these bits, those of
    /// [`FileNotes`](crate::FileNotes) for example?
    pub fn supports(&self, filter: Filter, fflags: u32) -> bool {
        unsafe { sys::xpoll_supports(self.as_ptr(), i32::from(filter.0), fflags) == 1 }
    }

    /// The counters.
    pub fn stats(&self) -> Stats {
        // All members are numbers, and it fails of no valid pointer and size.
        let mut stats: Stats = unsafe { std::mem::zeroed() };
        unsafe { sys::xpoll_stats(self.as_ptr(), &mut stats, std::mem::size_of::<Stats>()) };
        stats
    }

    /// A number that this queue has not given to anybody: 2^63 or more.
    pub(crate) fn fresh(&self) -> u64 {
        self.inner.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes a change that registers something without a descriptor, for `owner`.
    pub(crate) fn own(
        &self,
        filter: Filter,
        owner: u64,
        change: Change,
        ident: u64,
    ) -> io::Result<()> {
        let mut owners = lock(&self.inner.owners);
        self.change(&[change])?;
        owners.insert((filter, ident), owner);
        Ok(())
    }

    /// Deletes it, unless another owner has registered it since.
    pub(crate) fn disown(&self, filter: Filter, owner: u64, ident: u64) {
        let mut owners = lock(&self.inner.owners);
        if owners.get(&(filter, ident)) == Some(&owner) {
            owners.remove(&(filter, ident));
            // It may have ended by itself.
            let _ = self.change(&[Change::delete(filter, ident)]);
        }
    }

    /// Keeps an operation until its event was returned, or the queue destroyed.
    pub(crate) fn hold(&self, ident: u64, flight: Arc<dyn Flight>) {
        lock(&self.inner.flights).insert(ident, flight);
    }

    /// Of an operation that was not started.
    pub(crate) fn release(&self, ident: u64) {
        lock(&self.inner.flights).remove(&ident);
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({})", self.backend())
    }
}

/// The descriptor of a queue: always readable when there are events, and sometimes without one.
///
/// It keeps the queue alive, and only lends the descriptor.
#[derive(Clone, Debug)]
pub struct Descriptor {
    queue: Queue,
    fd: RawFd,
}

impl Descriptor {
    /// The queue.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // It is the queue's, and open as long as the queue is there.
        unsafe { BorrowedFd::borrow_raw(self.fd) }
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.fd
    }
}

/// A string of the library that is there for ever.
fn text(string: *const c_char) -> &'static str {
    unsafe { CStr::from_ptr(string) }.to_str().unwrap_or("?")
}

/// The back ends that can be used here, the best one first.
pub fn backends() -> Vec<&'static str> {
    let mut names = [null::<c_char>(); 16];
    let count = unsafe { sys::xpoll_backends(names.as_mut_ptr(), names.len() as i32) };
    let count = usize::try_from(count).unwrap_or(0).min(names.len());
    names[..count].iter().map(|&name| text(name)).collect()
}

/// Removes a descriptor from every queue of the process, and closes it. This is exact even while
/// duplicates of the descriptor are open.
pub fn close(fd: impl Into<OwnedFd>) -> io::Result<()> {
    check(unsafe { sys::xpoll_close_fd(fd.into().into_raw_fd()) }).map(drop)
}

/// Removes a descriptor from every queue of the process.
pub fn forget(fd: impl AsFd) -> io::Result<()> {
    check(unsafe { sys::xpoll_forget_fd(fd.as_fd().as_raw_fd()) }).map(drop)
}
