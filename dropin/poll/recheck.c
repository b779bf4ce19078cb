/*
 * Compares what epoll reports for the descriptors of a set with the results of a real call (of the
 * C library's function), which shows closes that this library has not seen.
 *
 * A difference alone proves nothing: a descriptor may have become ready after epoll was polled, or
 * another thread may have read the data that made it ready.  EPOLL_CTL_MOD shows whether the
 * registration is still for this file: the kernel finds a registration by descriptor and file, so
 * for another file the call fails with ENOENT.  EPOLL_CTL_MOD also makes the kernel poll the file
 * again, so the next poll of the instance reports a file that has become ready without a wake-up.
 */
#include <sys/epoll.h>

#include "linux/sys_linux.h"
#include "watch.h"

/*
 * Returns true if fd is registered in the epoll instance, and still refers to the file that was
 * registered.  Also makes the kernel poll the file again.
 */
static bool is_still_registered(struct watch *watch, int fd)
{
	const struct watch_slot *slot = &watch->slots[fd];
	uint64_t token = watch_token(fd, slot);

	watch->syscalls++;
	return xp_sys_epoll_ctl(watch->epoll_fd, EPOLL_CTL_MOD, fd, slot->armed,
	                        token) == 0;
}

/*
 * Store in slot->epoll_revents the bits that epoll has reported (found), or set epoll_revents to 0
 * again.
 */
static void store_found_bits(struct watch *watch, bool found)
{
	for (size_t i = 0; i < watch->ready_len; i++) {
		const struct watch_ready *ready = &watch->ready[i];

		watch->slots[ready->fd].epoll_revents = (uint16_t)(found ? ready->bits : 0);
	}
}

/*
 * Returns true if the real call has reported other bits in this entry than epoll, in
 * `epoll_revents`.
 */
static bool result_differs(const struct pollfd *entry, uint16_t found)
{
	/* an entry of select_results, which shows only whether the descriptor is ready */
	if (entry->events == 0)
		return (entry->revents != 0) != (found != 0);
	return ((found ^ entry->revents) & (entry->events | WATCH_ALWAYS)) != 0;
}

unsigned watch_recheck(struct watch *watch, const struct pollfd *fds, size_t count)
{
	unsigned missed = 0;

	(void)watch_read_closes(watch);
	if (!fds || watch->armed_len == 0)
		return 0;
	if (!kernel_is_our_instance(watch->epoll_fd) || watch_poll_cold(watch) < 0) {
		watch->failed = true;
		return 0;
	}
	store_found_bits(watch, true);
	for (size_t i = 0; i < count; i++) {
		struct pollfd entry = fds[i]; /* a copy, as the program may change its array */

		if (entry.fd < 0 || (size_t)entry.fd >= watch->slots_len ||
		    !result_differs(&entry, watch->slots[entry.fd].epoll_revents) ||
		    !watch_is_cold(watch, entry.fd) || is_still_registered(watch, entry.fd))
			continue;
		watch_register_again(watch, entry.fd);
		missed++;
	}
	store_found_bits(watch, false);
	return missed;
}
