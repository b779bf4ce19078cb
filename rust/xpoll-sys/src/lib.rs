//! Bindings to libxpoll, `<xpoll.h>` item by item; the crate `xpoll` is the safe interface.
//!
//! The reference is the library's manual, which begins at xpoll(3). All functions are
//! unsafe to call, as C's are: pointers must be valid, and descriptors must be open.

#![no_std]
#![allow(missing_docs, non_camel_case_types)]

include!("bindings.rs");

/// C's `struct sigaction`, whose layout is the system's: cast a pointer to `libc::sigaction`.
#[repr(C)]
pub struct sigaction {
    _opaque: [u8; 0],
}
