/*
 * Goal: any descriptor can be registered (S13): regular files, directories,
 * devices, terminals, counters; hazard 17: an O_PATH descriptor must not be
 * taken for a closed one.
 * Method: the event level's results for each kind, together with files that the
 * kernel can wait for; poll(2) is the oracle for terminals.
 */
#include "xt.h"

static void write_text(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		xt_fail(__FILE__, __LINE__, "write: %s", xt_error_name(errno));
}

/* Complaint: Regular files, directories, /dev/null are refused. */
XT_TEST(file_read_is_ready_until_the_end)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	int file = xt_file("ab");

	XT_OK(xt_add(queue, file, READ, 0));
	XT_GETS(queue, &event, file, READ);
	XT_EXPECT_EQ(event.data, 1);
	XT_EQ(xt_get(file), 'a');
	XT_GETS(queue, NULL, file, READ);
	XT_EQ(xt_get(file), 'b');
	XT_NONE(queue);
	XT_EQ(lseek(file, 1, SEEK_SET), 1);
	XT_GETS(queue, NULL, file, READ);
}

/* source/growth.c tests that growth wakes a sleeping thread. */
XT_TEST(file_that_grew_is_ready_at_the_next_wait)
{
	struct xpoll *queue = xt_open();
	int file = xt_file("");
	int writer = xt_dup(file);

	XT_OK(xt_add(queue, file, READ, 0));
	XT_NONE(queue);
	write_text(writer, "more");
	/* The duplicate shares the offset, which is at the end again. */
	XT_NONE(queue);
	XT_EQ(lseek(file, 0, SEEK_SET), 0);
	XT_GETS(queue, NULL, file, READ);
	XT_EQ(xt_drain(file), 4);
	XT_NONE(queue);
	XT_EQ(pwrite(file, "tail", 4, 4), 4);
	XT_GETS(queue, NULL, file, READ);
}

XT_TEST(file_write_is_always_ready)
{
	struct xpoll *queue = xt_open();
	int file = xt_file("");

	XT_OK(xt_add(queue, file, WRITE, 0));
	for (int i = 0; i < 5; i++) {
		XT_GETS(queue, NULL, file, WRITE);
		write_text(file, "x");
	}
}

/* S11: an event for which the array had no room is delivered by the next wait. */
XT_TEST(file_both_directions_come_with_room_for_one)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;
	int file = xt_file("text");
	int seen[2] = {0, 0};

	XT_OK(xt_add(queue, file, READ, 0));
	XT_OK(xt_add(queue, file, WRITE, 0));
	for (int i = 0; i < 8; i++) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
		XT_EQ(event.ident, file);
		seen[event.filter == WRITE]++;
	}
	XT_EXPECT_EQ(seen[0], 4);
	XT_EXPECT_EQ(seen[1], 4);
}

XT_TEST(file_flags_work_as_for_others)
{
	struct xpoll *queue = xt_open();
	int file = xt_file("text");
	uint64_t ident = (uint64_t)file;

	XT_OK(xt_add(queue, file, READ, XPOLL_ONESHOT));
	XT_GETS(queue, NULL, file, READ);
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, ident, READ, XPOLL_DELETE), ENOENT);
	XT_OK(xt_add(queue, file, READ, XPOLL_DISPATCH | XPOLL_DISABLE));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, file, READ);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, file, READ);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DELETE));
	XT_STATUS(xt_flag(queue, ident, READ, XPOLL_DISABLE), ENOENT);
	XT_NONE(queue);
}

XT_TEST(file_clear_is_reported_then_silent_until_enabled)
{
	struct xpoll *queue = xt_open();
	int file = xt_file("text");
	uint64_t ident = (uint64_t)file;

	XT_OK(xt_add(queue, file, READ, XPOLL_CLEAR));
	XT_GETS(queue, NULL, file, READ);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, file, READ);
}

