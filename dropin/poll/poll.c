/* The exported functions poll(2) and ppoll(2). */
#include "call.h"

#include "array.h"
#include "base/compiler.h"
#include "common/time.h"
#include "export.h"
#include "numbers.h"
#include "real.h"
#include "settings.h"
#include "stats.h"

static bool poll_expand(struct call *call, struct set *set)
{
	(void)call, (void)set;
	return true;
}

static int poll_report(struct call *call, struct set *set)
{
	return array_report(&set->array, &set->watch, call->fds);
}

static void poll_clear(struct call *call)
{
	(void)call; /* array_sync has cleared all revents, and no result was stored since */
}

static int poll_pass(struct call *call)
{
	struct timespec left;

	if (call->has_timeout_ms && !call->was_asleep)
		return real.poll(call->fds, call->count, call->timeout_ms);
	return real.ppoll(call->fds, call->count, call_timeout(call, &left),
	                  call->mask);
}

static const struct pollfd *poll_results(struct call *call, struct set *set)
{
	(void)set;
	return call->fds;
}

static const struct call_ops poll_ops = {
	.expand = poll_expand,
	.report = poll_report,
	.clear = poll_clear,
	.pass = poll_pass,
	.results = poll_results,
};

/* Returns true if the call passes through to the C library: few entries, far too many, no pool. */
static inline bool passes_through(nfds_t count)
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

static inline struct call make_call(struct pollfd *fds, nfds_t count, uintptr_t site)
{
	return (struct call){
		.ops = &poll_ops,
		.site = site,
		.key = (uintptr_t)fds,
		.memory = {{(uintptr_t)fds}, count * sizeof *fds},
		.count = count,
		.polled_count = count,
		.deadline_ns = XP_NEVER,
		.fds = fds,
	};
}

static int poll_large(struct pollfd *fds, nfds_t count, int timeout_ms,
                      uintptr_t site)
{
	struct call call = make_call(fds, count, site);

	call.has_timeout_ms = true;
	call.timeout_ms = timeout_ms;
	if (timeout_ms >= 0)
		call.deadline_ns = call_deadline(timeout_ms * XP_NS_PER_MS);
	return call_run(&call);
}

static int ppoll_large(struct pollfd *fds, nfds_t count,
                       const struct timespec *timeout, const sigset_t *mask,
                       uintptr_t site)
{
	struct call call = make_call(fds, count, site);

	call.mask = mask;
	call.timeout = timeout;
	if (timeout && !timeout_is_valid(timeout)) { /* the real function fails with EINVAL */
		stats_add(&stats.passed, 1);
		return real.ppoll(fds, count, timeout, mask);
	}
	if (timeout)
		call.deadline_ns = call_deadline(timeout_ns(timeout));
	return call_run(&call);
}

/* Inline, so that a short array costs two comparisons in addition to the real call. */
static inline int any_poll(struct pollfd *fds, nfds_t count, int timeout_ms, uintptr_t site)
{
	return passes_through(count) ? real.poll(fds, count, timeout_ms)
	                     : poll_large(fds, count, timeout_ms, site);
}

static inline int any_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                            const sigset_t *mask, uintptr_t site)
{
	return passes_through(count) ? real.ppoll(fds, count, timeout, mask)
	                     : ppoll_large(fds, count, timeout, mask, site);
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	return any_poll(fds, count, timeout_ms, CALLER);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count,
                 const struct timespec *timeout, const sigset_t *mask)
{
	return any_ppoll(fds, count, timeout, mask, CALLER);
}

/*
 * Programs compiled with _FORTIFY_SOURCE call this instead of poll(2); `size` is the size of the
 * array in bytes.  If `count` entries do not fit, the C library's function ends the program.
 */
EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms,
                      size_t size)
{
	if (count > size / sizeof *fds && real.poll_chk)
		return real.poll_chk(fds, count, timeout_ms, size);
	return any_poll(fds, count, timeout_ms, CALLER);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count,
                       const struct timespec *timeout, const sigset_t *mask,
                       size_t size)
{
	if (count > size / sizeof *fds && real.ppoll_chk)
		return real.ppoll_chk(fds, count, timeout, mask, size);
	return any_ppoll(fds, count, timeout, mask, CALLER);
}
