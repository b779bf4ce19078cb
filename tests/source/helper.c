/*
 * Helpers, the helper's side.  The test's program, started with --helper and
 * the number of a socket, reads one order at a time from the socket and answers
 * each with a number.  A forked child gets a socket of its own.
 */
#include "helper.h"
#include "helper_letter.h"

#include <sched.h>
#include <sys/uio.h>
#include <sys/wait.h>

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

char helper_program[PATH_MAX];
char helper_option[] = "--helper";

static void helper_obey(int fd);

static void answer(int fd, int value)
{
	if (write(fd, &value, sizeof value) != sizeof value)
		_exit(99);
}

static void exec_helper(const char *path, int fd)
{
	char number[16];
	char *arguments[] = {(char *)(uintptr_t)path, helper_option, number,
	                     NULL};

	(void)snprintf(number, sizeof number, "%d", fd);
	(void)execv(path, arguments);
	_exit(98);
}

static int fork_child(int fd, int child_fd)
{
	pid_t child = fork();

	if (child == 0) {
		(void)close(fd);
		helper_obey(child_fd);
	}
	(void)close(child_fd);
	return child;
}

struct errand {
	int fd;
	int child_fd;
	int result;
};

static void *thread_forks(void *argument)
{
	struct errand *errand = argument;

	errand->result = fork_child(errand->fd, errand->child_fd);
	return NULL;
}

static void *thread_execs(void *argument)
{
	exec_helper(helper_program, ((struct errand *)argument)->fd);
	return NULL;
}

static void *thread_obeys(void *argument)
{
	struct errand *errand = argument;

	answer(errand->fd, 0);
	helper_obey(errand->fd);
	return NULL;
}

/* --- Functions that some systems lack ----------------------------------------- */

#ifdef __linux__

static void leader_ends(void)
{
	(void)syscall(SYS_exit, 0);
}

/* Wait until the first thread is a zombie. */
static void leader_has_ended(pthread_t leader)
{
	char path[64];
	char text[512];
	char *after = NULL;

	(void)leader;
	(void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
	while (!after || after[2] != 'Z') {
		int file = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t length = read(file, text, sizeof text - 1);

		(void)close(file);
		text[length < 0 ? 0 : length] = '\0';
		after = strrchr(text, ')');
		(void)sched_yield();
	}
}

/* Allow others to watch this process, whoever has started it. */
static void be_watchable(void)
{
	(void)prctl(PR_SET_DUMPABLE, 1);
}

/* Returns the ID of a child of vfork(2) that has exited and was reaped. */
static pid_t vfork_child(void)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(0);
	(void)waitpid(child, NULL, 0);
	return child;
}

#else

static void leader_ends(void)
{
	pthread_exit(NULL);
}

/* OpenBSD's C library, linked statically, crashes in a join of the first thread. */
static void leader_has_ended(pthread_t leader)
{
#ifdef __OpenBSD__
	(void)leader;
	(void)sched_yield();
#else
	(void)pthread_join(leader, NULL);
#endif
}

static void be_watchable(void)
{
}

static pid_t vfork_child(void)
{
	return -1; /* this system has no tracer that reports vfork(2) */
}

#endif

/* The first thread's ID, which is no longer on its stack after it has exited. */
static pthread_t first_thread;
static struct errand last_errand;

static void *thread_obeys_alone(void *argument)
{
	int fd = ((struct errand *)argument)->fd;

	leader_has_ended(first_thread);
	answer(fd, 0);
	helper_obey(fd);
	return NULL;
}

static void *thread_sleeps(void *argument)
{
	(void)argument;
	for (;;)
		(void)pause();
	return NULL;
}

static int run_thread(void *(*run)(void *), struct errand *errand, bool join)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, errand) != 0)
		_exit(97);
	if (join)
		(void)pthread_join(thread, NULL);
	return errand->result;
}

static int burst(int count, int code)
{
	for (int i = 0; i < count; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(code);
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return -1;
	}
	return count;
}

/* Fork the tree; each process writes to the pipe when it runs, and ends with the test. */
static void grow(int width, int depth, const int pipe[2], int fd)
{
	if (depth == 0)
		return;
	for (int i = 0; i < width; i++) {
		char end;

		if (fork() != 0)
			continue;
		grow(width, depth - 1, pipe, fd);
		if (write(pipe[1], "x", 1) != 1)
			_exit(96);
		(void)close(pipe[0]);
		(void)close(pipe[1]);
		/*
		 * Nothing is ever written to the socket: recv returns when the other side closes.
		 */
		while (recv(fd, &end, 1, MSG_PEEK) > 0)
			(void)sched_yield();
		_exit(0);
	}
}

static int count_bytes(int fd, int wanted)
{
	char text[64];
	int count = 0;

	while (count < wanted) {
		ssize_t length = read(fd, text, sizeof text);

		if (length <= 0)
			break;
		count += (int)length;
	}
	return count;
}