XT_TEST(file_close_and_reopen_starts_clean)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event now;
	int file = xt_file("text");
	uint64_t ident = (uint64_t)file;

	XT_OK(xt_add(queue, file, READ, 0));
	XT_GETS(queue, NULL, file, READ);
	xt_close(file);
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, ident, READ, XPOLL_DELETE), EBADF);
	XT_FAILS(xpoll_lookup(queue, ident, READ, &now), ENOENT);
	struct xt_pair pipe = xt_pipe();
	xt_number(pipe.r, (int)ident);
	XT_OK(xt_add(queue, (int)ident, READ, 0));
	XT_NONE(queue);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, ident, READ);
}

/* A pipe's descriptor is reused for a regular file, and the file's for a pipe. */
XT_TEST(file_on_a_pipes_number_is_found_by_add)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	int number = pipe.r;
	int file = xt_file("text");

	if (!xt_add_sees_reuse())
		XT_SKIP("this back end cannot tell a reopened number (S7)");
	XT_OK(xt_add(queue, number, READ, 0));
	xt_number(file, number);
	XT_OK(xt_add(queue, number, READ, 0));
	XT_GETS(queue, NULL, number, READ);
	XT_EQ(xt_drain(number), 4);
	XT_NONE(queue);
}

/* S11: a registration of a file that requests only the half-close delivers nothing. */
XT_TEST(file_asked_for_a_half_close_only_is_silent)
{
	XT_NEEDS_RDHUP();
	struct xpoll *queue = xt_open();
	int file = xt_file("text");

	XT_EXPECT_EQ(xt_poll(file, POLLRDHUP), 0);
	XT_CHECK(xpoll_ctl(queue, XPOLL_ADD, POLLRDHUP, file, NULL) == 0);
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_NONE(queue);
	XT_CHECK(xpoll_ctl(queue, XPOLL_ADD, POLLIN, file, NULL) == 0);
	XT_GETS(queue, NULL, file, READ);
}

XT_TEST(file_and_pipe_both_come)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event events[4];
	int file = xt_file("text");

	XT_OK(xt_add(queue, file, READ, 0));
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_GETS(queue, NULL, file, READ);
	xt_put(pipe.w);
	/* The three events come within a bounded number of waits (S11), perhaps not all in one. */
	for (int i = 0, seen = 0; seen != 3; i++) {
		XT_CHECK(i < 64);
		int count = xt_take(queue, events, 4, XT_SOON);
		XT_CHECK(count == 1 || count == 2);
		seen |= xt_find(events, count, (uint64_t)file, READ) >= 0;
		seen |= 2 * (xt_find(events, count, (uint64_t)pipe.r, READ) >=
		             0);
	}
	XT_EQ(xt_drain(file), 4);
	XT_GETS(queue, NULL, pipe.r, READ);
}

XT_TEST(file_ready_does_not_let_a_wait_sleep)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;
	int file = xt_file("");

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_add(queue, file, WRITE, XPOLL_DISPATCH));
	XT_GETS(queue, NULL, file, WRITE);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)file, WRITE, XPOLL_ENABLE));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	XT_EXPECT_EQ(event.ident, file);
}

XT_TEST(directory_registers_and_is_ready)
{
	struct xpoll *queue = xt_open();
	int directory = xt_open_path("/tmp", O_RDONLY | O_DIRECTORY);

	XT_OK(xt_add(queue, directory, READ, 0));
	XT_GETS(queue, NULL, directory, READ);
	XT_OK(xt_flag(queue, (uint64_t)directory, READ, XPOLL_DISABLE));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)directory, READ, XPOLL_DELETE));
	XT_NONE(queue);
}

