/*
 * Objects that are signalled: the sources' own, such as processes and wake-up descriptors,
 * and the input of a console.
 *
 * A thread of the system waits for them, for many at a time, and sends a packet.
 * Like a poll of a socket such a wait answers once; the next wait of the queue
 * begins it again.
 */
#include "backend/afd_state.h"

#include <errno.h>
#include <poll.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "os/fdnum.h"

struct afd_object {
	struct xp_regmap_item item; /* ident: the number */
	struct xp_list lapsed;      /* in `lapsed`: nobody waits for it */
	PTP_WAIT wait;
	/* Our own: the source may close its one while the wait goes on. */
	HANDLE handle;
	HANDLE port;
	uint64_t token;
	bool wanted;
};

/* On a thread of the system, without any lock. */
static VOID CALLBACK object_signalled(PTP_CALLBACK_INSTANCE instance,
                                      void *opaque, PTP_WAIT wait,
                                      TP_WAIT_RESULT result)
{
	const struct afd_object *object = opaque;

	(void)instance, (void)wait, (void)result;
	PostQueuedCompletionStatus(object->port, 0,
	                           (ULONG_PTR)object->item.ident << AFD_KEY_BITS |
	                           AFD_KEY_OBJECT, NULL);
}

static struct afd_object *object_find(const struct afd_state *state, int fd)
{
	struct xp_regmap_item *item =
		xp_regmap_find(&state->objects, (uint64_t)fd, 0);

	return item ? XP_CONTAINER_OF(item, struct afd_object, item) : NULL;
}

bool afd_object_has(const struct afd_state *state, int fd)
{
	return object_find(state, fd) != NULL;
}

static void object_begin(struct afd_state *state, struct afd_object *object)
{
	xp_count_shared(&state->counters->syscalls_change);
	xp_list_remove(&object->lapsed);
	SetThreadpoolWait(object->wait, object->handle, NULL);
}

/* The handles are closed, or not there yet. */
static int object_open(struct afd_object *object)
{
	HANDLE here = GetCurrentProcess();
	HANDLE given = xp_nt_handle((int)object->item.ident);

	if (!DuplicateHandle(here, given, here, &object->handle, SYNCHRONIZE,
	                     FALSE, 0))
		return xp_nt_error(GetLastError());
	object->wait = CreateThreadpoolWait(object_signalled, object, NULL);
	if (object->wait)
		return 0;
	CloseHandle(object->handle);
	return -ENOMEM;
}

static void object_end(struct afd_object *object)
{
	SetThreadpoolWait(object->wait, NULL, NULL);
	/* The callback takes no lock, so it is over soon. */
	WaitForThreadpoolWaitCallbacks(object->wait, TRUE);
	CloseThreadpoolWait(object->wait);
	CloseHandle(object->handle);
	xp_list_remove(&object->lapsed);
	xp_free(object);
}

/* It has no room for writing, and what happened between two looks is not reported. */
static bool object_can(uint32_t watch)
{
	return !(watch & (POLLOUT | POLLPRI | XP_WATCH_EDGE));
}

int afd_object_attach(struct afd_state *state, int fd, uint32_t watch,
                      uint64_t token)
{
	struct afd_object *object;
	int rc;

	if (!object_can(watch))
		return -ENOTSUP;
	object = xp_alloc(sizeof *object);
	if (!object)
		return -ENOMEM;
	object->item.ident = (uint64_t)fd;
	object->port = state->port;
	xp_list_init(&object->lapsed);
	rc = object_open(object);
	if (rc < 0) {
		xp_free(object);
		return rc;
	}
	rc = xp_regmap_add(&state->objects, &object->item);
	if (rc < 0) {
		object_end(object);
		return rc;
	}
	return afd_object_change(state, fd, watch, token);
}

int afd_object_change(struct afd_state *state, int fd, uint32_t watch,
                      uint64_t token)
{
	struct afd_object *object = object_find(state, fd);

	XP_ASSERT(object);
	if (!object_can(watch))
		return -ENOTSUP;
	object->token = token;
	object->wanted = watch & POLLIN;
	if (object->wanted)
		object_begin(state, object);
	return 0;
}

void afd_object_detach(struct afd_state *state, int fd)
{
	struct afd_object *object = object_find(state, fd);

	XP_ASSERT(object);
	xp_count_shared(&state->counters->syscalls_change);
	xp_regmap_remove(&state->objects, &object->item);
	object_end(object);
}

void afd_objects_submit(struct afd_state *state)
{
	while (!xp_list_empty(&state->lapsed))
		object_begin(state, XP_CONTAINER_OF(state->lapsed.next,
		                                    struct afd_object, lapsed));
}

/* The packet may be old, or of another object that had the number. */
bool afd_object_fired(struct afd_state *state, int fd, struct xp_fired *fired)
{
	struct afd_object *object = object_find(state, fd);

	if (!object || !object->wanted)
		return false;
	if (xp_list_empty(&object->lapsed))
		xp_list_append(&state->lapsed, &object->lapsed);
	xp_count_shared(&state->counters->syscalls_check);
	if (WaitForSingleObject(object->handle, 0) != WAIT_OBJECT_0)
		return false;
	*fired = (struct xp_fired){.token = object->token, .events = POLLIN};
	return true;
}

void afd_objects_close(struct afd_state *state)
{
	struct xp_regmap_item *item = xp_regmap_pop(&state->objects);

	for (; item; item = xp_regmap_pop(&state->objects))
		object_end(XP_CONTAINER_OF(item, struct afd_object, item));
	XP_ASSERT(xp_list_empty(&state->lapsed));
	xp_regmap_fini(&state->objects);
}
