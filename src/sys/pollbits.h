/*
 * Bits of poll(2) that not every system has.
 *
 * POLLRDHUP is asked for and reported everywhere in here.  Where the system has no
 * such bit it is one of the library's own, which poll(2) never sees: a bit that it
 * does not know may mean something else to it (POLLINIGNEOF of FreeBSD), or be refused.
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
/* The value of later FreeBSD and illumos; programs cannot name it. */
#ifndef XP_OWN_RDHUP
#define XP_OWN_RDHUP   0x4000
#define XP_NAMED_RDHUP 0
#endif
#define XP_POLL_RDHUP 0 /* what poll(2) knows of it */
#define POLLRDHUP     XP_OWN_RDHUP
#endif
/* The bit that xpoll_ctl(3) takes for POLLRDHUP. */
#ifndef XP_NAMED_RDHUP
#define XP_NAMED_RDHUP POLLRDHUP
#endif

/* A device may answer POLLNVAL to bits that are not in POSIX. */
#ifndef XP_POLL_STRICT
#if defined(__linux__) || defined(_WIN32)
#define XP_POLL_STRICT 0
#else
#define XP_POLL_STRICT 1
#endif
#endif

/*
 * Does a look with a mask of signals let one in without EINTR, which only a sleep has?
 * Linux looks at signals whatever the time; the BSDs when they are about to sleep.
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

/* Has the other side of a socket ended its stream?  Where no bit says so. */
#if XP_POLL_LACKS_RDHUP
bool xp_sys_half_closed(int fd);
#else
static inline bool xp_sys_half_closed(int fd)
{
	(void)fd;
	return false;
}
#endif

/* Before poll(2): leave out what it does not know. */
static inline void xp_pollbits_known(struct pollfd *fds, size_t count)
{
	for (size_t i = 0; POLLRDHUP != XP_POLL_RDHUP && i < count; i++)
		fds[i].events &= (short)~POLLRDHUP;
}

/*
 * After it: ask again, for POSIX's bits alone, where it has refused others, which
 * stay left out of `events`.  How many are ready of those that it said are.
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

/* May a socket have half an end, which these bits cannot say? */
static inline bool xp_pollbits_in_doubt(unsigned wanted, uint32_t bits)
{
	return XP_POLL_RDHUP == 0 && wanted & POLLRDHUP &&
		(bits & (POLLIN | POLLHUP)) == POLLIN;
}

/* Does no poll(2) ever report what is wanted? */
static inline bool xp_pollbits_mute(unsigned wanted)
{
	return XP_POLL_RDHUP == 0 && (wanted & (POLLIN | POLLRDHUP)) == POLLRDHUP;
}

#endif
