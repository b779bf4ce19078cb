/*
 * Hot and cold descriptors: see watch.h.
 *
 * A registration has the requested bits, and perhaps more.  If the kernel reports only bits that
 * are not requested, the registration is narrowed at once, because a level-triggered entry would
 * report them for ever.
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
	PRESENT = 1, /* in the array, perhaps only for the bits of WATCH_ALWAYS */
	ARMED = 2,   /* registered in the epoll instance */
	HOT = 4,
	DIRECT = 8,  /* must not be registered: see watch.h */
};

/* The bits that epoll and poll(2) share; higher bits are flags of epoll. */
#define KERNEL_BITS 0x3fffu

_Static_assert(EPOLLIN == POLLIN && EPOLLPRI == POLLPRI &&
               EPOLLOUT == POLLOUT && EPOLLERR == POLLERR &&
               EPOLLHUP == POLLHUP && EPOLLRDNORM == POLLRDNORM &&
               EPOLLRDBAND == POLLRDBAND && EPOLLWRNORM == POLLWRNORM &&
               EPOLLWRBAND == POLLWRBAND && EPOLLRDHUP == POLLRDHUP,
               "epoll and poll share their bits here");

/*
 * Returns true if the epoll instance is still ours; checked once in each call that changes
 * registrations.  The program may have closed it and have an instance of its own there.
 */
static bool watch_is_ours(struct watch *watch)
{
	if (!watch->checked) {
		watch->checked = true;
		watch->syscalls++;
		if (!kernel_is_instance(watch->epoll_fd))
			watch->failed = true;
	}
	return !watch->failed;
}

static int control(struct watch *watch, int op, int fd)
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

struct watch_slot *watch_slot_of(struct watch *watch, int fd)
{
	size_t len = watch->slots_len;

	if (XP_LIKELY((size_t)fd < len))
		return &watch->slots[fd];
	/*
	 * Uninitialised entries of the program may have huge descriptors: allocate nothing for
	 * them.
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
	return (watch->slots[fd].flags & (PRESENT | HOT)) == PRESENT;
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
	watch->hot[slot->hot_at] = watch->hot[last];
	watch->slots[watch->hot[last]].hot_at = slot->hot_at;
}

static void disarm(struct watch *watch, int fd, bool in_kernel)
{
	struct watch_slot *slot = &watch->slots[fd];

	XP_ASSERT(slot->flags & ARMED);
	if (in_kernel)
		control(watch, EPOLL_CTL_DEL, fd); /* fails if the file was closed */
	numbers_unrely(fd, watch->set);
	slot->flags &= (uint8_t)~ARMED;
	slot->generation++;
	watch->armed_len--;
}

static int register_new(struct watch *watch, int fd)
{
	int rc = kernel_may_watch(fd, &watch->syscalls);

	if (rc == 0)
		return -EPERM;
	if (rc > 0)
		rc = control(watch, EPOLL_CTL_ADD, fd);
	if (rc == -EEXIST) /* left over from a close that failed */
		rc = control(watch, EPOLL_CTL_MOD, fd);
	return rc;
}

/* Register the requested bits of fd with epoll.  Returns false if fd has to stay hot. */
static bool arm(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];
	int rc = -ENOENT;

	if ((slot->flags & DIRECT) || !numbers_rely(fd, watch->set))
		return false;
	if (slot->flags & ARMED) {
		rc = control(watch, EPOLL_CTL_MOD, fd);
		if (rc < 0)
			disarm(watch, fd, false);
		if (rc < 0 && !numbers_rely(fd, watch->set))
			return false;
	}
	if (rc < 0)
		rc = register_new(watch, fd);
	if (rc < 0) {
		numbers_unrely(fd, watch->set);
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

static void hot_add(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];

	if (watch->hot_len == WATCH_HOT_MOST) {
		watch->failed = true;
		return;
	}
	slot->flags |= HOT;
	slot->hot_at = (uint8_t)watch->hot_len;
	watch->hot[watch->hot_len++] = fd;
}

/*
 * Make fd cold if its registration covers the requested bits or can be changed to; otherwise hot.
 */
static void arm_or_add_hot(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];
	bool covered = (slot->flags & ARMED) &&
	               (slot->wanted & KERNEL_BITS & ~slot->armed) == 0;

	if (!(slot->flags & PRESENT) || covered)
		hot_remove(watch, fd);
	else if (!arm(watch, fd) && !(slot->flags & HOT))
		hot_add(watch, fd);
}

void watch_want(struct watch *watch, int fd, uint16_t bits)
{
	struct watch_slot *slot = &watch->slots[fd];

	if ((slot->flags & PRESENT) && slot->wanted == bits)
		return;
	/* While fd was not in the array, it may have been reused for a file of another kind. */
	if (!(slot->flags & PRESENT))
		slot->flags = (uint8_t)((slot->flags & ~DIRECT) | PRESENT);
	slot->wanted = bits;
	arm_or_add_hot(watch, fd);
}

void watch_unwant(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];

	slot->wanted = 0;
	slot->flags &= (uint8_t)~PRESENT;
	hot_remove(watch, fd);
}

void watch_suspect(struct watch *watch, int fd)
{
	if (watch->slots[fd].flags & ARMED)
		disarm(watch, fd, true);
	arm_or_add_hot(watch, fd);
}

/* --- What was closed ----------------------------------------------------------- */

