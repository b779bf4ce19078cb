/*
 * Wrappers of the public calls that the tests make.  A public call that fails
 * because of the injected fault must have changed nothing; the wrapper checks
 * that and repeats the call, so the test sees no failure and has to pass.
 */
#include "sweep.h"

/* The value of errno before the public call, restored before the call is repeated. */
static _Thread_local int user_errno;

static void user_begin(void)
{
	user_errno = errno;
	sweep_mind();
}

/* The state of a registration, as xpoll_lookup returns it. */
struct user_state {
	int rc;
	struct xpoll_event is;
};

static struct user_state user_look(struct xpoll *queue, uint64_t ident,
                                   int filter)
{
	struct user_state state = {0};
	int saved = errno;

	sweep_pause(1);
	state.rc = xpoll_lookup(queue, ident, filter, &state.is);
	if (state.rc < 0)
		state.rc = -errno;
	sweep_pause(-1);
	errno = saved;
	return state;
}

static bool user_same(const struct user_state *a, const struct user_state *b)
{
	return a->rc == b->rc && a->is.flags == b->is.flags &&
	       a->is.fflags == b->is.fflags && a->is.udata == b->is.udata &&
	       (a->is.data == b->is.data || a->is.filter == XPOLL_FILT_TIMER);
}

static void user_compare(const char *call, const struct user_state *before,
                         struct xpoll *queue, uint64_t ident, int filter)
{
	struct user_state after = user_look(queue, ident, filter);

	/* The descriptor was closed and reused, and this call has detected that. */
	if (after.rc == -ENOENT &&
	    (sweep_unknown || sweep_may_notice(sweep_shared->test, SWEEP_GONE)))
		return;
	/*
	 * In these tests several threads change the same registrations, so a difference proves
	 * nothing.
	 */
	if (strstr(sweep_shared->test, "crowd_"))
		return;
	if (!user_same(before, &after))
		sweep_find("%s failed and changed %s of %ju: lookup %d then %d, "
		           "flags 0x%x then 0x%x, fflags 0x%x then 0x%x",
		           call, xt_filter_name(filter), (uintmax_t)ident,
		           before->rc, after.rc, before->is.flags,
		           after.is.flags, before->is.fflags, after.is.fflags);
}

/* Returns true if a public call may fail with this error of a system call. */
static bool user_error_fits(int error)
{
	int made = sweep_shared->error;

	return error == made || error == ENOMEM ||
	       sweep_may_notice(sweep_shared->test,
	                        atomic_load(&sweep_shared->failed) - 1);
}

/* Judge a call that failed at first and then succeeded. */
static void user_judge(const char *call, int error)
{
	if (!user_error_fits(error))
		sweep_find("%s failed with %s (%d) for %s (%d)", call,
		           xt_error_name(error), error,
		           xt_error_name(sweep_shared->error),
		           sweep_shared->error);
}

struct user_wait {
	struct xpoll *queue;
	const struct xpoll_event *changes;
	int nchanges;
	struct xpoll_event *events;
	int nevents;
	int64_t timeout_ns;
	const void *mask;
};

XT_WRAP(xpoll_event_mask);
XT_WRAP(xpoll_event);

static int user_event(const struct user_wait *wait)
{
	return __real_xpoll_event_mask(wait->queue, wait->changes,
	                               wait->nchanges, wait->events,
	                               wait->nevents, wait->timeout_ns,
	                               wait->mask);
}

/* Returns the errno value of the wait's only change if that has failed; else 0. */
static int user_change_error(const struct user_wait *wait, int rc)
{
	if (wait->nevents == 0)
		return rc < 0 ? errno : 0;
	if (rc > 0 && wait->events[0].flags == XPOLL_ERROR)
		return (int)wait->events[0].data;
	return 0;
}

/*
 * Repeat a wait without its change if the injected error has failed it; the change has been made
 * already.
 */
