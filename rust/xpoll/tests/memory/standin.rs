//! A stand-in for the C library: the functions that the crate calls, with their meaning as the
//! manual has it, in Rust. The linker takes them before those of the library.
//!
//! No file is read: each has the bytes of `content`, and no end. No descriptor, timer or signal is
//! checked: any wait may deliver what is registered and enabled, by chance. An operation works on
//! its buffer a few bytes at a time, in each call of the library, until it ends or is cancelled; so
//! whatever the crate does meanwhile happens while the operation runs.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, CStr};
use std::mem::size_of;
use std::ptr::null_mut;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use xpoll::sys::{self, xpoll as Handle, xpoll_event as Record};

use super::things::{content, Random};

const NAME: &[u8] = b"standin\0";

const AIO: i16 = sys::XPOLL_FILT_AIO as i16;
const OF_DESCRIPTORS: [i32; 5] = [
    sys::XPOLL_FILT_READ,
    sys::XPOLL_FILT_WRITE,
    sys::XPOLL_FILT_VNODE,
    sys::XPOLL_FILT_EMPTY,
    sys::XPOLL_FILT_EXCEPT,
];

/// A pointer that is the library's, in whatever thread it is called.
#[derive(Clone, Copy)]
pub struct Shared(*mut sys::xpoll_aio);
unsafe impl Send for Shared {}

pub struct Registration {
    pub modes: u32,
    pub enabled: bool,
    triggered: bool,
    fflags: u32,
    data: i64,
    udata: u64,
    operation: Option<Operation>,
}

pub struct Operation {
    aio: Shared,
    done: usize,
    cancelled: bool,
    result: Option<i64>,
}

impl Operation {
    /// Does a part of the work, through the pointers that the caller gave.
    fn progress(&mut self, random: &mut Random) {
        if self.result.is_some() {
            return;
        }
        // The caller leaves it alone until the event.
        let aio = unsafe { &*self.aio.0 };
        let offset = aio.offset as usize;
        let end = match aio.op as u32 {
            sys::XPOLL_AIO_READ | sys::XPOLL_AIO_WRITE => aio.length,
            _ => 0, // A sync.
        };
        if self.cancelled && random.once_in(2) {
            self.result = Some(-i64::from(libc::ECANCELED));
            return;
        }
        let stop = end.min(self.done + 1 + random.below(1 + end as u64 / 2) as usize);
        for at in self.done..stop {
            // There are `length` bytes.
            let byte = unsafe { aio.buffer.cast::<u8>().add(at) };
            match aio.op as u32 {
                sys::XPOLL_AIO_READ => unsafe { byte.write(content(offset + at)) },
                _ => assert_eq!(unsafe { byte.read() }, content(offset + at), "a write's bytes"),
            }
        }
        self.done = stop;
        if stop == end && random.once_in(3) {
            self.result = Some(end as i64);
        }
    }

    /// Ends it now.
    fn end(&mut self, random: &mut Random) {
        self.cancelled = true;
        while self.result.is_none() {
            self.progress(random);
        }
    }
}

impl Registration {
    fn end(self) {
        if let Some(operation) = self.operation {
            // The caller gets the structure back with this.
            unsafe { (*operation.aio.0).result = operation.result.unwrap_or(0) };
        }
    }
}

pub struct State {
    pub registrations: BTreeMap<(u64, i16), Registration>,
    random: Random,
    wakes: u32,
    errors: u64,
}

pub struct Queue {
    pub state: Mutex<State>,
    pub changed: Condvar,
}

/// All that are open, as a descriptor may be closed in each.
static QUEUES: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// -1, with this in errno.
pub fn fail(error: c_int) -> c_int {
    unsafe { *libc::__errno_location() = error };
    -1
}

/// # Safety
///
/// The queue is open.
pub unsafe fn enter<'a>(queue: *const Handle) -> (&'a Queue, MutexGuard<'a, State>) {
    let queue = unsafe { &*queue.cast::<Queue>() };
    let mut state = queue.state.lock().unwrap();
    state.work();
    (queue, state)
}

