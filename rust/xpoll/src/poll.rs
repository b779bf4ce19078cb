//! The poll-like level: descriptors with the bits of poll(2), one record of each.

use std::ffi::c_void;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::ptr::null;
use std::time::Duration;

use crate::bits::bits;
use crate::queue::{check, uninterrupted, Queue};
use crate::room::room;
use crate::sys;

bits! {
    /// The bits of poll(2): the directions of a descriptor to wait for, and what it is ready for.
    PollBits:
    /// It can be read: data, a connection or the end of the input.
    IN = POLLIN,
    /// It has urgent data.
    PRI = POLLPRI,
    /// It can be written.
    OUT = POLLOUT,
    /// The other side sends no more; on systems that have the bit.
    RDHUP = POLLRDHUP,
    /// In records: it has an error.
    ERR = POLLERR,
    /// In records: it was hung up.
    HUP = POLLHUP,
}

/// The directions of a descriptor to wait for with [`Queue::poll`], and how often to report them.
///
/// Level mode is the default: a record comes with every wait while the descriptor is ready.
/// Without bits, only errors and hang-ups are reported.
///
/// ```
/// # use xpoll::{PollBits, PollInterest};
/// // As EPOLLONESHOT: a record disables the descriptor until it is enabled again.
/// let owned = PollInterest::new(PollBits::IN | PollBits::OUT).dispatch().whole();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PollInterest {
    pub(crate) bits: PollBits,
    flags: u32,
}

impl PollInterest {
    /// Level mode.
    pub const fn new(bits: PollBits) -> PollInterest {
        PollInterest { bits, flags: 0 }
    }

    const fn with(self, flag: u32) -> PollInterest {
        PollInterest { flags: self.flags | flag, ..self }
    }

    /// Edge mode: once for each new activity. Read or write until `WouldBlock`.
    pub const fn clear(self) -> PollInterest {
        self.with(sys::XPOLL_CLEAR)
    }

    /// Once; then the directions that were reported are deleted.
    pub const fn oneshot(self) -> PollInterest {
        self.with(sys::XPOLL_ONESHOT)
    }

    /// Once; then the directions that were reported are disabled.
    pub const fn dispatch(self) -> PollInterest {
        self.with(sys::XPOLL_DISPATCH)
    }

    /// With `oneshot` or `dispatch`: a record of one direction deletes or disables all of them.
    /// With several threads, the one that gets the record owns the descriptor.
    pub const fn whole(self) -> PollInterest {
        self.with(sys::XPOLL_WHOLE)
    }

    /// Register it, but report nothing before it is enabled.
    pub const fn disabled(self) -> PollInterest {
        self.with(sys::XPOLL_DISABLE)
    }
}

/// A descriptor that is ready, as [`Queue::poll`] returns it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Ready(sys::xpoll_ready);

// The record holds numbers; the pointer in it is a token.
unsafe impl Send for Ready {}
unsafe impl Sync for Ready {}

impl Ready {
    /// The token of the first direction that is ready, in the order read, write, urgent data.
    pub fn token(&self) -> u64 {
        // Both members are plain data of the same size or less.
        unsafe { self.0.__bindgen_anon_1.data64 }
    }

    /// The number of the descriptor.
    pub fn fd(&self) -> RawFd {
        self.0.fd
    }

    /// What it is ready for.
    pub fn bits(&self) -> PollBits {
        PollBits(self.0.events as u32)
    }

    /// Returns true if any of these bits is set.
    pub fn has(&self, bits: PollBits) -> bool {
        !(self.bits() & bits).is_empty()
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready(fd={} {:?} token={})", self.fd(), self.bits(), self.token())
    }
}

room! {
    /// Room for records, which [`Queue::poll`] fills.
    ReadyList: [Ready = xpoll_ready], "records"
}

