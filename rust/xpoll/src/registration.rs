//! What is registered without a descriptor.

use std::io;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::event::{Filter, ProcessNotes};
use crate::interest::{Change, Interest};
use crate::queue::Queue;
use crate::sys;

/// A registration by ident, which ends when it is dropped.
#[derive(Debug)]
struct Registration {
    queue: Queue,
    filter: Filter,
    ident: u64,
    owner: u64,
}

impl Registration {
    /// `ident` of `None`: a fresh number.
    fn new(queue: &Queue, filter: Filter, ident: Option<u64>) -> Registration {
        let owner = queue.fresh();
        Registration { queue: queue.clone(), filter, ident: ident.unwrap_or(owner), owner }
    }

    fn add(&self, flags: u32, fflags: u32, data: i64, token: u64) -> io::Result<()> {
        let interest = Interest { filter: self.filter, flags, fflags, data };
        let change = Change::new(interest, sys::XPOLL_ADD, self.ident, token);
        self.queue.own(self.filter, self.owner, change, self.ident)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.queue.disown(self.filter, self.owner, self.ident);
    }
}

/// Nanoseconds; a time that is too long to count never comes.
fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// A moment, or a period. The event is [`Filter::TIMER`], and [`Event::data`](crate::Event::data)
/// is how often the timer has expired since the last event. Timers take no descriptor, are never
/// early, and a queue may have millions of them.
///
/// ```
/// use std::time::{Duration, Instant};
/// use xpoll::{Events, Queue, Timer};
///
/// # fn main() -> std::io::Result<()> {
/// let queue = Queue::new()?;
/// let start = Instant::now();
/// let _timer = Timer::after(&queue, Duration::from_millis(3), 5)?;
///
/// let mut events = Events::with_capacity(8);
/// queue.wait(&mut events, None)?;
/// assert_eq!(events.iter().next().unwrap().token(), 5);
/// assert!(start.elapsed() >= Duration::from_millis(3));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Timer {
    registration: Registration,
    flags: u32,
    token: u64,
}

impl Timer {
    fn start(queue: &Queue, flags: u32, fflags: u32, data: i64, token: u64) -> io::Result<Timer> {
        let registration = Registration::new(queue, Filter::TIMER, None);
        let timer = Timer { registration, flags, token };
        timer.set(fflags, data)?;
        Ok(timer)
    }

    fn set(&self, fflags: u32, data: i64) -> io::Result<()> {
        self.registration.add(self.flags, fflags, data, self.token)
    }

    /// Once, after this time.
    pub fn after(queue: &Queue, time: Duration, token: u64) -> io::Result<Timer> {
        let note = sys::XPOLL_NOTE_NSECONDS;
        Timer::start(queue, sys::XPOLL_ONESHOT, note, nanoseconds(time), token)
    }

    /// Again and again, at multiples of this time from now on, however late the events are taken.
    pub fn every(queue: &Queue, period: Duration, token: u64) -> io::Result<Timer> {
        Timer::start(queue, 0, sys::XPOLL_NOTE_NSECONDS, nanoseconds(period), token)
    }

    /// Once, when the real-time clock reaches this moment. If the clock is set, the timer follows.
    pub fn at(queue: &Queue, moment: SystemTime, token: u64) -> io::Result<Timer> {
        let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        let notes = sys::XPOLL_NOTE_NSECONDS | sys::XPOLL_NOTE_ABSTIME;
        Timer::start(queue, sys::XPOLL_ONESHOT, notes, nanoseconds(since), token)
    }

    /// Begins again from now on, also after it has expired: with this period if it was made by
    /// [`Timer::every`], else once after this time. An expiry that was not returned yet is
    /// dropped. So a time limit can be moved whenever something happens:
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use xpoll::{Events, Queue, Timer};
    /// # fn main() -> std::io::Result<()> {
    /// # let (queue, mut events) = (Queue::new()?, Events::with_capacity(8));
    /// let limit = Timer::after(&queue, Duration::ZERO, 1)?;
    /// limit.reset(Duration::from_secs(60))?;
    /// assert_eq!(queue.wait(&mut events, Some(Duration::ZERO))?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reset(&self, time: Duration) -> io::Result<()> {
        self.set(sys::XPOLL_NOTE_NSECONDS, nanoseconds(time))
    }
}

/// A signal to this process. The event is [`Filter::SIGNAL`], and
/// [`Event::data`](crate::Event::data) is how often it was delivered since the last event.
///
/// The queue only observes: the action of the signal is taken as well. A queue has one registration
/// for each signal; a second `Signal` takes the place of the first.
#[derive(Debug)]
pub struct Signal {
    #[allow(dead_code)] // Dropping it ends the registration.
    registration: Registration,
}

