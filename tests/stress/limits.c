/*
 * Stress: a limit on memory is reached again and again (S18; bad input).
 * Oracle: a refused registration fails with ENOMEM and leaves nothing behind;
 * an accepted one is delivered once when it is triggered, and can be deleted.
 */
#include "xt.h"

#include <sys/resource.h>

enum { ROOM = 4 << 20, MOST = 1000000, ROUNDS = 3 };

static int64_t address_space(void)
{
	char text[128] = "";
	long pages = 0;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, text, sizeof text - 1) > 0)
			(void)sscanf(text, "%ld", &pages);
		(void)close(fd);
	}
	return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static int add_until_refused(struct xpoll *queue)
{
	for (int i = 0; i < MOST; i++) {
		int error = xt_flag(queue, (uint64_t)i, USER,
		                    XPOLL_ADD | XPOLL_CLEAR);

		if (error == 0)
			continue;
		(void)XT_EXPECT_STATUS(error, ENOMEM);
		return i;
	}
	return MOST;
}

/* Trigger each 16th registration, a few at a time, and check that exactly these are delivered. */
static void trigger_some(struct xpoll *queue, int count)
{
	for (int i = 0; i < count; i += 16) {
		struct xpoll_event event;

		XT_OK(xt_trigger(queue, (uint64_t)i));
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_EQ(event.ident, i);
	}
}

static void live_with_limit(void *argument)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	int64_t limit = address_space() + ROOM;
	struct rlimit memory = {.rlim_cur = (rlim_t)limit,
	                        .rlim_max = (rlim_t)limit};

	(void)argument;
	xt_watchdog(60);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_EQ(setrlimit(RLIMIT_AS, &memory), 0);
	for (int round = 0; round < ROUNDS; round++) {
		int count = add_until_refused(queue);

		XT_CHECK(count > 0 && count < MOST);
		XT_EQ(xt_stats(queue).registered, count + 1);
		XT_CALL(trigger_some(queue, count));
		xt_put(pipe.w);
		XT_GETS(queue, NULL, pipe.r, READ);
		XT_EQ(xt_get(pipe.r), 'x');
		for (int i = 0; i < count; i++)
			XT_OK(xt_flag(queue, (uint64_t)i, USER, XPOLL_DELETE));
		XT_EQ(xt_stats(queue).registered, 1);
		xt_note("%d registrations, then ENOMEM", count);
	}
}

XT_TEST(stress_memory_limit_refuses_and_loses_nothing)
{
	if (XT_SANITIZED)
		XT_SKIP("a sanitizer needs all of the address space");
	(void)xt_child(live_with_limit, NULL);
}
