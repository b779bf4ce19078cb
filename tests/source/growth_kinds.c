/*
 * Goal: READ of files whose growth the kernel does not report, or no longer
 * (S13): memory files, /proc, no inotify instance left.
 * Method: fstat(2) is the oracle; limits of a user namespace.
 */
#include "growth.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The kernel does not report these files, so the library checks them at intervals. */
XT_TEST(memory_file_grows)
{
	struct xpoll *queue = xt_open();
	int memory = xt_keep(memfd_create("xpoll", MFD_CLOEXEC));
	struct xt_thread *writer;

	XT_OK(xt_add(queue, memory, READ, 0));
	XT_NONE(queue);
	writer = xt_start(append_later, &memory);
	xt_join(writer);
	/* After the read the offset is at the end. */
	XT_NONE(queue);
	XT_EQ(pwrite(memory, "more", 4, 4), 4);
	XT_GETS(queue, NULL, memory, READ);
}

/*
 * The size of a file of /proc is always 0, and a needless read is better than a wait that never
 * ends.
 */
XT_TEST(file_of_proc_is_ready_as_for_poll)
{
	struct xpoll *queue = xt_open();
	int proc = xt_open_path("/proc/self/status", O_RDONLY);
	struct stat status;

	XT_OK(fstat(proc, &status));
	XT_EQ(status.st_size, 0);
	XT_OK(xt_add(queue, proc, READ, 0));
	XT_GETS(queue, NULL, proc, READ);
	XT_CHECK(xt_get(proc) > 0);
	XT_GETS(queue, NULL, proc, READ);
}

/* Without an inotify instance READ still works: the library checks the file at intervals. */
static void instances_are_used_up(void *argument)
{
	struct log *log = argument;
	struct xpoll *queue = xt_open_quiet();
	char map[40];

	(void)snprintf(map, sizeof map, "0 %u 1", (unsigned)geteuid());
	if (unshare(CLONE_NEWUSER) < 0 || !xt_put_text("/proc/self/uid_map", map) ||
	    !xt_put_text("/proc/sys/user/max_inotify_instances", "0"))
		_exit(77);
	XT_OK(xt_add(queue, log->r, READ, 0));
	XT_NONE(queue);
	append(log->w, "x");
	XT_GETS(queue, NULL, log->r, READ);
	XT_EQ(xt_drain(log->r), 1);
	XT_NONE(queue);
	struct xt_thread *writer = xt_start(append_later, &log->w);
	XT_GETS(queue, NULL, log->r, READ);
	xt_join(writer);
}

XT_TEST(growth_is_seen_at_the_limit_of_instances)
{
	XT_SINGLE_ONLY();
	struct log log = log_make("f", "");
	int status = 0;

	(void)fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		xt_watchdog(20);
		instances_are_used_up(&log);
		(void)fflush(stdout);
		_exit(xt_failures() ? 1 : 0);
	}
	XT_EQ(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		XT_SKIP("no user namespaces here");
	XT_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
