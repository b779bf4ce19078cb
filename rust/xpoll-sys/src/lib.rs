//! Bindings to libxpoll, `<xpoll.h>` and `<xpoll_tree.h>` item by item; the crate `xpoll` is the
//! safe interface.
//!
//! The reference is the library's manual, which begins at xpoll(3). All functions are
//! unsafe to call, as C's are: pointers must be valid, and descriptors must be open.

#![no_std]
#![allow(missing_docs, non_camel_case_types)]

include!("bindings.rs");
include!("tree.rs");

/// The bits of poll(2), which xpoll_ctl and xpoll_pwait take and return.
pub const POLLIN: u32 = 0x001;
pub const POLLPRI: u32 = 0x002;
pub const POLLOUT: u32 = 0x004;
pub const POLLERR: u32 = 0x008;
pub const POLLHUP: u32 = 0x010;
/// 0: this system has no such bit.
pub const POLLRDHUP: u32 = if cfg!(any(target_os = "linux", target_os = "android")) {
    if cfg!(any(target_arch = "sparc", target_arch = "sparc64")) {
        0x800
    } else {
        0x2000
    }
} else if cfg!(target_os = "freebsd") {
    0x4000
} else {
    0
};

/// C's `struct sigaction`, whose layout is the system's: cast a pointer to `libc::sigaction`.
#[repr(C)]
pub struct sigaction {
    _opaque: [u8; 0],
}
