/*
 * Registers the descriptors of an array with epoll (cold) or polls them (hot): see watch.h.
 *
 * A registration has the bits that the array requests, and perhaps more.  If the kernel reports
 * only bits that are not requested, the registration is reduced to the requested ones at once,
 * because a level-triggered registration would report the others in every call.
 */
#include "watch.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "linux/sys_linux.h"
#include "numbers.h"
#include "sys/sys.h"

enum {
	IN_ARRAY = 1, /* in the array, even if `wanted` is 0: poll(2) always reports WATCH_ALWAYS */
	ARMED = 2,    /* registered in the epoll instance */
	HOT = 4,      /* polled by poll(2); perhaps registered, but not for all `wanted` bits */
	DIRECT = 8,   /* always HOT: epoll refuses the file, or may differ from poll(2) for it */
};

/* The bits that have the same value for epoll and poll(2); higher bits are flags of epoll. */
#define KERNEL_BITS 0x3fffu

_Static_assert(EPOLLIN == POLLIN && EPOLLPRI == POLLPRI &&
               EPOLLOUT == POLLOUT && EPOLLERR == POLLERR &&
               EPOLLHUP == POLLHUP && EPOLLRDNORM == POLLRDNORM &&
               EPOLLRDBAND == POLLRDBAND && EPOLLWRNORM == POLLWRNORM &&
               EPOLLWRBAND == POLLWRBAND && EPOLLRDHUP == POLLRDHUP,
               "epoll and poll share their bits here");

/*
 * Returns true if epoll_fd still refers to our epoll instance.  The program may have closed
 * epoll_fd by a system call of its own, and have another file there.  This is checked before the
 * first change of a registration in each call.
 */
static bool watch_is_ours(struct watch *watch)
{
	if (!watch->instance_checked) {
		watch->instance_checked = true;
		watch->syscalls++;
		if (!kernel_is_our_instance(watch->epoll_fd))
			watch->failed = true;
	}
	return !watch->failed;
}

/* epoll_ctl(2) with the bits that the array requests.  Returns 0 or a negative errno value. */
static int control_epoll(struct watch *watch, int op, int fd)
{
	const struct watch_slot *slot = &watch->slots[fd];

	if (!watch_is_ours(watch))
		return -EBADF;
	watch->syscalls++;
	return xp_sys_epoll_ctl(watch->epoll_fd, op, fd,
	                        slot->wanted & KERNEL_BITS,
	                        watch_token(fd, slot));
}

/* --- Slots ------------------------------------------------------------------ */

struct watch_slot *watch_reserve_slot(struct watch *watch, int fd)
{
	size_t len = watch->slots_len;

	if (XP_LIKELY((size_t)fd < len))
		return &watch->slots[fd];
	/*
	 * An uninitialised entry of the program's array may have a huge descriptor: allocate no
	 * slots up to there.
	 */
	if (!numbers_has(fd) || (size_t)fd >= kernel_descriptor_limit() ||
	    !memory_reserve(&watch->slots_memory,
	                    ((size_t)fd + 1) * sizeof *watch->slots))
		return NULL;
	watch->slots = watch->slots_memory.base;
	watch->slots_len = watch->slots_memory.size / sizeof *watch->slots;
	for (; len < watch->slots_len; len++)
		watch->slots[len].first = -1;
	return &watch->slots[fd];
}

bool watch_is_cold(const struct watch *watch, int fd)
{
	return (watch->slots[fd].flags & (IN_ARRAY | HOT)) == IN_ARRAY;
}

/* --- Hot -------------------------------------------------------------------- */

static void hot_remove(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];
	int last;

	if (!(slot->flags & HOT))
		return;
	slot->flags &= (uint8_t)~HOT;
	last = --watch->hot_len;
	watch->hot[slot->hot_index] = watch->hot[last];
	watch->slots[watch->hot[last]].hot_index = slot->hot_index;
}

/*
 * End the registration of fd, also in the epoll instance if in_kernel is set; otherwise the
 * instance has no entry of fd any more.  Clears the set's bit in the word of fd (numbers.h).
 */
