/*
 * The exported functions select(2) and pselect(2).  A call with a set (pool.h) is made as a poll of
 * an array of struct pollfd.  Here "bit sets" are the program's three fd_sets.
 */
#include "call.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "common/time.h"
#include "export.h"
#include "numbers.h"
#include "real.h"
#include "settings.h"
#include "stats.h"

#define US_PER_SEC 1000000LL
#define NS_PER_US  1000LL

#define WORD_BITS (8 * (int)sizeof(unsigned long))

/* The bits of poll(2) that make a descriptor ready in each of the three bit sets. */
static const short meaning[BITS_KINDS] = {
	[BITS_IN] = POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR,
	[BITS_OUT] = POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR,
	[BITS_EXCEPT] = POLLPRI,
};

/* --- The program's bit sets ------------------------------------------------------------ */

/* Returns the number of words of each bit set. */
static size_t words_in(const struct call *call)
{
	return ((size_t)call->bit_sets.nfds + (size_t)WORD_BITS - 1) / (size_t)WORD_BITS;
}

/*
 * The bit sets of a select as an array with an entry for each descriptor, so that an entry keeps
 * its index when the bit sets change.
 */
struct selected {
	/* copies of the bit sets that `fds` was made from */
	unsigned long words[FD_SETSIZE / (8 * sizeof(unsigned long))][BITS_KINDS];
	struct pollfd fds[FD_SETSIZE]; /* indexed by descriptor; fd is -1 in unused entries */
	struct pollfd results[FD_SETSIZE]; /* the C library's results: see select_results */
};

/*
 * Copy the word at index `at` of each of the program's bit sets, with bits at or above bits->nfds
 * cleared.  Returns the union of the three words.
 */
static unsigned long words_at(const struct bits *bits, int at, unsigned long words[BITS_KINDS])
{
	int left = bits->nfds - at * WORD_BITS;
	unsigned long mask = left < WORD_BITS ? (1UL << left) - 1 : ~0UL;
	unsigned long any = 0;

	for (int kind = 0; kind < BITS_KINDS; kind++) {
		words[kind] = bits->words[kind] ? bits->words[kind][at] & mask : 0;
		any |= words[kind];
	}
	return any;
}

/*
 * Make the poll(2) entries of the descriptors whose bits are in the word at index `at`.  Only those
 * with a bit in `any` are made: they are in a bit set now, or were when entries were last made.
 */
static void word_expand(struct selected *selected, int at, unsigned long any)
{
	for (; any != 0; any &= any - 1) {
		int bit = __builtin_ctzl(any);
		int fd = at * WORD_BITS + bit;
		short events = 0;
		bool named = false;

		for (int kind = 0; kind < BITS_KINDS; kind++)
			if (selected->words[at][kind] >> bit & 1) {
				events |= meaning[kind];
				named = true;
			}
		selected->fds[fd].fd = named ? fd : -1;
		selected->fds[fd].events = (short)(events & ~WATCH_ALWAYS);
	}
}

static bool select_expand(struct call *call, struct set *set)
{
	struct selected *selected;
	unsigned long now[BITS_KINDS];

	if (!memory_reserve(&set->selected, sizeof *selected))
		return false;
	selected = set->selected.base;
	for (int fd = 0; fd < FD_SETSIZE && set->array.len == 0; fd++)
		selected->fds[fd] = (struct pollfd){.fd = -1};
	call->fds = selected->fds;
	call->polled_count = 0;
	for (int at = 0; at * WORD_BITS < call->bit_sets.nfds; at++) {
		unsigned long *words = selected->words[at];
		unsigned long any = words_at(&call->bit_sets, at, now);

		call->polled_count += (size_t)__builtin_popcountl(any);
		if (set->array.len > 0 && memcmp(words, now, sizeof now) == 0)
			continue;
		any |= words[BITS_IN] | words[BITS_OUT] | words[BITS_EXCEPT];
		memcpy(words, now, sizeof now);
		word_expand(selected, at, any);
	}
	return call->polled_count >= settings.least;
}

static const struct pollfd *select_results(struct call *call, struct set *set)
{
	struct selected *selected = set->selected.base;
	unsigned long now[BITS_KINDS];
	unsigned long any = 0;

	if (!selected)
		return NULL;
	for (int fd = 0; fd < call->bit_sets.nfds; fd++, any >>= 1) {
		if (fd % WORD_BITS == 0)
			any = words_at(&call->bit_sets, fd / WORD_BITS, now);
		selected->results[fd] = (struct pollfd){fd, 0, any & 1};
	}
	return selected->results;
}

static void select_clear(struct call *call)
{
	size_t size = words_in(call) * sizeof(unsigned long);

	for (int kind = 0; kind < BITS_KINDS; kind++)
		if (call->bit_sets.words[kind])
			memset(call->bit_sets.words[kind], 0, size);
}

/* Returns in which of the program's bit sets a descriptor is ready: bits 1 << BITS_IN and so on. */
static short kinds_of(const struct bits *bits, const struct pollfd *entry)
{
	unsigned kinds = 0;

	for (int kind = 0; kind < BITS_KINDS; kind++)
		if ((entry->revents & meaning[kind]) != 0 && bits->words[kind] &&
		    (bits->words[kind][entry->fd / WORD_BITS] >> entry->fd % WORD_BITS & 1))
			kinds |= 1u << kind;
	return (short)kinds;
}

/*
 * Store the results of the last poll in the program's bit sets; without a ready descriptor the bit
 * sets stay unchanged.  Returns the number of bits set, 0, or -EBADF.
 */
