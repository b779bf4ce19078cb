//! Timers, processes, signals, files and asynchronous I/O.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use xpoll::{
    Aio, Change, Event, Events, FileNotes, Filter, Interest, Process, ProcessNotes, Queue, Signal,
    Timer, Vnode,
};

const NOW: Option<Duration> = Some(Duration::ZERO);

fn next(queue: &Queue) -> Event {
    let mut events = Events::with_capacity(1);
    assert_eq!(queue.wait(&mut events, None).unwrap(), 1);
    *events.iter().next().unwrap()
}

fn nothing(queue: &Queue) -> bool {
    queue.wait(&mut Events::with_capacity(1), NOW).unwrap() == 0
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Folder(path)
    }
    fn file(&self, text: &str) -> PathBuf {
        let path = self.0.join("file");
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn timers_expire_in_order_and_never_early() {
    let queue = Queue::new().unwrap();
    let begin = (Instant::now(), SystemTime::now());
    let millis = Duration::from_millis;
    let sooner = Timer::after(&queue, millis(5), 1).unwrap();
    let _later = Timer::after(&queue, millis(20), 2).unwrap();
    assert!(queue.next_timeout().unwrap() <= millis(5));
    let _never = Timer::after(&queue, Duration::MAX, 9).unwrap();
    assert_eq!(next(&queue).token(), 1);
    assert!(begin.0.elapsed() >= millis(5));
    drop(sooner); // It has ended by itself.
    let event = next(&queue);
    assert_eq!((event.filter(), event.token(), event.data()), (Filter::TIMER, 2, 1));
    assert!(begin.0.elapsed() >= millis(20));
    let _moment = Timer::at(&queue, begin.1 + millis(30), 3).unwrap();
    assert_eq!(next(&queue).token(), 3);
    assert!(SystemTime::now() >= begin.1 + millis(30));
    let _past = Timer::at(&queue, SystemTime::UNIX_EPOCH - millis(1), 4).unwrap();
    assert_eq!(next(&queue).token(), 4);
}

#[test]
fn a_dropped_timer_is_silent() {
    let queue = Queue::new().unwrap();
    let tick = Timer::every(&queue, Duration::from_nanos(1), 1).unwrap();
    assert!(next(&queue).data() >= 1);
    assert!(next(&queue).data() >= 1);
    drop(tick);
    assert!(nothing(&queue));
    assert_eq!(queue.stats().registered, 0);
}

#[test]
fn a_timer_that_is_reset_begins_again() {
    let queue = Queue::new().unwrap();
    let (soon, never) = (Duration::from_nanos(1), Duration::MAX);
    let once = Timer::after(&queue, never, 1).unwrap();
    for _ in 0..2 {
        let begin = Instant::now();
        once.reset(Duration::from_millis(2)).unwrap();
        assert_eq!((next(&queue).token(), nothing(&queue)), (1, true));
        assert!(begin.elapsed() >= Duration::from_millis(2));
    }
    let period = Timer::every(&queue, never, 2).unwrap();
    period.reset(soon).unwrap();
    assert_eq!([next(&queue).token(), next(&queue).token()], [2, 2]);
    let moment = Timer::at(&queue, SystemTime::UNIX_EPOCH, 3).unwrap();
    // Both have expired.
    period.reset(never).unwrap();
    moment.reset(never).unwrap();
    assert!(nothing(&queue));
    moment.reset(soon).unwrap();
    assert_eq!((next(&queue).token(), nothing(&queue)), (3, true));
    assert_eq!(queue.stats().registered, 1);
    drop((once, period, moment));
    assert_eq!(queue.stats().registered, 0);
}

/// A process that lives until its input ends.
fn cat() -> Child {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn the_end_of_a_process_and_its_status() {
    let queue = Queue::new().unwrap();
    let mut child = cat();
    let _end = Process::end_of(&queue, &child, 1).unwrap();
    assert!(nothing(&queue));
    drop(child.stdin.take());
    let event = next(&queue);
    assert_eq!((event.filter(), event.ident()), (Filter::PROC, child.id().into()));
    assert!(event.process_notes().contains(ProcessNotes::EXIT) && event.is_eof());
    assert_eq!(event.exit_status(), Some(child.wait().unwrap()));
    assert_eq!(event.parent(), None);

    let mut child = cat();
    let _end = Process::end_of(&queue, &child, 2).unwrap();
    child.kill().unwrap();
    assert_eq!(next(&queue).exit_status(), Some(child.wait().unwrap()));
    let error = Process::end_of(&queue, &child, 3).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
}

#[test]
fn a_process_that_was_replaced_ends_nothing() {
    let queue = Queue::new().unwrap();
    let mut child = cat();
    let first = Process::end_of(&queue, &child, 1).unwrap();
    let second = Process::end_of(&queue, &child, 2).unwrap();
    drop(first);
    child.kill().unwrap();
    assert_eq!(next(&queue).token(), 2);
    drop(second);
    child.wait().unwrap();
}

#[test]
fn signals_are_counted() {
    let queue = Queue::new().unwrap();
    let _observed = Signal::ignored(&queue, libc::SIGHUP, 5).unwrap();
    assert!(nothing(&queue));
    for _ in 0..3 {
        unsafe { libc::raise(libc::SIGHUP) };
    }
    let event = next(&queue);
    assert_eq!((event.filter(), event.token(), event.data()), (Filter::SIGNAL, 5, 3));
    let error = Signal::new(&queue, libc::SIGKILL, 0).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    let error = Signal::ignored(&queue, libc::SIGKILL, 0).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
}

#[test]
fn files_are_watched_by_their_notes() {
    let folder = Folder::new("watched");
    let path = folder.file("one");
    let queue = Queue::new().unwrap();
    let notes = FileNotes::WRITE | FileNotes::EXTEND | FileNotes::DELETE | FileNotes::RENAME;
    let file = Vnode::open(&queue, &path, notes, 1).unwrap();
    let in_folder = Vnode::open(&queue, &folder.0, FileNotes::WRITE, 2).unwrap();
    assert!(nothing(&queue));

    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"two").unwrap();
    let event = next(&queue);
    assert_eq!((event.token(), event.file_notes()), (1, FileNotes::WRITE | FileNotes::EXTEND));
    assert_eq!(format!("{:?}", event.file_notes()), "WRITE | EXTEND");
    assert!(nothing(&queue));

    file.set(FileNotes::DELETE, 3).unwrap();
    fs::remove_file(&path).unwrap();
    let mut tokens = [next(&queue).token(), next(&queue).token()];
    tokens.sort();
    assert_eq!(tokens, [2, 3]);
    drop(in_folder);
    let mut text = String::new();
    file.into_inner().read_to_string(&mut text).unwrap();
    assert_eq!(text, "onetwo");
    assert_eq!(queue.stats().registered, 0);
    let (stream, _other) = UnixStream::pair().unwrap();
    let error = Vnode::new(&queue, stream, notes, 0).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
}

#[test]
fn an_operation_gives_its_buffer_back() {
    let folder = Folder::new("aio");
    let path = folder.file("");
    let queue = Queue::new().unwrap();
    let file = Arc::new(File::options().read(true).write(true).open(path).unwrap());
    let write = Aio::write(&queue, file.clone(), b"hello".to_vec(), 2, 1).unwrap();
    let write = write.finish().expect_err("its event was not returned");
    let event = next(&queue);
    assert_eq!((event.filter(), event.token(), event.data()), (Filter::AIO, 1, 5));
    assert_eq!(event.ident(), write.ident());
    assert!(write.cancel().is_err());
    let finished = write.finish().unwrap();
    assert_eq!((finished.result.unwrap(), &finished.buffer[..]), (5, &b"hello"[..]));

    let sync = Aio::sync_all(&queue, file.clone(), 2).unwrap();
    assert_eq!((next(&queue).data(), sync.is_over()), (0, true));
    let sync = Aio::sync_data(&queue, file.clone(), 2).unwrap();
    assert_eq!((next(&queue).data(), sync.is_over()), (0, true));

    let read = Aio::read(&queue, file, vec![1; 10], 0, 3).unwrap();
    assert_eq!(next(&queue).data(), 7);
    let finished = read.finish().unwrap();
    assert_eq!(finished.result.unwrap(), 7);
    assert_eq!(finished.buffer, b"\0\0hello\x01\x01\x01");
}

/// A change could only discard the event of an operation, or fail while the operation runs; and
/// the record of that failure has the filter and the ident of its event.
#[test]
fn a_change_of_an_operation_is_refused() {
    let folder = Folder::new("changed");
    let path = folder.file("hello");
    let queue = Queue::new().unwrap();
    let aio = Aio::read(&queue, File::open(path).unwrap(), vec![0; 5], 0, 1).unwrap();
    let refused = |change| {
        let mut events = Events::with_capacity(4);
        // The change before it is not made either: it would fail.
        let changes = [Change::delete(Filter::TIMER, 0), change];
        let error = queue.change(&changes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{change:?}");
        let error = queue.wait_with(&changes, &mut events, NOW).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{change:?}");
        assert!(events.is_empty());
    };
    for ident in [aio.ident(), 0] {
        refused(Change::delete(Filter::AIO, ident));
        refused(Change::enable(Filter::AIO, ident));
        refused(Change::disable(Filter::AIO, ident));
    }
    assert_eq!(queue.stats().change_errors, 0);
    let aio = aio.finish().expect_err("its event was not returned");
    let event = next(&queue);
    assert_eq!((event.filter(), event.ident()), (Filter::AIO, aio.ident()));
    refused(Change::enable_again(&event));
    assert_eq!(&aio.finish().unwrap().buffer, b"hello");
}

/// A change that failed is returned with its own bits, which are no news about a file.
#[test]
fn a_change_that_failed_is_no_event() {
    let folder = Folder::new("failed");
    let file = File::open(folder.file("")).unwrap();
    let queue = Queue::new().unwrap();
    let mut events = Events::with_capacity(4);
    let pid = std::process::id().into();
    let (stream, _other) = UnixStream::pair().unwrap();
    let changes = [
        // A socket has no changes to watch for.
        unsafe { Change::add(&stream, Interest::file(FileNotes::DELETE), 7) },
        Change::delete(Filter::PROC, pid),
        Change::enable(Filter::READ, u64::MAX),
        Change::disable(Filter::VNODE, file.as_raw_fd() as u64),
    ];
    assert_eq!(queue.wait_with(&changes, &mut events, None).unwrap(), changes.len());
    for event in &events {
        assert!(event.change_error().is_some(), "{event}");
        assert_eq!(event.file_notes(), FileNotes::empty(), "{event}");
        assert_eq!(event.process_notes(), ProcessNotes::empty(), "{event}");
        assert_eq!((event.exit_status(), event.parent()), (None, None), "{event}");
        assert!(!event.is_eof() && event.socket_error().is_none(), "{event}");
    }
    assert_eq!(events.iter().next().unwrap().token(), 7);
}

#[test]
fn operations_that_cannot_start_say_why() {
    let queue = Queue::new().unwrap();
    let (stream, _other) = UnixStream::pair().unwrap();
    let error = Aio::read(&queue, stream, vec![0; 8], 0, 0).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOTSUP));
    let file = || File::open("/proc/self/exe").unwrap();
    let error = Aio::write(&queue, file(), vec![0; 8], 0, 0).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    let error = Aio::read(&queue, file(), vec![0; 8], u64::MAX, 0).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert!(nothing(&queue));
}

#[test]
fn idle_time_is_counted_on_request() {
    for name in xpoll::backends() {
        for counted in [false, true] {
            let options = xpoll::Options::new().backend(name);
            let options = if counted { options.count_idle() } else { options };
            let queue = options.open().unwrap();
            let start = Instant::now();
            let mut events = Events::with_capacity(1);
            queue.wait(&mut events, Some(Duration::from_millis(2))).unwrap();
            let idle = u128::from(queue.stats().idle_ns);
            assert_eq!(idle > 0, counted);
            assert!(idle <= start.elapsed().as_nanos());
        }
    }
}
