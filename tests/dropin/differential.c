/*
 * Goal: the drop-in returns exactly what the kernel returns.
 * Method: random activity of descriptors of all kinds, and random changes of
 * several arrays and sets: one moves in memory, one is longer than the blocks
 * that the drop-in compares, one so short that it often has no ready entry and
 * the call waits.  After each step the test calls the drop-in, and before and
 * after it the kernel by raw system calls: each bit must agree with one of the
 * kernel's two results.  These differ only by activity meanwhile, as on TCP,
 * where another processor may be at work: then all three calls are repeated.
 * The seed is printed; XT_SEED repeats it, XPOLL_DROPIN_STEPS sets the length.
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "world.h"
#include "xt.h"

/* length of the longest array: more than two blocks, and no multiple of a block */
#define ENTRIES 1400
#define TRIES   100

enum { MOVING, LONG, SHORT, USUAL, ARRAYS = 5 };

/* The minimum and maximum number of entries of each array. */
static const struct {
	int least;
	int most;
} sizes[ARRAYS] = {
	[MOVING] = {0, 256}, [LONG] = {ENTRIES - 300, ENTRIES}, [SHORT] = {0, 3},
	[USUAL] = {0, 256},  [USUAL + 1] = {0, 256},
};

struct list {
	struct pollfd fds[ENTRIES];
	int len;
};

struct sets {
	fd_set sets[3];
	int count;
};

struct run {
	struct world world;
	struct list lists[ARRAYS];
	struct sets sets[ARRAYS];
	struct pollfd *moving; /* this array is in a new block of memory each time */
	uint64_t steps;
	uint64_t uneven; /* number of times that the kernel's two results differed */
	uint64_t under_way; /* number of times that the kernel had not finished its work */
	uint64_t ready;
};

static int kernel_poll(struct pollfd *fds, int len)
{
	struct timespec zero = {0};

	return (int)syscall(SYS_ppoll, fds, len, &zero, NULL, 8);
}

/* --- Arrays -------------------------------------------------------------------- */

static short random_events(struct world *world)
{
	static const short usual[] = {POLLIN, POLLOUT, POLLIN | POLLOUT, 0};
	static const short bits[] = {POLLIN,     POLLPRI,    POLLOUT,
	                             POLLRDNORM, POLLRDBAND, POLLWRNORM,
	                             POLLWRBAND, POLLRDHUP,  POLLERR,
	                             POLLHUP,    POLLNVAL};
	int events = 0;

	if (world_chance(world, 70))
		return usual[world_pick(world, 4)];
	for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++)
		if (world_chance(world, 25))
			events |= bits[i];
	return (short)events;
}

static void set_entry(struct run *run, struct pollfd *entry)
{
	entry->fd = world_number(&run->world);
	entry->events = random_events(&run->world);
}

/* Add entries that are not open, in memory that was used before. */
static void fill_up(struct list *list, int least)
{
	while (list->len < least)
		list->fds[list->len++] = (struct pollfd){
			.fd = -1,
			.events = POLLIN,
			.revents = POLLIN,
		};
}

static void change_list(struct run *run, struct list *list, int most)
{
	struct world *world = &run->world;
	struct pollfd *entry;

	if (list->len == 0 || (world_chance(world, 23) && list->len < most)) {
		set_entry(run, &list->fds[list->len++]);
		return;
	}
	entry = &list->fds[world_pick(world, (uint32_t)list->len)];
	switch (world_pick(world, 12)) {
	case 0:
		*entry = list->fds[--list->len];
		break;
	case 1: /* remove the entry, and move those behind it up */
		list->len--;
		memmove(entry, entry + 1,
		        (size_t)(list->fds + list->len - entry) * sizeof *entry);
		break;
	case 2:
		entry->fd = ~entry->fd;
		break;
	case 3:
		entry->revents = (short)world_pick(world, 65536);
		break;
	case 4:
		if (world_chance(world, 3))
			list->len = (int)world_pick(world, (uint32_t)list->len + 1);
		break;
	case 5:
	case 6:
		set_entry(run, entry);
		break;
	default:
		entry->events = random_events(world);
	}
}

static bool agrees(short revents, short before, short after)
{
	return (revents & ~(before | after)) == 0 &&
		(before & after & ~revents) == 0;
}

/*
 * A reset that another processor is working on shows in the socket's state
 * before the kernel wakes those that watch it.
 */
static bool may_be_under_way(int fd)
{
	int domain = AF_UNIX;
	socklen_t len = sizeof domain;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
		domain == AF_INET;
}

/*
 * Call the drop-in, by one of its functions.  If a descriptor is ready, any timeout will do,
 * because the call returns at once; otherwise the timeout is a millisecond or 0.
 */
