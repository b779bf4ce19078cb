/*
 * kqueue(2): see sys/sys.h for the conventions.
 *
 * The systems differ in the types of the members of struct kevent, and in their filters and notes.
 * xp_kq_set fills in records; missing filters and notes are defined here.
 */
#ifndef XP_BSD_SYS_KQUEUE_H
#define XP_BSD_SYS_KQUEUE_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/event.h>
#include <sys/time.h>

/* 0: there is no such filter. */
#ifdef EVFILT_USER
#define XP_KQ_USER    EVFILT_USER
#define XP_KQ_TRIGGER NOTE_TRIGGER
#else
#define XP_KQ_USER    0
#define XP_KQ_TRIGGER 0
#endif
#if defined(EVFILT_EXCEPT) && defined(NOTE_OOB)
#define XP_KQ_EXCEPT EVFILT_EXCEPT
#define XP_KQ_OOB    NOTE_OOB
#else
#define XP_KQ_EXCEPT 0
#define XP_KQ_OOB    0
#endif

#ifdef NOTE_EXITSTATUS
#define XP_KQ_EXIT (NOTE_EXIT | NOTE_EXITSTATUS)
#else
#define XP_KQ_EXIT NOTE_EXIT
#endif
#ifdef NOTE_EXIT_UNKNOWN
#define XP_KQ_EXIT_UNKNOWN NOTE_EXIT_UNKNOWN
#else
#define XP_KQ_EXIT_UNKNOWN 0
#endif

/* A filter that is enabled again must report a state that is already true. */
#ifdef __NetBSD__
#define XP_KQ_ENABLE (EV_ADD | EV_ENABLE)
#else
#define XP_KQ_ENABLE EV_ENABLE
#endif
/* OpenBSD ignores EV_ENABLE of an enabled filter, so the filter is disabled first. */
#ifdef __OpenBSD__
#define XP_KQ_ENABLES_ONCE true
#else
#define XP_KQ_ENABLES_ONCE false
#endif
/* EV_ENABLE alone makes the kernel check the state again, whatever the filter was before. */
#define XP_KQ_ENABLE_LOOKS (XP_KQ_ENABLE == EV_ENABLE && !XP_KQ_ENABLES_ONCE)

/*
 * Whether kevent(2) is a cancellation point.  By their sources it is not on DragonFly and macOS
 * either; but on macOS poll(2) does not work for a queue.
 */
#if defined(__OpenBSD__) || defined(__DragonFly__)
#define XP_KQ_CANCELLED false
#else
#define XP_KQ_CANCELLED true
#endif

/* An end of file may be reported twice by one call, with the same filter. */
#ifdef __OpenBSD__
#define XP_KQ_TWICE true
#else
#define XP_KQ_TWICE false
#endif

/*
 * A tag is 32 bits: it fits into udata everywhere.  Where pointers are longer
 * there is room for a hint beside it.
 */
#define XP_KQ_HINT ((uintptr_t)(UINTPTR_MAX >> 31 >> 1) ? \
	(uintptr_t)1 << (sizeof(uintptr_t) * CHAR_BIT / 2) : 0)

static inline void xp_kq_set(struct kevent *record, uint64_t ident, int filter,
                             unsigned flags, uint32_t fflags, uintptr_t tag)
{
	EV_SET(record, (uintptr_t)ident, (short)filter, (unsigned short)flags,
	       fflags, 0, (void *)tag);
}

static inline uint32_t xp_kq_tag(const struct kevent *record)
{
	return (uint32_t)(uintptr_t)record->udata;
}

/* The tag is the upper half of the token, the number is the lower. */
static inline uint64_t xp_kq_token(const struct kevent *record)
{
	return (uint64_t)xp_kq_tag(record) << 32 | (uint32_t)record->ident;
}

static inline bool xp_kq_hinted(const struct kevent *record)
{
	return (uintptr_t)record->udata & XP_KQ_HINT;
}

/* A queue; close-on-exec. */
int xp_sys_kqueue(void);

/*
 * Apply changes without waiting, each with a receipt, which replaces it in `changes`.  Returns 0,
 * or the error of the whole call.
 */
int xp_sys_kevent_change(int queue_fd, struct kevent *changes, int count);

/* Apply changes and poll; restarted after a signal.  Returns the number of events. */
int xp_sys_kevent_now(int queue_fd, const struct kevent *changes, int count,
                      struct kevent *events, int cap);

/*
 * Apply changes and wait for events until a deadline; a cancellation point.  With a signal mask the
 * wait may be restarted after a signal that arrives just before it.
 */
int xp_sys_kevent_wait(int queue_fd, const struct kevent *changes, int count,
                       struct kevent *events, int cap, int64_t deadline_ns);

/* Returns the `data` that the filter reports for a descriptor now; 0: no report. */
int64_t xp_sys_kevent_ask(int fd, int filter);

#endif