/* Complaint: Regular files, directories, /dev/null are refused. */
XT_TEST(dev_null_and_zero_register_and_are_ready)
{
	static const char *const paths[] = {"/dev/null", "/dev/zero"};
	struct xpoll_event events[4];

	for (int i = 0; i < 2; i++) {
		struct xpoll *queue = xt_open();
		int fd = xt_open_path(paths[i], O_RDWR);

		XT_OK(xt_add(queue, fd, READ, 0));
		XT_GETS(queue, NULL, fd, READ);
		XT_OK(xt_add(queue, fd, WRITE, 0));
		XT_EQ(xt_take(queue, events, 4, XT_SOON), 2);
		xt_close(fd);
		XT_NONE(queue);
	}
}

/* CLEAR uses another mechanism of the kernel, which may refuse the device. */
XT_TEST(dev_null_with_a_clear_direction_keeps_the_other)
{
	if (xt_has_kqueue())
		XT_SKIP("a level beside an edge brings the edge up again");

	struct xpoll *queue = xt_open();
	int fd = xt_open_path("/dev/null", O_RDWR);
	struct xpoll_event events[4];

	XT_OK(xt_add(queue, fd, READ, 0));
	XT_OK(xt_add(queue, fd, WRITE, XPOLL_CLEAR));
	XT_EQ(xt_take(queue, events, 4, XT_SOON), 2);
	XT_GETS(queue, NULL, fd, READ);
	XT_OK(xt_flag(queue, (uint64_t)fd, READ, XPOLL_DELETE));
	XT_NONE(queue);
}

/* Complaint: macOS: terminals and FIFOs are refused, or silent. */
XT_TEST(tty_reads_and_writes_like_poll)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pty = xt_pty();
	struct xpoll_event events[4];

	XT_OK(xt_add(queue, pty.r, READ, 0));
	XT_NONE(queue);
	xt_put(pty.w);
	XT_CHECK(xt_poll_until(pty.r, POLLIN, POLLIN));
	XT_GETS(queue, NULL, pty.r, READ);
	XT_EQ(xt_get(pty.r), 'x');
	XT_NONE(queue);
	XT_OK(xt_add(queue, pty.r, WRITE, 0));
	XT_GETS(queue, NULL, pty.r, WRITE);
	XT_OK(xt_add(queue, pty.w, READ, XPOLL_CLEAR));
	xt_put(pty.r);
	XT_CHECK(xt_poll_until(pty.w, POLLIN, POLLIN));
	XT_EQ(xt_take(queue, events, 4, XT_SOON), 2);
	XT_EXPECT(xt_find(events, 2, (uint64_t)pty.w, READ) >= 0);
}

XT_TEST(counters_of_the_kernel_are_ready_when_they_count)
{
	struct xpoll *queue = xt_open();
	int counter = xt_eventfd();
	int timer = xt_timerfd(1000000);
	uint64_t one = 1;

	if (counter < 0)
		XT_SKIP("no eventfd here");
	XT_OK(xt_add(queue, counter, READ, 0));
	XT_NONE(queue);
	XT_EQ(write(counter, &one, sizeof one), (ssize_t)sizeof one);
	XT_GETS(queue, NULL, counter, READ);
	XT_EQ(read(counter, &one, sizeof one), (ssize_t)sizeof one);
	XT_NONE(queue);
	XT_OK(xt_add(queue, timer, READ, XPOLL_CLEAR));
	XT_GETS(queue, NULL, timer, READ);
}

XT_TEST(listener_is_readable_while_connections_wait)
{
	struct xpoll *queue = xt_open();
	struct sockaddr_in address;
	int listener = xt_listener(&address);

	XT_OK(xt_add(queue, listener, READ, 0));
	XT_NONE(queue);
	int fd = xt_socket(AF_INET, SOCK_STREAM);
	(void)connect(fd, (struct sockaddr *)&address, sizeof address);
	XT_GETS(queue, NULL, listener, READ);
	XT_GETS(queue, NULL, listener, READ);
	(void)xt_keep(accept(listener, NULL, NULL));
	XT_NONE(queue);
}

