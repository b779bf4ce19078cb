// The declarations of include/xpoll.h.  Written by bindgen; to write it anew:
//
//     bindgen include/xpoll.h --allowlist-item 'xpoll.*|XPOLL_.*' --blocklist-item XPOLL_API \
//         --blocklist-type sigaction --use-core --no-layout-tests --no-doc-comments \
//         --rust-target 1.71 --rust-edition 2021
//
// tests/layout.rs compares it with the header.

pub const XPOLL_VERSION: u32 = 65536;
pub const XPOLL_TELL_MODES: u32 = 1;
pub const XPOLL_VNODE_AS_BSD: u32 = 2;
pub const XPOLL_ALL_READY: u32 = 4;
pub const XPOLL_COUNT_IDLE: u32 = 8;
pub const XPOLL_RESTART: u32 = 16;
pub const XPOLL_ADD: u32 = 1;
pub const XPOLL_DELETE: u32 = 2;
pub const XPOLL_ENABLE: u32 = 4;
pub const XPOLL_DISABLE: u32 = 8;
pub const XPOLL_ONESHOT: u32 = 16;
pub const XPOLL_CLEAR: u32 = 32;
pub const XPOLL_RECEIPT: u32 = 64;
pub const XPOLL_DISPATCH: u32 = 128;
pub const XPOLL_KEEPUDATA: u32 = 512;
pub const XPOLL_SETUDATA: u32 = 1024;
pub const XPOLL_WHOLE: u32 = 2048;
pub const XPOLL_ERROR: u32 = 16384;
pub const XPOLL_EOF: u32 = 32768;
pub const XPOLL_FILT_READ: i32 = -1;
pub const XPOLL_FILT_WRITE: i32 = -2;
pub const XPOLL_FILT_AIO: i32 = -3;
pub const XPOLL_FILT_VNODE: i32 = -4;
pub const XPOLL_FILT_PROC: i32 = -5;
pub const XPOLL_FILT_SIGNAL: i32 = -6;
pub const XPOLL_FILT_TIMER: i32 = -7;
pub const XPOLL_FILT_USER: i32 = -11;
pub const XPOLL_FILT_EMPTY: i32 = -13;
pub const XPOLL_FILT_EXCEPT: i32 = -15;
pub const XPOLL_NOTE_LOWAT: u32 = 1;
pub const XPOLL_NOTE_COUNT: u32 = 65536;
pub const XPOLL_NOTE_SOERR: u32 = 131072;
pub const XPOLL_NOTE_EXCLUSIVE: u32 = 262144;
pub const XPOLL_NOTE_OOB: u32 = 2;
pub const XPOLL_NOTE_FFNOP: u32 = 0;
pub const XPOLL_NOTE_FFAND: u32 = 1073741824;
pub const XPOLL_NOTE_FFOR: u32 = 2147483648;
pub const XPOLL_NOTE_FFCOPY: u32 = 3221225472;
pub const XPOLL_NOTE_FFCTRLMASK: u32 = 3221225472;
pub const XPOLL_NOTE_FFLAGSMASK: u32 = 16777215;
pub const XPOLL_NOTE_TRIGGER: u32 = 16777216;
pub const XPOLL_NOTE_SECONDS: u32 = 1;
pub const XPOLL_NOTE_MSECONDS: u32 = 2;
pub const XPOLL_NOTE_USECONDS: u32 = 4;
pub const XPOLL_NOTE_NSECONDS: u32 = 8;
pub const XPOLL_NOTE_ABSTIME: u32 = 16;
pub const XPOLL_NOTE_MONOTONIC: u32 = 32;
pub const XPOLL_NOTE_ACCEPT: u32 = 1;
pub const XPOLL_NOTE_EXIT: u32 = 2147483648;
pub const XPOLL_NOTE_FORK: u32 = 1073741824;
pub const XPOLL_NOTE_EXEC: u32 = 536870912;
pub const XPOLL_NOTE_TRACK: u32 = 1;
pub const XPOLL_NOTE_TRACKERR: u32 = 2;
pub const XPOLL_NOTE_CHILD: u32 = 4;
pub const XPOLL_NOTE_STATUS_UNKNOWN: u32 = 8;
pub const XPOLL_NOTE_DELETE: u32 = 1;
pub const XPOLL_NOTE_WRITE: u32 = 2;
pub const XPOLL_NOTE_EXTEND: u32 = 4;
pub const XPOLL_NOTE_ATTRIB: u32 = 8;
pub const XPOLL_NOTE_LINK: u32 = 16;
pub const XPOLL_NOTE_RENAME: u32 = 32;
pub const XPOLL_NOTE_REVOKE: u32 = 64;
pub const XPOLL_NOTE_OPEN: u32 = 128;
pub const XPOLL_NOTE_CLOSE: u32 = 256;
pub const XPOLL_NOTE_CLOSE_WRITE: u32 = 512;
pub const XPOLL_NOTE_READ: u32 = 1024;
pub const XPOLL_NOTE_TRUNCATE: u32 = 4096;
pub const XPOLL_AIO_READ: u32 = 1;
pub const XPOLL_AIO_WRITE: u32 = 2;
pub const XPOLL_AIO_FSYNC: u32 = 3;
pub const XPOLL_AIO_FDATASYNC: u32 = 4;
pub type xpoll_fd_t = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug)]
pub struct xpoll {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct xpoll_options {
    pub size: usize,
    pub backend: *const ::core::ffi::c_char,
    pub flags: u32,
    pub size_hint: ::core::ffi::c_int,
    pub busy_poll_us: u32,
    pub reserved: u32,
}
extern "C" {
    pub fn xpoll_create(size_hint: ::core::ffi::c_int) -> *mut xpoll;
}
extern "C" {
    pub fn xpoll_open(options: *const xpoll_options) -> *mut xpoll;
}
extern "C" {
    pub fn xpoll_destroy(queue: *mut xpoll);
}
extern "C" {
    pub fn xpoll_ctl(
        queue: *mut xpoll,
        op: ::core::ffi::c_int,
        events: ::core::ffi::c_int,
        fd: xpoll_fd_t,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int;
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct xpoll_ready {
    pub __bindgen_anon_1: xpoll_ready__bindgen_ty_1,
    pub fd: xpoll_fd_t,
    pub events: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union xpoll_ready__bindgen_ty_1 {
    pub data: *mut ::core::ffi::c_void,
    pub data64: u64,
}
extern "C" {
    pub fn xpoll_pwait(
        queue: *mut xpoll,
        ready: *mut xpoll_ready,
        nready: ::core::ffi::c_int,
        timeout_ns: i64,
        sigset: *const ::core::ffi::c_void,
    ) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_wait(queue: *mut xpoll, timeout_ms: ::core::ffi::c_int) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_revents(
        queue: *mut xpoll,
        datap: *mut *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int;
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct xpoll_event {
    pub ident: u64,
    pub filter: i16,
    pub flags: u16,
    pub fflags: u32,
    pub data: i64,
    pub __bindgen_anon_1: xpoll_event__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union xpoll_event__bindgen_ty_1 {
    pub udata: *mut ::core::ffi::c_void,
    pub udata64: u64,
}
extern "C" {
    pub fn xpoll_set(
        event: *mut xpoll_event,
        ident: u64,
        filter: ::core::ffi::c_int,
        flags: ::core::ffi::c_int,
        fflags: u32,
        data: i64,
        udata: *mut ::core::ffi::c_void,
    ) -> *mut xpoll_event;
}
extern "C" {
    pub fn xpoll_event(
        queue: *mut xpoll,
        changes: *const xpoll_event,
        nchanges: ::core::ffi::c_int,
        events: *mut xpoll_event,
        nevents: ::core::ffi::c_int,
        timeout_ns: i64,
    ) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_event_mask(
        queue: *mut xpoll,
        changes: *const xpoll_event,
        nchanges: ::core::ffi::c_int,
        events: *mut xpoll_event,
        nevents: ::core::ffi::c_int,
        timeout_ns: i64,
        sigset: *const ::core::ffi::c_void,
    ) -> ::core::ffi::c_int;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct xpoll_aio {
    pub size: usize,
    pub op: ::core::ffi::c_int,
    pub fd: xpoll_fd_t,
    pub buffer: *mut ::core::ffi::c_void,
    pub length: usize,
    pub offset: i64,
    pub udata: *mut ::core::ffi::c_void,
    pub result: i64,
    pub priv_: [*mut ::core::ffi::c_void; 2usize],
}
extern "C" {
    pub fn xpoll_aio_submit(queue: *mut xpoll, aio: *mut xpoll_aio) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_aio_cancel(queue: *mut xpoll, aio: *mut xpoll_aio) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_wake(queue: *mut xpoll) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_wake_all(queue: *mut xpoll) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_fd(queue: *mut xpoll) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_next_timeout(queue: *mut xpoll) -> i64;
}
extern "C" {
    pub fn xpoll_close_fd(fd: xpoll_fd_t) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_forget_fd(fd: xpoll_fd_t) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_signal_changed(number: ::core::ffi::c_int) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_sigaction(
        number: ::core::ffi::c_int,
        action: *const sigaction,
        before: *mut sigaction,
    ) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_lookup(
        queue: *mut xpoll,
        ident: u64,
        filter: ::core::ffi::c_int,
        registration: *mut xpoll_event,
    ) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_reinit(queue: *mut xpoll) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_backend(queue: *const xpoll) -> *const ::core::ffi::c_char;
}
extern "C" {
    pub fn xpoll_backends(
        names: *mut *const ::core::ffi::c_char,
        cap: ::core::ffi::c_int,
    ) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_supports(
        queue: *const xpoll,
        filter: ::core::ffi::c_int,
        fflags: u32,
    ) -> ::core::ffi::c_int;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct xpoll_stats {
    pub waits: u64,
    pub events: u64,
    pub wakes: u64,
    pub empty_returns: u64,
    pub changes: u64,
    pub changes_free: u64,
    pub change_errors: u64,
    pub syscalls_wait: u64,
    pub syscalls_change: u64,
    pub syscalls_check: u64,
    pub syscalls_wake: u64,
    pub stale_dropped: u64,
    pub fruitless: u64,
    pub rebuilds: u64,
    pub registered: u64,
    pub signals_unobserved: u64,
    pub idle_ns: u64,
}
extern "C" {
    pub fn xpoll_stats(
        queue: *const xpoll,
        stats: *mut xpoll_stats,
        size: usize,
    ) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_describe(
        event: *const xpoll_event,
        buf: *mut ::core::ffi::c_char,
        size: usize,
    ) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_version() -> ::core::ffi::c_uint;
}
