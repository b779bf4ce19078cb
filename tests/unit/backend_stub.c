/*
 * A back end that watches nothing, as a start for a new one: see
 * docs/internals/porting.md.  The tests compile it, so that it keeps up with
 * the back-end interface.
 */
#include "sys/backend.h"

#include <errno.h>

#include "base/time.h"
#include "sys/sys.h"
#include "sys/wakefd.h"

struct stub_state {
	struct xp_wakefd wake; /* immutable; any thread writes to it, without the queue's lock */
	struct xp_counters *counters;
};

static int stub_open(void *opaque, int size_hint, struct xp_counters *counters)
{
	struct stub_state *state = opaque;

	(void)size_hint;
	state->counters = counters;
	return xp_wakefd_open(&state->wake);
}

/* Called in a forked child, too, so it must touch nothing that the parent still uses. */
static void stub_close(void *opaque)
{
	struct stub_state *state = opaque;

	xp_wakefd_close(&state->wake);
}

static bool stub_owns(const void *opaque, int fd)
{
	const struct stub_state *state = opaque;

	return xp_wakefd_has(&state->wake, fd);
}

/* Watch these bits of fd; reports of fd carry this token. */
static int stub_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct stub_state *state = opaque;
	int rc = xp_sys_open_flags(fd);

	(void)watch, (void)token;
	xp_count(&state->counters->syscalls_check);
	return rc < 0 ? rc : -ENOTSUP;
}

static int stub_change(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	(void)opaque, (void)fd, (void)watch, (void)token;
	return -ENOENT;
}

static int stub_detach(void *opaque, int fd)
{
	(void)opaque, (void)fd;
	return -ENOENT;
}

/* Called without the queue's lock, unless the deadline is XP_NOW: then it must not sleep. */
static int stub_wait(void *opaque, int64_t deadline_ns, const sigset_t *mask,
                     struct xp_fired *fired, int cap)
{
	struct stub_state *state = opaque;
	struct pollfd wake = {.fd = state->wake.fd, .events = POLLIN};
	int rc;

	(void)cap;
	if (deadline_ns == XP_NOW)
		rc = xp_sys_poll_now(&wake, 1);
	else
		rc = xp_sys_poll_wait(&wake, 1, deadline_ns, mask);
	if (rc <= 0)
		return rc;
	xp_wakefd_clear(&state->wake);
	fired[0] = (struct xp_fired){.token = XP_TOKEN_WAKE};
	return 1;
}

/* Called by any thread, and in signal handlers. */
static void stub_wake(void *opaque)
{
	struct stub_state *state = opaque;

	xp_count_shared(&state->counters->syscalls_wake);
	xp_wakefd_signal(&state->wake);
}

const struct xp_backend_ops xp_backend_stub;
const struct xp_backend_ops xp_backend_stub = {
	.name = "stub",
	.caps = XP_CAP_FREE_CHANGE,
	.state_size = sizeof(struct stub_state),
	.open = stub_open,
	.close = stub_close,
	.owns = stub_owns,
	.attach = stub_attach,
	.change = stub_change,
	.detach = stub_detach,
	.wait = stub_wait,
	.wake = stub_wake,
};