static void disarm(struct watch *watch, int fd, bool in_kernel)
{
	struct watch_slot *slot = &watch->slots[fd];

	XP_ASSERT(slot->flags & ARMED);
	if (in_kernel)
		/* may fail if fd was reused for another file, which is harmless */
		control_epoll(watch, EPOLL_CTL_DEL, fd);
	numbers_unrely(fd, watch->set_index);
	slot->flags &= (uint8_t)~ARMED;
	slot->generation++;
	watch->armed_len--;
}

/*
 * Add fd to the instance.  Returns 0 or -errno; -EPERM: fd's kind of file must not be registered.
 */
static int register_new(struct watch *watch, int fd)
{
	int rc = kernel_may_watch(fd, &watch->syscalls);

	if (rc == 0)
		return -EPERM;
	if (rc > 0)
		rc = control_epoll(watch, EPOLL_CTL_ADD, fd);
	/*
	 * The instance has an entry of fd that this library has forgotten: a closing thread had
	 * removed fd from the instance, this set has added fd again, and then the close has failed.
	 * Change the entry.
	 */
	if (rc == -EEXIST)
		rc = control_epoll(watch, EPOLL_CTL_MOD, fd);
	return rc;
}

/*
 * Register fd with epoll for the requested bits, or change its registration to them, and make fd
 * cold.  Returns false if that fails, so that fd has to be hot: polled by poll(2) in each call.
 */
static bool arm(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];
	int rc = -ENOENT;

	if ((slot->flags & DIRECT) || !numbers_rely(fd, watch->set_index))
		return false;
	if (slot->flags & ARMED) {
		rc = control_epoll(watch, EPOLL_CTL_MOD, fd);
		if (rc < 0)
			disarm(watch, fd, false);
		if (rc < 0 && !numbers_rely(fd, watch->set_index))
			return false;
	}
	if (rc < 0)
		rc = register_new(watch, fd);
	if (rc < 0) {
		numbers_unrely(fd, watch->set_index);
		if (rc == -EPERM || rc == -EINVAL || rc == -ELOOP)
			slot->flags |= DIRECT;
		return false;
	}
	if (!(slot->flags & ARMED))
		watch->armed_len++;
	slot->flags |= ARMED;
	slot->armed = slot->wanted & KERNEL_BITS;
	hot_remove(watch, fd);
	return true;
}

/*
 * Make fd hot: each call polls it by poll(2), because epoll does not watch it.  Sets watch->failed
 * if there are WATCH_HOT_MOST hot descriptors already, with which a set is not worth its cost.
 */
static void hot_add(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];

	if (watch->hot_len == WATCH_HOT_MOST) {
		watch->failed = true;
		return;
	}
	slot->flags |= HOT;
	slot->hot_index = (uint8_t)watch->hot_len;
	watch->hot[watch->hot_len++] = fd;
}

/*
 * Make fd cold, watched by epoll alone, if its registration has all requested bits or can be
 * changed to them; otherwise hot, polled by poll(2) in each call.  A descriptor that is not in the
 * array becomes neither.
 */
static void arm_or_add_hot(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];
	bool covered = (slot->flags & ARMED) &&
	               (slot->wanted & KERNEL_BITS & ~slot->armed) == 0;

	if (!(slot->flags & IN_ARRAY) || covered)
		hot_remove(watch, fd);
	else if (!arm(watch, fd) && !(slot->flags & HOT))
		hot_add(watch, fd);
}

void watch_want(struct watch *watch, int fd, uint16_t bits)
{
	struct watch_slot *slot = &watch->slots[fd];

	if ((slot->flags & IN_ARRAY) && slot->wanted == bits)
		return;
	/*
	 * fd was not in the array before this call.  The program may have closed fd and opened a
	 * file of another kind meanwhile, so clear DIRECT.
	 */
	if (!(slot->flags & IN_ARRAY))
		slot->flags = (uint8_t)((slot->flags & ~DIRECT) | IN_ARRAY);
	slot->wanted = bits;
	arm_or_add_hot(watch, fd);
}

void watch_unwant(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];

	slot->wanted = 0;
	slot->flags &= (uint8_t)~IN_ARRAY;
	hot_remove(watch, fd);
}

void watch_register_again(struct watch *watch, int fd)
{
	if (watch->slots[fd].flags & ARMED)
		disarm(watch, fd, true);
	arm_or_add_hot(watch, fd);
}

/* --- Closed descriptors -------------------------------------------------------- */

