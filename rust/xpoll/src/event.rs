//! What a wait returns.

use std::ffi::c_char;
use std::fmt;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::bits::bits;
use crate::room::room;
use crate::sys;

/// A kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Filter(pub(crate) i16);

macro_rules! filters {
    ($($(#[$doc:meta])* $name:ident = $value:ident,)*) => {
        impl Filter {
            $($(#[$doc])* pub const $name: Filter = Filter(sys::$value as i16);)*
        }

        impl fmt::Debug for Filter {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Self::$name => f.write_str(stringify!($name)),)*
                    Self(number) => write!(f, "Filter({number})"),
                }
            }
        }
    };
}

filters! {
    /// A descriptor can be read, or is at its end.
    READ = XPOLL_FILT_READ,
    /// A descriptor can be written.
    WRITE = XPOLL_FILT_WRITE,
    /// An asynchronous operation is over: [`Aio`](crate::Aio).
    AIO = XPOLL_FILT_AIO,
    /// Something happened to a file: [`Vnode`](crate::Vnode).
    VNODE = XPOLL_FILT_VNODE,
    /// A process has ended, forked or executed: [`Process`](crate::Process).
    PROC = XPOLL_FILT_PROC,
    /// A signal was delivered: [`Signal`](crate::Signal).
    SIGNAL = XPOLL_FILT_SIGNAL,
    /// A timer has expired: [`Timer`](crate::Timer).
    TIMER = XPOLL_FILT_TIMER,
    /// The program's own event: [`Waker`](crate::Waker).
    USER = XPOLL_FILT_USER,
    /// What was written has left the buffer of a descriptor.
    EMPTY = XPOLL_FILT_EMPTY,
    /// A descriptor has urgent data.
    EXCEPT = XPOLL_FILT_EXCEPT,
}

impl Filter {
    /// Is its ident a descriptor?
    pub const fn is_of_descriptors(self) -> bool {
        matches!(self, Self::READ | Self::WRITE | Self::VNODE | Self::EMPTY | Self::EXCEPT)
    }
}

bits! {
    /// What happens to a file.
    FileNotes:
    /// Its last link is gone.
    DELETE = XPOLL_NOTE_DELETE,
    /// It was written to, or its size changed; in a folder an entry was made or removed.
    WRITE = XPOLL_NOTE_WRITE,
    /// It grew; into or out of a folder an entry was moved.
    EXTEND = XPOLL_NOTE_EXTEND,
    /// Its attributes changed.
    ATTRIB = XPOLL_NOTE_ATTRIB,
    /// Its link count changed.
    LINK = XPOLL_NOTE_LINK,
    /// One of its names was changed.
    RENAME = XPOLL_NOTE_RENAME,
    /// Its file system is gone.
    REVOKE = XPOLL_NOTE_REVOKE,
    /// It was opened.
    OPEN = XPOLL_NOTE_OPEN,
    /// A descriptor was closed that could not be written to.
    CLOSE = XPOLL_NOTE_CLOSE,
    /// A descriptor was closed that could be written to.
    CLOSE_WRITE = XPOLL_NOTE_CLOSE_WRITE,
    /// It was read from.
    READ = XPOLL_NOTE_READ,
    /// It shrank.
    TRUNCATE = XPOLL_NOTE_TRUNCATE,
}

bits! {
    /// What a process does.
    ProcessNotes:
    /// It ended.
    EXIT = XPOLL_NOTE_EXIT,
    /// It made a process.
    FORK = XPOLL_NOTE_FORK,
    /// It runs another program.
    EXEC = XPOLL_NOTE_EXEC,
    /// Follow the processes that it makes. Each is a registration of its own with the same
    /// token, which ends with that process.
    TRACK = XPOLL_NOTE_TRACK,
    /// In events: something may have been missed.
    TRACK_ERROR = XPOLL_NOTE_TRACKERR,
    /// In events: a tracked process made this one.
    CHILD = XPOLL_NOTE_CHILD,
    /// In events: the process ended, and the system does not report how.
    STATUS_UNKNOWN = XPOLL_NOTE_STATUS_UNKNOWN,
}

/// Something that has happened, or the record of a change that failed: [`Event::change_error`].
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Event(pub(crate) sys::xpoll_event);

// The record holds numbers; the pointer in it is one to this crate.
unsafe impl Send for Event {}
unsafe impl Sync for Event {}

impl Event {
    /// The kind of event.
    pub fn filter(&self) -> Filter {
        Filter(self.0.filter)
    }

    /// The token of the registration.
    pub fn token(&self) -> u64 {
        // Both members are plain data of the same size or less.
        unsafe { self.0.__bindgen_anon_1.udata64 }
    }

    /// What it is about: a descriptor, a process, a signal, or a number that this crate chose.
    pub fn ident(&self) -> u64 {
        self.0.ident
    }

    /// The number of the descriptor that it is about.
    pub fn fd(&self) -> Option<RawFd> {
        self.filter().is_of_descriptors().then_some(self.0.ident as RawFd)
    }

    /// A number whose meaning the filter gives: how often a timer has expired or a signal came,
    /// bytes with [`Interest::count`](crate::Interest::count), the result of an operation.
    pub fn data(&self) -> i64 {
        self.0.data
    }

    /// READ: the other side sends no more, but unread bytes may be left. WRITE: the other side no
    /// longer reads. PROC: this is the last event of the process.
    pub fn is_eof(&self) -> bool {
        !self.is_status() && u32::from(self.0.flags) & sys::XPOLL_EOF != 0
    }

    /// The bits of the filter, as the C library has them.
    pub fn fflags(&self) -> u32 {
        self.0.fflags
    }

    /// The error of a socket at its end: READ and WRITE with
    /// [`Interest::socket_error`](crate::Interest::socket_error).
    pub fn socket_error(&self) -> Option<io::Error> {
        let of_socket = matches!(self.filter(), Filter::READ | Filter::WRITE);
        let error = of_socket && self.is_eof() && self.0.fflags != 0;
        error.then(|| io::Error::from_raw_os_error(self.0.fflags as i32))
    }

    /// The error, if this is not an event but a change of
    /// [`Queue::wait_with`](crate::Queue::wait_with) that failed. Filter, ident and token are then
    /// those of the change, and nothing has happened to what they name.
    pub fn change_error(&self) -> Option<io::Error> {
        let failed = self.is_status() && self.0.data != 0;
        failed.then(|| io::Error::from_raw_os_error(self.0.data as i32))
    }

    /// Returns true if this record is the answer to a change, and no event.
    fn is_status(&self) -> bool {
        u32::from(self.0.flags) & sys::XPOLL_ERROR != 0
    }

    /// Returns true if this is an event of this filter, and not the record of a change.
    fn is_event_of(&self, filter: Filter) -> bool {
        self.filter() == filter && !self.is_status()
    }

    /// Returns true if the library no longer uses the buffer of the operation that ident names.
    pub(crate) fn ends_operation(&self) -> bool {
        self.is_event_of(Filter::AIO)
    }

    /// What has happened to the file; empty for filters other than VNODE.
    pub fn file_notes(&self) -> FileNotes {
        FileNotes(if self.is_event_of(Filter::VNODE) { self.0.fflags } else { 0 })
    }

    /// What the process did; empty for filters other than PROC.
    pub fn process_notes(&self) -> ProcessNotes {
        ProcessNotes(if self.is_event_of(Filter::PROC) { self.0.fflags } else { 0 })
    }

    /// How the process ended, if it did and the system reports it. The process was not reaped, so
    /// [`Child::wait`](std::process::Child::wait) still works.
    pub fn exit_status(&self) -> Option<ExitStatus> {
        let notes = self.process_notes();
        let known =
            notes.contains(ProcessNotes::EXIT) && !notes.contains(ProcessNotes::STATUS_UNKNOWN);
        known.then(|| ExitStatus::from_raw(self.0.data as i32))
    }

    /// The parent of a process that was made by a tracked one.
    pub fn parent(&self) -> Option<u32> {
        self.process_notes().contains(ProcessNotes::CHILD).then_some(self.0.data as u32)
    }
}

/// As xpoll_describe(3): `READ ident=5 data=12 EOF`.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0u8; 256];
        let room = text.len();
        // It writes at most so many bytes, the last of them a NUL.
        let len = unsafe { sys::xpoll_describe(&self.0, text.as_mut_ptr().cast::<c_char>(), room) };
        let len = usize::try_from(len).unwrap_or(0).min(room - 1);
        f.write_str(&String::from_utf8_lossy(&text[..len]))
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({self} token={})", self.token())
    }
}

room! {
    /// Room for events, which a wait fills.
    Events: [Event = xpoll_event], "events"
}
