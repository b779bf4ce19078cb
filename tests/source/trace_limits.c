/*
 * Goal: the limits of tracing: lost reports, programs that may not be watched,
 * processes of other users, namespaces, reused process IDs, and queues that are
 * watched by xpoll_fd (S22, hazards 8 and 15).
 * Method: each limit is really reached.
 */
#include "history.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Reduce the buffer of the connector's socket to a few reports. */
static void starve_sockets(void)
{
	for (int fd = 0; fd < 1000; fd++) {
		int domain = 0;
		int least = 1;
		socklen_t size = sizeof domain;

		if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
		    domain == AF_NETLINK)
			(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least,
			                 sizeof least);
	}
}

XT_TEST(hazard_15_lost_reports_are_trackerr_and_the_living_are_found)
{
	struct helper other;
	struct helper last;
	struct history history = {0};

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper root = helper_start();
	other = helper_start();
	XT_OK(history_watch(queue, root.pid, ALL));
	XT_OK(history_watch(queue, other.pid, FORK));
	starve_sockets();
	XT_CALL(helper_burst(root, history_by_connector() ? 50 : 3000, 0));
	XT_CALL(helper_grow(root, 3, 2));
	last = helper_fork(root);
	/*
	 * The library does not know whose reports were lost, so each tracked process gets TRACKERR.
	 */
	XT_CHECK(history_until(queue, &history, root.pid, TRACKERR));
	XT_CHECK(history_until(queue, &history, other.pid, TRACKERR));
	XT_CHECK(history_until(queue, &history, last.pid, CHILD));
	history_hear(queue, &history);
	XT_EXPECT_EQ(history_of(&history, last.pid)->parent, root.pid);
	for (int i = 0; i < history.len; i++) {
		const struct told *told = &history.told[i];

		if (told->notes & CHILD && !(told->notes & EXIT))
			XT_EXPECT_EQ(kill(told->pid, 0), 0);
	}
	/* The live processes are the 12, the last one and the two. */
	XT_EXPECT(history_count(&history, 0) - history_count(&history, EXIT) >= 15);
	/* The queue continues to report. */
	other = helper_fork(last);
	XT_CHECK(history_until(queue, &history, other.pid, CHILD));
	XT_EXPECT_EQ(history_of(&history, other.pid)->parent, last.pid);
	free(history.told);
}

/* Copy the program to a directory that is removed when the test ends. */
static bool copy_program(const char *from, char path[64], mode_t mode)
{
	char folder[] = "/tmp/xpoll-trace-XXXXXX";
	char text[4096];
	ssize_t length;
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out;

	if (!XT_EXPECT(in >= 0 && mkdtemp(folder)))
		return false;
	(void)chmod(folder, 0755);
	(void)snprintf(path, 64, "%s/program", folder);
	out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	while ((length = read(in, text, sizeof text)) > 0)
		XT_EXPECT_EQ(write(out, text, (size_t)length), length);
	XT_EXPECT_EQ(fchmod(out, mode), 0);
	(void)close(in);
	(void)close(out);
	return xt_failures() == 0;
}

static void remove_program(char path[64])
{
	(void)unlink(path);
	*strrchr(path, '/') = '\0';
	(void)rmdir(path);
}

static void become_ordinary(void)
{
	if (geteuid() == 0)
		XT_EXPECT_EQ(setresuid(65534, 65534, 65534), 0);
}

/* If the build directory belongs to root, another user cannot run the program. */
static bool ordinary_user_may_run_this(void)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		become_ordinary();
		_exit(access(helper_program, X_OK) < 0);
	}
	(void)waitpid(child, &status, 0);
	return status == 0;
}

#define ORDINARY_OR_SKIP()                                                     \
	do {                                                                   \
		if (!ordinary_user_may_run_this())                             \
			XT_SKIP("an ordinary user may not run this program");  \
	} while (0)

/* Run a test as an unprivileged user. */
static bool as_ordinary_user(void (*run)(void *), void *argument)
{
	if (geteuid() != 0) {
		run(argument);
		return xt_failures() == 0;
	}
	return xt_child(run, argument);
}

