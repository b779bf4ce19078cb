/*
 * Goal: a descriptor is the file that it refers to at the time of the call,
 * also if it was closed without the drop-in's notice, by another thread during
 * a wait, or was the drop-in's own.
 * Method: the array does not change, but the file of one of its descriptors
 * does; the kernel's poll(2) is the oracle where the result is not obvious.
 */
#include "dropin.h"

#include <limits.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define VICTIM 17
#define OTHER 23

extern char **environ;

/* --- Numbers given by the kernel ---------------------------------------------- */

/* Use all descriptors below this one, so that the kernel reuses it next when it is closed. */
static void take_all_below(int number)
{
	int fd;

	while ((fd = dup(number)) >= 0 && fd < number)
		xt_keep(fd);
	close(fd);
}

/*
 * `open_it` opens a descriptor that is readable after a write to `writer`; the old file stays open
 * elsewhere.
 */
static void check_opening(int (*open_it)(int from), int from, int writer)
{
	struct crowd crowd;
	int number;

	XT_CALL(crowd_open(&crowd));
	number = crowd.fds[VICTIM].fd;
	xt_keep(fcntl(number, F_DUPFD_CLOEXEC, 500));
	take_all_below(number);
	XT_EQ(close(number), 0);
	XT_CHECK(xt_poll_until(from, POLLIN, POLLIN));
	XT_EQ(open_it(from), number);
	XT_EQ(crowd_ready(&crowd), -1);
	xt_put(writer);
	XT_CHECK(xt_poll_until(number, POLLIN, POLLIN));
	XT_EQ(crowd_ready(&crowd), VICTIM);
	xt_get(number);
	xt_put(crowd.pipes[VICTIM].w); /* input for the old file */
	XT_EQ(crowd_ready(&crowd), -1);
}

