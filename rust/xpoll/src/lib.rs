//! One event queue for every kernel.
//!
//! A [`Queue`] waits for descriptors, timers, signals, processes, file changes, asynchronous I/O
//! and the program's own events in one call. Interest can be changed all the time: most changes
//! need no system call. Any number of threads may change a queue and wait on it.
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
//! source.add(Interest::READ, 7)?; // 7 is a token of ours
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
//! # What is registered, and for how long
//!
//! | value | waits for | owns |
//! |---|---|---|
//! | [`Source`] | a descriptor: can it be read, written? | what has the descriptor |
//! | [`Timer`] | a moment, or a period | |
//! | [`Signal`] | a signal to this process | |
//! | [`Process`] | the end of any process, and what it does before | |
//! | [`Vnode`] | what happens to a file or folder | the open file |
//! | [`Aio`] | the end of a read, write or sync | the file, and the buffer until the end |
//! | [`Waker`] | [`Waker::wake`], from any thread | |
//!
//! Each ends its registration when it is dropped. They keep their queue alive: [`Queue`] is a
//! handle, and [`Clone`] makes another one of the same queue. Events carry the token, a number
//! that the program chose.
//!
//! # I/O safety
//!
//! A queue knows descriptors by number. After a close behind its back the number may belong to
//! another file, so a registration must not outlive its descriptor:
//!
//! - [`Source`], [`Vnode`] and [`Aio`] own what they watch, end the registration before they
//!   drop it, and give out shared references only. No safe code can close the descriptor
//!   earlier. If such a value is leaked by [`std::mem::forget`], its descriptor is leaked with
//!   it, and stays open.
//! - [`Change::add`], for descriptors that belong to somebody else, is `unsafe`: the caller
//!   promises that the descriptor stays open until it was deleted, or is closed by
//!   [`close`] or after [`forget`].
//!
//! What happens if that promise is broken: memory stays sound, and the library never reads,
//! writes or closes the other file. It may look whether that file is ready
//! (and with [`Interest::socket_error`] take its pending error), and deliver an event with the
//! token of the old one. On back ends with a kernel queue (epoll, kqueue) an add of a number
//! that was closed and opened again is noticed, and begins anew. Changes other than `add` are
//! safe: of what is not registered they are [`NotFound`](std::io::ErrorKind::NotFound).
//!
//! # Errors
//!
//! Every error is a [`std::io::Error`] with the C library's `errno`. A wait that a signal handler
//! interrupts goes on for what is left of its time.
//!
//! # More
//!
//! The features `tokio` and `async-io` put a queue into these runtimes: `xpoll::tokio`,
//! `xpoll::async_io`. What is rarely needed is in [`sys`], with [`Queue::as_ptr`]. The reference of
//! the filters is the manual page xpoll_sources(7).

#![cfg_attr(docsrs, feature(doc_cfg))] // It names the feature that a thing is part of.
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

mod aio;
#[cfg(feature = "async-io")]
pub mod async_io;
mod bits;
mod event;
mod interest;
mod queue;
mod registration;
mod source;
#[cfg(any(feature = "tokio", feature = "async-io"))]
mod stream;
#[cfg(feature = "tokio")]
pub mod tokio;
mod vnode;

pub use aio::{Aio, Finished};
pub use event::{Event, Events, Filter};
pub use interest::{Change, FileNotes, Interest, ProcessNotes};
pub use queue::{backends, close, forget, Descriptor, Options, Queue, Stats};
pub use registration::{Process, Signal, Timer, Waker};
pub use source::Source;
#[cfg(any(feature = "tokio", feature = "async-io"))]
pub use stream::{AsyncQueue, EventStream, Readiness};
pub use vnode::Vnode;
pub use xpoll_sys as sys;

// What stands in the guides compiles and runs. Only ../../cargo.sh asks for the one outside.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
#[cfg(all(doctest, xpoll_guide))]
#[doc = include_str!("../../../docs/guide/rust.md")]
struct Guide;
