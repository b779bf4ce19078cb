/*
 * Goal: epoll_create, epoll_ctl and epoll_wait: arguments, errors and modes, as
 * epoll_ctl(2) and epoll_wait(2) of Linux describe them.
 * Method: pipes and sockets; each event is compared with the activity that
 * caused it.
 */
#include "kit.h"

XT_TEST(arguments_are_checked_as_on_linux)
{
	int set = kit_open(), other = kit_open();
	struct xt_pair pipe = xt_pipe();
	struct epoll_event event = {.events = EPOLLIN};
	int file = xt_file("text");

	XT_FAILS(epoll_create(0), EINVAL);
	XT_FAILS(epoll_create1(1), EINVAL);
	XT_FAILS(epoll_ctl(set, EPOLL_CTL_ADD, pipe.r, NULL), EFAULT);
	XT_FAILS(epoll_ctl(-1, EPOLL_CTL_ADD, pipe.r, &event), EBADF);
	XT_FAILS(epoll_ctl(pipe.w, EPOLL_CTL_ADD, pipe.r, &event), EINVAL);
	XT_FAILS(epoll_ctl(pipe.w, EPOLL_CTL_ADD, 12345, &event), EBADF);
	XT_FAILS(epoll_ctl(pipe.w, EPOLL_CTL_ADD, file, &event), EPERM);
	XT_FAILS(epoll_ctl(set, EPOLL_CTL_ADD, 12345, &event), EBADF);
	XT_FAILS(epoll_ctl(set, EPOLL_CTL_ADD, file, &event), EPERM);
	XT_FAILS(epoll_ctl(set, EPOLL_CTL_ADD, set, &event), EINVAL);
	XT_FAILS(epoll_ctl(set, 7, pipe.r, &event), EINVAL);
	XT_FAILS(epoll_ctl(set, EPOLL_CTL_MOD, pipe.r, &event), ENOENT);
	XT_FAILS(epoll_ctl(set, EPOLL_CTL_DEL, pipe.r, NULL), ENOENT);
	XT_OK(kit_add(set, pipe.r, EPOLLIN));
	XT_STATUS(kit_add(set, pipe.r, EPOLLIN), EEXIST);
	XT_OK(kit_add(other, pipe.r, EPOLLIN));
	XT_OK(kit_del(set, pipe.r));
	XT_STATUS(kit_del(set, pipe.r), ENOENT);
}

XT_TEST(waits_check_their_arguments)
{
	int set = kit_open();
	struct xt_pair pipe = xt_pipe();
	struct epoll_event event;
	struct timespec wrong = {0, -1};

	XT_FAILS(epoll_wait(set, &event, 0, 0), EINVAL);
	XT_FAILS(epoll_wait(set, &event, -1, 0), EINVAL);
	XT_FAILS(epoll_wait(set, NULL, 1, 0), EFAULT);
	XT_FAILS(epoll_wait(-1, &event, 1, 0), EBADF);
	XT_FAILS(epoll_wait(pipe.r, &event, 1, 0), EINVAL);
	XT_FAILS(epoll_pwait2(set, &event, 1, &wrong, NULL), EINVAL);
	XT_FAILS(read(set, &event, sizeof event), EINVAL);
	XT_FAILS(write(set, &event, sizeof event), EINVAL);
}

XT_TEST(a_level_is_reported_until_it_ends)
{
	int set = kit_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(kit_add(set, pipe.r, EPOLLIN));
	KIT_NONE(set);
	xt_put(pipe.w);
	KIT_HAS(set, pipe.r, EPOLLIN);
	KIT_HAS(set, pipe.r, EPOLLIN);
	XT_EQ(xt_get(pipe.r), 'x');
	KIT_NONE(set);
}

