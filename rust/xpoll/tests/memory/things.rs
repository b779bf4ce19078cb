//! Values that random programs and the tests of ownership hold.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use xpoll::{sys, Aio, Finished, Process, Queue, Signal, Source, Timer, Vnode, Waker};

/// Numbers that follow from a seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d049bb133111eb);
        (mixed ^ mixed >> 31) % end
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// The byte at this offset of the file. Writes write the same.
pub fn content(offset: usize) -> u8 {
    (offset ^ offset >> 8) as u8
}

/// The payload of the panics that the program makes by itself.
struct Intended;

/// A file that counts itself, and may panic when it is dropped.
#[derive(Debug)]
pub struct Noted {
    file: File,
    panics: bool,
    _alive: Arc<()>,
}

impl Noted {
    pub fn open(path: &Path, panics: bool, alive: &Arc<()>) -> Noted {
        let file = File::options().read(true).write(true).open(path).unwrap();
        Noted { file, panics, _alive: alive.clone() }
    }
}

impl AsFd for Noted {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        if self.panics && !thread::panicking() {
            resume_unwind(Box::new(Intended));
        }
    }
}

/// A read, a write or a sync, and where its bytes are in the file.
pub struct Operation {
    pub aio: Aio<Arc<Noted>>,
    pub queue: Queue,
    pub reads: bool,
    pub offset: usize,
    pub shared: Option<Arc<Noted>>,
}

impl Operation {
    /// Panics unless the library knows nothing of the operation any more, and its buffer has what
    /// the result says.
    pub fn check(self) {
        let (ident, queue, offset) = (self.aio.ident(), self.queue, self.offset);
        let finished = match self.aio.finish() {
            Ok(finished) => finished,
            Err(aio) => panic!("{aio:?} does not finish"),
        };
        let mut found: sys::xpoll_event = unsafe { std::mem::zeroed() };
        let aio = i32::from(sys::XPOLL_FILT_AIO as i16);
        // The queue is there, and the record has room for the answer.
        let known = unsafe { sys::xpoll_lookup(queue.as_ptr(), ident, aio, &mut found) } == 0;
        assert!(!known, "operation {ident} gave its buffer back, and has the state {}", found.data);
        let Finished { result, buffer, .. } = finished;
        match result {
            Ok(count) if self.reads => {
                assert_eq!(count, buffer.len(), "the file is long enough");
                let same = |at: usize| buffer[at] == content(offset + at);
                assert!((0..count).all(same), "bytes of the file");
            }
            Ok(count) => assert!(count == buffer.len()),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ECANCELED)),
        }
    }
}

/// One value of a program.
pub enum Thing {
    Stream(Source<UnixStream>),
    Shared(Source<Arc<UnixStream>>),
    Peer(UnixStream),
    Inner(Source<xpoll::Descriptor>),
    Timer(Timer),
    Signal(#[allow(dead_code)] Signal),
    Process(#[allow(dead_code)] Process),
    Vnode(Vnode<Noted>),
    Waker(Arc<Waker>),
    Aio(Operation),
}

/// Runs what may panic on purpose; any other panic goes on.
pub fn guarded(act: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(act)) {
        if !payload.is::<Intended>() {
            resume_unwind(payload);
        }
    }
}
