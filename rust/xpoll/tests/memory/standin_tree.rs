//! The trees of the stand-in: no directory can be watched, so none is ever open.

use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

use xpoll::sys;

use super::standin::fail;

#[no_mangle]
unsafe extern "C" fn xpoll_tree_open(
    _path: *const c_char,
    _options: *const sys::xpoll_tree_options,
) -> *mut sys::xpoll_tree {
    fail(libc::ENOSPC);
    null_mut()
}

#[no_mangle]
unsafe extern "C" fn xpoll_tree_next(
    _tree: *mut sys::xpoll_tree,
    _change: *mut sys::xpoll_tree_change,
    _timeout_ns: i64,
) -> c_int {
    fail(libc::EINVAL)
}

#[no_mangle]
unsafe extern "C" fn xpoll_tree_fd(_tree: *mut sys::xpoll_tree) -> c_int {
    fail(libc::EINVAL)
}

#[no_mangle]
unsafe extern "C" fn xpoll_tree_wake(_tree: *mut sys::xpoll_tree) -> c_int {
    fail(libc::EINVAL)
}

#[no_mangle]
unsafe extern "C" fn xpoll_tree_close(_tree: *mut sys::xpoll_tree) {}