XT_TEST(an_edge_is_reported_for_each_activity)
{
	int set = kit_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(kit_add(set, pipe.r, EPOLLIN | EPOLLET));
	xt_put(pipe.w);
	KIT_HAS(set, pipe.r, EPOLLIN);
	KIT_NONE(set);
	xt_put(pipe.w);
	KIT_HAS(set, pipe.r, EPOLLIN);
	KIT_NONE(set);
	XT_OK(kit_mod(set, pipe.r, EPOLLIN | EPOLLET));
	KIT_HAS(set, pipe.r, EPOLLIN);
	KIT_NONE(set);
}

XT_TEST(an_edge_reports_all_directions)
{
	int set = kit_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(kit_add(set, pair.r, EPOLLIN | EPOLLOUT | EPOLLET));
	KIT_HAS(set, pair.r, EPOLLOUT);
	KIT_NONE(set);
	xt_put(pair.w);
	KIT_HAS(set, pair.r, EPOLLIN | EPOLLOUT);
	KIT_NONE(set);
}

XT_TEST(oneshot_is_silent_until_modified)
{
	int set = kit_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(kit_add(set, pair.r, EPOLLIN | EPOLLOUT | EPOLLONESHOT));
	xt_put(pair.w);
	KIT_HAS(set, pair.r, EPOLLIN | EPOLLOUT);
	KIT_NONE(set);
	xt_close(pair.w);
	KIT_NONE(set);
	XT_OK(kit_mod(set, pair.r, EPOLLIN | EPOLLONESHOT));
	KIT_HAS(set, pair.r, EPOLLIN | EPOLLHUP);
	KIT_NONE(set);
	XT_OK(kit_mod(set, pair.r, EPOLLIN));
	KIT_HAS(set, pair.r, EPOLLIN | EPOLLHUP);
	KIT_HAS(set, pair.r, EPOLLIN | EPOLLHUP);
}

/* A pipe of a BSD goes in both directions, so its write end cannot be told from the other one. */
#ifdef __linux__
#define BROKEN_PIPE EPOLLERR
#else
#define BROKEN_PIPE EPOLLHUP
#endif

XT_TEST(errors_and_hang_ups_need_no_bit)
{
	int set = kit_open();
	struct xt_pair pipe = xt_pipe(), other = xt_pipe();

	XT_OK(kit_add(set, pipe.r, 0));
	XT_OK(kit_add(set, other.w, 0));
	xt_put(pipe.w);
	KIT_NONE(set);
	xt_close(pipe.w);
	KIT_HAS(set, pipe.r, EPOLLHUP);
	XT_OK(kit_del(set, pipe.r));
	xt_close(other.r);
	KIT_HAS(set, other.w, BROKEN_PIPE);
	XT_OK(kit_mod(set, other.w, EPOLLPRI));
	KIT_HAS(set, other.w, BROKEN_PIPE);
}

/* The registration for input stays until input arrives, and reports the end before and after. */
XT_TEST(a_paused_reader_gets_the_end)
{
	static const uint32_t modes[] = {0, EPOLLET, EPOLLONESHOT};

	for (int i = 0; i < 6; i++) {
		int set = kit_open();
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);
		uint32_t mode = modes[i / 2];

		XT_OK(kit_add(set, pair.r, EPOLLIN | mode));
		for (int round = 0; round < 3; round++) {
			xt_put(pair.w);
			KIT_HAS(set, pair.r, EPOLLIN);
			XT_EQ(xt_get(pair.r), 'x');
			XT_OK(kit_mod(set, pair.r, mode));
			if (i % 2)
				xt_put(pair.w);
			KIT_NONE(set);
			XT_OK(kit_mod(set, pair.r, EPOLLIN | mode));
			if (i % 2)
				KIT_HAS(set, pair.r, EPOLLIN);
			else
				KIT_NONE(set);
			if (i % 2)
				XT_EQ(xt_get(pair.r), 'x');
			XT_OK(kit_mod(set, pair.r, EPOLLIN | mode));
		}
		XT_OK(kit_mod(set, pair.r, mode));
		if (i % 2)
			xt_put(pair.w);
		KIT_NONE(set);
		xt_close(pair.w);
		KIT_GETS(set, pair.r, EPOLLHUP);
	}
}