static int select_report(struct call *call, struct set *set)
{
	struct array *array = &set->array;
	int len = array_report(array, &set->watch, call->fds);
	int count = 0;

	for (int i = 0; i < len; i++) {
		struct pollfd *entry = &call->fds[array->reported[i]];

		if (entry->revents & POLLNVAL)
			return -EBADF;
		entry->revents = kinds_of(&call->bit_sets, entry);
		count += __builtin_popcount((unsigned)entry->revents);
	}
	if (count == 0)
		return 0;
	select_clear(call);
	for (int i = 0; i < len; i++) {
		const struct pollfd *entry = &call->fds[array->reported[i]];

		for (int kind = 0; kind < BITS_KINDS; kind++)
			if (entry->revents >> kind & 1)
				call->bit_sets.words[kind][entry->fd / WORD_BITS] |=
					1UL << entry->fd % WORD_BITS;
	}
	return count;
}

static fd_set *fd_set_of_kind(const struct call *call, int kind)
{
	return (fd_set *)(void *)call->bit_sets.words[kind];
}

/*
 * Make the real call by pselect(2), also for select(2), whose timeout the kernel would change: for
 * select(2), select_large stores the time that is left in the program's timeout.
 */
static int select_pass(struct call *call)
{
	struct timespec left;

	return real.pselect(call->bit_sets.nfds, fd_set_of_kind(call, BITS_IN),
	                    fd_set_of_kind(call, BITS_OUT), fd_set_of_kind(call, BITS_EXCEPT),
	                    call_timeout(call, &left), call->mask);
}

static const struct call_ops select_ops = {
	.expand = select_expand,
	.report = select_report,
	.clear = select_clear,
	.pass = select_pass,
	.results = select_results,
};

static unsigned long *words_of(fd_set *set)
{
	return (unsigned long *)(void *)set;
}

/*
 * Returns true if a call with this count passes through to the C library: the count is too small
 * for a set, or above FD_SETSIZE, or there is no pool.  Above FD_SETSIZE the bit sets may be
 * smaller than the count says: the kernel reads them only up to the size of its table of
 * descriptors, so a program may pass getdtablesize() as the count.
 */
static inline bool passes_through(int count)
{
	if (XP_UNLIKELY(settings.stats))
		stats_add(&stats.calls, 1);
	if (XP_LIKELY(count < 0 || (size_t)count < settings.least) ||
	    count > FD_SETSIZE || numbers_len == 0) {
		if (XP_UNLIKELY(settings.stats))
			stats_add(&stats.passed, 1);
		return true;
	}
	return false;
}

static int run_select(struct call *call, uintptr_t site)
{
	call->ops = &select_ops;
	/*
	 * The return address identifies a call site.  Inverted, it differs from that of a poll(2)
	 * with the same return address: poll and select in tail position return to the same caller.
	 */
	call->site = ~site;
	call->count = (size_t)call->bit_sets.nfds;
	call->memory.size = words_in(call) * sizeof(unsigned long);
	for (int kind = BITS_KINDS - 1; kind >= 0; kind--) {
		call->memory.at[kind] = (uintptr_t)call->bit_sets.words[kind];
		if (call->bit_sets.words[kind])
			call->key = call->memory.at[kind];
	}
	return call_run(call);
}

static int pselect_large(int count, fd_set *in, fd_set *out, fd_set *except,
                         const struct timespec *timeout, const sigset_t *mask,
                         uintptr_t site)
{
	struct call call = {
		.mask = mask,
		.deadline_ns = XP_NEVER,
		.bit_sets = {count, {words_of(in), words_of(out), words_of(except)}},
		.timeout = timeout,
	};

	if (timeout) {
		if (!timeout_is_valid(timeout)) { /* the real function fails with EINVAL */
			stats_add(&stats.passed, 1);
			return real.pselect(count, in, out, except, timeout, mask);
		}
		call.deadline_ns = call_deadline(timeout_ns(timeout));
	}
	return run_select(&call, site);
}

static int select_large(int count, fd_set *in, fd_set *out, fd_set *except,
                        struct timeval *timeout, uintptr_t site)
{
	struct timespec copy;
	struct call call = {
		.deadline_ns = XP_NEVER,
		.bit_sets = {count, {words_of(in), words_of(out), words_of(except)}},
	};
	int64_t left_us;
	int rc;

	if (!timeout)
		return run_select(&call, site);
	/* the C library's function fails with EINVAL */
	if (timeout->tv_sec < 0 || timeout->tv_usec < 0 ||
	    __builtin_add_overflow(timeout->tv_sec, timeout->tv_usec / US_PER_SEC,
	                           &copy.tv_sec)) {
		stats_add(&stats.passed, 1);
		return real.select(count, in, out, except, timeout);
	}
	copy.tv_nsec = timeout->tv_usec % US_PER_SEC * NS_PER_US;
	call.timeout = &copy;
	call.deadline_ns = call_deadline(timeout_ns(&copy));
	rc = run_select(&call, site);
	/* Store the time left in the program's timeout, even after errors, like the kernel. */
	if (call.deadline_ns != XP_NEVER) {
		left_us = call_left_ns(&call) / NS_PER_US;
		timeout->tv_sec = (time_t)(left_us / US_PER_SEC);
		timeout->tv_usec = (suseconds_t)(left_us % US_PER_SEC);
	}
	return rc;
}

EXPORT int select(int count, fd_set *in, fd_set *out, fd_set *except,
                  struct timeval *timeout)
{
	if (passes_through(count))
		return real.select(count, in, out, except, timeout);
	return select_large(count, in, out, except, timeout, CALLER);
}

EXPORT int pselect(int count, fd_set *in, fd_set *out, fd_set *except,
                   const struct timespec *timeout, const sigset_t *mask)
{
	if (passes_through(count))
		return real.pselect(count, in, out, except, timeout, mask);
	return pselect_large(count, in, out, except, timeout, mask, CALLER);
}
