/*
 * Goal: the full look finds every number that has become another file unseen,
 * in slices that are small and come in time, and doubts no others.
 * Method: white box.  Hundreds of numbers of one eventfd, which the kernel
 * watches; some of them are replaced by a bare system call.
 */
#include "recheck.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "xt.h"

enum { NUMBERS = 700, SECOND = 1000000000 };

struct field {
	struct watch watch;
	int quiet; /* eventfds */
	int loud;
	int fds[NUMBERS];
};

/* All are cold: none of them is looked at by watch_look itself. */
static void field_open(struct field *field)
{
	*field = (struct field){0};
	XT_EQ(watch_init(&field->watch, 0, 0), 0);
	field->quiet = xt_keep(eventfd(0, EFD_NONBLOCK));
	field->loud = xt_keep(eventfd(1, EFD_NONBLOCK));
	for (int i = 0; i < NUMBERS; i++) {
		int fd = xt_keep(dup(field->quiet));

		XT_CHECK(fd >= 0 && watch_slot_of(&field->watch, fd));
		watch_want(&field->watch, fd, POLLIN);
		field->fds[i] = fd;
	}
	for (int i = 0; i < 10 * WATCH_HOT_MOST && field->watch.hot_len > 0; i++)
		watch_begin(&field->watch);
	XT_EQ(field->watch.hot_len, 0);
	XT_EQ(watch_look(&field->watch), 0);
	XT_EQ(field->watch.ready_len, 0);
}

static void field_close(struct field *field)
{
	syscall(SYS_close, watch_fini(&field->watch));
}

/* Another file takes the number, and close does not hear of it. */
static void replace_unseen(const struct field *field, int number)
{
	XT_EQ(syscall(SYS_dup3, field->loud, number, O_CLOEXEC), number);
}

XT_TEST(replaced_numbers_are_found_each_by_its_slice)
{
	static const int victims[] = {0, 1, 200, 500, 501, NUMBERS - 1};
	enum { VICTIMS = sizeof victims / sizeof victims[0] };
	struct recheck recheck = {0};
	struct field field;
	size_t slices;
	int missed = 0;

	XT_CALL(field_open(&field));
	for (int i = 0; i < VICTIMS; i++)
		XT_CALL(replace_unseen(&field, field.fds[victims[i]]));
	XT_EQ(watch_look(&field.watch), 0);
	XT_EQ(field.watch.ready_len, 0); /* epoll does not know them. */
	slices = recheck_slices(&field.watch);
	for (size_t i = 0; i < slices; i++) {
		size_t from = recheck.at;
		int found = recheck_slice(&recheck, &field.watch);
		int expected = 0;

		for (int k = 0; k < VICTIMS; k++) {
			size_t fd = (size_t)field.fds[victims[k]];

			expected += fd >= from && fd < from + RECHECK_SLICE;
		}
		XT_EQ(found, expected);
		missed += found;
	}
	XT_EQ(recheck.at, 0);
	XT_EQ(missed, VICTIMS);
	XT_EQ(watch_look(&field.watch), 0);
	XT_EQ(field.watch.ready_len, VICTIMS);
	field_close(&field);
}

/* Each slice is one poll(2), and each number is in one of them. */
XT_TEST(slice_looks_at_no_more_than_its_numbers)
{
	struct recheck recheck = {0};
	struct field field;
	size_t slices;

	XT_CALL(field_open(&field));
	slices = recheck_slices(&field.watch);
	XT_CHECK(slices >= NUMBERS / RECHECK_SLICE);
	for (size_t i = 0; i < slices; i++) {
		size_t looked = recheck.looked;
		unsigned syscalls = field.watch.syscalls;

		XT_EQ(recheck_slice(&recheck, &field.watch), 0);
		looked = recheck.looked - looked;
		XT_CHECK(looked <= RECHECK_SLICE);
		XT_EQ(field.watch.syscalls - syscalls, looked > 0);
	}
	XT_EQ(recheck.looked, NUMBERS);
	field_close(&field);
}

XT_TEST(what_is_ready_and_registered_is_not_doubted)
{
	struct recheck recheck = {0};
	struct field field;

	XT_CALL(field_open(&field));
	/* After the look, so only the slices see it. */
	XT_EQ(eventfd_write(field.quiet, 1), 0);
	for (size_t i = 0; i < recheck_slices(&field.watch); i++)
		XT_EQ(recheck_slice(&recheck, &field.watch), 0);
	/* Before them, and then it need not even be asked about. */
	XT_EQ(watch_look(&field.watch), 0);
	XT_EQ(field.watch.ready_len, NUMBERS);
	for (size_t i = 0; i < recheck_slices(&field.watch); i++) {
		unsigned syscalls = field.watch.syscalls;

		XT_EQ(recheck_slice(&recheck, &field.watch), 0);
		XT_CHECK(field.watch.syscalls - syscalls <= 1);
	}
	XT_EQ(field.watch.hot_len, 0);
	field_close(&field);
}

/* The old file is open elsewhere, so what comes in for it is still reported. */
XT_TEST(what_is_found_and_not_ready_is_another_file)
{
	struct recheck recheck = {0};
	struct field field;
	int empty = xt_keep(eventfd(0, EFD_NONBLOCK));
	int missed = 0;

	XT_CALL(field_open(&field));
	XT_EQ(syscall(SYS_dup3, empty, field.fds[300], O_CLOEXEC), field.fds[300]);
	XT_EQ(eventfd_write(field.quiet, 1), 0);
	XT_EQ(watch_look(&field.watch), 0);
	XT_EQ(field.watch.ready_len, NUMBERS);
	for (size_t i = 0; i < recheck_slices(&field.watch); i++)
		missed += recheck_slice(&recheck, &field.watch);
	XT_EQ(missed, 1);
	XT_EQ(watch_look(&field.watch), 0);
	XT_EQ(watch_look(&field.watch), 0); /* Its instance was made anew. */
	XT_EQ(field.watch.ready_len, NUMBERS - 1);
	for (size_t i = 0; i < field.watch.ready_len; i++)
		XT_CHECK(field.watch.ready[i].fd != field.fds[300]);
	field_close(&field);
}

XT_TEST(slices_are_due_evenly_and_none_is_owed_twice)
{
	struct recheck recheck = {0};
	struct field field;
	size_t slices;

	XT_CALL(field_open(&field));
	slices = recheck_slices(&field.watch);
	recheck_reckon(&recheck, &field.watch, 0, SECOND);
	XT_EQ(recheck.owed, 1);
	recheck_reckon(&recheck, &field.watch, 0, SECOND);
	XT_EQ(recheck.owed, 1);
	/* In each part of a period one more. */
	for (size_t i = 1; i < slices; i++) {
		recheck_reckon(&recheck, &field.watch,
		               (int64_t)i * SECOND / (int64_t)slices + (int64_t)i,
		               SECOND);
		XT_EQ(recheck.owed, i + 1);
	}
	/* A program that was away for an hour owes one full look. */
	recheck_reckon(&recheck, &field.watch, 3600 * (int64_t)SECOND, SECOND);
	XT_EQ(recheck.owed, slices);
	for (size_t i = slices; i > 0; i--) {
		XT_EQ(recheck.owed, i);
		XT_EQ(recheck_slice(&recheck, &field.watch), 0);
	}
	XT_EQ(recheck.owed, 0);
	recheck_reckon(&recheck, &field.watch, 3600 * (int64_t)SECOND, SECOND);
	XT_EQ(recheck.owed, 0);
	field_close(&field);
}