XT_TEST(half_closes_are_reported_on_request)
{
	int set = kit_open();
	struct xt_pair tcp = xt_tcp();

	XT_OK(kit_add(set, tcp.r, EPOLLRDHUP));
	xt_put(tcp.w);
	XT_CHECK(xt_poll_until(tcp.r, POLLIN, POLLIN));
	KIT_NONE(set);
	shutdown(tcp.w, SHUT_WR);
	KIT_GETS(set, tcp.r, EPOLLRDHUP);
	XT_OK(kit_mod(set, tcp.r, EPOLLIN));
	KIT_HAS(set, tcp.r, EPOLLIN);
	XT_OK(kit_mod(set, tcp.r, EPOLLIN | EPOLLRDHUP));
	KIT_HAS(set, tcp.r, EPOLLIN | EPOLLRDHUP);
}

XT_TEST(mod_changes_directions_and_data)
{
	int set = kit_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct epoll_event event = {.events = EPOLLOUT, .data.u64 = UINT64_MAX};

	xt_put(pair.w);
	XT_OK(kit_add(set, pair.r, EPOLLIN));
	KIT_HAS(set, pair.r, EPOLLIN);
	XT_EQ(epoll_ctl(set, EPOLL_CTL_MOD, pair.r, &event), 0);
	XT_EQ(epoll_wait(set, &event, 1, 0), 1);
	XT_EQ(event.events, EPOLLOUT);
	XT_CHECK(event.data.u64 == UINT64_MAX);
	XT_OK(kit_mod(set, pair.r, EPOLLIN | EPOLLOUT));
	KIT_HAS(set, pair.r, EPOLLIN | EPOLLOUT);
	XT_OK(kit_mod(set, pair.r, 0));
	KIT_NONE(set);
	XT_OK(kit_mod(set, pair.r, EPOLLRDNORM | EPOLLWRNORM));
	KIT_HAS(set, pair.r, EPOLLRDNORM | EPOLLWRNORM);
}

XT_TEST(exclusive_goes_with_few_flags)
{
	int set = kit_open(), other = kit_open();
	struct xt_pair pipe = xt_pipe();

	XT_STATUS(kit_add(set, pipe.r, EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT), EINVAL);
	XT_STATUS(kit_add(set, pipe.r, EPOLLIN | EPOLLEXCLUSIVE | EPOLLRDHUP), EINVAL);
	XT_STATUS(kit_add(set, other, EPOLLIN | EPOLLEXCLUSIVE), EINVAL);
	XT_OK(kit_add(set, pipe.r, EPOLLIN | EPOLLEXCLUSIVE | EPOLLWAKEUP));
	XT_STATUS(kit_mod(set, pipe.r, EPOLLIN), EINVAL);
	XT_STATUS(kit_mod(set, pipe.r, EPOLLIN | EPOLLEXCLUSIVE), EINVAL);
	xt_put(pipe.w);
	KIT_HAS(set, pipe.r, EPOLLIN);
}

XT_TEST(more_ready_than_room_is_fair)
{
	int set = kit_open();
	struct xt_pair pipes[100];
	struct epoll_event events[100];
	unsigned seen[100] = {0};

	for (int i = 0; i < 100; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};

		pipes[i] = xt_pipe();
		xt_put(pipes[i].w);
		XT_EQ(epoll_ctl(set, EPOLL_CTL_ADD, pipes[i].r, &event), 0);
	}
	/* Linux needs 20 waits to deliver every entry; other kernels have another order. */
	for (int round = 0; round < 100; round++) {
		XT_EQ(epoll_wait(set, events, 5, 0), 5);
		for (int i = 0; i < 5; i++)
			seen[events[i].data.u32]++;
	}
	for (int i = 0; i < 100; i++)
		XT_CHECK(seen[i] > 0);
	XT_EQ(epoll_wait(set, events, 100, 0), 100);
}