static int ask(struct run *run, struct pollfd *fds, int len, bool ready)
{
	struct world *world = &run->world;
	struct timespec time = {0};
	int timeout_ms = 0;
	sigset_t none;

	if (world_chance(world, ready ? 50 : 1))
		timeout_ms = ready ? 5000 : 1;
	if (world_chance(world, 70))
		return poll(fds, (nfds_t)len, timeout_ms);
	time.tv_sec = timeout_ms / 1000;
	time.tv_nsec = timeout_ms % 1000 * 1000000L;
	sigemptyset(&none);
	return ppoll(fds, (nfds_t)len, &time, world_chance(world, 50) ? &none : NULL);
}

/* Returns the first entry whose result differs from both of the kernel's; len: there is none. */
static int compare_once(struct run *run, struct list *list, struct pollfd *fds,
                        bool last)
{
	struct pollfd before[ENTRIES];
	struct pollfd after[ENTRIES];
	size_t size = (size_t)list->len * sizeof *fds;
	int expected = 0;
	int rc;
	int i;

	memcpy(before, list->fds, size);
	memcpy(after, list->fds, size);
	rc = ask(run, fds, list->len, kernel_poll(before, list->len) > 0);
	(void)kernel_poll(after, list->len);
	for (i = 0; i < list->len; i++) {
		expected += fds[i].revents != 0;
		run->uneven += before[i].revents != after[i].revents;
		if (fds[i].fd != before[i].fd || fds[i].events != before[i].events)
			xt_fail(__FILE__, __LINE__, "entry %d was changed", i);
		if (agrees(fds[i].revents, before[i].revents, after[i].revents))
			continue;
		if (!last && may_be_under_way(fds[i].fd))
			return i;
		xt_fail(__FILE__, __LINE__, "fd %d events 0x%x: the drop-in says "
		        "0x%x, the kernel 0x%x and 0x%x", fds[i].fd,
		        (unsigned)fds[i].events, (unsigned)fds[i].revents,
		        (unsigned)before[i].revents, (unsigned)after[i].revents);
		return list->len;
	}
	run->ready += (uint64_t)expected;
	XT_EXPECT_EQ(rc, expected);
	return list->len;
}

static void compare_list(struct run *run, struct list *list, struct pollfd *fds)
{
	for (int tries = 1; compare_once(run, list, fds, tries == TRIES) < list->len;
	     tries++)
		run->under_way++;
}

static void poll_step(struct run *run)
{
	uint32_t which = world_pick(&run->world, ARRAYS);
	struct list *list;

	if (which == LONG && world_chance(&run->world, 80))
		which = USUAL; /* the kernel may be slow to finish its work for this */
	list = &run->lists[which];
	while (world_chance(&run->world, 40))
		change_list(run, list, sizes[which].most);
	fill_up(list, sizes[which].least);
	if (which != MOVING) {
		compare_list(run, list, list->fds);
		return;
	}
	/* Allocate the new block before the old one is freed, so that the array moves. */
	struct pollfd *fresh = malloc(sizeof list->fds);

	if (!fresh)
		return;
	free(run->moving);
	run->moving = fresh;
	memcpy(fresh, list->fds, sizeof list->fds);
	compare_list(run, list, fresh);
	memcpy(list->fds, fresh, sizeof list->fds);
}

/* --- Sets ------------------------------------------------------------------------ */

static void change_sets(struct run *run, struct sets *sets)
{
	struct world *world = &run->world;
	fd_set *set = &sets->sets[world_pick(world, 3)];
	int fd = world_number(world);

	if (fd < 0 || fd >= FD_SETSIZE)
		return;
	if (world_chance(world, 10))
		sets->count = (int)world_pick(world, FD_SETSIZE + 1);
	else if (sets->count <= fd)
		sets->count = fd + 1;
	if (world_chance(world, 40))
		FD_CLR(fd, set);
	else
		FD_SET(fd, set);
}

static int kernel_select(struct sets *sets)
{
	struct timespec zero = {0};
	int rc = (int)syscall(SYS_pselect6, sets->count, &sets->sets[0],
	                      &sets->sets[1], &sets->sets[2], &zero, NULL);

	return rc < 0 ? -errno : rc;
}

static void clear_closed(struct sets *sets)
{
	for (int fd = 0; fd < FD_SETSIZE; fd++)
		for (int kind = 0; kind < 3; kind++)
			if (FD_ISSET(fd, &sets->sets[kind]) && fcntl(fd, F_GETFD) < 0)
				FD_CLR(fd, &sets->sets[kind]);
}