impl State {
    /// Lets time pass: some operations go on.
    fn work(&mut self) {
        let random = &mut self.random;
        for registration in self.registrations.values_mut() {
            if let (Some(operation), true) = (&mut registration.operation, random.once_in(3)) {
                operation.progress(random);
            }
        }
    }

    pub fn change(&mut self, change: &Record) -> Result<(), c_int> {
        let flags = u32::from(change.flags);
        let key = (change.ident, change.filter);
        // Both members of the union are numbers here.
        let udata = unsafe { change.__bindgen_anon_1.udata64 };
        let known = self.registrations.get_mut(&key);
        if flags & sys::XPOLL_ADD != 0 && known.is_none() {
            if change.filter == AIO {
                return Err(libc::EPERM);
            }
            let registration = Registration {
                modes: flags,
                enabled: flags & sys::XPOLL_DISABLE == 0,
                triggered: false,
                fflags: change.fflags,
                data: change.data,
                udata,
                operation: None,
            };
            self.registrations.insert(key, registration);
            return Ok(());
        }
        let known = known.ok_or(libc::ENOENT)?;
        if flags & sys::XPOLL_DELETE != 0 {
            if known.operation.as_ref().is_some_and(|operation| operation.result.is_none()) {
                return Err(libc::EBUSY);
            }
            self.end(key);
            return Ok(());
        }
        if flags & sys::XPOLL_ADD != 0 {
            (known.modes, known.udata) = (known.modes | flags, udata);
            (known.fflags, known.data) = (change.fflags, change.data);
        }
        if change.fflags & sys::XPOLL_NOTE_TRIGGER != 0 {
            known.triggered = true;
        }
        known.enabled |= flags & sys::XPOLL_ENABLE != 0;
        known.enabled &= flags & sys::XPOLL_DISABLE == 0;
        Ok(())
    }

    pub fn end(&mut self, key: (u64, i16)) {
        if let Some(registration) = self.registrations.remove(&key) {
            registration.end();
        }
    }

    /// The event of this registration, if there is one now.
    pub fn event(&mut self, key: (u64, i16)) -> Option<Record> {
        let registration = self.registrations.get_mut(&key)?;
        let user = i32::from(key.1) == sys::XPOLL_FILT_USER;
        let ready = match &registration.operation {
            Some(operation) => operation.result.is_some(),
            None if user => registration.triggered,
            None => self.random.once_in(3),
        };
        if !registration.enabled || !ready {
            return None;
        }
        registration.triggered = false;
        let operation = registration.operation.as_ref();
        let data = operation.map_or(registration.data, |operation| operation.result.unwrap_or(0));
        let record = Record {
            ident: key.0,
            filter: key.1,
            flags: 0,
            fflags: registration.fflags,
            data,
            __bindgen_anon_1: sys::xpoll_event__bindgen_ty_1 { udata64: registration.udata },
        };
        if registration.modes & sys::XPOLL_DISPATCH != 0 {
            registration.enabled = false;
        }
        if registration.modes & sys::XPOLL_ONESHOT != 0 {
            self.end(key);
        }
        Some(record)
    }

    fn events(&mut self, room: usize) -> Vec<Record> {
        let keys: Vec<_> = self.registrations.keys().copied().collect();
        let mut found = Vec::new();
        for key in keys {
            if found.len() < room {
                found.extend(self.event(key));
            }
        }
        found
    }

    fn forget(&mut self, fd: c_int) {
        let of_fd = |filter: i16| OF_DESCRIPTORS.contains(&i32::from(filter));
        self.registrations.retain(|key, _| key.0 != fd as u64 || !of_fd(key.1));
        for registration in self.registrations.values_mut() {
            if let Some(operation) = &mut registration.operation {
                if unsafe { (*operation.aio.0).fd } == fd {
                    operation.end(&mut self.random);
                }
            }
        }
    }
}

