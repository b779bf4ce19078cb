/*
 * The descriptors of one array: some are registered in an epoll instance, and some are polled.
 *
 *   cold   registered in the epoll instance, level-triggered
 *   hot    polled by poll(2), together with the epoll instance
 *
 * A registration stays unchanged as long as the kernel does not report bits that are not
 * requested.  So bits that were requested before cost no system call when they are requested again.
 *
 * Both report exactly the bits of poll(2), because level-triggered epoll polls the file each time
 * it reports it.  Files that are ready without a wake-up by the kernel, or whose readiness a poll
 * consumes, are always hot ("direct").  Also hot is a descriptor that cannot be registered because
 * another thread is closing it, or because it is not open.
 *
 * Only one thread at a time may call these functions; none of them blocks.
 */
#ifndef DROPIN_WATCH_H
#define DROPIN_WATCH_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel.h"

#define WATCH_HOT_MOST  64
#define WATCH_SLEEP_LEN (WATCH_HOT_MOST + 1)

/* The bits that poll(2) reports whether they are requested or not. */
#define WATCH_ALWAYS (POLLERR | POLLHUP | POLLNVAL)

struct watch_slot {
	int32_t first;       /* for array.c: index of its first entry in the array, or -1 */
	uint32_t generation; /* number of the registration, part of its token */
	uint16_t wanted;     /* the POLL* bits that its entries in the array request */
	uint16_t armed;      /* the POLL* bits of its registration */
	uint8_t flags;
	uint8_t hot_at;      /* its index in `hot` */
	uint16_t found;      /* for watch_compare: the bits that epoll reported */
};

struct watch_ready {
	int fd;
	uint32_t bits;
};

struct watch {
	/* number of the set, whose bit in the table of descriptors it uses */
	int set;
	_Atomic int epoll_fd;  /* also read by threads that close descriptors */

	struct memory slots_memory;
	struct watch_slot *slots; /* indexed by descriptor */
	size_t slots_len;
	size_t armed_len;

	int hot[WATCH_HOT_MOST];
	int hot_len;
	uint32_t calls;
	uint64_t log_at; /* position up to which the log of closes was read */

	struct memory events_memory;
	struct memory ready_memory;
	struct watch_ready *ready; /* results of the last poll */
	size_t ready_len;

	unsigned syscalls; /* system calls of this call, and of closes before it */
	/* other threads sleep on the instance, and this is the only poll of the call */
	bool shared;
	bool checked; /* kernel_is_instance was called in this call */
	bool failed; /* the set must be given up */
};

/* Returns 0; or a negative errno value, with nothing left open. */
int watch_init(struct watch *watch, int set);
/* Forget all registrations.  Returns the epoll descriptor, which the caller closes. */
int watch_fini(struct watch *watch);

/*
 * Returns the slot of a descriptor; NULL: no memory, or the descriptor exceeds the table of
 * descriptors.  A new slot may move all others.
 */
struct watch_slot *watch_slot_of(struct watch *watch, int fd);

/*
 * Request these bits of fd, which has a slot.  Sets `failed` if there are too many hot descriptors;
 * then, or after an error of a function below, only watch_fini may be called.
 */
void watch_want(struct watch *watch, int fd, uint16_t bits);
void watch_unwant(struct watch *watch, int fd);

/* Reads the log of closes.  Returns true if it has new entries. */
bool watch_read_closes(struct watch *watch);

/* Call at the start of a call: reads the log, and tries to register one of the hot descriptors. */
void watch_begin(struct watch *watch);

/*
 * Polls all descriptors and stores the results in `ready`, without waiting.  Returns 0, or -EBADF
 * if there is no memory or the program has closed our instance.
 */
int watch_poll(struct watch *watch);

/*
 * To wait, fill `sleep` with the entries that a real poll(2) has to wait for; returns their
 * number.  After that poll(2) pass them to watch_take, which stores the results like watch_poll.
 * In between other threads may use the watch.
 */
int watch_sleepers(const struct watch *watch, struct pollfd *sleep);
int watch_take(struct watch *watch, const struct pollfd *sleep, int len);

/*
 * The token that the kernel returns with a report of the registration.  The salt distinguishes it
 * from tokens of the program, which mostly are just a descriptor or an address.
 */
#define WATCH_SALT 0xa75e7f0bu

static inline uint64_t watch_token(int fd, const struct watch_slot *slot)
{
	return (uint64_t)(slot->generation ^ WATCH_SALT) << 32 | (uint32_t)fd;
}

/*
 * Compares the reports of epoll with the results of a real call, to find closes that were not
 * noticed.  A cold descriptor for which they differ is checked, and registered again if it refers
 * to another file.  Returns the number of such files.
 */
unsigned watch_compare(struct watch *watch, const struct pollfd *fds, size_t count);

/* Like watch_poll, but for the cold descriptors only. */
int watch_collect(struct watch *watch);

/* Replace the registration of a cold descriptor, because it is for another file. */
void watch_suspect(struct watch *watch, int fd);
bool watch_is_cold(const struct watch *watch, int fd);

#endif
