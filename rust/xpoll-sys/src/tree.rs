// The declarations of include/xpoll_tree.h; tests/layout.rs compares it with the header.

pub const XPOLL_TREE_FLAT: u32 = 1;
pub const XPOLL_TREE_LINKS: u32 = 2;
pub const XPOLL_TREE_CREATE: u32 = 1;
pub const XPOLL_TREE_DELETE: u32 = 2;
pub const XPOLL_TREE_RENAME: u32 = 3;
pub const XPOLL_TREE_CHANGE: u32 = 4;
pub const XPOLL_TREE_LOOK: u32 = 5;
pub const XPOLL_TREE_UNWATCHED: u32 = 6;
pub const XPOLL_TREE_END: u32 = 7;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct xpoll_tree {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct xpoll_tree_options {
    pub size: usize,
    pub flags: u32,
    pub notes: u32,
    pub skip: ::core::option::Option<
        unsafe extern "C" fn(
            argument: *mut ::core::ffi::c_void,
            path: *const ::core::ffi::c_char,
        ) -> ::core::ffi::c_int,
    >,
    pub argument: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct xpoll_tree_change {
    pub kind: ::core::ffi::c_int,
    pub error: ::core::ffi::c_int,
    pub notes: u32,
    pub path: *const ::core::ffi::c_char,
    pub to: *const ::core::ffi::c_char,
}
extern "C" {
    pub fn xpoll_tree_open(
        path: *const ::core::ffi::c_char,
        options: *const xpoll_tree_options,
    ) -> *mut xpoll_tree;
}
extern "C" {
    pub fn xpoll_tree_next(
        tree: *mut xpoll_tree,
        change: *mut xpoll_tree_change,
        timeout_ns: i64,
    ) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_tree_fd(tree: *mut xpoll_tree) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_tree_wake(tree: *mut xpoll_tree) -> ::core::ffi::c_int;
}
extern "C" {
    pub fn xpoll_tree_close(tree: *mut xpoll_tree);
}
