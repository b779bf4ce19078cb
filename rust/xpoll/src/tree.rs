//! A directory tree as one thing to watch.

use std::any::Any;
use std::ffi::{c_char, c_int, c_void, CStr, CString, OsStr};
use std::fmt;
use std::io;
use std::mem::{size_of, MaybeUninit};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;
use std::time::Duration;

use crate::event::FileNotes;
use crate::queue::{check, uninterrupted};
use crate::sys;

type Skip = Box<dyn FnMut(&Path) -> bool + Send>;

/// What the library calls, and what it has panicked with: C cannot be unwound.
struct Skipper {
    skip: Skip,
    panic: Option<Box<dyn Any + Send>>,
}

/// A change in a [`Tree`]. Paths are below its directory, whose own is empty.
#[derive(Debug)]
#[non_exhaustive]
pub enum TreeChange<'a> {
    /// The entry is new.
    Create(&'a Path),
    /// The entry is gone. What was below a directory is reported before it.
    Delete(&'a Path),
    /// The first path is called the second now, and all below it is there, too.
    Rename(&'a Path, &'a Path),
    /// This has happened to the file, or to the attributes of a directory.
    Notes(&'a Path, FileNotes),
    /// Reports were dropped: anything below the path may have changed.
    Look(&'a Path),
    /// The directory is there and cannot be watched now.
    Unwatched(&'a Path, io::Error),
    /// The directory of the tree was deleted, or renamed. No change follows.
    End(FileNotes),
}

/// How a [`Tree`] is opened.
#[derive(Default)]
pub struct TreeOptions {
    flags: u32,
    notes: u32,
    skip: Option<Skip>,
}

impl TreeOptions {
    /// The directories below are not watched.
    pub fn flat(mut self) -> TreeOptions {
        self.flags |= sys::XPOLL_TREE_FLAT;
        self
    }

    /// Directories that symbolic links lead to are entered.
    pub fn links(mut self) -> TreeOptions {
        self.flags |= sys::XPOLL_TREE_LINKS;
        self
    }

    /// What is reported about the contents of files; without it only names are.
    pub fn notes(mut self, notes: FileNotes) -> TreeOptions {
        self.notes = notes.bits();
        self
    }

    /// Entries for which this returns true are left out, with all below.
    pub fn skip(mut self, skip: impl FnMut(&Path) -> bool + Send + 'static) -> TreeOptions {
        self.skip = Some(Box::new(skip));
        self
    }

    /// Watches a directory and all below it.
    pub fn open(self, path: impl AsRef<Path>) -> io::Result<Tree> {
        let path = CString::new(path.as_ref().as_os_str().as_bytes())?;
        // At a place that does not change: the library keeps the address.
        let skip = self.skip.map(|skip| Box::into_raw(Box::new(Skipper { skip, panic: None })));
        let options = sys::xpoll_tree_options {
            size: size_of::<sys::xpoll_tree_options>(),
            flags: self.flags,
            notes: self.notes,
            skip: skip.map(|_| skip_entry as unsafe extern "C" fn(_, _) -> _),
            argument: skip.map_or(null_mut(), |skip| skip.cast()),
        };
        // The path and the options are read before the call returns.
        let raw = NonNull::new(unsafe { sys::xpoll_tree_open(path.as_ptr(), &options) });
        let error = io::Error::last_os_error();
        let inner = Inner { raw, skip };
        inner.resume();
        if raw.is_none() {
            return Err(error);
        }
        Ok(Tree { inner: Arc::new(inner) })
    }
}

impl fmt::Debug for TreeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeOptions").field("flags", &self.flags).finish_non_exhaustive()
    }
}

unsafe extern "C" fn skip_entry(argument: *mut c_void, path: *const c_char) -> c_int {
    // The library calls it in `open` and `next` only, which one thread at a time is in.
    let skipper = unsafe { &mut *argument.cast::<Skipper>() };
    let path = unsafe { path_of(path) };
    if skipper.panic.is_some() {
        return 0;
    }
    catch_unwind(AssertUnwindSafe(|| (skipper.skip)(path))).map_or_else(
        |panic| {
            skipper.panic = Some(panic);
            0
        },
        c_int::from,
    )
}

/// The caller chooses how long the string lives.
unsafe fn path_of<'a>(path: *const c_char) -> &'a Path {
    Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()))
}

struct Inner {
    raw: Option<NonNull<sys::xpoll_tree>>,
    skip: Option<*mut Skipper>,
}

