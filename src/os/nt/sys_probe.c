/*
 * A look at sockets: one poll of the driver that does not wait, for as many
 * of them as fit.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "os/fdnum.h"
#include "os/nt/nt.h"
#include "os/sys.h"

static INIT_ONCE probe_once = INIT_ONCE_STATIC_INIT;
static HANDLE probe_afd; /* the process's own; NULL: cannot be opened */

static BOOL CALLBACK probe_open(PINIT_ONCE once, void *argument, void **context)
{
	(void)once, (void)argument, (void)context;
	if (xp_nt_open_afd(NULL, &probe_afd) < 0)
		probe_afd = NULL;
	return TRUE;
}

/* As struct xp_afd_poll, with room. */
struct probe {
	LARGE_INTEGER timeout;
	ULONG count;
	ULONG exclusive;
	struct xp_afd_handle handles[XP_AFD_PROBE_MOST];
};

int xp_nt_probe(struct xp_afd_handle *handles, int count)
{
	struct probe probe = {.count = (ULONG)count};
	IO_STATUS_BLOCK status;
	ULONG reported;
	int rc;

	XP_ASSERT(count > 0 && count <= XP_AFD_PROBE_MOST);
	InitOnceExecuteOnce(&probe_once, probe_open, NULL, NULL);
	if (!probe_afd)
		return -ENOSYS;
	memcpy(probe.handles, handles, (size_t)count * sizeof *handles);
	rc = xp_nt_poll(probe_afd, &probe,
	                (ULONG)(offsetof(struct probe, handles) +
	                        (size_t)count * sizeof *handles),
	                &status, NULL);
	if (rc < 0)
		return rc;
	if (status.Status == STATUS_PENDING)
		(void)WaitForSingleObject(probe_afd, INFINITE);
	/* Nothing is ready if the time was up; then the count is not set. */
	reported = status.Status == 0 ? probe.count : 0;
	/* What is ready comes in the order in which it was asked for. */
	for (int i = 0, k = 0; i < count; i++) {
		bool ready = k < (int)reported &&
			probe.handles[k].handle == handles[i].handle;

		handles[i].events = ready ? probe.handles[k++].events : 0;
	}
	return 0;
}

static struct xp_afd_handle probe_handle(const struct pollfd *entry)
{
	return (struct xp_afd_handle){
		.handle = xp_nt_base((SOCKET)xp_fd_ident((int)entry->fd)),
		.events = xp_afd_wanted((uint32_t)(unsigned short)entry->events),
	};
}

/* Only what is asked for, and what poll(2) reports in any case. */
static int probe_result(struct pollfd *entry, uint32_t reported)
{
	uint32_t wanted = (uint32_t)(unsigned short)entry->events | POLLERR |
		POLLHUP | POLLNVAL;

	entry->revents = (short)(reported & wanted);
	return entry->revents != 0;
}

static uint32_t probe_one(struct pollfd *entry)
{
	struct xp_afd_handle handle = probe_handle(entry);

	if (xp_nt_probe(&handle, 1) == 0)
		return xp_afd_poll_bits(handle.events);
	return xp_nt_is_socket((int)entry->fd) ? POLLNVAL
		: xp_nt_file_probe((int)entry->fd);
}

/* One of them is no socket, or not any more: each alone. */
static int probe_each(struct pollfd *fds, int count)
{
	int ready = 0;

	for (int i = 0; i < count; i++)
		ready += probe_result(&fds[i], probe_one(&fds[i]));
	return ready;
}

static int probe_some(struct pollfd *fds, int count)
{
	struct xp_afd_handle handles[XP_AFD_PROBE_MOST];
	int ready = 0;

	for (int i = 0; i < count; i++)
		handles[i] = probe_handle(&fds[i]);
	if (xp_nt_probe(handles, count) < 0)
		return probe_each(fds, count);
	for (int i = 0; i < count; i++)
		ready += probe_result(&fds[i], xp_afd_poll_bits(handles[i].events));
	return ready;
}

int xp_sys_poll_now(struct pollfd *fds, size_t count)
{
	int ready = 0;

	for (size_t i = 0; i < count; i += XP_AFD_PROBE_MOST) {
		size_t left = count - i;

		ready += probe_some(fds + i,
		                    left < XP_AFD_PROBE_MOST ? (int)left
		                                         : XP_AFD_PROBE_MOST);
	}
	return ready;
}
