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

/* Filters and notes that some systems lack; 0: this system has none. */
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

/* The flags that enable a filter so that it reports a state that holds already. */
#ifdef __NetBSD__
#define XP_KQ_ENABLE (EV_ADD | EV_ENABLE)
#else
#define XP_KQ_ENABLE EV_ENABLE
#endif
/* true: EV_ENABLE of an enabled filter is ignored, so the filter is disabled first (OpenBSD). */
#ifdef __OpenBSD__
#define XP_KQ_ENABLES_ONCE true
#else
#define XP_KQ_ENABLES_ONCE false
#endif
/* true: EV_ENABLE makes the kernel check the state again, even if the filter was enabled. */
#define XP_KQ_ENABLE_RECHECKS (XP_KQ_ENABLE == EV_ENABLE && !XP_KQ_ENABLES_ONCE)

/*
 * true: a wait calls kevent(2) directly; false: kevent(2) is no cancellation point, so the wait
 * sleeps in poll(2) on the kqueue.  On macOS, by its source, kevent(2) is no cancellation point
 * either, but poll(2) does not work for a kqueue there, so the value is true.
 */
#if defined(__OpenBSD__) || defined(__DragonFly__)
#define XP_KQ_SLEEPS_IN_KEVENT false
#else
#define XP_KQ_SLEEPS_IN_KEVENT true
#endif

/* true: one kevent(2) may report an end of file twice with the same filter (OpenBSD). */
#ifdef __OpenBSD__
#define XP_KQ_REPEATS_EOF true
#else
#define XP_KQ_REPEATS_EOF false
#endif

/*
 * udata of a filter is its tag, the upper 32 bits of the descriptor's token.  Where pointers are
 * longer than 32 bits, XP_KQ_WRITE_END_FLAG is a further bit of udata, set for READ of the write
 * end of a pipe: such a report shows no input, so its bits are found by poll(2).  Where there is no
 * room for the bit, XP_KQ_WRITE_END_FLAG is 0.
 */
#define XP_KQ_WRITE_END_FLAG ((uintptr_t)(UINTPTR_MAX >> 31 >> 1) ? \
	(uintptr_t)1 << (sizeof(uintptr_t) * CHAR_BIT / 2) : 0)

static inline void xp_kq_ev_set(struct kevent *record, uint64_t ident, int filter,
                                unsigned flags, uint32_t fflags, uintptr_t tag)
{
	EV_SET(record, (uintptr_t)ident, (short)filter, (unsigned short)flags,
	       fflags, 0, (void *)tag);
}

static inline uint32_t xp_kq_tag(const struct kevent *record)
{
	return (uint32_t)(uintptr_t)record->udata;
}

/* Returns the token of the descriptor: the tag is its upper half, the descriptor the lower. */
static inline uint64_t xp_kq_token(const struct kevent *record)
{
	return (uint64_t)xp_kq_tag(record) << 32 | (uint32_t)record->ident;
}

static inline bool xp_kq_is_write_end(const struct kevent *record)
{
	return (uintptr_t)record->udata & XP_KQ_WRITE_END_FLAG;
}

/* Open a kqueue, which is close-on-exec.  Returns its descriptor or a negative errno value. */
int xp_sys_kqueue(void);

/*
 * Apply changes without waiting.  A receipt replaces each change in `changes`: its `data` is 0 or
 * the errno value of that change.  Returns 0, or the negative errno value of the whole call.
 */
int xp_sys_kevent_change(int queue_fd, struct kevent *changes, int count);

/*
 * Apply changes and take events without waiting; restarted after a signal.  Returns the number of
 * events, among them changes that failed (EV_ERROR), or a negative errno value.
 */
int xp_sys_kevent_now(int queue_fd, const struct kevent *changes, int count,
                      struct kevent *events, int cap);

/*
 * Apply changes and wait for events until a deadline; a cancellation point only if
 * XP_KQ_SLEEPS_IN_KEVENT.  Returns the number of events, or a negative errno value, such as -EINTR
 * after a signal handler.
 */
int xp_sys_kevent_wait(int queue_fd, const struct kevent *changes, int count,
                       struct kevent *events, int cap, int64_t deadline_ns);

/*
 * Returns the `data` that the filter reports for fd now, such as the bytes to read; 0: no report;
 * or a negative errno value.
 */
int64_t xp_sys_kevent_ask(int fd, int filter);

#endif