static int user_wait_again(struct user_wait *wait, int rc)
{
	if (rc >= 0 || errno != sweep_shared->error)
		return rc;
	wait->changes = NULL;
	wait->nchanges = 0;
	errno = user_errno;
	return user_event(wait);
}

static int user_change_and_wait(struct user_wait *wait)
{
	struct xpoll_event change = wait->changes[0];
	struct user_state before =
		user_look(wait->queue, change.ident, change.filter);
	int error;
	int rc;

	user_begin();
	rc = user_event(wait);
	if (!sweep_minded())
		return rc;
	error = user_change_error(wait, rc);
	if (!error)
		return user_wait_again(wait, rc);
	user_compare("a change", &before, wait->queue, change.ident,
	             change.filter);
	wait->changes = &change;
	errno = user_errno;
	rc = user_event(wait);
	if (!user_change_error(wait, rc))
		user_judge("a change", error);
	return rc;
}

int __wrap_xpoll_event_mask(struct xpoll *queue,
                            const struct xpoll_event *changes, int nchanges,
                            struct xpoll_event *events, int nevents,
                            int64_t timeout_ns, const void *mask)
{
	struct user_wait wait = {queue,   changes,    nchanges, events,
	                         nevents, timeout_ns, mask};
	int rc;

	if (queue && changes && nchanges == 1 && nevents >= 0)
		return user_change_and_wait(&wait);
	user_begin();
	rc = user_event(&wait);
	/* If a wait fails to watch a new child, it reports NOTE_TRACKERR. */
	if (sweep_minded() && (strstr(sweep_shared->file, "/trace") ||
	                       strstr(sweep_shared->file, "/proc_reuse")))
		sweep_lax();
	if (sweep_minded() && nchanges > 0)
		sweep_lax(); /* more than one change: which of them failed is unknown */
	else if (sweep_minded() && nevents > 0)
		rc = user_wait_again(&wait, rc);
	return rc;
}

int __wrap_xpoll_event(struct xpoll *queue, const struct xpoll_event *changes,
                       int nchanges, struct xpoll_event *events, int nevents,
                       int64_t timeout_ns)
{
	return __wrap_xpoll_event_mask(queue, changes, nchanges, events, nevents,
	                               timeout_ns, NULL);
}

XT_WRAP(xpoll_wait);
int __wrap_xpoll_wait(struct xpoll *queue, int timeout_ms)
{
	int rc;

	user_begin();
	rc = __real_xpoll_wait(queue, timeout_ms);
	if (rc >= 0 || !sweep_minded() || errno != sweep_shared->error)
		return rc;
	errno = user_errno;
	return __real_xpoll_wait(queue, timeout_ms);
}

XT_WRAP(xpoll_pwait);
int __wrap_xpoll_pwait(struct xpoll *queue, struct xpoll_ready *ready, int nready,
                       int64_t timeout_ns, const void *mask)
{
	int rc;

	user_begin();
	rc = __real_xpoll_pwait(queue, ready, nready, timeout_ns, mask);
	if (rc >= 0 || !sweep_minded() || errno != sweep_shared->error)
		return rc;
	errno = user_errno;
	return __real_xpoll_pwait(queue, ready, nready, timeout_ns, mask);
}

XT_WRAP(xpoll_ctl);
int __wrap_xpoll_ctl(struct xpoll *queue, int op, int events, int fd,
                     void *data)
{
	static const int filters[] = {READ, WRITE, EXCEPT};
	struct user_state before[3];
	int error;
	int rc;

	for (int i = 0; i < 3; i++)
		before[i] = user_look(queue, (uint64_t)fd, filters[i]);
	user_begin();
	rc = __real_xpoll_ctl(queue, op, events, fd, data);
	if (rc >= 0 || !sweep_minded())
		return rc;
	error = errno;
	for (int i = 0; i < 3; i++)
		user_compare("xpoll_ctl", &before[i], queue, (uint64_t)fd,
		             filters[i]);
	errno = user_errno;
	rc = __real_xpoll_ctl(queue, op, events, fd, data);
	if (rc >= 0)
		user_judge("xpoll_ctl", error);
	return rc;
}

