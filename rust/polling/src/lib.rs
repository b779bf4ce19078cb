//! The interface of the crate `polling`, over xpoll: see the README.
//!
//! ```
//! use polling::{Event, Events, Poller};
//! use std::net::{TcpListener, TcpStream};
//!
//! # fn main() -> std::io::Result<()> {
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let poller = Poller::new()?;
//! // Deleted below, before it is dropped.
//! unsafe { poller.add(&listener, Event::readable(7))? };
//! let _client = TcpStream::connect(listener.local_addr()?)?;
//!
//! let mut events = Events::new();
//! poller.wait(&mut events, None)?;
//! assert_eq!(events.iter().next().unwrap().key, 7);
//! poller.delete(&listener)
//! # }
//! ```

#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

mod event;
mod poller;

pub use event::{Event, Events};
pub use poller::{AsRawSource, AsSource, PollMode, Poller};

/// What only some systems have: nothing here.
pub mod os {}
