/*
 * Handles that are no sockets: objects that are signalled, such as the sources' processes and
 * wake-up descriptors and the input of a console; and pipes.
 */
#include "windows/afd_state.h"

#include <errno.h>
#include <poll.h>

#include "base/assert.h"

enum {
	PIPE_PAUSE_LEAST_MS = 1,
	PIPE_PAUSE_MOST_MS = 64,
};

/* Objects and pipes have no WRITE, and changes between two looks are not reported. */
#define OBJECT_CANNOT (POLLOUT | POLLPRI | XP_WATCH_EDGE)

/*
 * A thread of the system waits for objects, for many at a time, and sends a packet.
 * Like a poll of a socket such a wait answers once; the next wait of the queue
 * begins it again.
 */
struct afd_object {
	struct afd_entry entry;
	PTP_WAIT wait;
	/* Our own: the source may close its one while the wait goes on. */
	HANDLE handle;
	HANDLE port;
};

/* On a thread of the system, without any lock. */
static VOID CALLBACK object_signalled(PTP_CALLBACK_INSTANCE instance,
                                      void *opaque, PTP_WAIT wait,
                                      TP_WAIT_RESULT result)
{
	const struct afd_object *object = opaque;

	(void)instance, (void)wait, (void)result;
	PostQueuedCompletionStatus(object->port, 0,
	                           (ULONG_PTR)object->entry.fd << AFD_KEY_BITS |
	                           AFD_KEY_OBJECT, NULL);
}

static void object_begin(struct afd_state *state, struct afd_object *object)
{
	xp_count_shared(&state->counters->syscalls_change);
	xp_list_remove(&object->entry.item);
	SetThreadpoolWait(object->wait, object->handle, NULL);
}

/* The handles are closed, or not there yet. */
static int object_open(struct afd_state *state, struct afd_entry *entry)
{
	struct afd_object *object = (struct afd_object *)entry;
	HANDLE here = GetCurrentProcess();

	object->port = state->port;
	if (!DuplicateHandle(here, xp_nt_handle(entry->fd), here, &object->handle,
	                     SYNCHRONIZE, FALSE, 0))
		return xp_nt_error(GetLastError());
	object->wait = CreateThreadpoolWait(object_signalled, object, NULL);
	if (object->wait)
		return 0;
	CloseHandle(object->handle);
	return -ENOMEM;
}

static int object_watch(struct afd_state *state, struct afd_entry *entry, uint32_t watch)
{
	entry->watch = watch;
	if (watch & POLLIN)
		object_begin(state, (struct afd_object *)entry);
	return 0;
}

static void object_close(struct afd_state *state, struct afd_entry *entry)
{
	struct afd_object *object = (struct afd_object *)entry;

	xp_count_shared(&state->counters->syscalls_change);
	SetThreadpoolWait(object->wait, NULL, NULL);
	/* The callback takes no lock, so it is over soon. */
	WaitForThreadpoolWaitCallbacks(object->wait, TRUE);
	CloseThreadpoolWait(object->wait);
	CloseHandle(object->handle);
}

const struct afd_kind afd_object_kind = {
	.size = sizeof(struct afd_object),
	.cannot = OBJECT_CANNOT,
	.open = object_open,
	.close = object_close,
	.watch = object_watch,
};

void afd_objects_submit(struct afd_state *state)
{
	while (!xp_list_empty(&state->lapsed))
		object_begin(state, XP_CONTAINER_OF(state->lapsed.next,
		                                    struct afd_object, entry.item));
}

/* The packet may be old, or of another object that had the number. */
bool afd_object_fired(struct afd_state *state, int fd, struct xp_fired *fired)
{
	struct afd_object *object = afd_find(state, fd, &afd_object_kind);

	if (!object || !(object->entry.watch & POLLIN))
		return false;
	if (xp_list_empty(&object->entry.item))
		xp_list_append(&state->lapsed, &object->entry.item);
	xp_count_shared(&state->counters->syscalls_check);
	if (WaitForSingleObject(object->handle, 0) != WAIT_OBJECT_0)
		return false;
	*fired = (struct xp_fired){.token = object->entry.token, .events = POLLIN};
	return true;
}

/* --- Pipes ------------------------------------------------------------------------- */

/*
 * Only a read of one's own shows that there is something to read, so they are looked at
 * when a wait begins and, while it sleeps, again and again: soon if there was something
 * lately, and less often the longer there is nothing.
 */
static int pipe_open(struct afd_state *state, struct afd_entry *entry)
{
	(void)state;
	return xp_nt_pipe_unread(entry->fd) == -EBADF ? -EBADF : 0;
}

static int pipe_watch(struct afd_state *state, struct afd_entry *entry, uint32_t watch)
{
	entry->watch = watch;
	xp_list_remove(&entry->item);
	if (watch & XP_WATCH_BITS) {
		xp_list_append(&state->pipes, &entry->item);
		state->pipe_pause_ms = PIPE_PAUSE_LEAST_MS;
		if (state->waiters > 0)
			afd_post_probe(state);
	}
	return 0;
}

static void pipe_close(struct afd_state *state, struct afd_entry *entry)
{
	(void)state, (void)entry;
}

const struct afd_kind afd_pipe_kind = {
	.size = sizeof(struct afd_entry),
	.cannot = OBJECT_CANNOT,
	.open = pipe_open,
	.close = pipe_close,
	.watch = pipe_watch,
};

int afd_pipes_probe(struct afd_state *state, struct xp_fired *fired, int cap)
{
	struct xp_list *item = state->pipes.next;
	int count = 0;

	for (; item != &state->pipes && count < cap; item = item->next) {
		const struct afd_entry *pipe =
			XP_CONTAINER_OF(item, struct afd_entry, item);
		uint32_t events = xp_nt_file_probe(pipe->fd) &
			(pipe->watch | POLLERR | POLLHUP | POLLNVAL);

		xp_count_shared(&state->counters->syscalls_check);
		if (events)
			fired[count++] = (struct xp_fired){.token = pipe->token, .events = events};
	}
	XP_ASSERT(count <= cap);
	/* Next time begin behind the pipes that were reported now. */
	if (count == cap && item != &state->pipes) {
		xp_list_remove(&state->pipes);
		xp_list_append(item, &state->pipes);
	}
	if (count > 0)
		state->pipe_pause_ms = PIPE_PAUSE_LEAST_MS;
	return count;
}

DWORD afd_pipes_pause(struct afd_state *state, DWORD timeout_ms)
{
	DWORD pause_ms = state->pipe_pause_ms;

	if (xp_list_empty(&state->pipes) || timeout_ms <= pause_ms)
		return timeout_ms;
	if (pause_ms < PIPE_PAUSE_MOST_MS)
		state->pipe_pause_ms = pause_ms * 2;
	return pause_ms;
}
