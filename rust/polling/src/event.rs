//! The events that are requested of a source, and those that happened.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroUsize;

use libc::{c_int, POLLERR, POLLHUP, POLLIN, POLLOUT, POLLPRI};

/// The events that are requested of a source, or that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The number that the program gave to the source.
    pub key: usize,
    /// It can be read.
    pub readable: bool,
    /// It can be written.
    pub writable: bool,
    extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extra {
    interrupt: bool,
    priority: bool,
    error: bool,
}

impl Extra {
    const NONE: Extra = Extra { interrupt: false, priority: false, error: false };
}

impl Event {
    /// Reading, writing, both or neither.
    pub const fn new(key: usize, readable: bool, writable: bool) -> Event {
        Event { key, readable, writable, extra: Extra::NONE }
    }

    /// Reading and writing.
    pub const fn all(key: usize) -> Event {
        Event::new(key, true, true)
    }

    /// Reading.
    pub const fn readable(key: usize) -> Event {
        Event::new(key, true, false)
    }

    /// Writing.
    pub const fn writable(key: usize) -> Event {
        Event::new(key, false, true)
    }

    /// Nothing.
    pub const fn none(key: usize) -> Event {
        Event::new(key, false, false)
    }

    /// Requests hang-ups, or no longer requests them.
    pub fn set_interrupt(&mut self, active: bool) {
        self.extra.interrupt = active;
    }

    /// Requests hang-ups as well.
    pub fn with_interrupt(mut self) -> Self {
        self.set_interrupt(true);
        self
    }

    /// Requests urgent data, or no longer requests it.
    pub fn set_priority(&mut self, active: bool) {
        self.extra.priority = active;
    }

    /// Requests urgent data as well.
    pub fn with_priority(mut self) -> Self {
        self.set_priority(true);
        self
    }

    /// Was it hung up?
    pub fn is_interrupt(&self) -> bool {
        self.extra.interrupt
    }

    /// Is there urgent data?
    pub fn is_priority(&self) -> bool {
        self.extra.priority
    }

    /// Has connecting it failed?
    #[deprecated(since = "3.4.0", note = "use `is_err` and `is_interrupt`")]
    pub fn is_connect_failed(&self) -> Option<bool> {
        Some(self.extra.error && self.extra.interrupt)
    }

    /// Has it an error?
    pub fn is_err(&self) -> Option<bool> {
        Some(self.extra.error)
    }

    /// Keeps only the key, reading and writing.
    pub fn clear_extra(&mut self) {
        self.extra = Extra::NONE;
    }

    /// The event with only the key, reading and writing.
    pub fn with_no_extra(mut self) -> Self {
        self.clear_extra();
        self
    }

    /// The directions of xpoll_ctl(3) that are wanted. Hang-ups are reported by each of them.
    pub(crate) fn directions(&self) -> c_int {
        let mut bits = 0;
        if self.readable {
            bits |= POLLIN;
        }
        if self.writable {
            bits |= POLLOUT;
        }
        if self.extra.priority || self.extra.interrupt {
            bits |= POLLPRI;
        }
        bits.into()
    }

    /// From the bits of xpoll_revents(3). An end or an error makes it both readable and
    /// writable, as whoever waits for either is to see it.
    pub(crate) fn from_bits(key: usize, bits: c_int) -> Event {
        let has = |wanted: i16| bits & c_int::from(wanted) != 0;
        Event {
            key,
            readable: has(POLLIN | POLLPRI | POLLHUP | POLLERR),
            writable: has(POLLOUT | POLLHUP | POLLERR),
            extra: Extra { interrupt: has(POLLHUP), priority: has(POLLPRI), error: has(POLLERR) },
        }
    }
}

/// The events of waits.
pub struct Events {
    pub(crate) list: Vec<Event>,
    _not_sync: PhantomData<Cell<()>>,
}

impl Default for Events {
    fn default() -> Self {
        Events::new()
    }
}

impl Events {
    /// Room for 1024 events.
    pub fn new() -> Self {
        Events::with_capacity(NonZeroUsize::new(1024).expect("not zero"))
    }

    /// Room for this many events.
    pub fn with_capacity(capacity: NonZeroUsize) -> Self {
        Events { list: Vec::with_capacity(capacity.get()), _not_sync: PhantomData }
    }

    /// The events.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.list.iter().copied()
    }

    /// Forgets the events.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many there is room for.
    pub fn capacity(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.list.capacity()).expect("there is room")
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