XT_TEST(timeouts_are_not_shortened)
{
	int set = kit_open();
	struct epoll_event event;
	struct timespec few = {0, 3000000};
	int64_t start = xt_now();

	XT_EQ(epoll_wait(set, &event, 1, 3), 0);
	XT_EQ(epoll_pwait2(set, &event, 1, &few, NULL), 0);
	XT_CHECK(xt_now() - start >= 6000000);
}

static void on_signal(int number)
{
	(void)number;
}

XT_TEST(a_mask_lets_a_signal_in_while_waiting)
{
	int set = kit_open();
	struct epoll_event event;
	struct sigaction action = {.sa_handler = on_signal}, before;
	sigset_t blocked, mask;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &blocked, &mask);
	sigaction(SIGUSR1, &action, &before);
	raise(SIGUSR1);
	XT_EQ(epoll_wait(set, &event, 1, 0), 0);
	XT_FAILS(epoll_pwait(set, &event, 1, 20000, &mask), EINTR);
	sigaction(SIGUSR1, &before, NULL);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

XT_TEST(a_mask_lets_no_signal_into_a_wait_that_does_not_sleep)
{
	int set = kit_open();
	struct xt_pair pipe = xt_pipe();
	struct epoll_event event;
	sigset_t blocked, before, pending;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	raise(SIGUSR1);
	XT_EQ(epoll_pwait(set, &event, 1, 0, &before), 0);
	XT_OK(kit_add(set, pipe.r, EPOLLIN));
	xt_put(pipe.w);
	XT_EQ(epoll_pwait(set, &event, 1, 0, &before), 1);
	sigpending(&pending);
	XT_CHECK(sigismember(&pending, SIGUSR1) == 1);
	signal(SIGUSR1, SIG_IGN); /* removes the pending signal */
	signal(SIGUSR1, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

XT_TEST(a_socket_that_was_never_connected_has_no_half_close)
{
	int set = kit_open();
	int fd = xt_keep(socket(AF_INET, SOCK_STREAM, 0));
	struct epoll_event event;

	XT_OK(kit_add(set, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP));
	if (epoll_wait(set, &event, 1, 0) == 1) /* the BSDs report nothing in this case */
		XT_CHECK(!(event.events & (EPOLLIN | EPOLLRDHUP)));
}

/* Returns the bits that one wait returns for the only entry. */
static uint32_t next_bits(int set)
{
	struct epoll_event event;

	return epoll_wait(set, &event, 1, 20000) == 1 ? event.events : 0;
}

XT_TEST(an_end_of_a_terminal_is_an_edge_again_after_a_change)
{
	int set = kit_open(), fd;
	struct xt_pair pty = xt_pty();

	fd = pty.r;
	XT_OK(kit_add(set, fd, EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET));
	(void)next_bits(set);
	xt_close(pty.w);
	XT_CHECK(next_bits(set) & EPOLLHUP);
	while (epoll_wait(set, &(struct epoll_event){0}, 1, 0) == 1)
		continue;
	(void)xt_drain(fd);
	while (epoll_wait(set, &(struct epoll_event){0}, 1, 0) == 1)
		continue;
	XT_OK(kit_mod(set, fd, EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET));
	XT_CHECK(next_bits(set) & EPOLLHUP);
}

XT_TEST(an_old_end_of_a_terminal_is_an_edge_again_after_a_change)
{
	int set = kit_open(), fd;
	struct xt_pair pty = xt_pty();

	fd = pty.r;
	xt_close(pty.w);
	XT_OK(kit_add(set, fd, EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET));
	XT_CHECK(next_bits(set) & EPOLLHUP);
	while (epoll_wait(set, &(struct epoll_event){0}, 1, 0) == 1)
		continue;
	(void)xt_drain(fd);
	while (epoll_wait(set, &(struct epoll_event){0}, 1, 0) == 1)
		continue;
	XT_OK(kit_mod(set, fd, EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET));
	XT_CHECK(next_bits(set) & EPOLLHUP);
}