static void drop_if_closed(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];

	if (!(slot->flags & ARMED) || numbers_relied(fd, watch->set))
		return;
	watch->syscalls++; /* count the EPOLL_CTL_DEL of the thread that closed it */
	disarm(watch, fd, false);
	slot->flags &= (uint8_t)~DIRECT;
	arm_or_add_hot(watch, fd);
}

static void read_log(struct watch *watch)
{
	uint64_t end = numbers_log_end();

	while (watch->log_at != end) {
		int fd = numbers_log_at(watch->log_at);

		if (fd < 0) /* overwritten, or not written yet: check all descriptors */
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
	 * Try to register one hot descriptor: it may be open by now, or its close may have ended.
	 */
	if (watch->hot_len > 0)
		(void)arm(watch, watch->hot[watch->calls % (unsigned)watch->hot_len]);
}

/* --- Looking --------------------------------------------------------------------- */

static void found(struct watch *watch, int fd, uint32_t bits)
{
	watch->ready[watch->ready_len++] = (struct watch_ready){fd, bits};
}

/*
 * Replace the epoll instance, because it reports a closed file for ever while a duplicate is open
 * elsewhere.  The new instance gets the same descriptor, which closing threads may be about to use.
 */
static int rebuild(struct watch *watch)
{
	int fresh = watch_is_ours(watch) ? kernel_instance() : -EBADF;

	watch->syscalls += 3;
	if (fresh < 0 || xp_sys_replace(fresh, watch->epoll_fd) < 0)
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

/* The kernel reported only bits that are not requested, and would report them again. */
static void fruitless(struct watch *watch, int fd)
{
	struct watch_slot *slot = &watch->slots[fd];

	if ((slot->flags & (PRESENT | HOT)) == PRESENT && arm(watch, fd))
		return;
	if (slot->flags & ARMED)
		disarm(watch, fd, true);
	arm_or_add_hot(watch, fd);
}

/*
 * Handles one report of the epoll instance.  Returns 1; 0 if the report is about a closed file
 * whose entry cannot be removed; or -EBADF if the instance is not ours.
 */
static int reported(struct watch *watch, const struct epoll_event *event)
{
	uint32_t fd = (uint32_t)event->data.u64;
	struct watch_slot *slot = &watch->slots[fd];
	uint32_t bits;

	if (fd >= watch->slots_len)
		return -EBADF;
	/* The entry can be removed if fd still refers to the file of the entry. */
	if (!(slot->flags & ARMED))
		return control(watch, EPOLL_CTL_DEL, (int)fd) == 0;
	if (event->data.u64 != watch_token((int)fd, slot))
		return 0;
	bits = event->events & (slot->wanted | WATCH_ALWAYS);
	if ((slot->flags & (PRESENT | HOT)) != PRESENT || bits == 0)
		fruitless(watch, (int)fd);
	else
		found(watch, (int)fd, bits);
	return 1;
}

static int harvest(struct watch *watch)
{
	size_t most = watch->armed_len + WATCH_HOT_MOST;
	struct epoll_event *events;
	bool dead = false;
	int count;

	if (!memory_reserve(&watch->events_memory, most * sizeof *events))
		return -EBADF;
	events = watch->events_memory.base;
	count = kernel_collect(watch->epoll_fd, events, (int)most, watch->shared,
	                       &watch->syscalls);
	if (count < 0)
		return -EBADF;
	for (int i = 0; i < count; i++) {
		int rc = reported(watch, &events[i]);

		if (rc < 0)
			return rc;
		dead |= rc == 0;
	}
	return dead ? rebuild(watch) : 0;
}

static bool make_room(struct watch *watch)
{
	size_t most = watch->armed_len + 2 * WATCH_HOT_MOST;

	if (!memory_reserve(&watch->ready_memory, most * sizeof *watch->ready))
		return false;
	watch->ready = watch->ready_memory.base;
	watch->ready_len = 0;
	return true;
}

int watch_sleepers(const struct watch *watch, struct pollfd *sleep)
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

int watch_take(struct watch *watch, const struct pollfd *sleep, int len)
{
	if (!make_room(watch) || (sleep[0].revents & ~POLLIN) != 0)
		return -EBADF;
	/* Skip descriptors that another thread has registered meanwhile: epoll reports them. */
	for (int i = 1; i < len; i++)
		if (sleep[i].revents != 0 && (watch->slots[sleep[i].fd].flags & HOT))
			found(watch, sleep[i].fd, (uint16_t)sleep[i].revents);
	return sleep[0].revents != 0 ? harvest(watch) : 0;
}

int watch_collect(struct watch *watch)
{
	return make_room(watch) ? harvest(watch) : -EBADF;
}

int watch_poll(struct watch *watch)
{
	struct pollfd sleep[WATCH_SLEEP_LEN];
	int len;
	int rc;

	if (watch->hot_len == 0)
		return watch_collect(watch);
	len = watch_sleepers(watch, sleep);
	watch->syscalls++;
	rc = xp_sys_poll_now(sleep, (size_t)len);
	return rc < 0 ? -EBADF : watch_take(watch, sleep, len);
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
	*watch = (struct watch){.set = set, .log_at = numbers_log_end()};
	watch->epoll_fd = fd;
	return 0;
}

int watch_fini(struct watch *watch)
{
	for (size_t i = 0; i < watch->slots_len; i++)
		if (watch->slots[i].flags & ARMED)
			numbers_unrely((int)i, watch->set);
	memory_free(&watch->slots_memory);
	memory_free(&watch->events_memory);
	memory_free(&watch->ready_memory);
	return watch->epoll_fd;
}