/* Returns true if the results differ only for descriptors for which may_be_under_way is true. */
static bool differ_under_way(const struct sets *ours, const struct sets *kernels)
{
	bool found = false;

	for (int fd = 0; fd < FD_SETSIZE; fd++)
		for (int kind = 0; kind < 3; kind++) {
			if (!FD_ISSET(fd, &ours->sets[kind]) ==
			    !FD_ISSET(fd, &kernels->sets[kind]))
				continue;
			if (!may_be_under_way(fd))
				return false;
			found = true;
		}
	return found;
}

/* Call the drop-in like `ask`.  ready: a descriptor is ready, so any wait ends. */
static int ask_sets(struct run *run, struct sets *sets, bool ready)
{
	struct timespec exact = {0};
	struct timeval time = {0};
	int rc;

	if (world_chance(&run->world, ready ? 50 : 1)) {
		time.tv_sec = ready ? 5 : 0;
		time.tv_usec = ready ? 0 : 1000;
	}
	exact.tv_sec = time.tv_sec;
	exact.tv_nsec = time.tv_usec * 1000L;
	if (world_chance(&run->world, 70))
		rc = select(sets->count, &sets->sets[0], &sets->sets[1],
		            &sets->sets[2], &time);
	else
		rc = pselect(sets->count, &sets->sets[0], &sets->sets[1],
		             &sets->sets[2], &exact, NULL);
	return rc < 0 ? -errno : rc;
}

/* Compare one round.  Returns false if it must be repeated. */
static bool compare_sets_once(struct run *run, struct sets *ours, bool last)
{
	struct sets before = *ours;
	struct sets after = *ours;
	int rc_before = kernel_select(&before);
	int rc = ask_sets(run, ours, rc_before > 0);
	int rc_after = kernel_select(&after);

	run->ready += rc > 0 ? (uint64_t)rc : 0;
	if (memcmp(&before, &after, sizeof before) != 0) {
		run->uneven++;
		return true;
	}
	XT_EXPECT_EQ(rc_before, rc_after);
	if (!last && rc_before >= 0 && rc >= 0 && differ_under_way(ours, &before))
		return false;
	XT_EXPECT_EQ(rc, rc_before);
	XT_EXPECT(memcmp(ours, &before, sizeof before) == 0);
	return true;
}

static void compare_sets(struct run *run, struct sets *ours)
{
	struct sets asked = *ours;

	for (int tries = 1; !compare_sets_once(run, ours, tries == TRIES); tries++) {
		run->under_way++;
		*ours = asked;
	}
	*ours = asked;
}

static void select_step(struct run *run)
{
	uint32_t which = world_pick(&run->world, ARRAYS);
	struct sets *sets = &run->sets[which];
	struct sets copy;

	while (world_chance(&run->world, 60))
		change_sets(run, sets);
	/* With a closed descriptor all functions return EBADF, so remove it most of the time. */
	copy = *sets;
	if (kernel_select(&copy) == -EBADF && world_chance(&run->world, 95))
		clear_closed(sets);
	compare_sets(run, sets);
}

/* --- Running ------------------------------------------------------------------------ */

static uint64_t steps_wanted(void)
{
	const char *text = getenv("XPOLL_DROPIN_STEPS");

	return text ? strtoull(text, NULL, 0) : XT_SANITIZED ? 20000 : 500000;
}

static void run_steps(void (*step)(struct run *))
{
	static struct run run; /* static because of its size */
	uint64_t steps = steps_wanted();

	memset(&run, 0, sizeof run);
	run.world.seed = xt_seed();
	for (int i = 0; i < 32; i++)
		run.world.ended[i] = 30 + i;
	for (int i = 0; i < 40; i++)
		world_open(&run.world);
	for (; run.steps < steps; run.steps++) {
		if (run.steps % 1000 == 0)
			xt_watchdog(60);
		while (world_chance(&run.world, 60))
			world_act(&run.world);
		step(&run);
		if (xt_failures()) {
			xt_note("step %ju", (uintmax_t)run.steps);
			break;
		}
	}
	xt_note("seed %ju: %ju steps, %ju ready entries, %ju of two minds, "
	        "%ju under way", (uintmax_t)xt_seed(), (uintmax_t)run.steps,
	        (uintmax_t)run.ready, (uintmax_t)run.uneven,
	        (uintmax_t)run.under_way);
	free(run.moving);
	world_close_all(&run.world);
}

XT_TEST(poll_any_steps_answers_as_the_kernel)
{
	run_steps(poll_step);
}

XT_TEST(select_any_steps_answers_as_the_kernel)
{
	run_steps(select_step);
}