/*
 * A program that may be executed but not read: as for set-user-id programs, the kernel detaches the
 * watcher.
 */
static void run_unreadable(void *argument)
{
	struct history history = {0};
	char path[64];

	(void)argument;
	become_ordinary();
	struct xpoll *queue = xt_open_quiet();
	struct helper helper = helper_start();
	XT_CHECK(copy_program("/proc/self/exe", path, 0111));
	XT_OK(history_watch(queue, helper.pid, ALL));
	helper_exec_copy(helper, path);
	(void)helper_fork(helper);
	helper_exit(helper, 0);
	XT_EXPECT(history_until(queue, &history, helper.pid, EXEC | EXIT));
	/* The fork was delivered, or TRACKERR, because it may have been missed. */
	if (history_by_connector())
		XT_EXPECT(!(history_of(&history, helper.pid)->notes & TRACKERR));
	else
		XT_EXPECT(history_of(&history, helper.pid)->notes & TRACKERR);
	remove_program(path);
	free(history.told);
	(void)helper_wait(helper);
}

XT_TEST(hazard_15_exec_that_drops_events_is_trackerr)
{
	HISTORY_OR_SKIP();
	ORDINARY_OR_SKIP();
	XT_CHECK(as_ordinary_user(run_unreadable, NULL));
}

/* Run a program that exits before the tracer checks the process. */
static void run_unreadable_briefly(void *argument)
{
	struct xpoll *queue;
	char path[64];
	uint32_t notes = 0;

	(void)argument;
	become_ordinary();
	queue = xt_open_quiet();
	XT_CHECK(copy_program("/bin/true", path, 0111));
	/* The kernel may pause between the two records that show it: try again. */
	for (int i = 0; i < 10 && !(notes & TRACKERR); i++) {
		struct helper helper = helper_start();
		struct history history = {0};

		XT_EXPECT_STATUS(history_watch(queue, helper.pid, ALL), 0);
		helper_exec_other(helper, path);
		(void)helper_wait(helper);
		XT_EXPECT(history_until(queue, &history, helper.pid, EXIT));
		notes = history_of(&history, helper.pid)->notes;
		free(history.told);
	}
	XT_EXPECT(notes & EXEC);
	XT_EXPECT_EQ(!(notes & TRACKERR), history_by_connector());
	remove_program(path);
}

XT_TEST(hazard_15_exec_that_dropped_events_of_one_that_is_gone_is_trackerr)
{
	HISTORY_OR_SKIP();
	ORDINARY_OR_SKIP();
	XT_CHECK(as_ordinary_user(run_unreadable_briefly, NULL));
}

XT_TEST(usual_programs_are_no_trackerr)
{
	struct xpoll *queue;
	struct history history = {0};

	HISTORY_OR_SKIP();
	queue = xt_open_quiet();
	for (int i = 0; i < 10; i++) {
		struct helper helper = helper_start();

		XT_OK(history_watch(queue, helper.pid, ALL));
		helper_exec_other(helper, "/bin/true");
		(void)helper_wait(helper);
		XT_CHECK(history_until(queue, &history, helper.pid, EXEC | EXIT));
		XT_EXPECT_EQ(history_of(&history, helper.pid)->status, 0);
	}
	XT_EXPECT_EQ(history_count(&history, TRACKERR), 0);
	free(history.told);
}

/* A process of root is watched by an unprivileged user. */
static void trace_root(void *argument)
{
	struct helper *helper = argument;
	struct xpoll *queue;
	struct xpoll_event event;

	XT_EQ(setresuid(65534, 65534, 65534), 0);
	HISTORY_OR_SKIP();
	queue = xt_open_quiet();
	if (!history_by_connector()) {
		XT_STATUS(history_watch(queue, helper->pid, FORK), EPERM);
		XT_FAILS(xpoll_lookup(queue, (uint64_t)helper->pid, PROC,
		                      &event), ENOENT);
		XT_OK(history_watch(queue, helper->pid, EXIT));
		return;
	}
	XT_OK(history_watch(queue, helper->pid, FORK));
	(void)helper_fork(*helper);
	XT_GETS(queue, &event, helper->pid, PROC);
	XT_EXPECT_EQ(event.fflags, FORK);
}