/* Defines the wrapper of a function that fails with -1 and can be repeated. */
#define AGAIN(name, parameters, arguments)                    \
	int __real_##name parameters;                         \
	int __wrap_##name parameters;                         \
	int __wrap_##name parameters                          \
	{                                                     \
		int error;                                    \
		int rc;                                       \
                                                              \
		sweep_mind();                                 \
		rc = __real_##name arguments;                 \
		error = errno;                                \
		if (rc < 0 && sweep_minded()) {               \
			errno = user_errno;                   \
			rc = __real_##name arguments;         \
			if (rc >= 0)                          \
				user_judge(#name, error);     \
		}                                             \
		return rc;                                    \
	}

AGAIN(xpoll_fd, (struct xpoll * queue), (queue))
AGAIN(xpoll_aio_submit, (struct xpoll * queue, struct xpoll_aio *aio),
      (queue, aio))
AGAIN(xpoll_aio_cancel, (struct xpoll * queue, struct xpoll_aio *aio),
      (queue, aio))

/* Until xpoll_reinit succeeds, the queue belongs to the parent process (S26). */
XT_WRAP(xpoll_reinit);
int __wrap_xpoll_reinit(struct xpoll *queue)
{
	struct xpoll_event event;
	int error;
	int rc;

	user_begin();
	rc = __real_xpoll_reinit(queue);
	if (rc >= 0 || !sweep_minded())
		return rc;
	error = errno;
	if (__real_xpoll_event_mask(queue, NULL, 0, &event, 1, 0, NULL) >= 0 || errno != EBADF)
		sweep_find("xpoll_reinit failed, and the queue can be waited for");
	errno = user_errno;
	rc = __real_xpoll_reinit(queue);
	if (rc >= 0)
		user_judge("xpoll_reinit", error);
	return rc;
}

XT_WRAP(xpoll_open);
struct xpoll *__wrap_xpoll_open(const struct xpoll_options *options)
{
	struct xpoll *queue;
	int error;

	user_begin();
	queue = __real_xpoll_open(options);
	error = errno;
	if (!queue && sweep_minded()) {
		errno = user_errno;
		queue = __real_xpoll_open(options);
		if (queue)
			user_judge("xpoll_open", error);
	}
	return queue;
}

XT_WRAP(xpoll_create);
struct xpoll *__wrap_xpoll_create(int size_hint)
{
	struct xpoll *queue;

	user_begin();
	queue = __real_xpoll_create(size_hint);
	if (queue || !sweep_minded())
		return queue;
	errno = user_errno;
	return __real_xpoll_create(size_hint);
}

/* A back end that does not work because of the fault may work in the repeated call. */
XT_WRAP(xpoll_backends);
int __wrap_xpoll_backends(const char **names, int cap)
{
	int count;

	user_begin();
	count = __real_xpoll_backends(names, cap);
	return sweep_minded() ? __real_xpoll_backends(names, cap) : count;
}

XT_WRAP(xpoll_supports);
int __wrap_xpoll_supports(const struct xpoll *queue, int filter,
                          uint32_t fflags)
{
	int rc;

	user_begin();
	rc = __real_xpoll_supports(queue, filter, fflags);
	return sweep_minded() ? __real_xpoll_supports(queue, filter, fflags) : rc;
}

/* The descriptor is closed even if close(2) returns an error, so the call is not repeated. */
XT_WRAP(xpoll_close_fd);
int __wrap_xpoll_close_fd(int fd)
{
	int rc;

	user_begin();
	rc = __real_xpoll_close_fd(fd);
	if (rc >= 0 || !sweep_minded() || errno != sweep_shared->error)
		return rc;
	errno = user_errno;
	return 0;
}