/*
 * A thread that closes fd clears this set's bit in the word of fd (numbers.h).  If the bit is clear
 * though the set has registered fd, forget the registration.  If fd is still in the array, register
 * the file that it refers to now; while that is not possible, for example during the close, make fd
 * hot (polled by each call).
 */
static void drop_if_closed(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];

	if (!(slot->flags & ARMED) || numbers_set_relies(fd, watch->set_index))
		return;
	watch->syscalls++; /* count the closing thread's EPOLL_CTL_DEL as a cost of the set */
	disarm(watch, fd, false);
	slot->flags &= (uint8_t)~DIRECT;
	arm_or_add_hot(watch, fd);
}

/* Handle the entries of the log of closes from log_at on; if one is lost, check all descriptors. */
static void read_log(struct watch *watch)
{
	uint64_t end = numbers_log_end();

	while (watch->log_at != end) {
		int fd = numbers_log_at(watch->log_at);

		/* the entry was overwritten, or is not written yet: check all descriptors */
		if (fd < 0)
			break;
		if ((size_t)fd < watch->slots_len)
			drop_if_closed(watch, fd);
		watch->log_at++;
	}
	if (watch->log_at == end)
		return;
	for (size_t i = 0; i < watch->slots_len; i++)
		drop_if_closed(watch, (int)i);
	watch->log_at = end;
}

bool watch_read_closes(struct watch *watch)
{
	if (XP_LIKELY(watch->log_at == numbers_log_end()))
		return false;
	read_log(watch);
	return true;
}

void watch_begin(struct watch *watch)
{
	(void)watch_read_closes(watch);
	watch->calls++;
	/*
	 * Try to register one of the hot descriptors, which epoll does not watch, a different one
	 * in each call: the descriptor may not have been open and be open by now, or the thread
	 * that was closing it may have completed the close.
	 */
	if (watch->hot_len > 0)
		(void)arm(watch, watch->hot[watch->calls % (unsigned)watch->hot_len]);
}

/* --- Polling --------------------------------------------------------------------- */

/* Add a result to watch->ready; reset_results has reserved the memory. */
static void add_result(struct watch *watch, int fd, uint32_t bits)
{
	watch->ready[watch->ready_len++] = (struct watch_ready){fd, bits};
}

/*
 * Replace the epoll instance, because it has an entry of a closed descriptor whose file is still
 * open by a duplicate: the instance would report the file in every call, and epoll_ctl(2) cannot
 * remove the entry without the descriptor.
 * The new instance gets the same number, which closing threads may be about to use.
 */
static int rebuild(struct watch *watch)
{
	int fresh = watch_is_ours(watch) ? kernel_instance() : -EBADF;

	watch->syscalls += 3;
	if (fresh < 0 || xp_sys_move_fd(fresh, watch->epoll_fd) < 0)
		return -EBADF;
	for (size_t i = 0; i < watch->slots_len; i++) {
		int fd = (int)i;

		if (!(watch->slots[i].flags & ARMED))
			continue;
		disarm(watch, fd, false);
		arm_or_add_hot(watch, fd);
	}
	return 0;
}

/*
 * Called if the kernel has reported fd to no use: only with bits that the array does not request,
 * or although fd is hot (polled by poll(2)) or has left the array.  The kernel would repeat the
 * report in each call.  So reduce the registration to the requested bits, or end it and, if fd is
 * hot, try to register fd again.
 */
static void reduce_registration(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];

	if ((slot->flags & (IN_ARRAY | HOT)) == IN_ARRAY && arm(watch, fd))
		return;
	if (slot->flags & ARMED)
		disarm(watch, fd, true);
	arm_or_add_hot(watch, fd);
}

/*
 * Handle one report of the epoll instance.  Returns 1 if it was handled; 0 if the report is for a
 * closed descriptor, whose entry cannot be removed from the instance; -EBADF if the descriptor in
 * the token has no slot, so that the instance must be one of the program.
 */