#[no_mangle]
unsafe extern "C" fn xpoll_open(options: *const sys::xpoll_options) -> *mut Handle {
    let name = unsafe { (*options).backend };
    if !name.is_null() && unsafe { CStr::from_ptr(name) }.to_bytes_with_nul() != NAME {
        fail(libc::ENOTSUP);
        return null_mut();
    }
    let mut queues = QUEUES.lock().unwrap();
    let state = State {
        registrations: BTreeMap::new(),
        random: Random::new(queues.len() as u64),
        wakes: 0,
        errors: 0,
    };
    let queue = Box::new(Queue { state: Mutex::new(state), changed: Condvar::new() });
    let queue: *mut Handle = Box::into_raw(queue).cast();
    queues.push(queue as usize);
    queue
}

#[no_mangle]
unsafe extern "C" fn xpoll_destroy(queue: *mut Handle) {
    QUEUES.lock().unwrap().retain(|&open| open != queue as usize);
    let (_, mut state) = unsafe { enter(queue) };
    let State { registrations, random, .. } = &mut *state;
    for (_, mut registration) in std::mem::take(registrations) {
        if let Some(operation) = &mut registration.operation {
            operation.end(random);
        }
        registration.end();
    }
    drop(state);
    // Nobody else has it.
    drop(unsafe { Box::from_raw(queue.cast::<Queue>()) });
}

#[no_mangle]
unsafe extern "C" fn xpoll_event(
    queue: *mut Handle,
    changes: *const Record,
    nchanges: c_int,
    events: *mut Record,
    nevents: c_int,
    timeout_ns: i64,
) -> c_int {
    let (queue, mut state) = unsafe { enter(queue) };
    let room = nevents as usize;
    let (mut count, mut unreported) = (0, 0);
    for at in 0..nchanges as usize {
        // The caller has `nchanges` of them.
        let change = unsafe { *changes.add(at) };
        let Err(error) = state.change(&change) else { continue };
        state.errors += 1;
        if count < room {
            let flags = sys::XPOLL_ERROR as u16;
            let status = Record { flags, data: error.into(), ..change };
            unsafe { events.add(count).write(status) };
            count += 1;
        } else if unreported == 0 {
            unreported = error;
        }
    }
    queue.changed.notify_all();
    if unreported != 0 {
        return fail(unreported);
    }
    if count > 0 || room == 0 {
        return count as c_int;
    }
    // There is room for so many.
    unsafe { wait(queue, state, timeout_ns, events, |state| state.events(room)) }
}

/// Stores what `find` returns, as soon as that is anything.
pub unsafe fn wait<T: Copy>(
    queue: &Queue,
    mut state: MutexGuard<'_, State>,
    timeout_ns: i64,
    into: *mut T,
    find: impl Fn(&mut State) -> Vec<T>,
) -> c_int {
    let begin = Instant::now();
    loop {
        let found = find(&mut state);
        for (at, record) in found.iter().enumerate() {
            unsafe { into.add(at).write(*record) };
        }
        let over = timeout_ns >= 0 && begin.elapsed().as_nanos() >= timeout_ns as u128;
        if !found.is_empty() || over || state.wakes > 0 {
            state.wakes = state.wakes.saturating_sub(u32::from(found.is_empty()));
            return found.len() as c_int;
        }
        let pause = Duration::from_micros(100);
        state = queue.changed.wait_timeout(state, pause).unwrap().0;
        state.work();
    }
}

#[no_mangle]
unsafe extern "C" fn xpoll_aio_submit(queue: *mut Handle, aio: *mut sys::xpoll_aio) -> c_int {
    let (_, mut state) = unsafe { enter(queue) };
    let asked = unsafe { &*aio };
    assert_eq!(asked.size, size_of::<sys::xpoll_aio>());
    let operation = Operation { aio: Shared(aio), done: 0, cancelled: false, result: None };
    let registration = Registration {
        modes: sys::XPOLL_ONESHOT,
        enabled: true,
        triggered: false,
        fflags: 0,
        data: 0,
        udata: asked.udata as u64,
        operation: Some(operation),
    };
    let before = state.registrations.insert((aio as u64, AIO), registration);
    assert!(before.is_none(), "two operations in one structure");
    0
}

