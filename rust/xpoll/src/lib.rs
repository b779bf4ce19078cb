//! One event queue for every kernel.
//!
//! A [`Queue`] waits for descriptors, timers, signals, processes, file changes, asynchronous I/O
//! and the program's own events in one call. Most changes of what a queue waits for need no system
//! call. Any number of threads may change a queue and wait on it.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::os::unix::net::UnixStream;
//! use xpoll::{Events, Filter, Interest, Queue};
//!
//! # fn main() -> std::io::Result<()> {
//! let (mut ours, mut theirs) = UnixStream::pair()?;
//! let queue = Queue::new()?;
//! let mut source = queue.source(ours); // owns the stream from now on
//! source.add(Interest::READ, 7)?; // 7 is the token of its events
//!
//! theirs.write_all(b"hello")?;
//!
//! let mut events = Events::with_capacity(64);
//! queue.wait(&mut events, None)?;
//! let event = events.iter().next().unwrap();
//! assert_eq!((event.filter(), event.token()), (Filter::READ, 7));
//! assert_eq!(source.read(&mut [0; 16])?, 5);
//! # Ok(())
//! # }
//! ```
//!
//! # Registrations, and how long they last
//!
//! | value | waits for | owns |
//! |---|---|---|
//! | [`Source`] | a descriptor to become readable or writable | the object with the descriptor |
//! | [`Timer`] | a time, or a period | |
//! | [`Signal`] | a signal to this process | |
//! | [`Process`] | the end of any process, and what it does before | |
//! | [`Vnode`] | changes of a file or folder | the open file |
//! | [`Aio`] | the end of a read, write or sync | the file, and the buffer until the end |
//! | [`Waker`] | [`Waker::wake`], from any thread | |
//!
//! Dropping such a value ends its registration. It also keeps its queue alive: [`Queue`] is a
//! handle, and [`Clone`] makes another handle of the same queue. Each event has the token of its
//! registration, a number that the program chose.
//!
//! A [`Tree`] is a queue of its own, for the names in a directory and all below it.
//!
//! For descriptors alone there is also the poll-like level: [`Source::poll_add`] with the bits of
//! poll(2), and [`Queue::poll`], which returns one record of each descriptor to any number of
//! threads.
//!
//! # I/O safety
//!
//! A queue identifies descriptors by number. After a close the number may belong to
//! another file, so a registration must not outlive its descriptor:
//!
//! - [`Source`], [`Vnode`] and [`Aio`] own the object that they watch, end the registration before
//!   they drop it, and give only shared references to it. So no safe code can close the descriptor
//!   earlier. If such a value is leaked by [`std::mem::forget`], its descriptor is leaked with
//!   it, and stays open.
//! - [`Change::add`], for descriptors that something else owns, is `unsafe`: the caller
//!   promises that the descriptor stays open until the registration is deleted, or is closed by
//!   [`close`] or after [`forget`].
//!
//! If that promise is broken, memory stays sound, and the library never reads,
//! writes or closes the other file. It may check whether that file is ready
//! (and with [`Interest::socket_error`] clear its pending error), and deliver an event with the
//! token of the old one. On back ends with a kernel queue (epoll, kqueue) an add of a number
//! that was closed and opened again is noticed, and makes a new registration. Changes other than
//! `add` are safe: without a registration they fail with
//! [`NotFound`](std::io::ErrorKind::NotFound).
//!
//! # Errors
//!
//! Every error is a [`std::io::Error`] with the C library's `errno`. A wait that a signal handler
//! interrupts continues for the rest of its timeout. A change that fails in [`Queue::wait_with`] is
//! returned among the events, as a record with [`Event::change_error`].
//!
//! # More
//!
//! With the features `tokio` and `async-io` a queue can be used inside these runtimes:
//! `xpoll::tokio`, `xpoll::async_io`. Functions that are rarely needed are in [`sys`]; they take
//! [`Queue::as_ptr`]. The reference of the filters is the manual page xpoll_sources(7).

#![cfg_attr(docsrs, feature(doc_cfg))] // It names the feature that a thing is part of.
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

mod aio;
#[cfg(feature = "async-io")]
pub mod async_io;
mod bits;
mod event;
mod interest;
mod poll;
mod queue;
mod registration;
mod room;
mod source;
#[cfg(any(feature = "tokio", feature = "async-io"))]
mod stream;
#[cfg(feature = "tokio")]
pub mod tokio;
mod tree;
mod vnode;

pub use aio::{Aio, Finished};
pub use event::{Event, Events, FileNotes, Filter, ProcessNotes};
pub use interest::{Change, Interest};
pub use poll::{PollBits, PollInterest, Ready, ReadyList};
pub use queue::{backends, close, forget, Descriptor, Options, Queue, Stats};
pub use registration::{Process, Signal, Timer, Waker};
pub use source::Source;
#[cfg(any(feature = "tokio", feature = "async-io"))]
pub use stream::{AsyncQueue, EventStream, Readiness};
pub use tree::{Tree, TreeChange, TreeOptions, TreeWaker};
pub use vnode::Vnode;
pub use xpoll_sys as sys;

// What stands in the guides compiles and runs. Only ../../cargo.sh asks for the one outside.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
#[cfg(all(doctest, xpoll_guide))]
#[doc = include_str!("../../../docs/guide/rust.md")]
struct Guide;