impl Queue {
    /// Waits until descriptors are ready, at most for `timeout`; `None` waits for ever. Returns how
    /// many there are: 0 after the timeout and after [`Queue::wake`]. Each comes with one record.
    ///
    /// This is xpoll_pwait(3), of the poll-like level: it reports what was registered by
    /// [`Source::poll_add`](crate::Source::poll_add) and, of the filters READ, WRITE and EXCEPT, by
    /// [`Source::add`](crate::Source::add). Any
    /// number of threads may wait. While one of them does, a [`Queue::wait`] fails with EBUSY,
    /// and the other way round; events of other filters stay for [`Queue::wait`].
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// use std::os::unix::net::UnixStream;
    /// use xpoll::{PollBits, PollInterest, Queue, ReadyList};
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let (ours, mut theirs) = UnixStream::pair()?;
    /// let queue = Queue::new()?;
    /// let source = queue.source(ours);
    /// let both = PollInterest::new(PollBits::IN | PollBits::OUT);
    /// source.poll_add(both.dispatch().whole(), 7)?;
    /// theirs.write_all(b"hello")?;
    ///
    /// let mut ready = ReadyList::with_capacity(64);
    /// queue.poll(&mut ready, None)?; // in as many threads as you like
    /// for one in &ready {
    ///     assert!(one.token() == 7 && one.has(PollBits::IN));
    ///     (&*source).read(&mut [0; 16])?;
    ///     source.poll_enable(PollBits::IN)?; // from here on another thread may own it
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn poll(&self, ready: &mut ReadyList, timeout: Option<Duration>) -> io::Result<usize> {
        // NULL is no mask.
        unsafe { self.poll_masked(ready, timeout, null()) }
    }

    /// [`Queue::poll`] with a signal mask, which the thread has while the call waits.
    ///
    /// # Safety
    ///
    /// `mask` is null, or points to a `sigset_t` of C.
    ///
    /// A signal handler that runs does not end the wait: let it call xpoll_wake(3).
    pub unsafe fn poll_masked(
        &self,
        ready: &mut ReadyList,
        timeout: Option<Duration>,
        mask: *const c_void,
    ) -> io::Result<usize> {
        uninterrupted(timeout, |time| {
            ready.fill(|list, room| {
                // There is room for so many.
                check(unsafe { sys::xpoll_pwait(self.as_ptr(), list, room, time, mask) })
            })
        })
    }

    fn ctl(&self, op: u32, bits: PollBits, fd: RawFd, token: u64) -> io::Result<()> {
        // Where a pointer has 32 bits, so has a token of this level.
        let data = usize::try_from(token).map_err(|_| io::ErrorKind::InvalidInput)?;
        let (op, bits) = (op as i32, bits.0 as i32);
        check(unsafe { sys::xpoll_ctl(self.as_ptr(), op, bits, fd, data as *mut _) }).map(drop)
    }

    pub(crate) fn ctl_add(&self, interest: PollInterest, fd: RawFd, token: u64) -> io::Result<()> {
        self.ctl(sys::XPOLL_ADD | interest.flags, interest.bits, fd, token)
    }

    /// Registers a descriptor that something else owns, for [`Queue::poll`], or changes and enables
    /// its registration. [`Source::poll_add`](crate::Source::poll_add) does so safely.
    ///
    /// # Safety
    ///
    /// That of [`Change::add`](crate::Change::add); [`Queue::poll_delete`] also deletes it.
    pub unsafe fn poll_add(
        &self,
        fd: impl AsFd,
        interest: PollInterest,
        token: u64,
    ) -> io::Result<()> {
        self.ctl_add(interest, fd.as_fd().as_raw_fd(), token)
    }

    /// Reports these directions of a descriptor again. All of them must be registered.
    pub fn poll_enable(&self, fd: RawFd, bits: PollBits) -> io::Result<()> {
        self.ctl(sys::XPOLL_ENABLE, bits, fd, 0)
    }

    /// Reports these directions no more until they are enabled. All of them must be registered.
    pub fn poll_disable(&self, fd: RawFd, bits: PollBits) -> io::Result<()> {
        self.ctl(sys::XPOLL_DISABLE, bits, fd, 0)
    }

    /// Ends the registrations of those of these directions that are registered.
    pub fn poll_delete(&self, fd: RawFd, bits: PollBits) -> io::Result<()> {
        self.ctl(sys::XPOLL_DELETE, bits, fd, 0)
    }
}
