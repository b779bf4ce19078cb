/* Lists the back ends of this build, tests whether they work here, and chooses one for a queue. */
#include "core/backends.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/result.h"
#include "sys/sys.h"
#include "sys/system.h"

/*
 * Returns true if the kernel supports the back end.  The test opens the back end, because version
 * numbers are no proof.
 */
static bool usable(const struct xp_backend_ops *ops)
{
	struct xp_counters counters = {0};
	void *state = xp_alloc(ops->state_size);
	int rc = state ? ops->open(state, 0, &counters) : -ENOMEM;

	if (rc == 0)
		ops->close(state);
	xp_free(state);
	/*
	 * A lack of descriptors or memory proves nothing about the kernel, so that back end is
	 * usable.
	 */
	return rc != -ENOSYS && rc != -EPERM && rc != -EACCES && rc != -EINVAL && rc != -ENOTSUP;
}

/* All flags of xpoll_open: XPOLL_RESTART is the highest one. */
enum { OPEN_FLAGS = 2 * XPOLL_RESTART - 1 };

int xp_options_take(const struct xpoll_options *options, struct xpoll_options *taken)
{
	const unsigned char *bytes = (const unsigned char *)options;

	if (!options)
		return 0;
	if (options->size < offsetof(struct xpoll_options, size_hint) + sizeof options->size_hint)
		return -EINVAL;
	/* Refuse options of a newer program that this library does not know, unless they are 0. */
	for (size_t i = sizeof *options; i < options->size; i++)
		if (bytes[i])
			return -E2BIG;
	memcpy(taken, options, options->size < sizeof *taken ? options->size : sizeof *taken);
	if (taken->flags & ~(uint32_t)OPEN_FLAGS || taken->size_hint < 0)
		return -EINVAL;
	return taken->busy_poll_us > INT32_MAX || taken->reserved ? -EINVAL : 0;
}

int xp_backend_open(const struct xp_backend_ops *ops, void *state,
                    const struct xpoll_options *options, struct xp_counters *counters)
{
	int rc = ops->open(state, options->size_hint, counters);

	XP_ASSERT(ops->fired_most <= XP_FIRED_ALONE && !ops->has_pending == !ops->flush);
	if (rc < 0 || options->busy_poll_us == 0)
		return rc;
	rc = ops->busy_poll ? ops->busy_poll(state, options->busy_poll_us) : -ENOTSUP;
	if (rc < 0)
		ops->close(state);
	return rc;
}

int xp_backend_find(const char *name, const struct xp_backend_ops **ops)
{
	if (!name) {
		name = xp_sys_getenv("XPOLL_BACKEND");
		if (name && !*name)
			name = NULL;
	}
	for (size_t i = 0; xp_system.backends[i]; i++) {
		if (name && strcmp(name, xp_system.backends[i]->name) != 0)
			continue;
		if (!usable(xp_system.backends[i]))
			continue;
		*ops = xp_system.backends[i];
		return 0;
	}
	return -ENOTSUP;
}

int xpoll_backends(const char **names, int cap)
{
	int count = 0;

	if (cap < 0 || (cap > 0 && !names))
		return xp_result(-EINVAL);
	for (size_t i = 0; xp_system.backends[i]; i++) {
		if (!usable(xp_system.backends[i]))
			continue;
		if (count < cap)
			names[count] = xp_system.backends[i]->name;
		count++;
	}
	return count;
}