static int grow_all(int width, int depth, int fd)
{
	int pipe_fds[2];
	int count;
	int wanted = 0;
	int level = 1;

	if (pipe(pipe_fds) < 0)
		_exit(95);
	for (int i = 0; i < depth; i++) {
		level *= width;
		wanted += level;
	}
	grow(width, depth, pipe_fds, fd);
	(void)close(pipe_fds[1]);
	count = count_bytes(pipe_fds[0], wanted);
	(void)close(pipe_fds[0]);
	return count;
}

/* A child of the storm: waits for the barrier, then forks. */
static void storm_child(const int ready[2], const int barrier[2], int fd)
{
	char end;

	(void)close(barrier[1]);
	if (write(ready[1], "x", 1) != 1 || read(barrier[0], &end, 1) != 0)
		_exit(94);
	(void)fork();
	if (write(ready[1], "y", 1) != 1)
		_exit(93);
	(void)close(ready[0]);
	(void)close(ready[1]);
	while (recv(fd, &end, 1, MSG_PEEK) > 0)
		(void)sched_yield();
	_exit(0);
}

static int storm(int count, int fd)
{
	int ready[2];
	int barrier[2];
	int there;

	if (pipe(ready) < 0 || pipe(barrier) < 0)
		_exit(92);
	for (int i = 0; i < count; i++)
		if (fork() == 0)
			storm_child(ready, barrier, fd);
	there = count_bytes(ready[0], count);
	(void)close(barrier[0]);
	(void)close(barrier[1]);
	there += count_bytes(ready[0], 2 * count);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return there;
}

static int end_by(int number)
{
	(void)signal(number, SIG_DFL);
	(void)kill(getpid(), number);
	for (;;)
		(void)pause();
	return -1;
}

static int helper_do(int fd, int child_fd, const struct letter *letter)
{
	struct errand errand = {.fd = fd, .child_fd = child_fd};
	int status = -1;

	switch (letter->order) {
	case FORK:
		return fork_child(fd, child_fd);
	case FORK_BY_THREAD:
		return run_thread(thread_forks, &errand, true);
	case VFORK:
		return vfork_child();
	case GROW:
		return grow_all(letter->argument, letter->other, child_fd);
	case STORM:
		return storm(letter->argument, child_fd);
	case BURST:
		return burst(letter->argument, letter->other);
	case REAP:
		(void)waitpid(letter->argument, &status, 0);
		return status;
	case THREAD:
		return run_thread(thread_sleeps, &errand, false);
	case THREAD_OBEYS:
		return run_thread(thread_obeys, &errand, true);
	case LEADER_ENDS:
		first_thread = pthread_self();
		last_errand = errand;
		(void)run_thread(thread_obeys_alone, &last_errand, false);
		leader_ends();
		return 0;
	case EXEC:
		exec_helper(helper_program, fd);
		return 0;
	case EXEC_BY_THREAD:
		return run_thread(thread_execs, &errand, true);
	case EXEC_FAILS:
		return execl("/nonexistent/program", "program", (char *)NULL);
	case EXEC_COPY:
		exec_helper(letter->path, fd);
		return 0;
	case EXEC_OTHER:
		(void)execl(letter->path, letter->path, (char *)NULL);
		return -1;
	case IGNORE_CHILDREN:
		(void)signal(SIGCHLD, SIG_IGN);
		return 0;
	case KILL:
		return end_by(letter->argument);
	case EXIT:
		_exit(letter->argument);
	default:
		return -1;
	}
}

/* Read an order, and the descriptor that may be passed with it. */
static bool receive(int fd, struct letter *letter, int *passed)
{
	union letter_cover cover;
	struct iovec vector = {letter, sizeof *letter};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &cover,
		.msg_controllen = CMSG_SPACE(sizeof(int)),
	};
	struct cmsghdr *header;

	*passed = -1;
	if (recvmsg(fd, &message, MSG_WAITALL) != sizeof *letter)
		return false;
	header = CMSG_FIRSTHDR(&message);
	if (header)
		memcpy(passed, CMSG_DATA(header), sizeof *passed);
	return true;
}

static void helper_obey(int fd)
{
	struct letter letter;
	int passed;

	while (receive(fd, &letter, &passed))
		answer(fd, helper_do(fd, passed, &letter));
	_exit(0);
}

/*
 * Block SIGCHLD: while another thread has all signals blocked, as in pthread_create, a SIGCHLD
 * would make a wait of the test fail with EINTR, with or without a handler.
 */
static void block_sigchld(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}

/* A program that is started as "PROGRAM OPTION DESCRIPTOR" becomes a helper. */
static void helper_main(int argc, char **argv)
{
	int fd;

	if (!realpath(argv[0], helper_program))
		helper_program[0] = '\0';
	if (argc != 3 || strcmp(argv[1], helper_option) != 0) {
		block_sigchld();
		return;
	}
	fd = (int)strtol(argv[2], NULL, 10);
	be_watchable();
	answer(fd, getpid());
	helper_obey(fd);
}

__attribute__((constructor)) static void helper_first(void)
{
	xt_main_first = helper_main;
}