XT_TEST(process_of_another_user_is_traced_or_eperm)
{
	struct helper helper;

	HISTORY_OR_SKIP();
	if (geteuid() != 0)
		XT_SKIP("only root can start a process of another user");
	helper = helper_start();
	XT_CHECK(xt_child(trace_root, &helper));
}

/* A process namespace with its own /proc; process IDs are those of the namespace. */
static void trace_in_namespace(void *argument)
{
	bool by_default = argument != NULL;
	struct helper child;
	struct history history = {0};

	XT_EQ(getpid(), 1);
	XT_EQ(mount("proc", "/proc", "proc", 0, NULL), 0);
	struct xpoll *queue = xt_open_quiet();
	struct helper helper = helper_start();
	if (by_default)
		XT_EQ(unsetenv("XPOLL_PROC"), 0);
	else if (history_by_connector())
		XT_STATUS(history_watch(queue, helper.pid, ALL), ENOTSUP);
	if (!history_can_be_told())
		return;
	XT_EXPECT(by_default || !history_by_connector());
	XT_OK(history_watch(queue, helper.pid, ALL));
	child = helper_fork(helper);
	XT_CHECK(history_until(queue, &history, child.pid, CHILD));
	XT_EXPECT_EQ(history_of(&history, child.pid)->parent, helper.pid);
	XT_EXPECT(child.pid < 100);
	helper_exit(child, 2);
	XT_CHECK(history_until(queue, &history, child.pid, EXIT));
	XT_EXPECT_EQ(history_of(&history, child.pid)->status, 2 << 8);
	free(history.told);
}

/* Mounts in the new namespace do not affect the old one. */
static int new_namespace(void)
{
	int rc = unshare(CLONE_NEWPID | CLONE_NEWNS |
	                 (geteuid() != 0 ? CLONE_NEWUSER : 0));

	if (rc == 0)
		rc = mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	/* In a changed root the root directory need not be a mount point. */
	if (rc < 0 && errno == EINVAL)
		rc = mount("none", "/proc", NULL, MS_REC | MS_PRIVATE, NULL);
	return rc;
}

static void enter_namespace(void *argument)
{
	XT_EQ(new_namespace(), 0);
	XT_CHECK(xt_child(trace_in_namespace, argument));
}

static bool namespaces_allowed(void)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(new_namespace() < 0);
	(void)waitpid(child, &status, 0);
	return status == 0;
}

XT_TEST(in_a_process_namespace_numbers_are_those_of_the_namespace)
{
	if (!namespaces_allowed())
		XT_SKIP("no process namespaces for this user");
	XT_CHECK(xt_child(enter_namespace, NULL));
}

/* The first tracer does not work there; the second one does. */
XT_TEST(in_a_process_namespace_another_tracer_is_taken)
{
	static char by_default;

	if (!namespaces_allowed())
		XT_SKIP("no process namespaces for this user");
	XT_CHECK(xt_child(enter_namespace, &by_default));
}

/* S14, hazard 8: a check by poll(2) consumes what some descriptors report. */
XT_TEST(hazard_08_queue_that_is_watched_from_outside_is_not_silent)
{
	struct xpoll_event event;
	int fd;

	HISTORY_OR_SKIP();
	if (!xt_is("epoll"))
		XT_SKIP("no kernel queue in this back end");
	struct xpoll *queue = xt_open_quiet();
	struct helper helper = helper_start();
	for (int i = 0; i < 2; i++) {
		/*
		 * xpoll_fd is called before the registration in one round, and after it in the
		 * other.
		 */
		if (i == 0)
			XT_OK(history_watch(queue, helper.pid, FORK));
		fd = xpoll_fd(queue);
		XT_CHECK(fd >= 0);
		XT_OK(history_watch(queue, helper.pid, FORK));
		(void)helper_fork(helper);
		for (int j = 0; j < 3; j++)
			XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
		/* The queue's descriptor may be readable without an event, so wait for one. */
		XT_GETS(queue, &event, helper.pid, PROC);
		XT_EXPECT_EQ(event.fflags, FORK);
		XT_OK(xt_flag(queue, (uint64_t)helper.pid, PROC, XPOLL_DELETE));
		XT_NONE(queue);
	}
}

