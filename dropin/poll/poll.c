/*
 * poll(2) and ppoll(2), as the program finds them.
 */
#include "call.h"

#include <limits.h>

#include "array.h"
#include "base/compiler.h"
#include "common/time.h"
#include "export.h"
#include "numbers.h"
#include "os/sys.h"
#include "real.h"
#include "settings.h"
#include "stats.h"

static bool poll_mapped(struct call *call, struct set *set)
{
	uintptr_t from = (uintptr_t)call->fds;
	uintptr_t to = from + call->count * sizeof *call->fds;

	if (XP_LIKELY(set && from >= set->mapped_from && to <= set->mapped_to &&
	              call->count <= set->most))
		return true;
	/* More entries than descriptors allowed is EINVAL. */
	if (to < from || call->count > kernel_descriptor_limit() ||
	    !kernel_writable(call->fds, to - from))
		return false;
	if (set) {
		set->mapped_from = from;
		set->mapped_to = (to + 4095) & ~(uintptr_t)4095; /* It may grow there. */
		set->most = call->count;
	}
	return true;
}

static bool poll_resembles(const struct call *call, const struct set *set)
{
	return array_resembles(&set->watch, call->fds, call->count);
}

/* Numbers that are not open, or are garbage, do not count; a few are looked at. */
static int poll_highest(const struct call *call)
{
	int below = INT_MAX;

	for (int tries = 0; tries < 4; tries++) {
		int highest = 0;

		for (size_t i = 0; i < call->count; i++)
			if (call->fds[i].fd > highest && call->fds[i].fd < below)
				highest = call->fds[i].fd;
		if (highest == 0 || kernel_is_open(highest))
			return highest;
		below = highest;
	}
	return 0;
}

static int64_t poll_sync(struct call *call, struct set *set)
{
	return array_sync(&set->array, &set->watch, call->fds, call->count);
}

static int poll_report(struct call *call, struct set *set)
{
	return array_report(&set->array, &set->watch, call->fds);
}

static void poll_clear(struct call *call)
{
	(void)call; /* poll_sync has done it, and nothing was handed out since. */
}

static int poll_pass(struct call *call)
{
	struct timespec left;

	if (call->is_poll && !call->was_asleep)
		return real.poll(call->fds, call->count, call->timeout_ms);
	return real.ppoll(call->fds, call->count, call_timeout(call, &left),
	                  call->mask);
}

static const struct call_ops poll_ops = {
	.mapped = poll_mapped,
	.resembles = poll_resembles,
	.highest = poll_highest,
	.sync = poll_sync,
	.report = poll_report,
	.clear = poll_clear,
	.pass = poll_pass,
};

static inline bool passes(nfds_t count)
{
	if (XP_UNLIKELY(settings.stats))
		stats_add(&stats.calls, 1);
	if (XP_LIKELY(count < settings.least) || numbers_len == 0 ||
	    count > INT32_MAX) {
		if (XP_UNLIKELY(settings.stats))
			stats_add(&stats.passed, 1);
		return true;
	}
	return false;
}

static int poll_large(struct pollfd *fds, nfds_t count, int timeout_ms,
                      uintptr_t site)
{
	struct call call = {
		.ops = &poll_ops,
		.site = site,
		.key = (uintptr_t)fds,
		.count = count,
		.deadline_ns = timeout_ms < 0
			? XP_NEVER
			: call_deadline(timeout_ms * XP_NS_PER_MS),
		.is_poll = true,
		.fds = fds,
		.timeout_ms = timeout_ms,
	};
	int rc;

	if (call_try(&call, &rc))
		return rc;
	stats_add(&stats.passed, 1);
	return real.poll(fds, count, timeout_ms);
}

static int ppoll_large(struct pollfd *fds, nfds_t count,
                       const struct timespec *timeout, const sigset_t *mask,
                       uintptr_t site)
{
	struct call call = {
		.ops = &poll_ops,
		.site = site,
		.key = (uintptr_t)fds,
		.count = count,
		.mask = mask,
		.deadline_ns = XP_NEVER,
		.fds = fds,
		.timeout = timeout,
	};
	int rc;

	if (timeout) {
		if (!timeout_is_valid(timeout)) { /* EINVAL */
			stats_add(&stats.passed, 1);
			return real.ppoll(fds, count, timeout, mask);
		}
		call.deadline_ns = call_deadline(timeout_ns(timeout));
	}
	if (call_try(&call, &rc))
		return rc;
	stats_add(&stats.passed, 1);
	return real.ppoll(fds, count, timeout, mask);
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	if (passes(count))
		return real.poll(fds, count, timeout_ms);
	return poll_large(fds, count, timeout_ms, CALLER);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count,
                 const struct timespec *timeout, const sigset_t *mask)
{
	if (passes(count))
		return real.ppoll(fds, count, timeout, mask);
	return ppoll_large(fds, count, timeout, mask, CALLER);
}

/* What programs call that are compiled with _FORTIFY_SOURCE. */
EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms,
                      size_t size)
{
	/* An overflow ends the program, and that is the C library's to do. */
	if (count > size / sizeof *fds && real.poll_chk)
		return real.poll_chk(fds, count, timeout_ms, size);
	if (passes(count))
		return real.poll(fds, count, timeout_ms);
	return poll_large(fds, count, timeout_ms, CALLER);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count,
                       const struct timespec *timeout, const sigset_t *mask,
                       size_t size)
{
	if (count > size / sizeof *fds && real.ppoll_chk)
		return real.ppoll_chk(fds, count, timeout, mask, size);
	if (passes(count))
		return real.ppoll(fds, count, timeout, mask);
	return ppoll_large(fds, count, timeout, mask, CALLER);
}
