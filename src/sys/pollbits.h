/*
 * Differences of poll(2) between systems, and struct xp_fired, the report of a back end.
 *
 * The library requests and reports POLLRDHUP everywhere.  If the system lacks it, the library uses
 * a bit of its own, which is never passed to poll(2): there it may have another meaning
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
/*
 * The value of POLLRDHUP on newer FreeBSD and illumos; this system's headers do not define the
 * name, so programs cannot use it here.
 */
#ifndef XP_OWN_RDHUP
#define XP_OWN_RDHUP   0x4000
#define XP_PUBLIC_RDHUP 0
#endif
#define XP_POLL_RDHUP 0 /* the bit to pass to poll(2) for POLLRDHUP: there is none */
#define POLLRDHUP     XP_OWN_RDHUP
#endif
/* The bit that the public interface accepts as POLLRDHUP; 0 if programs have no name for it. */
#ifndef XP_PUBLIC_RDHUP
#define XP_PUBLIC_RDHUP POLLRDHUP
#endif

/* 1: some devices of this system report POLLNVAL if bits are requested that POSIX lacks. */
#ifndef XP_POLL_STRICT
#if defined(__linux__) || defined(_WIN32)
#define XP_POLL_STRICT 0
#else
#define XP_POLL_STRICT 1
#endif
#endif

/*
 * True if a poll with timeout 0 and a signal mask runs signal handlers but does not return EINTR,
 * as on the BSDs, where only a sleep returns EINTR.  Linux returns EINTR whatever the timeout.
 */
#ifndef XP_PROBE_HIDES_EINTR
#ifdef __linux__
#define XP_PROBE_HIDES_EINTR false
#else
#define XP_PROBE_HIDES_EINTR true
#endif
#endif

/*
 * One report that a back end's `wait` stores: the bits and the token of a registration.  On Linux
 * the layout is that of struct epoll_event, so epoll_wait(2) fills the queue's array directly.  On
 * x86-64 that structure is packed, like the one of 32-bit x86.
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

/*
 * For systems without POLLRDHUP: returns true if the kernel shows that the peer of a socket has
 * closed its side; false also if the kernel cannot show that.
 */
#if XP_POLL_LACKS_RDHUP
bool xp_sys_half_closed(int fd);
#else
static inline bool xp_sys_half_closed(int fd)
{
	(void)fd;
	return false;
}
#endif

/* Call before poll(2): removes POLLRDHUP from `events` if the system lacks it. */
static inline void xp_pollbits_strip_rdhup(struct pollfd *fds, size_t count)
{
	for (size_t i = 0; POLLRDHUP != XP_POLL_RDHUP && i < count; i++)
		fds[i].events &= (short)~POLLRDHUP;
}

/*
 * Call after poll(2), with its result `ready`: if a file refused POLLRDHUP with POLLNVAL, polls the
 * file again without it and removes it from `events`.  Returns how many of the entries are ready.
 */
static inline int xp_pollbits_retry_refused(struct pollfd *fds, size_t count, int ready)
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
 * Returns true if POLLRDHUP is wanted, the system lacks it, and the bits that poll(2) returned
 * leave open whether the peer has closed its side: POLLIN without POLLHUP.
 */
static inline bool xp_pollbits_rdhup_unknown(unsigned wanted, uint32_t bits)
{
	return XP_POLL_RDHUP == 0 && wanted & POLLRDHUP &&
		(bits & (POLLIN | POLLHUP)) == POLLIN;
}

/*
 * Returns true if poll(2) of this system cannot report what is wanted: POLLRDHUP without POLLIN,
 * where the system lacks POLLRDHUP.
 */
static inline bool xp_pollbits_unreportable(unsigned wanted)
{
	return XP_POLL_RDHUP == 0 && (wanted & (POLLIN | POLLRDHUP)) == POLLRDHUP;
}

#endif
