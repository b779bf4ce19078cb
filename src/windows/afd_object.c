/*
 * Handles other than sockets: pipes, and objects that are signalled, such as processes, wake-up
 * events and the input of a console.
 */
#include "windows/afd_state.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "base/assert.h"

enum {
	PIPE_PAUSE_LEAST_MS = 1,
	PIPE_PAUSE_MOST_MS = 64,
};

/*
 * Objects and pipes do not report WRITE, and cannot be edge-triggered, because changes between two
 * checks are not seen.
 */
#define OBJECT_CANNOT (POLLOUT | POLLPRI | XP_WATCH_EDGE)

/*
 * An object.  A thread of the system waits for many objects at a time, and sends a packet when one
 * is signalled.  Like a poll of a socket, the system's wait for an object completes once; the next
 * wait of the queue begins it again.
 */
struct afd_object {
	struct afd_entry entry;
	PTP_WAIT wait; /* the system's wait for the object */
	/* A duplicate of the registered handle, which may be closed while the system waits. */
	HANDLE handle;
	HANDLE port; /* state->port */
	enum xp_nt_wait wait_kind;
	/* With XP_NT_WAIT_TAKES: a wait has taken a signal that was not reported yet. */
	atomic_bool taken;
};

/* Send the packet of a signalled object.  May run on a thread of the system, without any lock. */
static void object_send(struct afd_object *object)
{
	if (object->wait_kind == XP_NT_WAIT_TAKES)
		atomic_store(&object->taken, true);
	PostQueuedCompletionStatus(object->port, 0,
	                           (ULONG_PTR)object->entry.fd << AFD_KEY_BITS |
	                           AFD_KEY_OBJECT, NULL);
}

static VOID CALLBACK object_signalled(PTP_CALLBACK_INSTANCE instance,
                                      void *opaque, PTP_WAIT wait,
                                      TP_WAIT_RESULT result)
{
	(void)instance, (void)wait, (void)result;
	object_send(opaque);
}

/* Returns true if the object is signalled; with XP_NT_WAIT_TAKES this call takes the signal. */
static bool object_is_signalled(struct afd_state *state, const struct afd_object *object)
{
	xp_count_shared(&state->counters->syscalls_check);
	return WaitForSingleObject(object->handle, 0) == WAIT_OBJECT_0;
}

/*
 * Take the object out of `unchecked_objects`.  Send a packet if the object is signalled, or if
 * `taken` is set (a wait has taken a signal that was not reported yet); else have the system wait
 * for the object.
 */
static void object_begin_wait(struct afd_state *state, struct afd_object *object)
{
	xp_count_shared(&state->counters->syscalls_change);
	xp_list_remove(&object->entry.item);
	if (atomic_load(&object->taken) || object_is_signalled(state, object))
		object_send(object);
	else
		SetThreadpoolWait(object->wait, object->handle, NULL);
}

/*
 * End the system's wait for an object that is not requested now, so that the wait takes no signal
 * from the object.
 */
static void object_end_wait(struct afd_state *state, struct afd_object *object)
{
	xp_count_shared(&state->counters->syscalls_change);
	SetThreadpoolWait(object->wait, NULL, NULL);
	/*
	 * Wait for the callback, which takes no lock.  Cancel a callback that has not begun, unless
	 * the system's wait takes the signal: then the callback has to record the taken signal.
	 */
	WaitForThreadpoolWaitCallbacks(object->wait, object->wait_kind == XP_NT_WAIT_READS);
}

/*
 * Returns true if the registered handle still refers to the object; the library keeps its own
 * handles open, so for these no check is needed.
 */
static bool object_is_same(const struct afd_object *object)
{
	return object->entry.is_source ||
		xp_nt_is_same(object->handle, xp_nt_handle(object->entry.fd));
}

static int object_open(struct afd_state *state, struct afd_entry *entry)
{
	struct afd_object *object = (struct afd_object *)entry;
	HANDLE here = GetCurrentProcess();
	int kind = entry->is_source || xp_nt_is_console(entry->fd) ? XP_NT_WAIT_READS
		: xp_nt_wait_kind(entry->fd);

	if (kind < 0)
		return kind;
	object->wait_kind = (enum xp_nt_wait)kind;
	object->port = state->port;
	/* Get the right to signal the object, for object_give_back, if that is possible. */
	if (!(kind == XP_NT_WAIT_TAKES &&
	      DuplicateHandle(here, xp_nt_handle(entry->fd), here, &object->handle,
	                      SYNCHRONIZE | EVENT_MODIFY_STATE, FALSE, 0)) &&
	    !DuplicateHandle(here, xp_nt_handle(entry->fd), here, &object->handle,
	                     SYNCHRONIZE, FALSE, 0))
		return xp_nt_to_errno(GetLastError());
	object->wait = CreateThreadpoolWait(object_signalled, object, NULL);
	if (object->wait)
		return 0;
	CloseHandle(object->handle);
	return -ENOMEM;
}

