/*
 * Goal: the library changes no state of the process that a program could notice
 * (S19), no call prints (S18), and a successful call leaves errno alone.
 * Method: use the whole interface, and compare the process's state before and
 * after.
 */
#include "xt.h"

#include <dirent.h>
#include <sys/wait.h>

#define SIGNALS 65
#define SENTINEL 7777

static bool errno_kept(const char *what)
{
	if (errno == SENTINEL)
		return true;
	xt_fail(__FILE__, __LINE__, "%s set errno to %d", what, errno);
	return false;
}

/* Checks that a call succeeds and leaves errno alone. */
#define QUIET(call) \
	(errno = SENTINEL, XT_EXPECT((call) >= 0) && errno_kept(#call))

static void event_round(struct xpoll *queue, struct xt_pair pipe, int file)
{
	struct xpoll_event changes[] = {
	    xt_record((uint64_t)pipe.r, READ, XPOLL_ADD),
	    xt_record((uint64_t)pipe.w, WRITE, XPOLL_ADD | XPOLL_DISPATCH),
	    xt_record((uint64_t)pipe.r, READ, XPOLL_DISABLE),
	    xt_record((uint64_t)pipe.r, READ, XPOLL_ENABLE),
	    xt_record((uint64_t)file, READ, XPOLL_ADD | XPOLL_CLEAR),
	    xt_record(1, USER, XPOLL_ADD | XPOLL_ONESHOT),
	    xt_record(1, USER, 0),
	};
	struct xpoll_event events[8];
	sigset_t empty;

	changes[6].fflags = XPOLL_NOTE_TRIGGER;
	(void)sigemptyset(&empty);
	XT_CHECK(QUIET(xpoll_event(queue, changes, 7, NULL, 0, 0)));
	xt_put(pipe.w);
	XT_CHECK(QUIET(xpoll_event(queue, NULL, 0, events, 8, -1)));
	XT_CHECK(QUIET(xpoll_event_mask(queue, NULL, 0, events, 8, 1000, &empty)));
	XT_CHECK(QUIET(xpoll_lookup(queue, (uint64_t)pipe.r, READ, &events[0])));
	XT_EQ(xt_get(pipe.r), 'x');
	XT_CHECK(QUIET(xpoll_event(queue, NULL, 0, events, 8, 1000)));
}

static void other_round(struct xpoll *queue, struct xt_pair pair)
{
	struct xpoll_stats stats;
	struct xpoll_event event;

	XT_CHECK(QUIET(xpoll_ctl(queue, XPOLL_ADD, POLLIN | POLLOUT, pair.r, NULL)));
	XT_CHECK(QUIET(xpoll_wait(queue, -1)));
	XT_CHECK(QUIET(xpoll_revents(queue, NULL)));
	XT_CHECK(QUIET(xpoll_ctl(queue, XPOLL_DELETE, POLLOUT, pair.r, NULL)));
	XT_CHECK(QUIET(xpoll_wake(queue)));
	XT_CHECK(QUIET(xpoll_event(queue, NULL, 0, &event, 1, -1)));
	XT_CHECK(QUIET(xpoll_wake_all(queue)));
	XT_CHECK(QUIET(xpoll_stats(queue, &stats, sizeof stats)));
	/* With the drop-in for kqueue(2) queues cannot be nested as deep: see nested.c. */
	if (xt_has_queue_fd() && !xt_is("kqueue"))
		XT_CHECK(QUIET(xpoll_fd(queue)));
	XT_CHECK(QUIET(xpoll_forget_fd(pair.r)));
	XT_CHECK(QUIET(xpoll_close_fd(pair.r)));
	XT_CHECK(QUIET(xpoll_backends(NULL, 0)));
}

static void whole_round(void)
{
	struct xpoll *queue = xt_open();
	int file = xt_file("text");

	XT_CALL(event_round(queue, xt_pipe(), file));
	XT_CALL(other_round(queue, xt_socketpair(SOCK_STREAM)));
	/* An ADD of a filter that this system lacks must not leave a change either. */
	(void)xt_flag(queue, SIGCHLD, XPOLL_FILT_SIGNAL, XPOLL_ADD);
	(void)xt_flag(queue, SIGUSR1, XPOLL_FILT_SIGNAL, XPOLL_ADD);
	(void)xt_flag(queue, (uint64_t)getpid(), XPOLL_FILT_PROC, XPOLL_ADD);
	xt_destroy(queue);
}

XT_TEST(errno_is_left_alone_on_success)
{
	XT_CALL(whole_round());
}

#define RESTORER 0x04000000

static void read_signals(struct sigaction *actions)
{
	for (int i = 1; i < SIGNALS; i++)
		(void)sigaction(i, NULL, &actions[i]);
}

/*
 * The second half of hazard 14: a refused change installs no handler.
 * Complaint: Signals have to be blocked everywhere, and the mask leaks into children.
 */
XT_TEST(hazard_14_signal_handlers_and_mask_are_untouched)
{
	static struct sigaction before[SIGNALS];
	static struct sigaction after[SIGNALS];
	sigset_t mask_before;
	sigset_t mask_after;

	read_signals(before);
	XT_EQ(pthread_sigmask(SIG_BLOCK, NULL, &mask_before), 0);
	XT_CALL(whole_round());
	XT_EQ(pthread_sigmask(SIG_BLOCK, NULL, &mask_after), 0);
	read_signals(after);
	for (int i = 1; i < SIGNALS; i++) {
		XT_EXPECT(before[i].sa_handler == after[i].sa_handler);
		/* The C library adds this flag to each handler that is installed. */
		XT_EXPECT_EQ(before[i].sa_flags | RESTORER,
		             after[i].sa_flags | RESTORER);
		XT_EXPECT_EQ(sigismember(&mask_before, i),
		             sigismember(&mask_after, i));
	}
}

XT_TEST(children_are_left_to_the_program)
{
	int status = 0;

	(void)fflush(stdout);
	pid_t child = fork();
	XT_CHECK(child >= 0);
	if (child == 0)
		_exit(7);
	XT_CALL(whole_round());
	XT_EQ(waitpid(child, &status, 0), child);
	XT_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* Returns the number of threads of this process, which may include those of an emulator. */
static int threads_here(void)
{
	int count = 0;
	struct dirent *entry;
	DIR *directory = opendir("/proc/self/task");

	if (!directory)
		return 0;
	while ((entry = readdir(directory)))
		count += entry->d_name[0] != '.';
	(void)closedir(directory);
	return count;
}

XT_TEST(no_thread_is_made)
{
	int before = threads_here();

	XT_SINGLE_ONLY();
	if (before == 0)
		XT_SKIP("threads cannot be counted here");
	XT_CALL(whole_round());
	struct xpoll *queue = xt_open();
	XT_OK(xt_add(queue, xt_pipe().r, READ, 0));
	XT_NONE(queue);
	int after = threads_here();
	/* ThreadSanitizer has a thread of its own. */
	XT_CHECK(after == before || (XT_SANITIZED && after == before + 1));
}

/* S18: nothing is written to standard output and standard error. */
static void prints_nothing(void *argument)
{
	struct xt_pair *pipe = argument;
	int keep = dup(STDOUT_FILENO);

	(void)fflush(stdout);
	(void)dup2(pipe->w, STDOUT_FILENO);
	(void)dup2(pipe->w, STDERR_FILENO);
	whole_round();
	(void)xpoll_create(-1);
	(void)setenv("XPOLL_BACKEND", "nonsense", 1);
	(void)xpoll_open(NULL);
	(void)setenv("XPOLL_BACKEND", xt_backend, 1);
	(void)dup2(keep, STDOUT_FILENO);
	(void)dup2(keep, STDERR_FILENO);
	(void)close(keep);
}

XT_TEST(no_call_prints)
{
	struct xt_pair pipe = xt_pipe();

	XT_SINGLE_ONLY();
	XT_CHECK(xt_child(prints_nothing, &pipe));
	XT_EQ(xt_drain(pipe.r), 0);
}

/* A queue that has used every feature leaves no descriptor open. */
XT_TEST(descriptors_are_all_given_back)
{
	(void)whole_round();
	int before = xt_count_open();

	for (int i = 0; i < 20; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair pipe = xt_pipe();

		XT_OK(xt_add(queue, pipe.r, READ, 0));
		XT_OK(xt_add(queue, pipe.w, WRITE, 0));
		(void)xpoll_fd(queue);
		(void)xpoll_wake(queue);
		XT_GETS(queue, NULL, pipe.w, WRITE);
		xt_destroy(queue);
		xt_shut(pipe);
	}
	XT_EQ(xt_count_open(), before);
}
