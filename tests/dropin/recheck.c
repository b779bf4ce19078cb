/*
 * Goal: by comparison with a real call the drop-in finds every descriptor that
 * was reused without its notice, and suspects no others.
 * Method: white box.  Hundreds of descriptors of one eventfd, which the kernel
 * watches; some are replaced by a raw system call.
 */
#include "watch.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "xt.h"

enum { NUMBERS = 700 };

struct field {
	struct watch watch;
	int quiet; /* eventfds that are not ready */
	int loud;
	int fds[NUMBERS];
};

/*
 * Open the descriptors, and have the kernel watch all of them, so that watch_poll itself polls
 * none.
 */
static void field_open(struct field *field)
{
	*field = (struct field){0};
	XT_EQ(watch_init(&field->watch, 0), 0);
	field->quiet = xt_keep(eventfd(0, EFD_NONBLOCK));
	field->loud = xt_keep(eventfd(1, EFD_NONBLOCK));
	for (int i = 0; i < NUMBERS; i++) {
		int fd = xt_keep(dup(field->quiet));

		XT_CHECK(fd >= 0 && watch_reserve_slot(&field->watch, fd));
		watch_want(&field->watch, fd, POLLIN);
		field->fds[i] = fd;
	}
	for (int i = 0; i < 10 * WATCH_HOT_MOST && field->watch.hot_len > 0; i++)
		watch_begin(&field->watch);
	XT_EQ(field->watch.hot_len, 0);
	XT_EQ(watch_poll(&field->watch), 0);
	XT_EQ(field->watch.ready_len, 0);
}

static void field_close(struct field *field)
{
	syscall(SYS_close, watch_fini(&field->watch));
}

/* Reuse the descriptor for another file, by a system call that the drop-in does not see. */
static void replace_unseen(const struct field *field, int number)
{
	XT_EQ(syscall(SYS_dup3, field->loud, number, O_CLOEXEC), number);
}

/* Compare the results of a real call with the registrations.  Returns how many differ. */
static unsigned compare(struct field *field)
{
	struct pollfd fds[NUMBERS];

	for (int i = 0; i < NUMBERS; i++)
		fds[i] = (struct pollfd){.fd = field->fds[i], .events = POLLIN};
	XT_EXPECT(poll(fds, NUMBERS, 0) >= 0);
	return watch_recheck(&field->watch, fds, NUMBERS);
}

XT_TEST(replaced_numbers_are_found)
{
	static const int victims[] = {0, 1, 200, 500, 501, NUMBERS - 1};
	enum { VICTIMS = sizeof victims / sizeof victims[0] };
	struct field field;

	XT_CALL(field_open(&field));
	for (int i = 0; i < VICTIMS; i++)
		XT_CALL(replace_unseen(&field, field.fds[victims[i]]));
	XT_EQ(watch_poll(&field.watch), 0);
	XT_EQ(field.watch.ready_len, 0); /* epoll still has the old files */
	XT_EQ(compare(&field), VICTIMS);
	XT_EQ(watch_poll(&field.watch), 0);
	XT_EQ(field.watch.ready_len, VICTIMS);
	XT_EQ(compare(&field), 0);
	field_close(&field);
}

XT_TEST(what_is_ready_and_registered_is_not_doubted)
{
	struct field field;
	unsigned syscalls;

	XT_CALL(field_open(&field));
	XT_EQ(eventfd_write(field.quiet, 1), 0);
	syscalls = field.watch.syscalls;
	XT_EQ(compare(&field), 0);
	/* Both agree, so no number is checked by a call of its own. */
	XT_EQ(field.watch.syscalls - syscalls, 1);
	XT_EQ(field.watch.hot_len, 0);
	field_close(&field);
}

/* A file became ready between the real call and the report. */
XT_TEST(what_only_one_of_them_finds_is_not_doubted_if_it_is_registered)
{
	struct pollfd fds[NUMBERS];
	struct field field;

	XT_CALL(field_open(&field));
	for (int i = 0; i < NUMBERS; i++)
		fds[i] = (struct pollfd){.fd = field.fds[i], .events = POLLIN};
	XT_EQ(eventfd_write(field.quiet, 1), 0);
	XT_EQ(watch_recheck(&field.watch, fds, NUMBERS), 0);
	XT_EQ(field.watch.hot_len, 0);
	field_close(&field);
}

/* The old file is still open elsewhere, so its input is still reported. */
XT_TEST(what_is_found_and_not_ready_is_another_file)
{
	struct field field;
	int empty = xt_keep(eventfd(0, EFD_NONBLOCK));

	XT_CALL(field_open(&field));
	XT_EQ(syscall(SYS_dup3, empty, field.fds[300], O_CLOEXEC), field.fds[300]);
	XT_EQ(eventfd_write(field.quiet, 1), 0);
	XT_EQ(compare(&field), 1);
	XT_EQ(watch_poll(&field.watch), 0);
	XT_EQ(watch_poll(&field.watch), 0); /* the epoll instance was replaced */
	XT_EQ(field.watch.ready_len, NUMBERS - 1);
	for (size_t i = 0; i < field.watch.ready_len; i++)
		XT_CHECK(field.watch.ready[i].fd != field.fds[300]);
	field_close(&field);
}

/* Both files are writable, and only the new one is readable. */
XT_TEST(other_bits_of_what_is_ready_and_found_are_another_file)
{
	struct xt_pair old = xt_socketpair(SOCK_STREAM);
	struct xt_pair new = xt_socketpair(SOCK_STREAM);
	struct pollfd entry = {.fd = old.r, .events = POLLIN | POLLOUT};
	struct watch watch;

	XT_EQ(watch_init(&watch, 0), 0);
	XT_CHECK(watch_reserve_slot(&watch, entry.fd));
	watch_want(&watch, entry.fd, POLLIN | POLLOUT);
	XT_EQ(watch.hot_len, 0);
	xt_keep(fcntl(old.r, F_DUPFD_CLOEXEC, 500));
	XT_EQ(syscall(SYS_dup3, new.r, entry.fd, O_CLOEXEC), entry.fd);
	xt_put(new.w);
	XT_EQ(poll(&entry, 1, 0), 1);
	XT_EQ(entry.revents, POLLIN | POLLOUT);
	XT_EQ(watch_recheck(&watch, &entry, 1), 1);
	XT_EQ(watch_poll(&watch), 0);
	XT_EQ(watch_poll(&watch), 0); /* the epoll instance was replaced */
	XT_EQ(watch.ready_len, 1);
	XT_EQ(watch.ready[0].bits, POLLIN | POLLOUT);
	syscall(SYS_close, watch_fini(&watch));
}
