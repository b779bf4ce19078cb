//! What to wait for, and records that change it.

use std::fmt;
use std::os::fd::{AsFd, AsRawFd};

use crate::event::{Event, FileNotes, Filter};
use crate::sys;

/// The events of a descriptor to wait for, and how often to deliver them.
///
/// Level mode is the default: an event comes with every wait while its condition holds.
///
/// ```
/// # use xpoll::Interest;
/// let once_a_time = Interest::READ.dispatch();
/// let listener = Interest::READ.exclusive();
/// let large_blocks = Interest::READ.low_water(65536);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Interest {
    pub(crate) filter: Filter,
    pub(crate) flags: u32,
    pub(crate) fflags: u32,
    pub(crate) data: i64,
}

impl Interest {
    const fn of(filter: Filter) -> Interest {
        Interest { filter, flags: 0, fflags: 0, data: 0 }
    }

    /// It can be read: data, a connection, its end or an error.
    pub const READ: Interest = Interest::of(Filter::READ);
    /// It can be written.
    pub const WRITE: Interest = Interest::of(Filter::WRITE);
    /// It has urgent data.
    pub const EXCEPT: Interest = Interest::of(Filter::EXCEPT);
    /// Everything that was written has left its buffer.
    pub const EMPTY: Interest = Interest::of(Filter::EMPTY);

    /// These things happen to the file; see [`Vnode`](crate::Vnode).
    pub const fn file(notes: FileNotes) -> Interest {
        Interest { fflags: notes.bits(), ..Interest::of(Filter::VNODE) }
    }

    const fn with(self, flag: u32, note: u32) -> Interest {
        Interest { flags: self.flags | flag, fflags: self.fflags | note, ..self }
    }

    /// Edge mode: once for each new activity. Read or write until `WouldBlock`.
    pub const fn clear(self) -> Interest {
        self.with(sys::XPOLL_CLEAR, 0)
    }

    /// Once; then the registration is deleted.
    pub const fn oneshot(self) -> Interest {
        self.with(sys::XPOLL_ONESHOT, 0)
    }

    /// Once; then the registration is disabled. With several threads, the one that gets the event
    /// owns the descriptor until it is enabled again.
    pub const fn dispatch(self) -> Interest {
        self.with(sys::XPOLL_DISPATCH, 0)
    }

    /// Register it, but deliver nothing before it is enabled.
    pub const fn disabled(self) -> Interest {
        self.with(sys::XPOLL_DISABLE, 0)
    }

    /// READ, WRITE: ready when there are at least this many bytes.
    pub const fn low_water(self, bytes: u32) -> Interest {
        Interest { data: bytes as i64, ..self.with(0, sys::XPOLL_NOTE_LOWAT) }
    }

    /// READ, WRITE: [`Event::data`] is how many bytes can be read or written, or how many
    /// connections wait. It costs a system call or more for each event.
    pub const fn count(self) -> Interest {
        self.with(0, sys::XPOLL_NOTE_COUNT)
    }

    /// READ, WRITE: at the end of a socket take its error into [`Event::socket_error`]. No other
    /// call returns the error then.
    pub const fn socket_error(self) -> Interest {
        self.with(0, sys::XPOLL_NOTE_SOERR)
    }

    /// READ, WRITE: the descriptor is in several queues; wake few of them. A hint.
    pub const fn exclusive(self) -> Interest {
        self.with(0, sys::XPOLL_NOTE_EXCLUSIVE)
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Interest { filter, flags, fflags, data } = self;
        write!(f, "Interest({filter:?} flags={flags:#x} fflags={fflags:#x} data={data})")
    }
}

/// A record for [`Queue::change`](crate::Queue::change), of which many may go in one call. None may
/// be for [`Filter::AIO`]: [`Aio`](crate::Aio) begins and ends operations.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Change(sys::xpoll_event);

// As for Event.
unsafe impl Send for Change {}
unsafe impl Sync for Change {}

impl Change {
    pub(crate) fn new(interest: Interest, flags: u32, ident: u64, token: u64) -> Change {
        Change(sys::xpoll_event {
            ident,
            filter: interest.filter.0,
            flags: (interest.flags | flags) as u16,
            fflags: interest.fflags,
            data: interest.data,
            __bindgen_anon_1: sys::xpoll_event__bindgen_ty_1 { udata64: token },
        })
    }

    pub(crate) fn filter(&self) -> Filter {
        Filter(self.0.filter)
    }

    /// Register a descriptor, or change its registration; there is one for each descriptor and
    /// filter in a queue. [`Source`](crate::Source) does so safely.
    ///
    /// # Safety
    ///
    /// The descriptor must be open when the change is made, and stay open until the registration is
    /// deleted, or be closed by [`close`](crate::close) or after [`forget`](crate::forget). A
    /// registration is deleted by [`Change::delete`], by its event if it is
    /// [`oneshot`](Interest::oneshot), and with the queue.
    pub unsafe fn add(fd: impl AsFd, interest: Interest, token: u64) -> Change {
        let ident = fd.as_fd().as_raw_fd() as u64;
        Change::new(interest, sys::XPOLL_ADD, ident, token)
    }

    /// Deliver events again. If the condition holds now, the next wait delivers it.
    pub fn enable(filter: Filter, ident: u64) -> Change {
        Change::new(Interest::of(filter), sys::XPOLL_ENABLE, ident, 0)
    }

    /// Deliver no event until it is enabled.
    pub fn disable(filter: Filter, ident: u64) -> Change {
        Change::new(Interest::of(filter), sys::XPOLL_DISABLE, ident, 0)
    }

    /// End the registration.
    pub fn delete(filter: Filter, ident: u64) -> Change {
        Change::new(Interest::of(filter), sys::XPOLL_DELETE, ident, 0)
    }

    /// Enable the registration of this event, after [`Interest::dispatch`] has disabled it.
    pub fn enable_again(event: &Event) -> Change {
        Change::enable(event.filter(), event.ident())
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Change({})", Event(self.0))
    }
}
