/*
 * A slice of the full look.
 *
 * What poll(2) calls ready may have become so after the watch was asked, and what
 * the watch found may have been taken by another thread.
 * EPOLL_CTL_MOD shows whether the registration is still one of this file: the
 * kernel keeps them by number and file.  It also makes the kernel ask the file
 * once more, so what became ready without a wake-up is reported from then on.
 */
#include "recheck.h"

#include <sys/epoll.h>

#include "os/linux/sys_linux.h"
#include "os/sys.h"

void recheck_reckon(struct recheck *recheck, const struct watch *watch,
                    int64_t now_ns, int64_t period_ns)
{
	size_t slices = recheck_slices(watch);
	int64_t interval_ns;
	int64_t more;

	if (now_ns < recheck->due_ns || slices == 0)
		return;
	interval_ns = period_ns / (int64_t)slices + 1;
	more = (now_ns - recheck->due_ns) / interval_ns + 1;
	recheck->due_ns += more * interval_ns;
	if (more < (int64_t)(slices - recheck->owed))
		recheck->owed += (size_t)more;
	else
		recheck->owed = slices;
}

static bool is_registered(const struct watch *watch, int fd)
{
	const struct watch_slot *slot = &watch->slots[fd];
	uint64_t token = watch_token(fd, slot);

	return xp_sys_epoll_ctl(watch->epoll_fd, EPOLL_CTL_MOD, fd, slot->armed,
	                        token) == 0;
}

static void mark_found(struct watch *watch, bool found)
{
	for (size_t i = 0; i < watch->ready_len; i++)
		watch->slots[watch->ready[i].fd].found = found;
}

/* The cold ones of the next slice; how many. */
static int gather(struct recheck *recheck, const struct watch *watch,
                  struct pollfd *fds)
{
	size_t end = recheck->at + RECHECK_SLICE;
	int len = 0;

	if (end > watch->slots_len)
		end = watch->slots_len;
	for (size_t at = recheck->at; at < end; at++)
		if (watch_is_cold(watch, (int)at))
			fds[len++] = (struct pollfd){
				.fd = (int)at,
				.events = (short)watch->slots[at].wanted,
			};
	recheck->at = end < watch->slots_len ? end : 0;
	return len;
}

int recheck_slice(struct recheck *recheck, struct watch *watch)
{
	struct pollfd fds[RECHECK_SLICE];
	int len = gather(recheck, watch, fds);
	int missed = 0;
	int ready;

	if (recheck->owed > 0)
		recheck->owed--;
	recheck->looked += (size_t)len;
	watch->syscalls += len > 0;
	if (len == 0)
		return 0;
	if (!kernel_is_instance(watch->epoll_fd)) {
		watch->failed = true;
		return 1;
	}
	ready = xp_sys_poll_now(fds, (size_t)len);
	if (ready < 0 || (ready == 0 && watch->ready_len == 0))
		return 0;
	mark_found(watch, true);
	for (int i = 0; i < len; i++) {
		if ((fds[i].revents != 0) == watch->slots[fds[i].fd].found)
			continue;
		watch->syscalls++;
		if (is_registered(watch, fds[i].fd))
			continue;
		watch_suspect(watch, fds[i].fd);
		missed++;
	}
	mark_found(watch, false);
	return missed;
}
