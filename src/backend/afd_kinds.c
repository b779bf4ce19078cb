/* Attaching, changing and detaching: each kind of descriptor in its own way. */
#include "backend/afd_state.h"

#include <errno.h>

#include "os/sys.h"

static bool afd_is_attached(const struct afd_state *state, int fd)
{
	return afd_sock_find(state, fd) || afd_object_has(state, fd) ||
		afd_pipe_has(state, fd);
}

/* Each kind in its way; -EPERM: a file, or a device that is always ready. */
static int afd_attach_kind(struct afd_state *state, int fd, uint32_t watch,
                       uint64_t token)
{
	if (watch & XP_WATCH_SOURCE)
		return afd_object_attach(state, fd, watch, token);
	if (xp_nt_is_socket(fd))
		return afd_sock_attach(state, fd, watch, token);
	switch (xp_nt_file_type(fd)) {
	case FILE_TYPE_PIPE:
		return afd_pipe_attach(state, fd, watch, token);
	case FILE_TYPE_CHAR:
		return xp_nt_is_console(fd)
			? afd_object_attach(state, fd, watch, token) : -EPERM;
	case FILE_TYPE_DISK:
		return -EPERM;
	default:
		return -EBADF;
	}
}

int afd_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct afd_state *state = opaque;
	int rc;

	xp_mutex_lock(&state->lock);
	rc = afd_is_attached(state, fd) ? -EEXIST
		: afd_attach_kind(state, fd, watch, token);
	xp_mutex_unlock(&state->lock);
	return rc;
}

int afd_change(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct afd_state *state = opaque;
	struct afd_sock *sock;
	int rc = -ENOENT;

	xp_mutex_lock(&state->lock);
	sock = afd_sock_find(state, fd);
	if (sock)
		rc = afd_sock_change(state, sock, watch, token);
	else if (afd_object_has(state, fd))
		rc = afd_object_change(state, fd, watch, token);
	else if (afd_pipe_has(state, fd))
		rc = afd_pipe_change(state, fd, watch, token);
	xp_mutex_unlock(&state->lock);
	return rc;
}

static int afd_detach_locked(struct afd_state *state, int fd)
{
	struct afd_sock *sock = afd_sock_find(state, fd);
	int rc = xp_sys_open_flags(fd);

	xp_count(&state->counters->syscalls_check);
	if (sock)
		afd_sock_detach(state, sock);
	else if (afd_object_has(state, fd))
		afd_object_detach(state, fd);
	else if (afd_pipe_has(state, fd))
		afd_pipe_detach(state, fd);
	else if (rc >= 0)
		rc = -ENOENT;
	return rc < 0 ? rc : 0;
}

int afd_detach(void *opaque, int fd)
{
	struct afd_state *state = opaque;
	int rc;

	xp_mutex_lock(&state->lock);
	rc = afd_detach_locked(state, fd);
	xp_mutex_unlock(&state->lock);
	return rc;
}