/* Hazard 17: waiting for an O_PATH descriptor is not supported, which is not EBADF. */
XT_TEST(hazard_17_o_path_is_enotsup_not_ebadf)
{
#ifdef O_PATH
	static const int filters[] = {READ, WRITE, EXCEPT};
	struct xpoll *queue = xt_open();
	int fds[2] = {xt_open_path("/tmp", O_PATH),
	              xt_open_path("/dev/null", O_PATH)};

	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 3; j++)
			XT_STATUS(xt_add(queue, fds[i], filters[j], 0),
			          ENOTSUP);
	XT_NONE(queue);
	xt_close(fds[0]);
	XT_STATUS(xt_add(queue, fds[0], READ, 0), EBADF);
#else
	XT_SKIP("no O_PATH here");
#endif
}

/*
 * Hazard 17: the same for a descriptor whose former file had a ONESHOT registration that was
 * delivered.
 */
XT_TEST(o_path_at_the_number_of_a_oneshot_that_has_ended_cannot_be_waited_for)
{
#ifdef O_PATH
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	int number = pipe.r;

	XT_OK(xt_add(queue, number, READ, XPOLL_ONESHOT));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, number, READ);
	xt_close(number);
	xt_number(xt_open_path("/tmp", O_PATH), number);
	XT_STATUS(xt_add(queue, number, READ, XPOLL_ONESHOT), ENOTSUP);
#else
	XT_SKIP("no O_PATH here");
#endif
}

/*
 * Hazard 17: dup2(2) replaces a registered file by an O_PATH descriptor, of which no event comes.
 */
XT_TEST(hazard_17_o_path_on_a_registered_number_is_no_event)
{
#ifdef O_PATH
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	int number = pipe.r;

	xt_put(pipe.w);
	XT_OK(xt_add(queue, number, READ, 0));
	XT_GETS(queue, NULL, number, READ);
	xt_number(xt_open_path("/tmp", O_PATH), number);
	XT_NONE(queue);
	XT_STATUS(xt_add(queue, number, READ, 0), ENOTSUP);
	XT_NONE(queue);
#else
	XT_SKIP("no O_PATH here");
#endif
}

/* S11: files that are always ready are delivered in turn, whatever room the array has. */
XT_TEST(files_take_turns)
{
	enum { FILES = 7, ROUNDS = 30 };
	struct xpoll *queue = xt_open_quiet();
	int files[FILES];
	int seen[FILES] = {0};

	for (int i = 0; i < FILES; i++) {
		files[i] = xt_file("text");
		XT_OK(xt_add(queue, files[i], WRITE, 0));
	}
	for (int room = 1; room < FILES; room++) {
		for (int i = 0; i < FILES * ROUNDS; i++) {
			struct xpoll_event events[FILES];

			XT_EQ(xpoll_event(queue, NULL, 0, events, room, 0), room);
			for (int j = 0; j < room; j++)
				for (int k = 0; k < FILES; k++)
					seen[k] += events[j].ident == (uint64_t)files[k];
		}
		for (int k = 0; k < FILES; k++) {
			XT_EXPECT(seen[k] >= room * ROUNDS / 2);
			seen[k] = 0;
		}
	}
}

/* The same for xpoll_wait, whose internal array has less room than there are files. */
XT_TEST(files_take_turns_at_the_poll_like_level)
{
	enum { FILES = 300, WAITS = 4 };
	struct xpoll *queue = xt_open_quiet();
	static int seen[FILES];

	XT_FILES(FILES + 100);
	for (int i = 0; i < FILES; i++) {
		seen[i] = 0;
		XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, xt_file("text"), &seen[i]), 0);
	}
	for (int i = 0; i < WAITS; i++) {
		void *data;

		XT_CHECK(xpoll_wait(queue, 0) > 0);
		while (xpoll_revents(queue, &data))
			++*(int *)data;
	}
	for (int i = 0; i < FILES; i++)
		XT_CHECK(seen[i] > 0);
}