static int by_accept4(int listener)
{
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

XT_TEST(accept4_into_a_closed_number_is_another_file)
{
	struct sockaddr_in address;
	int listener = xt_listener(&address);
	int client = xt_socket(AF_INET, SOCK_STREAM);

	(void)connect(client, (struct sockaddr *)&address, sizeof address);
	XT_CALL(check_opening(by_accept4, listener, client));
}

union rights {
	struct cmsghdr head;
	char space[CMSG_SPACE(sizeof(int))];
};

static void send_number(int socket, int fd)
{
	union rights rights = {0};
	char letter = 'n';
	struct iovec byte = {.iov_base = &letter, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &rights,
		.msg_controllen = sizeof rights,
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(head), &fd, sizeof fd);
	XT_EQ(sendmsg(socket, &message, 0), 1);
}

static int by_recvmsg(int socket)
{
	union rights rights = {0};
	char space;
	struct iovec byte = {.iov_base = &space, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &rights,
		.msg_controllen = sizeof rights,
	};
	int fd = -1;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 &&
	    CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
	return fd;
}

XT_TEST(number_received_from_a_socket_is_another_file)
{
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xt_pair pipe = xt_pipe();

	XT_CALL(send_number(pair.w, pipe.r));
	XT_CALL(check_opening(by_recvmsg, pair.r, pipe.w));
}

/* --- Closed while somebody waits -------------------------------------------------- */

struct waiting {
	struct crowd *crowd;
	bool in_kernel;
	int rc;
};

static void wait_for_other(void *argument)
{
	struct waiting *waiting = argument;

	if (waiting->in_kernel)
		waiting->rc = (int)syscall(SYS_ppoll, waiting->crowd->fds, CROWD, NULL,
		                           NULL, 8);
	else
		waiting->rc = crowd_poll(waiting->crowd, -1);
}

static void close_alone(int fd)
{
	XT_EQ(close_range((unsigned)fd, (unsigned)fd, 0), 0);
}

static void close_and_open(int fd)
{
	struct xt_pair pipe = xt_pipe();

	xt_put(pipe.w);
	XT_EQ(dup2(pipe.r, fd), fd);
}

/* When a wait ends, each number is checked, so the new file is reported. */
XT_TEST(number_closed_during_a_wait_is_looked_at_when_it_ends)
{
	if (XT_TSAN)
		XT_SKIP("the test races on purpose");
	for (int i = 0; i < 4; i++) {
		struct crowd crowd;
		struct waiting waiting = {.crowd = &crowd, .in_kernel = i % 2 == 0};
		struct xt_thread *thread;

		XT_CALL(crowd_open(&crowd));
		thread = xt_start(wait_for_other, &waiting);
		xt_asleep(thread);
		(i < 2 ? close_alone : close_and_open)(crowd.fds[VICTIM].fd);
		xt_put(crowd.pipes[OTHER].w);
		xt_join(thread);
		XT_CHECK(waiting.rc >= 1);
		XT_EQ(crowd.fds[VICTIM].revents, i < 2 ? POLLNVAL : POLLIN);
		xt_threads_reuse();
	}
}

/* --- Closed unseen ------------------------------------------------------------------ */

/*
 * Until the full check, input of the old file, which is open elsewhere, is taken for input of the
 * new one.
 */
XT_TEST(hidden_close_of_a_file_that_lives_on_ends_within_a_full_look)
{
	struct xt_pair pipe = xt_pipe();
	struct crowd crowd;
	int number;

	XT_CALL(crowd_open(&crowd));
	number = crowd.fds[VICTIM].fd;
	xt_keep(fcntl(number, F_DUPFD_CLOEXEC, 500));
	XT_EQ(syscall(SYS_dup3, pipe.r, number, O_CLOEXEC), number);
	xt_put(crowd.pipes[VICTIM].w);
	while (crowd_poll(&crowd, 0) != 0) /* the watchdog ends a loop that does not */
		XT_EQ(crowd.fds[VICTIM].revents, POLLIN);
	XT_EQ(crowd_ready(&crowd), -1);
	xt_put(pipe.w);
	XT_EQ(crowd_ready(&crowd), VICTIM);
}

/* --- The drop-in's own ----------------------------------------------------------------- */

/* Open a crowd, and return a descriptor that the drop-in uses for it. */
static void crowd_open_own(struct crowd *crowd, int *own)
{
	XT_CALL(crowd_open(crowd));
	*own = find_own();
	XT_CHECK(*own >= 0);
}

/* Runs in a child, which has one array and one descriptor of the drop-in. */
static void own_number_is_the_programs_by_now(void *unused)
{
	struct xt_pair pipe = xt_pipe();
	struct crowd crowd;
	int own = -1;

	(void)unused;
	XT_CALL(crowd_open_own(&crowd, &own));
	XT_EQ(syscall(SYS_close, own), 0);
	XT_EQ(fcntl(pipe.r, F_DUPFD_CLOEXEC, own), own);
	for (int i = 0; i < CROWD; i++) {
		xt_put(crowd.pipes[i].w);
		XT_EQ(crowd_ready(&crowd), i);
		xt_get(crowd.fds[i].fd);
	}
	xt_put(pipe.w);
	XT_EQ(xt_get(own), 'x');
	XT_EQ(close(own), 0);
	XT_FAILS(close(own), EBADF);
	XT_EQ(crowd_ready(&crowd), -1);
}

XT_TEST(own_number_that_the_program_has_got_is_the_programs)
{
	XT_CHECK(xt_child(own_number_is_the_programs_by_now, NULL));
}

/* The same, closed before the array is polled again. */
static void own_number_is_closed_by_the_program(void *unused)
{
	struct xt_pair pipe = xt_pipe();
	struct crowd crowd;
	int own = -1;

	(void)unused;
	XT_CALL(crowd_open_own(&crowd, &own));
	XT_EQ(syscall(SYS_dup3, pipe.r, own, O_CLOEXEC), own);
	XT_EQ(close(own), 0);
	XT_CHECK(fcntl(own, F_GETFD) < 0);
	xt_put(crowd.pipes[VICTIM].w);
	XT_EQ(crowd_ready(&crowd), VICTIM);
}

XT_TEST(own_number_that_the_program_has_got_can_be_closed)
{
	XT_CHECK(xt_child(own_number_is_closed_by_the_program, NULL));
}

static void own_number_is_wanted_when_none_is_left(void *unused)
{
	struct rlimit limit = {.rlim_cur = 256, .rlim_max = 256};
	struct xt_pair pipe = xt_pipe();
	struct crowd crowd;
	int own = -1;

	(void)unused;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	XT_CALL(crowd_open_own(&crowd, &own));
	while (dup(pipe.r) >= 0)
		;
	XT_EQ(errno, EMFILE);
	XT_EQ(dup2(pipe.r, own), own);
	for (int i = 0; i < CROWD; i++) {
		xt_put(crowd.pipes[i].w);
		XT_EQ(crowd_ready(&crowd), i);
		xt_get(crowd.fds[i].fd);
	}
	xt_put(pipe.w);
	XT_EQ(xt_get(own), 'x');
	XT_EQ(close(own), 0);
	XT_CHECK(fcntl(own, F_GETFD) < 0);
}

XT_TEST(own_number_is_given_up_when_no_other_is_left)
{
	XT_CHECK(xt_child(own_number_is_wanted_when_none_is_left, NULL));
}

static void own_number_is_not_replaced(void *unused)
{
	struct crowd crowd;
	int own = -1;
	int open;

	(void)unused;
	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 4; i++) {
		XT_EQ(crowd_ready(&crowd), -1);
		/* The drop-in makes a set for this call even if the call before was a real one. */
		XT_EQ(crowd_ready(&crowd), -1);
		own = find_own();
		XT_CHECK(own >= 0);
		open = xt_count_open();
		if (i % 2 == 0)
			XT_FAILS(dup2(3333, own), EBADF);
		else
			XT_FAILS(dup3(0, own, INT_MAX), EINVAL);
		XT_CHECK(fcntl(own, F_GETFD) < 0);
		XT_EQ(xt_count_open(), open - 1);
		xt_put(crowd.pipes[i].w);
		XT_EQ(crowd_ready(&crowd), i);
		xt_get(crowd.fds[i].fd);
	}
}

