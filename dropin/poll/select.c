/*
 * select(2) and pselect(2), as the program finds them.
 */
#include "call.h"

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

/*
 * Returns true if one of the numbers is open that share the last word of a bit set
 * with this one.  A program may round the count up, as perl does.
 */
static bool is_open_nearby(int fd)
{
	enum { WORD = 8 * sizeof(long) };
	struct pollfd fds[WORD];
	int first = fd - fd % WORD;

	if (kernel_is_open(fd))
		return true;
	for (int i = 0; i < WORD; i++)
		fds[i] = (struct pollfd){.fd = first + i};
	if (real.poll(fds, WORD, 0) < 0)
		return false;
	for (int i = 0; i < WORD; i++)
		if (!(fds[i].revents & POLLNVAL))
			return true;
	return false;
}

/*
 * The kernel reads no more of a set than its table has room for, so a program that
 * says getdtablesize() need not have memory for so many.  The table, which does
 * not shrink, has room for each number that is open, in whole words.
 */
static bool select_reaches(const struct call *call, struct set *set)
{
	int count = call->sets.count;

	if (count <= FD_SETSIZE || (set && count <= set->reach))
		return true;
	if (!is_open_nearby(count - 1))
		return false;
	if (set)
		set->reach = count;
	return true;
}

/* The three lie anywhere; each is remembered by its address. */
static bool select_mapped(struct call *call, struct set *set)
{
	size_t size = bits_words(&call->sets) * sizeof(unsigned long);

	if (!select_reaches(call, set))
		return false;
	if (set && size != set->mapped_to) {
		memset(set->mapped_sets, 0, sizeof set->mapped_sets);
		set->mapped_to = size;
	}
	for (int kind = 0; kind < BITS_KINDS; kind++) {
		unsigned long *words = call->sets.words[kind];

		if (!words || (set && set->mapped_sets[kind] == (uintptr_t)words))
			continue;
		if (!kernel_writable(words, size))
			return false;
		if (set)
			set->mapped_sets[kind] = (uintptr_t)words;
	}
	call->count = bits_count(&call->sets);
	return call->count >= settings.least;
}

static bool select_resembles(const struct call *call, const struct set *set)
{
	return bits_resemble(&set->watch, &call->sets);
}

static int select_highest(const struct call *call)
{
	return bits_highest(&call->sets);
}

static int64_t select_sync(struct call *call, struct set *set)
{
	return bits_sync(&set->bits, &set->watch, &call->sets);
}

static int select_report(struct call *call, struct set *set)
{
	return bits_report(&set->bits, &set->watch, &call->sets);
}

static void select_clear(struct call *call)
{
	bits_clear(&call->sets);
}

static fd_set *set_of(const struct call *call, int kind)
{
	return (fd_set *)(void *)call->sets.words[kind];
}

/* select is done by pselect, too; select_large writes the time that is left. */
static int select_pass(struct call *call)
{
	struct timespec left;

	return real.pselect(call->sets.count, set_of(call, BITS_IN),
	                    set_of(call, BITS_OUT), set_of(call, BITS_EXCEPT),
	                    call_timeout(call, &left), call->mask);
}

static const struct call_ops select_ops = {
	.mapped = select_mapped,
	.resembles = select_resembles,
	.highest = select_highest,
	.sync = select_sync,
	.report = select_report,
	.clear = select_clear,
	.pass = select_pass,
};

static unsigned long *words_of(fd_set *set)
{
	return (unsigned long *)(void *)set;
}

static inline bool passes(int count)
{
	if (XP_UNLIKELY(settings.stats))
		stats_add(&stats.calls, 1);
	if (XP_LIKELY(count < 0 || (size_t)count < settings.least) ||
	    numbers_len == 0) {
		if (XP_UNLIKELY(settings.stats))
			stats_add(&stats.passed, 1);
		return true;
	}
	return false;
}

static int run(struct call *call, uintptr_t site)
{
	int rc;

	call->ops = &select_ops;
	/* By a jump at its end a function may call poll for the same caller. */
	call->site = ~site;
	for (int kind = BITS_KINDS - 1; kind >= 0; kind--)
		if (call->sets.words[kind])
			call->key = (uintptr_t)call->sets.words[kind];
	if (call_try(call, &rc))
		return rc;
	stats_add(&stats.passed, 1);
	return select_pass(call);
}

static int pselect_large(int count, fd_set *in, fd_set *out, fd_set *except,
                         const struct timespec *timeout, const sigset_t *mask,
                         uintptr_t site)
{
	struct call call = {
		.mask = mask,
		.deadline_ns = XP_NEVER,
		.sets = {count, {words_of(in), words_of(out), words_of(except)}},
		.timeout = timeout,
	};

	if (timeout) {
		if (!timeout_is_valid(timeout)) { /* EINVAL */
			stats_add(&stats.passed, 1);
			return real.pselect(count, in, out, except, timeout, mask);
		}
		call.deadline_ns = call_deadline(timeout_ns(timeout));
	}
	return run(&call, site);
}

static int select_large(int count, fd_set *in, fd_set *out, fd_set *except,
                        struct timeval *timeout, uintptr_t site)
{
	struct timespec copy;
	struct call call = {
		.deadline_ns = XP_NEVER,
		.sets = {count, {words_of(in), words_of(out), words_of(except)}},
	};
	int64_t left_us;
	int rc;

	if (!timeout)
		return run(&call, site);
	if (timeout->tv_sec < 0 || timeout->tv_usec < 0 || /* EINVAL */
	    __builtin_add_overflow(timeout->tv_sec, timeout->tv_usec / US_PER_SEC,
	                           &copy.tv_sec)) {
		stats_add(&stats.passed, 1);
		return real.select(count, in, out, except, timeout);
	}
	copy.tv_nsec = timeout->tv_usec % US_PER_SEC * NS_PER_US;
	call.timeout = &copy;
	call.deadline_ns = call_deadline(timeout_ns(&copy));
	rc = run(&call, site);
	/* As the kernel does, after errors too. */
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
	if (passes(count))
		return real.select(count, in, out, except, timeout);
	return select_large(count, in, out, except, timeout, CALLER);
}

EXPORT int pselect(int count, fd_set *in, fd_set *out, fd_set *except,
                   const struct timespec *timeout, const sigset_t *mask)
{
	if (passes(count))
		return real.pselect(count, in, out, except, timeout, mask);
	return pselect_large(count, in, out, except, timeout, mask, CALLER);
}
