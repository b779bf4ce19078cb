/*
 * Goal: the library works if the loader finds the C library before it, as when it is linked after
 * -lc or loaded by dlopen(3).  The program's own calls of close(2) and read(2) are the C library's.
 * A function that the C library lacks is not found, although this library exports it.
 * Method: the program is linked in this order, and exits with the number of the line that failed.
 * It has a copy of real.c, which looks up a function of the program itself.
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* dropin/common/real.h: store the address of the function in *pointer, if there is one. */
void real_find(const char *name, void *pointer);

static int failed; /* the first line that failed; 0: none */

static void check(int is_true, int line)
{
	if (!is_true && !failed)
		failed = line;
}
#define CHECK(condition) check((condition), __LINE__)

/* No library defines it. */
__attribute__((visibility("default"))) void late_own(void);
void late_own(void)
{
}

static void check_own_is_not_found(void)
{
	void (*own)(void) = NULL;
	int (*other)(int) = NULL;

	real_find("late_own", &own);
	real_find("close", &other);
	CHECK(!own && other);
}

static int change(int set, int op, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(set, op, fd, &event);
}

/* Returns the descriptor of the next event; -1: none in `timeout` milliseconds. */
static int next(int set, int timeout)
{
	struct epoll_event event;

	return epoll_wait(set, &event, 1, timeout) == 1 ? event.data.fd : -1;
}

int main(void)
{
	int set = epoll_create1(0), counter = eventfd(1, EFD_NONBLOCK);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec soon = {.it_value.tv_nsec = 1};
	int fds[2], again[2];

	CHECK(set >= 0 && counter >= 0 && timer >= 0 && pipe(fds) == 0);
	CHECK(change(set, EPOLL_CTL_ADD, fds[0]) == 0);
	CHECK(next(set, 0) == -1);
	CHECK(write(fds[1], "x", 1) == 1);
	CHECK(next(set, 0) == fds[0]);
	/* The library detects the close when the descriptor is added again. */
	CHECK(close(fds[0]) == 0 && pipe(again) == 0 && again[0] == fds[0]);
	CHECK(change(set, EPOLL_CTL_ADD, again[0]) == 0);
	CHECK(next(set, 0) == -1);
	CHECK(write(again[1], "x", 1) == 1);
	CHECK(next(set, 0) == again[0]);
	CHECK(change(set, EPOLL_CTL_DEL, again[0]) == 0);
	CHECK(change(set, EPOLL_CTL_ADD, counter) == 0);
	CHECK(next(set, 0) == counter);
	CHECK(change(set, EPOLL_CTL_DEL, counter) == 0);
	CHECK(change(set, EPOLL_CTL_ADD, timer) == 0);
	CHECK(timerfd_settime(timer, 0, &soon, NULL) == 0);
	CHECK(next(set, 20000) == timer);
	check_own_is_not_found();
	return failed;
}