// `next` takes the tree mutably, and xpoll_tree_wake may be called from any thread.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Inner {
    fn as_ptr(&self) -> *mut sys::xpoll_tree {
        self.raw.map_or(null_mut(), NonNull::as_ptr)
    }

    /// Goes on with the panic of a call that has ended. The caller has the tree for itself.
    fn resume(&self) {
        let panic = self.skip.and_then(|skip| unsafe { (*skip).panic.take() });
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        unsafe { sys::xpoll_tree_close(self.as_ptr()) };
        if let Some(skip) = self.skip {
            drop(unsafe { Box::from_raw(skip) });
        }
    }
}

/// A directory and all below it as one thing to watch.
///
/// Directories that are made, moved, removed or replaced are followed, and what is in a new
/// directory is reported even if it was made before that directory was watched. The reference is
/// the manual page xpoll_tree_open(3).
///
/// ```
/// use std::time::Duration;
/// use xpoll::{Tree, TreeChange};
///
/// # fn main() -> std::io::Result<()> {
/// # let folder = std::env::temp_dir().join(format!("xpoll-tree-{}", std::process::id()));
/// # std::fs::create_dir(&folder)?;
/// let mut tree = Tree::open(&folder)?;
/// std::fs::create_dir(folder.join("new"))?;
/// match tree.next(Some(Duration::from_secs(20)))? {
///     Some(TreeChange::Create(path)) => assert_eq!(path.to_str(), Some("new")),
///     other => panic!("{other:?}"),
/// }
/// # std::fs::remove_dir_all(&folder)
/// # }
/// ```
pub struct Tree {
    inner: Arc<Inner>,
}

impl Tree {
    /// Watches the names in a directory and all below it.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Tree> {
        TreeOptions::default().open(path)
    }

    /// For more than names.
    pub fn options() -> TreeOptions {
        TreeOptions::default()
    }

    /// The next change; `None` at the timeout, without which it waits for ever, and after
    /// [`TreeWaker::wake`]. It continues after a signal handler.
    pub fn next(&mut self, timeout: Option<Duration>) -> io::Result<Option<TreeChange<'_>>> {
        let mut found = MaybeUninit::<sys::xpoll_tree_change>::uninit();
        let tree = self.inner.as_ptr();
        let count = uninterrupted(timeout, |timeout_ns| {
            check(unsafe { sys::xpoll_tree_next(tree, found.as_mut_ptr(), timeout_ns) })
                .map(|count| count as usize)
        });
        self.inner.resume();
        let count = count?;
        if count == 0 {
            return Ok(None);
        }
        // The library has filled it in; its strings live until the next call, which needs `self`.
        let found = unsafe { found.assume_init() };
        let path = unsafe { path_of(found.path) };
        let notes = FileNotes(found.notes);
        Ok(Some(match found.kind as u32 {
            sys::XPOLL_TREE_CREATE => TreeChange::Create(path),
            sys::XPOLL_TREE_DELETE => TreeChange::Delete(path),
            sys::XPOLL_TREE_RENAME => TreeChange::Rename(path, unsafe { path_of(found.to) }),
            sys::XPOLL_TREE_CHANGE => TreeChange::Notes(path, notes),
            sys::XPOLL_TREE_UNWATCHED => {
                TreeChange::Unwatched(path, io::Error::from_raw_os_error(found.error))
            }
            sys::XPOLL_TREE_END => TreeChange::End(notes),
            // Also what a later version may report: looking is right after anything.
            _ => TreeChange::Look(path),
        }))
    }

    /// A descriptor that is readable when `next` may have a change. Then call it with a timeout of
    /// 0 until it returns `None`.
    pub fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        let fd = check(unsafe { sys::xpoll_tree_fd(self.inner.as_ptr()) })?;
        // It is the tree's, and open as long as that.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// Ends a wait of this tree from another thread.
    pub fn waker(&self) -> TreeWaker {
        TreeWaker { inner: self.inner.clone() }
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").finish_non_exhaustive()
    }
}

/// Ends the wait of a [`Tree`]. The tree is closed when it and all its wakers are dropped.
#[derive(Clone)]
pub struct TreeWaker {
    inner: Arc<Inner>,
}

impl TreeWaker {
    /// The wait that is in progress returns `None`, or else the next one.
    pub fn wake(&self) {
        // It fails for a null pointer only.
        let _ = unsafe { sys::xpoll_tree_wake(self.inner.as_ptr()) };
    }
}

impl fmt::Debug for TreeWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeWaker").finish_non_exhaustive()
    }
}
