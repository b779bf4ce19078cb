//! The poll-like level: descriptors with the bits of poll(2), one record of each.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use crate::bits::bits;
use crate::queue::{check, Queue};
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
