/*
 * Goal: which descriptors the drop-in polls itself ("hot") and which the kernel
 * watches may change while a thread sleeps; each ready descriptor is found
 * exactly once nevertheless.
 * Method: white box.  One thread plays the sleeping thread and the others in
 * turn.
 */
#include "watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "numbers.h"
#include "xt.h"

enum { NUMBERS = 20 };

struct field {
	struct watch watch;
	int fds[NUMBERS]; /* eventfds, all hot at first */
};

static void field_open(struct field *field)
{
	*field = (struct field){0};
	XT_EQ(watch_init(&field->watch, 0), 0);
	for (int i = 0; i < NUMBERS; i++) {
		field->fds[i] = xt_keep(eventfd(0, EFD_NONBLOCK));
		XT_CHECK(watch_reserve_slot(&field->watch, field->fds[i]));
		(void)numbers_close_begin(field->fds[i]); /* as when another thread closes it */
		watch_want(&field->watch, field->fds[i], POLLIN);
		numbers_close_end(field->fds[i]);
	}
	XT_EQ(field->watch.hot_len, NUMBERS);
}

static void field_close(struct field *field)
{
	syscall(SYS_close, watch_fini(&field->watch));
}

/* --- The kernel's answers -------------------------------------------------- */

int __real_xp_sys_epoll_now(int epoll_fd, struct epoll_event *events, int cap);
int __wrap_xp_sys_epoll_now(int epoll_fd, struct epoll_event *events, int cap);

/* number of epoll calls that find nothing, as when another thread reads the list */
static int missed;

int __wrap_xp_sys_epoll_now(int epoll_fd, struct epoll_event *events, int cap)
{
	if (missed > 0) {
		missed--;
		return 0;
	}
	return __real_xp_sys_epoll_now(epoll_fd, events, cap);
}

static void cool_all(struct field *field)
{
	for (int i = 0; i < 10 * WATCH_HOT_MOST && field->watch.hot_len > 0; i++)
		watch_begin(&field->watch);
	XT_EQ(field->watch.hot_len, 0);
}

XT_TEST(what_got_cold_during_a_sleep_is_found_once)
{
	struct pollfd sleep[WATCH_POLLFDS_MOST];
	struct field field;
	int len;

	XT_CALL(field_open(&field));
	len = watch_fill_pollfds(&field.watch, sleep);
	XT_EQ(len, 1 + NUMBERS);
	XT_CALL(cool_all(&field));
	for (int i = 0; i < NUMBERS; i++)
		XT_EQ(eventfd_write(field.fds[i], 1), 0);
	XT_EQ(poll(sleep, (nfds_t)len, 0), 1 + NUMBERS);
	XT_EQ(watch_take_revents(&field.watch, sleep, len), 0);
	XT_EQ(field.watch.ready_len, NUMBERS);
	field_close(&field);
}

/* The sleep has ended for another reason: the epoll instance was not ready then. */
XT_TEST(what_got_cold_after_a_sleep_is_found_by_the_next_look)
{
	struct pollfd sleep[WATCH_POLLFDS_MOST];
	struct field field;
	int len;

	XT_CALL(field_open(&field));
	len = watch_fill_pollfds(&field.watch, sleep);
	XT_EQ(eventfd_write(field.fds[3], 1), 0);
	XT_EQ(poll(sleep, (nfds_t)len, 0), 1);
	XT_CALL(cool_all(&field));
	XT_EQ(watch_take_revents(&field.watch, sleep, len), 0);
	XT_EQ(field.watch.ready_len, 0);
	XT_EQ(watch_poll(&field.watch), 0);
	XT_EQ(field.watch.ready_len, 1);
	XT_EQ(field.watch.ready[0].fd, field.fds[3]);
	field_close(&field);
}

/*
 * While another thread reads the kernel's list of ready entries, the list looks empty to this one.
 */
XT_TEST(what_another_thread_has_off_the_list_is_waited_for)
{
	struct field field;

	XT_CALL(field_open(&field));
	XT_CALL(cool_all(&field));
	XT_EQ(eventfd_write(field.fds[3], 1), 0);
	field.watch.has_other_sleepers = true;
	for (int times = 0; times < 4; times++) {
		missed = times;
		XT_EQ(watch_poll(&field.watch), 0);
		XT_EQ(missed, 0);
		XT_EQ(field.watch.ready_len, 1);
	}
	field_close(&field);
}
