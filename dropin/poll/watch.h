/*
 * The descriptors of one array of struct pollfd.  Each is either cold or hot:
 *
 *   cold   registered in the epoll instance, level-triggered
 *   hot    polled by poll(2) in each call, together with the epoll instance
 *
 * A registration may have more bits than the array requests.  It is reduced only when the kernel
 * reports nothing but such additional bits, so bits that the program removes and requests again
 * mostly cost no system call.
 *
 * Hot and cold descriptors report exactly the bits of poll(2), because level-triggered epoll polls
 * the file each time it reports it.  A file that becomes ready without a wake-up by the kernel, or
 * whose readiness is cleared by a poll, must not be registered ("direct") and is always hot.  Also
 * hot is a descriptor that another thread is closing, or that is not open.
 *
 * The thread that has claimed the set (pool.h) calls these functions; none of them blocks.
 */
#ifndef DROPIN_WATCH_H
#define DROPIN_WATCH_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel.h"

/* With more hot descriptors, which each call polls by poll(2), the set is given up. */
#define WATCH_HOT_MOST  64
#define WATCH_POLLFDS_MOST (WATCH_HOT_MOST + 1) /* the hot descriptors and the epoll instance */

/* The bits that poll(2) reports whether they are requested or not. */
#define WATCH_ALWAYS (POLLERR | POLLHUP | POLLNVAL)

/* State of one descriptor of the array. */
struct watch_slot {
	int32_t first; /* for array.c: index of the descriptor's first entry in the array, or -1 */
	uint32_t generation; /* number of the descriptor's past registrations; part of the token */
	uint16_t wanted;     /* the POLL* bits that the descriptor's entries in the array request */
	uint16_t armed; /* if the descriptor is registered: the POLL* bits of the registration */
	uint8_t flags;       /* IN_ARRAY, ARMED, HOT, DIRECT: see watch.c */
	uint8_t hot_index;      /* if the descriptor is hot: its index in watch->hot */
	/* during watch_recheck: the bits that epoll reported; otherwise 0 */
	uint16_t epoll_revents;
};

/* One result of a poll. */
struct watch_ready {
	int fd;
	uint32_t bits; /* POLL* bits that are ready, and either requested or in WATCH_ALWAYS */
};

/*
 * The descriptors of one array, and the epoll instance, in which those that epoll can watch (the
 * cold ones) are registered.
 */
struct watch {
	/* index of the set in the pool, and of its bit in the words of numbers.h */
	int set_index;
	/* also read, and replaced by EPOLL_FD_GONE (pool.c), by threads that close descriptors */
	_Atomic int epoll_fd;

	struct memory slots_memory;
	struct watch_slot *slots; /* indexed by descriptor */
	size_t slots_len;
	size_t armed_len; /* number of registered descriptors */

	/* the hot descriptors, which each call polls by poll(2), in no order */
	int hot[WATCH_HOT_MOST];
	int hot_len;
	uint32_t calls;  /* calls of the program that have used the set */
	uint64_t log_at; /* position up to which the log of closes was read */

	struct memory events_memory; /* the array for epoll_wait(2) */
	struct memory ready_memory;
	struct watch_ready *ready; /* results of the last poll */
	size_t ready_len;

	/*
	 * system calls made for the set, and not yet subtracted from set->balance, the account of
	 * what the set saves and costs
	 */
	unsigned syscalls;
	/*
	 * this call has timeout 0, and other threads sleep on the instance: epoll_wait(2) may then
	 * miss ready descriptors, so kernel_collect verifies an empty result by poll(2)
	 */
	bool has_other_sleepers;
	bool instance_checked; /* in this call kernel_is_our_instance has verified epoll_fd */
	bool failed; /* the set must be given up */
};

/*
 * Initialise the watch of the set with this index, with a new epoll instance.  Returns 0, or a
 * negative errno value with nothing left open.
 */
int watch_init(struct watch *watch, int set);
/*
 * Free the memory, and clear the set's bits of all registered descriptors (numbers.h).  Returns the
 * epoll descriptor, which stays open until the caller has it closed.
 */
int watch_fini(struct watch *watch);

/*
 * Returns the slot of a descriptor, and makes it if there is none; that may move all slots.  NULL:
 * no memory, or fd exceeds the limit of open files or the table of numbers.h.
 */
struct watch_slot *watch_reserve_slot(struct watch *watch, int fd);

/*
 * The array requests these bits of fd, which has a slot: register fd with epoll or, if that fails,
 * make fd hot, so that each call polls it by poll(2).  Sets `failed` if there are too many hot
 * descriptors, or if epoll_fd is not our instance any more; then, or after an error of a function
 * below, only watch_fini may be called.
 */
void watch_want(struct watch *watch, int fd, uint16_t bits);
/* fd has left the array.  Its registration, if any, stays until the kernel reports fd. */
void watch_unwant(struct watch *watch, int fd);

/*
 * Read the log of closed descriptors (numbers.h).  Each that is in the array may be open again for
 * another file: register that file.  Returns true if the log had new entries.
 */
bool watch_read_closes(struct watch *watch);

/*
 * Called when a call of the program begins to poll or sleep: reads the log of closes, and tries to
 * register one of the hot descriptors, those that epoll does not watch and each call polls.
 */
void watch_begin(struct watch *watch);

/*
 * Poll all descriptors without waiting, and store the results in `ready`.  Returns 0, or -EBADF if
 * there is no memory, or if the system calls fail, mostly because the program has closed epoll_fd.
 */
int watch_poll(struct watch *watch);

/*
 * To sleep, call watch_fill_pollfds, poll(2) and watch_take_revents.  watch_fill_pollfds fills
 * `sleep` with entries for the epoll instance and for the hot descriptors, those that epoll does
 * not watch, and returns the number of entries.  watch_take_revents gets these entries with the
 * results of poll(2), and stores and returns like watch_poll.  In between other threads may claim
 * the set and change the watch.
 */
int watch_fill_pollfds(const struct watch *watch, struct pollfd *sleep);
int watch_take_revents(struct watch *watch, const struct pollfd *sleep, int len);

/*
 * The token (epoll_event.data) that the kernel returns with a report of the registration.  The salt
 * distinguishes this token from those of the program's own instances, mostly just a descriptor or
 * an address, in case the program has reused the number of our instance for one of its own.
 */
#define WATCH_SALT 0xa75e7f0bu

static inline uint64_t watch_token(int fd, const struct watch_slot *slot)
{
	return (uint64_t)(slot->generation ^ WATCH_SALT) << 32 | (uint32_t)fd;
}

/*
 * Compare the reports of epoll with the results of a call by the C library, to find closes that
 * this library has not seen.  A cold descriptor, one that epoll watches, for which the two differ
 * is checked, and registered again if it refers to another file by now.  Returns how many were
 * registered again.  fds is NULL if there are no results; then only the log of closes is read.
 * Sets `failed` if the epoll instance is gone.
 */
unsigned watch_recheck(struct watch *watch, const struct pollfd *fds, size_t count);

/* Like watch_poll, but only for the cold descriptors, those that epoll watches. */
int watch_poll_cold(struct watch *watch);

/* The registration of fd is for a file that fd no longer refers to: replace the registration. */
void watch_register_again(struct watch *watch, int fd);
/* Returns true if fd is in the array and cold: watched by epoll, and not polled by poll(2). */
bool watch_is_cold(const struct watch *watch, int fd);

#endif
