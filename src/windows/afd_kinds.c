/* Attaches, changes and detaches descriptors by the functions of their kind (struct afd_kind). */
#include "windows/afd_state.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/table.h"
#include "sys/sys.h"

/* Store the kind of a descriptor.  Returns 0; -EPERM: a file, or a device that is always ready. */
static int afd_kind_of(int fd, uint32_t watch, const struct afd_kind **kind)
{
	*kind = &afd_object_kind;
	if (watch & XP_WATCH_SOURCE)
		return 0;
	if (xp_nt_is_socket(fd)) {
		*kind = &afd_sock_kind;
		return 0;
	}
	switch (xp_nt_file_type(fd)) {
	case FILE_TYPE_PIPE:
		*kind = &afd_pipe_kind;
		return 0;
	case FILE_TYPE_CHAR:
		return xp_nt_is_console(fd) ? 0 : -EPERM;
	case FILE_TYPE_DISK:
		return -EPERM;
	default:
		return 0;
	}
}

/*
 * Change the bits for which a descriptor is watched.  Returns 0; -ENOTSUP: descriptors of this kind
 * cannot report one of the bits; or another error.
 */
static int afd_watch(struct afd_state *state, struct afd_entry *entry, uint32_t watch,
                     uint64_t token)
{
	if (watch & entry->kind->unsupported_bits)
		return -ENOTSUP;
	entry->token = token;
	return entry->kind->watch(state, entry, watch);
}

/* End the watch of a descriptor and free its entry. */
static void afd_remove(struct afd_state *state, struct afd_entry *entry)
{
	XP_ASSERT(state->entries[entry->fd] == entry);
	entry->kind->close(state, entry);
	xp_list_remove(&entry->item);
	state->entries[entry->fd] = NULL;
	xp_free(entry);
}

/* Make an entry for a descriptor and watch it.  Returns 0 or a negative errno value. */
static int afd_add(struct afd_state *state, int fd, uint32_t watch, uint64_t token)
{
	const struct afd_kind *kind;
	struct afd_entry *entry;
	int rc = afd_kind_of(fd, watch, &kind);

	if (rc == 0)
		rc = watch & kind->unsupported_bits ? -ENOTSUP
			: XP_TABLE_RESERVE(&state->entries, &state->len, fd + 1);
	if (rc < 0)
		return rc;
	entry = xp_zalloc(kind->size);
	if (!entry)
		return -ENOMEM;
	entry->kind = kind;
	entry->is_source = watch & XP_WATCH_SOURCE;
	entry->fd = fd;
	xp_list_init(&entry->item);
	rc = kind->open(state, entry);
	if (rc < 0) {
		xp_free(entry);
		return rc;
	}
	state->entries[fd] = entry;
	rc = afd_watch(state, entry, watch, token);
	if (rc < 0)
		afd_remove(state, entry);
	return rc;
}

/* Returns the entry of a descriptor; NULL: not attached. */
static struct afd_entry *afd_find_entry(const struct afd_state *state, int fd)
{
	return fd >= 0 && fd < state->len ? state->entries[fd] : NULL;
}

int afd_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct afd_state *state = opaque;
	int rc;

	xp_mutex_lock(&state->lock);
	rc = afd_find_entry(state, fd) ? -EEXIST : afd_add(state, fd, watch, token);
	xp_mutex_unlock(&state->lock);
	return rc;
}

int afd_change(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct afd_state *state = opaque;
	struct afd_entry *entry;
	int rc;

	xp_mutex_lock(&state->lock);
	entry = afd_find_entry(state, fd);
	rc = entry ? afd_watch(state, entry, watch, token) : -ENOENT;
	xp_mutex_unlock(&state->lock);
	return rc;
}

int afd_detach(void *opaque, int fd)
{
	struct afd_state *state = opaque;
	struct afd_entry *entry;
	int rc = xp_sys_open_flags(fd);

	xp_mutex_lock(&state->lock);
	xp_count(&state->counters->syscalls_check);
	entry = afd_find_entry(state, fd);
	if (entry)
		afd_remove(state, entry);
	else if (rc >= 0)
		rc = -ENOENT;
	xp_mutex_unlock(&state->lock);
	return rc < 0 ? rc : 0;
}

void afd_detach_all(struct afd_state *state)
{
	for (int fd = 0; fd < state->len; fd++)
		if (state->entries[fd])
			afd_remove(state, state->entries[fd]);
	xp_free(state->entries);
}
