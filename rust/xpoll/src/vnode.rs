//! Files that are watched.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use crate::event::FileNotes;
use crate::interest::Interest;
use crate::queue::Queue;
use crate::source::Source;

/// An open file or folder whose changes are reported.
///
/// The file is followed when it is renamed. The event is
/// [`Filter::VNODE`](crate::Filter::VNODE), and
/// [`Event::file_notes`](crate::Event::file_notes) says what has happened since the last one.
///
/// ```
/// use xpoll::{Events, FileNotes, Queue, Vnode};
///
/// # fn main() -> std::io::Result<()> {
/// # let folder = std::env::temp_dir().join(format!("xpoll-vnode-{}", std::process::id()));
/// # std::fs::create_dir(&folder)?;
/// let queue = Queue::new()?;
/// let _watched = Vnode::open(&queue, &folder, FileNotes::WRITE, 1)?;
///
/// std::fs::write(folder.join("new"), "")?;
///
/// let mut events = Events::with_capacity(8);
/// queue.wait(&mut events, None)?;
/// assert_eq!(events.iter().next().unwrap().file_notes(), FileNotes::WRITE);
/// # std::fs::remove_dir_all(&folder)
/// # }
/// ```
#[derive(Debug)]
pub struct Vnode<T: AsFd + 'static = File> {
    source: Source<T>,
}

impl Vnode {
    /// Opens a file or folder for reading, and watches it. To watch a file that may not be read,
    /// open it in another way and use [`Vnode::new`].
    pub fn open(
        queue: &Queue,
        path: impl AsRef<Path>,
        notes: FileNotes,
        token: u64,
    ) -> io::Result<Vnode> {
        Vnode::new(queue, File::open(path)?, notes, token)
    }
}

impl<T: AsFd + 'static> Vnode<T> {
    /// Watches an open file.
    pub fn new(queue: &Queue, file: T, notes: FileNotes, token: u64) -> io::Result<Vnode<T>> {
        let vnode = Vnode { source: queue.source(file) };
        vnode.set(notes, token)?;
        Ok(vnode)
    }

    /// Changes what is watched for.
    pub fn set(&self, notes: FileNotes, token: u64) -> io::Result<()> {
        self.source.add(Interest::file(notes), token)
    }

    /// The file.
    pub fn get_ref(&self) -> &T {
        &self.source
    }

    /// The file, after the registration has ended.
    pub fn into_inner(self) -> T {
        self.source.into_inner()
    }
}
