//! The poll-like level of the stand-in.

use std::ffi::{c_int, c_void};

use xpoll::sys::{self, xpoll as Handle, xpoll_event as Record};

use super::standin::{enter, fail, wait, State};

/// The filters of the poll-like level, and their bits.
const DIRECTIONS: [(i16, c_int); 3] = [
    (sys::XPOLL_FILT_READ as i16, (sys::POLLIN | sys::POLLRDHUP) as c_int),
    (sys::XPOLL_FILT_WRITE as i16, sys::POLLOUT as c_int),
    (sys::XPOLL_FILT_EXCEPT as i16, sys::POLLPRI as c_int),
];

impl State {
    /// One record of each descriptor, with the data of its first direction.
    fn ready(&mut self, room: usize) -> Vec<sys::xpoll_ready> {
        let mut found: Vec<sys::xpoll_ready> = Vec::new();
        let idents: Vec<u64> = self.registrations.keys().map(|key| key.0).collect();
        for ident in idents {
            for (filter, bit) in DIRECTIONS {
                let known = found.iter().position(|one| one.fd as u64 == ident);
                let modes = self.registrations.get(&(ident, filter)).map_or(0, |r| r.modes);
                if known.is_none() && found.len() == room {
                    break;
                }
                let Some(event) = self.event((ident, filter)) else { continue };
                match known {
                    Some(at) => found[at].events |= bit,
                    None => found.push(sys::xpoll_ready {
                        // Both members of the union are numbers here.
                        __bindgen_anon_1: sys::xpoll_ready__bindgen_ty_1 {
                            data64: unsafe { event.__bindgen_anon_1.udata64 },
                        },
                        fd: ident as c_int,
                        events: bit,
                    }),
                }
                if modes & sys::XPOLL_WHOLE != 0 {
                    self.whole(ident, modes);
                    break;
                }
            }
        }
        found
    }

    /// Ends or disables all directions.
    fn whole(&mut self, ident: u64, modes: u32) {
        for (filter, _) in DIRECTIONS {
            if modes & sys::XPOLL_ONESHOT != 0 {
                self.end((ident, filter));
            } else if let Some(known) = self.registrations.get_mut(&(ident, filter)) {
                known.enabled = false;
            }
        }
    }
}

#[no_mangle]
unsafe extern "C" fn xpoll_ctl(
    queue: *mut Handle,
    op: c_int,
    events: c_int,
    fd: c_int,
    data: *mut c_void,
) -> c_int {
    let (queue, mut state) = unsafe { enter(queue) };
    let (ident, mut flags) = (fd as u64, op as u32);
    let named = |filter: &i16| DIRECTIONS.iter().any(|d| d.0 == *filter && events & d.1 != 0);
    let mut filters: Vec<i16> = DIRECTIONS.iter().map(|d| d.0).filter(named).collect();
    if filters.is_empty() {
        filters.push(DIRECTIONS[0].0); // Errors and hang-ups only.
    }
    if flags & sys::XPOLL_ADD == 0 {
        let count = filters.len();
        filters.retain(|filter| state.registrations.contains_key(&(ident, *filter)));
        let any = flags & sys::XPOLL_DELETE != 0 && !filters.is_empty();
        if !any && filters.len() < count {
            return fail(libc::ENOENT);
        }
    } else if flags & sys::XPOLL_DISABLE == 0 {
        flags |= sys::XPOLL_ENABLE;
    }
    for filter in filters {
        let udata = sys::xpoll_event__bindgen_ty_1 { udata64: data as u64 };
        let flags = flags as u16;
        let change = Record { ident, filter, flags, fflags: 0, data: 0, __bindgen_anon_1: udata };
        let _ = state.change(&change);
    }
    queue.changed.notify_all();
    0
}

#[no_mangle]
unsafe extern "C" fn xpoll_pwait(
    queue: *mut Handle,
    ready: *mut sys::xpoll_ready,
    nready: c_int,
    timeout_ns: i64,
    mask: *const c_void,
) -> c_int {
    let (queue, state) = unsafe { enter(queue) };
    assert!(mask.is_null());
    unsafe { wait(queue, state, timeout_ns, ready, |state| state.ready(nready as usize)) }
}