/* Change the watch.  Returns 0; -ENOENT: the handle was closed, or reused for another object. */
static int object_watch(struct afd_state *state, struct afd_entry *entry, uint32_t watch)
{
	struct afd_object *object = (struct afd_object *)entry;
	bool has_begun = entry->watch & POLLIN && xp_list_empty(&entry->item);

	if (!object_is_same(object))
		return -ENOENT;
	entry->watch = watch;
	xp_list_remove(&entry->item);
	if (!(watch & POLLIN))
		object_end_wait(state, object);
	else if (has_begun)
		return 0;
	else if (state->waiters > 0)
		object_begin_wait(state, object);
	else
		xp_list_append(&state->unchecked_objects, &entry->item);
	return 0;
}

/*
 * Signal the object again, because the system's wait has taken a signal that was not reported, and
 * for which other threads may wait.  A timer cannot be signalled again.
 */
static void object_give_back(const struct afd_object *object)
{
	if (!SetEvent(object->handle))
		(void)ReleaseSemaphore(object->handle, 1, NULL);
}

static void object_close(struct afd_state *state, struct afd_entry *entry)
{
	struct afd_object *object = (struct afd_object *)entry;

	object_end_wait(state, object);
	if (atomic_load(&object->taken))
		object_give_back(object);
	CloseThreadpoolWait(object->wait);
	CloseHandle(object->handle);
}

const struct afd_kind afd_object_kind = {
	.size = sizeof(struct afd_object),
	.unsupported_bits = OBJECT_CANNOT,
	.open = object_open,
	.close = object_close,
	.watch = object_watch,
};

void afd_objects_submit(struct afd_state *state)
{
	while (!xp_list_empty(&state->unchecked_objects))
		object_begin_wait(state, XP_CONTAINER_OF(state->unchecked_objects.next,
		                                         struct afd_object, entry.item));
}

/*
 * Handle the packet of an object.  The packet may be out of date, or belong to an object that was
 * registered earlier with this descriptor, so check the object again.
 */
bool afd_object_fired(struct afd_state *state, int fd, struct xp_fired *fired)
{
	struct afd_object *object = afd_find(state, fd, &afd_object_kind);
	bool is_same;

	if (!object || !(object->entry.watch & POLLIN))
		return false;
	/*
	 * The system's wait has taken no signal since the last report, so the packet is an old one:
	 * begin no wait, because one may be in progress.
	 */
	if (object->wait_kind == XP_NT_WAIT_TAKES && !atomic_load(&object->taken))
		return false;
	if (xp_list_empty(&object->entry.item))
		xp_list_append(&state->unchecked_objects, &object->entry.item);
	is_same = object_is_same(object);
	if (is_same && object->wait_kind == XP_NT_WAIT_READS && !object_is_signalled(state, object))
		return false;
	if (is_same)
		atomic_store(&object->taken, false);
	*fired = (struct xp_fired){
		.token = object->entry.token,
		.events = is_same ? POLLIN : POLLNVAL,
	};
	return true;
}

/* --- Pipes ------------------------------------------------------------------------- */

/*
 * Only a query of a pipe shows that it is readable.  So pipes are checked when a wait begins and
 * repeatedly while it sleeps, less often the longer none was ready.
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
			afd_interrupt_wait(state);
	}
	return 0;
}

static void pipe_close(struct afd_state *state, struct afd_entry *entry)
{
	(void)state, (void)entry;
}

const struct afd_kind afd_pipe_kind = {
	.size = sizeof(struct afd_entry),
	.unsupported_bits = OBJECT_CANNOT,
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
	/* Move the head of the list, so that the next check begins after these pipes. */
	if (count == cap && item != &state->pipes) {
		xp_list_remove(&state->pipes);
		xp_list_append(item, &state->pipes);
	}
	if (count > 0)
		state->pipe_pause_ms = PIPE_PAUSE_LEAST_MS;
	return count;
}

DWORD afd_pipes_timeout(struct afd_state *state, DWORD timeout_ms)
{
	DWORD pause_ms = state->pipe_pause_ms;

	if (xp_list_empty(&state->pipes) || timeout_ms <= pause_ms)
		return timeout_ms;
	if (pause_ms < PIPE_PAUSE_MOST_MS)
		state->pipe_pause_ms = pause_ms * 2;
	return pause_ms;
}