XT_TEST(own_number_stays_closed_to_the_program_when_dup2_fails)
{
	XT_CHECK(xt_child(own_number_is_not_replaced, NULL));
}

/*
 * Make an epoll instance of the program with this descriptor, by the C library or by a raw system
 * call.
 */
static int by_epoll_create1(int own)
{
	int fd;

	while ((fd = epoll_create1(0)) >= 0 && fd < own)
		; /* all lower numbers are in use */
	return fd;
}

static int by_bare_dup3(int own)
{
	return (int)syscall(SYS_dup3, epoll_create1(0), own, 0);
}

static int (*take_number)(int own);

/*
 * The program can use its own instance with this number without restriction, and every ready entry
 * of the array is reported.
 */
static void own_number_is_an_instance_of_the_program(void *unused)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	struct rlimit limit = {.rlim_cur = 512, .rlim_max = 512};
	struct xt_pair pipe = xt_pipe();
	struct crowd crowd;
	int own = -1;

	(void)unused;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	XT_CALL(crowd_open_own(&crowd, &own));
	XT_EQ(syscall(SYS_close, own), 0);
	XT_EQ(take_number(own), own);
	event.data.u64 = (uint64_t)crowd.fds[VICTIM].fd; /* programs store the descriptor as data */
	XT_EQ(epoll_ctl(own, EPOLL_CTL_ADD, pipe.r, &event), 0);
	for (int i = 0; i < CROWD; i++) {
		crowd.fds[i].events ^= POLLPRI;
		xt_put(crowd.pipes[i].w);
		if (take_number == by_bare_dup3 && i == 0)
			(void)crowd_ready(&crowd); /* the drop-in notices the reuse in this call */
		XT_EQ(crowd_ready(&crowd), i);
		/* the drop-in has registered nothing in it */
		XT_EQ(epoll_wait(own, &event, 1, 0), 0);
		xt_get(crowd.fds[i].fd);
	}
	xt_put(pipe.w);
	XT_EQ(epoll_wait(own, &event, 1, 0), 1);
	XT_EQ(close(own), 0);
	XT_CHECK(fcntl(own, F_GETFD) < 0);
	XT_EQ(crowd_ready(&crowd), -1);
}