extern "C" {
    fn signal(number: i32, action: usize) -> usize; // ISO C's
}
const SIG_IGN: usize = 1;
const SIG_ERR: usize = usize::MAX;

impl Signal {
    /// Observes a signal that the program handles or ignores. A signal whose default action ends
    /// the process still ends it, and is not reported: see [`Signal::ignored`].
    pub fn new(queue: &Queue, number: i32, token: u64) -> io::Result<Signal> {
        let ident = Some(number as u64);
        let registration = Registration::new(queue, Filter::SIGNAL, ident);
        registration.add(0, 0, 0, token)?;
        Ok(Signal { registration })
    }

    /// Makes the process ignore the signal, also after this value was dropped, and observes it.
    ///
    /// ```
    /// use xpoll::{Events, Filter, Queue, Signal};
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let queue = Queue::new()?;
    /// let _hang_up = Signal::ignored(&queue, libc::SIGHUP, 0)?;
    ///
    /// unsafe { libc::raise(libc::SIGHUP) };
    ///
    /// let mut events = Events::with_capacity(8);
    /// queue.wait(&mut events, None)?;
    /// assert_eq!(events.iter().next().unwrap().filter(), Filter::SIGNAL);
    /// # Ok(())
    /// # }
    /// ```
    pub fn ignored(queue: &Queue, number: i32, token: u64) -> io::Result<Signal> {
        // Nothing of the program's runs for it.
        if unsafe { signal(number, SIG_IGN) } == SIG_ERR {
            return Err(io::Error::last_os_error());
        }
        Signal::new(queue, number, token)
    }
}

/// A process, a child or any other: its end, forks and execs. The event is [`Filter::PROC`];
/// [`Event::exit_status`](crate::Event::exit_status) returns how it ended. The process is not
/// reaped.
///
/// A queue has one registration for each process; a second `Process` replaces the first.
///
/// ```
/// use std::process::Command;
/// use xpoll::{Events, Process, Queue};
///
/// # fn main() -> std::io::Result<()> {
/// let queue = Queue::new()?;
/// let mut child = Command::new("true").spawn()?;
/// let _end = Process::end_of(&queue, &child, 0)?;
///
/// let mut events = Events::with_capacity(8);
/// queue.wait(&mut events, None)?;
/// assert!(events.iter().next().unwrap().exit_status().unwrap().success());
/// child.wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Process {
    #[allow(dead_code)] // Dropping it ends the registration.
    registration: Registration,
}

impl Process {
    /// Registers a process, by its number.
    pub fn new(queue: &Queue, pid: u32, notes: ProcessNotes, token: u64) -> io::Result<Process> {
        let registration = Registration::new(queue, Filter::PROC, Some(pid.into()));
        registration.add(0, notes.bits(), 0, token)?;
        Ok(Process { registration })
    }

    /// Registers the end of a child. It may have ended already, if it was not waited for yet.
    pub fn end_of(queue: &Queue, child: &Child, token: u64) -> io::Result<Process> {
        Process::new(queue, child.id(), ProcessNotes::EXIT, token)
    }
}

/// Triggers an event of the program, from any thread. The event is [`Filter::USER`]; several calls
/// before it is delivered count as one. In an [`Arc`] it is also a [`std::task::Wake`].
///
/// ```
/// use xpoll::{Events, Queue, Waker};
///
/// # fn main() -> std::io::Result<()> {
/// let queue = Queue::new()?;
/// let waker = Waker::new(&queue, 9)?;
/// let thread = std::thread::spawn(move || {
///     waker.wake().unwrap();
///     waker // Dropping it would take the event back.
/// });
///
/// let mut events = Events::with_capacity(8);
/// queue.wait(&mut events, None)?;
/// assert_eq!(events.iter().next().unwrap().token(), 9);
/// thread.join().unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Waker {
    registration: Registration,
}

impl Waker {
    /// A waker whose events have this token.
    pub fn new(queue: &Queue, token: u64) -> io::Result<Waker> {
        let waker = Waker { registration: Registration::new(queue, Filter::USER, None) };
        waker.registration.add(sys::XPOLL_CLEAR, 0, 0, token)?;
        Ok(waker)
    }

    /// Makes the event.
    pub fn wake(&self) -> io::Result<()> {
        let Registration { queue, filter, ident, .. } = &self.registration;
        let fflags = sys::XPOLL_NOTE_TRIGGER;
        let trigger = Interest { filter: *filter, flags: 0, fflags, data: 0 };
        queue.change(&[Change::new(trigger, 0, *ident, 0)])
    }
}

impl std::task::Wake for Waker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // It could only fail for want of the registration, which is there.
        let _ = Waker::wake(self);
    }
}
