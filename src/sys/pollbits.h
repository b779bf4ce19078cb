/*
 * Bits of poll(2) that not every system has.
 *
 * The library requests and reports POLLRDHUP everywhere.  If the system lacks it, a bit of the
 * library's own is used, which is never passed to poll(2): there it may have another meaning
 * (POLLINIGNEOF of FreeBSD) or be refused.
 */
#ifndef XP_SYS_POLLBITS_H
#define XP_SYS_POLLBITS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef POLLRDHUP
#define XP_POLL_RDHUP POLLRDHUP
#define XP_POLL_LACKS_RDHUP 0
#else
#define XP_POLL_LACKS_RDHUP 1
/* The value that newer FreeBSD and illumos use; programs have no name for it here. */
#ifndef XP_OWN_RDHUP
#define XP_OWN_RDHUP   0x4000
#define XP_NAMED_RDHUP 0
#endif
#define XP_POLL_RDHUP 0 /* the bit to pass to poll(2) */
#define POLLRDHUP     XP_OWN_RDHUP
#endif
/* The bit that xpoll_ctl(3) accepts as POLLRDHUP. */
#ifndef XP_NAMED_RDHUP
#define XP_NAMED_RDHUP POLLRDHUP
#endif

/* Some devices report POLLNVAL if bits are requested that POSIX lacks. */
#ifndef XP_POLL_STRICT
#if defined(__linux__) || defined(_WIN32)
#define XP_POLL_STRICT 0
#else
#define XP_POLL_STRICT 1
#endif
#endif

/*
 * Whether a poll with timeout 0 and a signal mask runs handlers without EINTR, which only a sleep
 * returns.  Linux handles signals whatever the timeout; the BSDs only before a sleep.
 */
#ifndef XP_LOOK_HIDES_SIGNALS
#ifdef __linux__
#define XP_LOOK_HIDES_SIGNALS false
#else
#define XP_LOOK_HIDES_SIGNALS true
#endif
#endif

/*
 * A report of one registration by a back end's wait.  On Linux it has the layout of
 * struct epoll_event, which on x86-64 is that of 32 bits: epoll_wait(2) fills the array
 * that the queue reads.
 */
#if defined(__linux__) && defined(__x86_64__)
#define XP_AS_EPOLL __attribute__((packed))
#else
#define XP_AS_EPOLL
#endif

struct XP_AS_EPOLL xp_fired {
	uint32_t events;
	uint64_t token;
};

/* Returns true if the peer of a socket has closed its side; for systems without POLLRDHUP. */
#if XP_POLL_LACKS_RDHUP
bool xp_sys_half_closed(int fd);
#else
static inline bool xp_sys_half_closed(int fd)
{
	(void)fd;
	return false;
}
#endif

/* Call before poll(2): removes bits that the system lacks. */
static inline void xp_pollbits_known(struct pollfd *fds, size_t count)
{
	for (size_t i = 0; POLLRDHUP != XP_POLL_RDHUP && i < count; i++)
		fds[i].events &= (short)~POLLRDHUP;
}

/*
 * Call after poll(2): if a file refused bits that POSIX lacks, polls it again without them, and
 * removes them from `events`.  Returns how many of the entries are ready.
 */
static inline int xp_pollbits_accept(struct pollfd *fds, size_t count, int ready)
{
#if XP_POLL_STRICT && !XP_POLL_LACKS_RDHUP
	int left = ready;

	for (size_t i = 0; i < count && left > 0; i++) {
		left -= fds[i].revents != 0;
		if (!(fds[i].revents & POLLNVAL) || !(fds[i].events & POLLRDHUP))
			continue;
		fds[i].events &= (short)~POLLRDHUP;
		if (poll(&fds[i], 1, 0) == 0)
			ready--;
	}
	return ready;
#else
	(void)fds, (void)count;
	return ready;
#endif
}

/*
 * Returns true if the peer of a socket may have closed its side although these bits do not show it.
 */
static inline bool xp_pollbits_in_doubt(unsigned wanted, uint32_t bits)
{
	return XP_POLL_RDHUP == 0 && wanted & POLLRDHUP &&
		(bits & (POLLIN | POLLHUP)) == POLLIN;
}

/* Returns true if poll(2) here never reports these bits. */
static inline bool xp_pollbits_mute(unsigned wanted)
{
	return XP_POLL_RDHUP == 0 && (wanted & (POLLIN | POLLRDHUP)) == POLLRDHUP;
}

#endif
