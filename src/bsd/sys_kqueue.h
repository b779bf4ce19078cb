/*
 * kqueue(2): see sys.h for the conventions.
 *
 * The systems that have it differ in the types of a record's fields and in
 * which filters and notes there are.  Records are written by xp_kq_set; what
 * is missing is known here.
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

/* Enabled again, a filter has to say what holds already. */
#ifdef __NetBSD__
#define XP_KQ_ENABLE (EV_ADD | EV_ENABLE)
#else
#define XP_KQ_ENABLE EV_ENABLE
#endif
/* OpenBSD ignores EV_ENABLE of an enabled filter: it is disabled first. */
#ifdef __OpenBSD__
#define XP_KQ_ENABLES_ONCE true
#else
#define XP_KQ_ENABLES_ONCE false
#endif
/* EV_ENABLE alone looks again, whatever it was before. */
#define XP_KQ_ENABLE_LOOKS (XP_KQ_ENABLE == EV_ENABLE && !XP_KQ_ENABLES_ONCE)

/*
 * Is kevent(2) a cancellation point?  Of DragonFly and macOS their sources say that it
 * is not, either; but poll(2) is of no use for a queue on macOS.
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
 * Changes alone, each with a receipt: `changes` is filled with them.  0, or
 * what keeps the call as a whole from being made.
 */
int xp_sys_kevent_change(int queue_fd, struct kevent *changes, int count);

/* Changes, and a look; restarted after a signal.  The number of events. */
int xp_sys_kevent_now(int queue_fd, const struct kevent *changes, int count,
                      struct kevent *events, int cap);

/*
 * Changes, and events until a deadline; a cancellation point.  With a mask of
 * signals it may be restarted for one that comes just before it.
 */
int xp_sys_kevent_wait(int queue_fd, const struct kevent *changes, int count,
                       struct kevent *events, int cap, int64_t deadline_ns);

/* Returns the `data` that the filter reports for a descriptor now; 0: no report. */
int64_t xp_sys_kevent_ask(int fd, int filter);

#endif