/* The thread that opened the tracer's objects exits; the process continues. */
static void *outlive_first_thread(void *argument)
{
	void **both = argument;
	struct helper *helper = both[1];
	char path[64];
	struct xpoll_event event;
	struct xpoll_stats before;
	int count = 0;

	(void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
	for (char state = 'R'; state != 'Z';) {
		FILE *file = fopen(path, "re");
		char text[512] = "";
		char *after;

		if (file && fgets(text, sizeof text, file))
			(void)fclose(file);
		after = strrchr(text, ')');
		state = after ? after[2] : 'R';
		(void)sched_yield();
	}
	for (int i = 0; i < 3 && count >= 0; i++) {
		(void)helper_fork(*helper);
		count = xpoll_event(both[0], NULL, 0, &event, 1, XT_SOON);
		XT_EXPECT_EQ(count, 1);
	}
	/* The wait does not spin; the connector also wakes it for other processes. */
	before = xt_stats(both[0]);
	XT_EXPECT_EQ(xpoll_event(both[0], NULL, 0, &event, 1, 30000000), 0);
	XT_EXPECT(xt_stats(both[0]).syscalls_wait - before.syscalls_wait < 1000);
	(void)fflush(stdout);
	_exit(xt_failures() ? 1 : 0);
}

static void lose_first_thread(void *argument)
{
	pthread_t thread;

	XT_EQ(pthread_create(&thread, NULL, outlive_first_thread, argument), 0);
	(void)syscall(SYS_exit, 0);
}

static void trace_and_lose_first_thread(void *argument)
{
	struct helper helper = helper_start();
	void *both[2] = {xt_open_quiet(), &helper};

	(void)argument;
	XT_OK(history_watch(both[0], helper.pid, FORK));
	lose_first_thread(both);
}

/* Watching a descriptor, and ending that, would be two changes. */
XT_TEST(child_that_has_ended_already_needs_no_change_in_the_kernel)
{
	struct history history = {0};
	struct helper child;
	uint64_t before;
	int end;

	XT_SINGLE_ONLY();
	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper parent = history_helper(queue, TRACK | EXIT);
	child = helper_fork(parent);
	end = (int)syscall(SYS_pidfd_open, child.pid, 0);
	XT_CHECK(end >= 0);
	helper_exit(child, 3);
	XT_EQ(poll(&(struct pollfd){.fd = end, .events = POLLIN}, 1, -1), 1);
	before = xt_stats(queue).syscalls_change;
	XT_CHECK(history_until(queue, &history, child.pid, CHILD | EXIT));
	XT_EXPECT_EQ(xt_stats(queue).syscalls_change, before);
	XT_EXPECT_EQ(history_of(&history, child.pid)->status, 3 << 8);
	free(history.told);
	(void)close(end);
}

XT_TEST(tracing_outlives_the_first_thread)
{
	HISTORY_OR_SKIP();
	if (XT_SANITIZED)
		XT_SKIP("a sanitizer needs the first thread");
	XT_CHECK(xt_child(trace_and_lose_first_thread, NULL));
}

/* If a program counts the processes of a tree, it knows when the last one has exited. */
XT_TEST(children_come_before_the_end_of_their_parent)
{
	struct helper child;
	struct xpoll_event event;
	bool child_seen = false;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper parent = history_helper(queue, ALL);
	child = helper_fork(parent);
	helper_exit(parent, 0);
	helper_await_end(parent);

	/* Take the events one by one, because they may be merged. */
	do {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		child_seen |= event.ident == (uint64_t)child.pid && event.fflags & CHILD;
	} while (!(event.flags & XPOLL_EOF));
	XT_EXPECT_EQ(event.ident, (uint64_t)parent.pid);
	XT_EXPECT(child_seen);
}
