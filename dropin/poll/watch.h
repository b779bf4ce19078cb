/*
 * The descriptors of one array: which of them the kernel watches for us, and
 * which we look at ourselves.
 *
 *   cold   in the epoll instance, level-triggered: the kernel reports by itself
 *   hot    looked at with poll(2), together with the epoll instance
 *
 * A registration is left alone as long as the kernel does not report what nobody wants.  So
 * interest that was registered once, with others, costs no system call when it comes back.
 *
 * Both answer with the very bits of poll(2): level-triggered epoll asks the
 * file again each time it reports it.  Files whose answer changes without the
 * kernel's report, or by looking, are hot ("direct"), and so is what cannot be registered
 * because another thread is closing it, or because it is not open.
 *
 * One thread at a time may be in here; nothing blocks.
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
	int32_t first;       /* of array.c: the first place of the number, or -1 */
	uint32_t generation; /* of the registration; in its token */
	uint16_t wanted;     /* the POLL* bits that all its places request */
	uint16_t armed;      /* the bits the kernel watches for */
	uint8_t flags;
	uint8_t hot_at;      /* its place among the hot ones */
	uint16_t found;      /* for watch_compare: the bits that epoll reports */
};

struct watch_ready {
	int fd;
	uint32_t bits;
};

struct watch {
	int set;               /* the bit of its owner in the table of numbers */
	_Atomic int epoll_fd;  /* read by closing threads, too */

	struct memory slots_memory;
	struct watch_slot *slots; /* by number */
	size_t slots_len;
	size_t armed_len;

	int hot[WATCH_HOT_MOST];
	int hot_len;
	uint32_t calls;
	uint64_t log_at; /* what it has read of the log of closes */

	struct memory events_memory;
	struct memory ready_memory;
	struct watch_ready *ready; /* what the last look found */
	size_t ready_len;

	unsigned syscalls; /* of this call, and of closes before it */
	bool shared;  /* others sleep on the instance, and this look is final */
	bool checked; /* kernel_is_instance was asked in this call */
	bool failed; /* the set cannot be used any more */
};

/* 0, or a negative errno and nothing is left open. */
int watch_init(struct watch *watch, int set);
/* Forget all registrations.  Returns the epoll descriptor, to be closed. */
int watch_fini(struct watch *watch);

/*
 * The slot of a number, for `first`; NULL: no memory, or the number is too
 * large for the table of numbers.  The slots move when a new one is made.
 */
struct watch_slot *watch_slot_of(struct watch *watch, int fd);

/*
 * Request these bits of fd, which has a slot, from now on.  `failed` is set if there are too
 * many hot descriptors; then, or after an error below, only watch_fini may be called.
 */
void watch_want(struct watch *watch, int fd, uint16_t bits);
void watch_unwant(struct watch *watch, int fd);

/* Reads the log of closes.  Returns true if it has new entries. */
bool watch_read_closes(struct watch *watch);

/* At the start of a call: the same, and try to register one of the hot ones. */
void watch_begin(struct watch *watch);

/*
 * Fills in `ready` without waiting.  Returns 0, or -EBADF if there is no memory, or if a bare
 * system call has closed our instance.
 */
int watch_poll(struct watch *watch);

/*
 * To wait: fill `sleep` with what a real poll(2) has to wait for, and return
 * its length; afterwards give it back to watch_take, which does what watch_poll
 * does.  Meanwhile others may have been in here.
 */
int watch_sleepers(const struct watch *watch, struct pollfd *sleep);
int watch_take(struct watch *watch, const struct pollfd *sleep, int len);

/*
 * The token that the kernel returns with a report of the registration.  The salt distinguishes it
 * from those of the program, which mostly are the number alone, or an address.
 */
#define WATCH_SALT 0xa75e7f0bu

static inline uint64_t watch_token(int fd, const struct watch_slot *slot)
{
	return (uint64_t)(slot->generation ^ WATCH_SALT) << 32 | (uint32_t)fd;
}

/*
 * Compares what epoll reports with what a real call has found: for closes that nobody
 * noticed.  A cold descriptor of which the two differ is trusted no longer if it is another
 * file than was registered.  Returns how many those were.
 */
unsigned watch_compare(struct watch *watch, const struct pollfd *fds, size_t count);

/* The same as watch_poll, without the hot ones. */
int watch_collect(struct watch *watch);

/* The registration of a cold descriptor is of another file. */
void watch_suspect(struct watch *watch, int fd);
bool watch_is_cold(const struct watch *watch, int fd);

#endif