static int handle_report(struct watch *watch, const struct epoll_event *event)
{
	uint32_t fd = (uint32_t)event->data.u64;
	struct watch_slot *slot = &watch->slots[fd];
	uint32_t bits;

	if (fd >= watch->slots_len)
		return -EBADF;
	/*
	 * This library has no registration of fd: remove the entry, which succeeds if fd still
	 * refers to the entry's file.
	 */
	if (!(slot->flags & ARMED))
		return control_epoll(watch, EPOLL_CTL_DEL, (int)fd) == 0;
	if (event->data.u64 != watch_token((int)fd, slot))
		return 0;
	bits = event->events & (slot->wanted | WATCH_ALWAYS);
	if ((slot->flags & (IN_ARRAY | HOT)) != IN_ARRAY || bits == 0)
		reduce_registration(watch, (int)fd);
	else
		add_result(watch, (int)fd, bits);
	return 1;
}

/* Get and handle all reports of the epoll instance; adds to `ready`.  Returns 0 or -EBADF. */
static int take_reports(struct watch *watch)
{
	size_t most = watch->armed_len + WATCH_HOT_MOST;
	struct epoll_event *events;
	bool dead = false;
	int count;

	if (!memory_reserve(&watch->events_memory, most * sizeof *events))
		return -EBADF;
	events = watch->events_memory.base;
	count = kernel_collect(watch->epoll_fd, events, (int)most, watch->has_other_sleepers,
	                       &watch->syscalls);
	if (count < 0)
		return -EBADF;
	for (int i = 0; i < count; i++) {
		int rc = handle_report(watch, &events[i]);

		if (rc < 0)
			return rc;
		dead |= rc == 0;
	}
	return dead ? rebuild(watch) : 0;
}

/* Empty `ready`, and reserve memory for all results.  Returns false if there is no memory. */
static bool reset_results(struct watch *watch)
{
	size_t most = watch->armed_len + 2 * WATCH_HOT_MOST;

	if (!memory_reserve(&watch->ready_memory, most * sizeof *watch->ready))
		return false;
	watch->ready = watch->ready_memory.base;
	watch->ready_len = 0;
	return true;
}

int watch_fill_pollfds(const struct watch *watch, struct pollfd *sleep)
{
	sleep[0] = (struct pollfd){.fd = watch->epoll_fd, .events = POLLIN};
	for (int i = 0; i < watch->hot_len; i++) {
		int fd = watch->hot[i];

		sleep[i + 1] = (struct pollfd){
			.fd = fd,
			.events = (short)watch->slots[fd].wanted,
		};
	}
	return watch->hot_len + 1;
}

int watch_take_revents(struct watch *watch, const struct pollfd *sleep, int len)
{
	if (!reset_results(watch) || (sleep[0].revents & ~POLLIN) != 0)
		return -EBADF;
	/*
	 * A descriptor that is not HOT any more was registered by another thread during the sleep:
	 * skip it, because epoll reports it.
	 */
	for (int i = 1; i < len; i++)
		if (sleep[i].revents != 0 && (watch->slots[sleep[i].fd].flags & HOT))
			add_result(watch, sleep[i].fd, (uint16_t)sleep[i].revents);
	return sleep[0].revents != 0 ? take_reports(watch) : 0;
}

int watch_poll_cold(struct watch *watch)
{
	return reset_results(watch) ? take_reports(watch) : -EBADF;
}

int watch_poll(struct watch *watch)
{
	struct pollfd sleep[WATCH_POLLFDS_MOST];
	int len;
	int rc;

	if (watch->hot_len == 0)
		return watch_poll_cold(watch);
	len = watch_fill_pollfds(watch, sleep);
	watch->syscalls++;
	rc = xp_sys_poll_now(sleep, (size_t)len);
	return rc < 0 ? -EBADF : watch_take_revents(watch, sleep, len);
}

/* --- Beginning and end -------------------------------------------------------------- */

int watch_init(struct watch *watch, int set)
{
	int fd = kernel_instance();

	if (fd >= 0)
		fd = kernel_move_away(fd);
	if (fd < 0)
		return fd;
	numbers_own(fd);
	*watch = (struct watch){.set_index = set, .log_at = numbers_log_end()};
	watch->epoll_fd = fd;
	return 0;
}

int watch_fini(struct watch *watch)
{
	for (size_t i = 0; i < watch->slots_len; i++)
		if (watch->slots[i].flags & ARMED)
			numbers_unrely((int)i, watch->set_index);
	memory_free(&watch->slots_memory);
	memory_free(&watch->events_memory);
	memory_free(&watch->ready_memory);
	return watch->epoll_fd;
}
