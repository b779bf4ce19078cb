//! Descriptors that a registration owns.

use std::fmt;
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::event::Filter;
use crate::interest::{Change, Interest};
use crate::poll::{PollBits, PollInterest};
use crate::queue::Queue;
use crate::sys;

/// An object with a descriptor, such as a socket, and its registrations in a queue.
///
/// A source owns the object, and deletes the registrations before it drops the object, so no safe
/// code can close the descriptor while it is registered. It dereferences to a shared reference,
/// which is enough for the types of `std`: `&TcpStream` can be read and written. To share the
/// object, register an [`Arc`](std::sync::Arc) of it.
///
/// The type is `'static` as a leaked `Source` of a reference would outlive what it refers to.
///
/// ```
/// use std::net::TcpListener;
/// use xpoll::{Interest, Queue};
///
/// # fn main() -> std::io::Result<()> {
/// let queue = Queue::new()?;
/// let listener = queue.source(TcpListener::bind("127.0.0.1:0")?);
/// listener.set_nonblocking(true)?;
/// listener.add(Interest::READ, 0)?;
/// println!("listening on {}", listener.local_addr()?);
/// # Ok(())
/// # }
/// ```
pub struct Source<T: AsFd + 'static> {
    queue: Queue,
    // Asked for once. Nobody can get at `inner` but by shared reference, so it is as if it were
    // borrowed, and its descriptor stays open.
    fd: RawFd,
    added: AtomicU32, // a bit for each filter that was added, by its number
    inner: ManuallyDrop<T>,
}

impl Queue {
    /// Takes an object with a descriptor, to register it later with [`Source::add`].
    pub fn source<T: AsFd + 'static>(&self, inner: T) -> Source<T> {
        let fd = inner.as_fd().as_raw_fd();
        let added = AtomicU32::new(0);
        Source { queue: self.clone(), fd, added, inner: ManuallyDrop::new(inner) }
    }
}

impl<T: AsFd + 'static> Source<T> {
    fn ident(&self) -> u64 {
        self.fd as u64
    }

    /// Register it, or change and enable its registration; READ and WRITE are two. Modes
    /// that a registration has stay until it is deleted.
    pub fn add(&self, interest: Interest, token: u64) -> io::Result<()> {
        let enable = if interest.flags & sys::XPOLL_DISABLE == 0 { sys::XPOLL_ENABLE } else { 0 };
        let change = Change::new(interest, sys::XPOLL_ADD | enable, self.ident(), token);
        // Before: if it fails a delete too much does no harm.
        self.added.fetch_or(1 << -interest.filter.0, Ordering::Relaxed);
        self.queue.change(&[change])
    }

    /// Deliver its events again. If the condition holds now, the next wait delivers it.
    pub fn enable(&self, filter: Filter) -> io::Result<()> {
        self.queue.change(&[Change::enable(filter, self.ident())])
    }

    /// Deliver no event until it is enabled.
    pub fn disable(&self, filter: Filter) -> io::Result<()> {
        self.queue.change(&[Change::disable(filter, self.ident())])
    }

    /// End a registration.
    pub fn delete(&self, filter: Filter) -> io::Result<()> {
        self.queue.change(&[Change::delete(filter, self.ident())])
    }

    /// Register it for [`Queue::poll`], or change and enable its registration, which is the same
    /// as that of [`Source::add`].
    pub fn poll_add(&self, interest: PollInterest, token: u64) -> io::Result<()> {
        // Before: if it fails a delete too much does no harm.
        self.added.fetch_or(filters(interest.bits), Ordering::Relaxed);
        self.queue.ctl_add(interest, self.fd, token)
    }

    /// Reports these directions again. All of them must be registered.
    pub fn poll_enable(&self, bits: PollBits) -> io::Result<()> {
        self.queue.poll_enable(self.fd, bits)
    }

    /// Reports these directions no more until they are enabled. All of them must be registered.
    pub fn poll_disable(&self, bits: PollBits) -> io::Result<()> {
        self.queue.poll_disable(self.fd, bits)
    }

    /// Ends the registrations of those of these directions that are registered.
    pub fn poll_delete(&self, bits: PollBits) -> io::Result<()> {
        self.queue.poll_delete(self.fd, bits)
    }

    /// The queue it is registered with.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Ends the registrations and returns the object.
    pub fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        this.delete_all();
        // `this` is not dropped, so each is taken once. The object is first: a destructor that runs
        // with the queue may panic, which drops variables.
        let inner = unsafe { ManuallyDrop::take(&mut this.inner) };
        unsafe { std::ptr::drop_in_place(&mut this.queue) };
        inner
    }

    fn delete_all(&self) {
        let added = self.added.load(Ordering::Relaxed);
        let deletes: Vec<Change> = (1..16)
            .filter(|number| added & 1 << number != 0)
            .map(|number| Change::delete(Filter(-number), self.ident()))
            .collect();
        if !deletes.is_empty() {
            // Of what is gone already it fails, and then all others are made.
            let _ = self.queue.change(&deletes);
        }
    }
}

/// The filters of `Source::added` that stand for these bits; no bits are READ, too.
fn filters(bits: PollBits) -> u32 {
    let of = |bit, filter: Filter| if bits.contains(bit) { 1 << -filter.0 } else { 0 };
    let read = !bits.contains(PollBits::OUT) && !bits.contains(PollBits::PRI);
    let read = read || bits.contains(PollBits::IN) || !(bits & PollBits::RDHUP).is_empty();
    of(PollBits::OUT, Filter::WRITE)
        | of(PollBits::PRI, Filter::EXCEPT)
        | if read { 1 << -Filter::READ.0 } else { 0 }
}

impl<T: AsFd + 'static> Drop for Source<T> {
    fn drop(&mut self) {
        self.delete_all();
        // Taken here alone.
        unsafe { ManuallyDrop::drop(&mut self.inner) };
    }
}

impl<T: AsFd + 'static> Deref for Source<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: AsFd + 'static> AsFd for Source<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // Open as long as `inner` is there.
        unsafe { BorrowedFd::borrow_raw(self.fd) }
    }
}

impl<T: AsFd + 'static> AsRawFd for Source<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.fd
    }
}

impl<T: AsFd + 'static> Read for Source<T>
where
    for<'a> &'a T: Read,
{
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.inner).read(buffer)
    }
}

impl<T: AsFd + 'static> Write for Source<T>
where
    for<'a> &'a T: Write,
{
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&*self.inner).write(buffer)
    }
    fn flush(&mut self) -> io::Result<()> {
        (&*self.inner).flush()
    }
}

impl<T: AsFd + 'static> Read for &Source<T>
where
    for<'a> &'a T: Read,
{
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.inner).read(buffer)
    }
}

impl<T: AsFd + 'static> Write for &Source<T>
where
    for<'a> &'a T: Write,
{
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&*self.inner).write(buffer)
    }
    fn flush(&mut self) -> io::Result<()> {
        (&*self.inner).flush()
    }
}

impl<T: AsFd + fmt::Debug + 'static> fmt::Debug for Source<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Source").field(&*self.inner).finish()
    }
}