#[no_mangle]
unsafe extern "C" fn xpoll_aio_cancel(queue: *mut Handle, aio: *mut sys::xpoll_aio) -> c_int {
    let (_, mut state) = unsafe { enter(queue) };
    let known = state.registrations.get_mut(&(aio as u64, AIO));
    match known.and_then(|registration| registration.operation.as_mut()) {
        Some(operation) => operation.cancelled = true,
        None => return fail(libc::ENOENT),
    }
    0
}

#[no_mangle]
unsafe extern "C" fn xpoll_lookup(
    queue: *mut Handle,
    ident: u64,
    filter: c_int,
    found: *mut Record,
) -> c_int {
    let (_, state) = unsafe { enter(queue) };
    let Some(known) = state.registrations.get(&(ident, filter as i16)) else {
        return fail(libc::ENOENT);
    };
    let running = -i64::from(libc::EINPROGRESS);
    let operation = known.operation.as_ref();
    let data = operation.map_or(known.data, |operation| operation.result.unwrap_or(running));
    unsafe { (*found).data = data };
    0
}

fn wake(queue: *mut Handle, threads: u32) -> c_int {
    let (queue, mut state) = unsafe { enter(queue) };
    state.wakes += threads;
    queue.changed.notify_all();
    0
}

#[no_mangle]
unsafe extern "C" fn xpoll_wake(queue: *mut Handle) -> c_int {
    wake(queue, 1)
}

#[no_mangle]
unsafe extern "C" fn xpoll_wake_all(queue: *mut Handle) -> c_int {
    wake(queue, 0)
}

#[no_mangle]
unsafe extern "C" fn xpoll_forget_fd(fd: c_int) -> c_int {
    for &queue in QUEUES.lock().unwrap().iter() {
        // The queue stays open as long as the list is locked.
        let (_, mut state) = unsafe { enter(queue as *const Handle) };
        state.forget(fd);
    }
    0
}

#[no_mangle]
unsafe extern "C" fn xpoll_close_fd(fd: c_int) -> c_int {
    unsafe { xpoll_forget_fd(fd) };
    unsafe { libc::close(fd) }
}

#[no_mangle]
unsafe extern "C" fn xpoll_fd(_queue: *mut Handle) -> c_int {
    fail(libc::ENOTSUP)
}

#[no_mangle]
unsafe extern "C" fn xpoll_next_timeout(_queue: *mut Handle) -> i64 {
    -1
}

#[no_mangle]
unsafe extern "C" fn xpoll_backend(_queue: *const Handle) -> *const c_char {
    NAME.as_ptr().cast()
}

#[no_mangle]
unsafe extern "C" fn xpoll_backends(names: *mut *const c_char, _cap: c_int) -> c_int {
    unsafe { *names = NAME.as_ptr().cast() };
    1
}

#[no_mangle]
unsafe extern "C" fn xpoll_supports(_queue: *const Handle, _filter: c_int, _fflags: u32) -> c_int {
    1
}

#[no_mangle]
unsafe extern "C" fn xpoll_stats(
    queue: *const Handle,
    stats: *mut sys::xpoll_stats,
    _size: usize,
) -> c_int {
    let (_, state) = unsafe { enter(queue) };
    unsafe { (*stats).registered = state.registrations.len() as u64 };
    unsafe { (*stats).change_errors = state.errors };
    0
}

#[no_mangle]
unsafe extern "C" fn xpoll_describe(event: *const Record, text: *mut c_char, size: usize) -> c_int {
    let event = unsafe { *event };
    let words = format!("{} ident={} data={}", event.filter, event.ident, event.data);
    let len = words.len().min(size - 1);
    for (at, byte) in words.bytes().take(len).chain([0]).enumerate() {
        // There is room for the zero, too.
        unsafe { text.add(at).write(byte as c_char) };
    }
    words.len() as c_int
}