XT_TEST(own_number_that_is_an_epoll_instance_of_the_program_is_the_programs)
{
	take_number = by_epoll_create1;
	XT_CHECK(xt_child(own_number_is_an_instance_of_the_program, NULL));
	take_number = by_bare_dup3;
	XT_CHECK(xt_child(own_number_is_an_instance_of_the_program, NULL));
}

/* The last call has changed a registration, and so does the next one. */
static void own_number_is_replaced_between_two_changes(void *unused)
{
	struct xt_pair pipe = xt_pipe();
	struct epoll_event event;
	struct crowd crowd;
	int own = -1;

	(void)unused;
	XT_CALL(crowd_open_own(&crowd, &own));
	crowd.fds[OTHER].events = 0;
	xt_put(crowd.pipes[OTHER].w);
	XT_EQ(crowd_ready(&crowd), -1);
	XT_EQ(by_bare_dup3(own), own);
	crowd.fds[VICTIM].fd = pipe.r;
	XT_EQ(crowd_ready(&crowd), -1);
	xt_put(pipe.w);
	XT_EQ(epoll_wait(own, &event, 1, 0), 0); /* the drop-in has registered nothing in it */
	XT_EQ(crowd_ready(&crowd), VICTIM);
}

XT_TEST(own_number_is_checked_before_the_first_change_of_each_call)
{
	XT_CHECK(xt_child(own_number_is_replaced_between_two_changes, NULL));
}

/* --- Other processes --------------------------------------------------------------------- */

XT_TEST(spawned_program_gets_its_descriptors_and_we_keep_ours)
{
	posix_spawn_file_actions_t actions;
	char shell[] = "sh";
	char option[] = "-c";
	char command[] = "echo x";
	char *const arguments[] = {shell, option, command, NULL};
	struct xt_pair pipe = xt_pipe();
	struct crowd crowd;
	int own = -1;

	XT_CALL(crowd_open_own(&crowd, &own));
	for (int i = 0; i < 5; i++) {
		int status = -1;
		pid_t child;

		posix_spawn_file_actions_init(&actions);
		for (int k = 0; k < CROWD; k++)
			posix_spawn_file_actions_addclose(&actions, crowd.fds[k].fd);
		posix_spawn_file_actions_adddup2(&actions, pipe.r, own);
		posix_spawn_file_actions_adddup2(&actions, pipe.w, 1);
		XT_EQ(posix_spawn(&child, "/bin/sh", &actions, NULL, arguments, environ),
		      0);
		posix_spawn_file_actions_destroy(&actions);
		XT_EQ(waitpid(child, &status, 0), child);
		XT_EQ(status, 0);
		XT_EQ(xt_get(pipe.r), 'x');
		XT_EQ(xt_get(pipe.r), '\n');
		xt_put(crowd.pipes[i].w);
		XT_EQ(crowd_ready(&crowd), i);
		xt_get(crowd.fds[i].fd);
	}
}

XT_TEST(vforked_child_may_replace_descriptors_and_execute)
{
	struct xt_pair pipe = xt_pipe();
	struct crowd crowd;
	int status = -1;

	XT_CALL(crowd_open(&crowd));
	pid_t child = vfork();
	if (child == 0) {
		dup2(pipe.w, 1);
		for (int i = 0; i < CROWD; i++)
			dup2(pipe.r, crowd.fds[i].fd);
		close_range(3, ~0u, 0);
		execl("/bin/sh", "sh", "-c", "echo x", (char *)NULL);
		_exit(127);
	}
	XT_EQ(waitpid(child, &status, 0), child);
	XT_EQ(status, 0);
	XT_EQ(xt_get(pipe.r), 'x');
	for (int i = 0; i < CROWD; i++) {
		xt_put(crowd.pipes[i].w);
		XT_EQ(crowd_ready(&crowd), i);
		xt_get(crowd.fds[i].fd);
	}
}
