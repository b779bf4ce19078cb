/*
 * Goal: a process cannot make /proc seem to say something else by choosing its
 * own name.
 * Method: /proc/PID/stat shows the name in parentheses before all other fields;
 * the test's names look like those fields.
 */
#include "sys/procfs.h"
#include "xt.h"

#include <sys/prctl.h>
#include <sys/wait.h>

/*
 * Names that look like the fields of a zombie, of a running process, and that contain a line break.
 */
static const char *const names[] = {"x) Z 0 0 0 0", "a) R 1 2 3 (", ") Z\n1 2)", ")"};

enum { NAMES = 4 };

/* Returns a child with this name that has exited with this code and is not reaped. */
static pid_t zombie(const char *name, int code)
{
	pid_t pid = fork();
	siginfo_t info;

	if (pid == 0) {
		(void)prctl(PR_SET_NAME, name);
		_exit(code);
	}
	XT_EXPECT(pid > 0);
	XT_EXPECT_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	return pid;
}

XT_TEST(name_that_looks_like_a_status_is_none)
{
	for (int i = 0; i < NAMES; i++) {
		int code = i * 85;
		int told = -1;
		pid_t pid = zombie(names[i], code);
		int rc = xp_procfs_zombie_status(pid, &told);
		int status;

		XT_EQ(waitpid(pid, &status, 0), pid);
		if (rc == -ESRCH && access("/proc/self/stat", R_OK) < 0)
			XT_SKIP("no /proc here");
		XT_EXPECT_EQ(rc, 0);
		XT_EXPECT_EQ(told, status);
		XT_EXPECT_EQ(WEXITSTATUS(status), code);
	}
}

XT_TEST(name_that_looks_like_a_zombies_makes_none)
{
	char before[16];
	int status;

	XT_EQ(prctl(PR_GET_NAME, before), 0);
	for (int i = 0; i < NAMES; i++) {
		XT_EQ(prctl(PR_SET_NAME, names[i]), 0);
		XT_EXPECT_EQ(xp_procfs_zombie_status(getpid(), &status), -ESRCH);
	}
	XT_EQ(prctl(PR_SET_NAME, before), 0);
}

XT_TEST(name_does_not_move_the_start_of_its_process)
{
	int64_t started = xp_procfs_start_time(getpid());
	char before[16];

	if (started < 0)
		XT_SKIP("no /proc here");
	XT_EQ(prctl(PR_GET_NAME, before), 0);
	for (int i = 0; i < NAMES; i++) {
		int64_t now;

		XT_EQ(prctl(PR_SET_NAME, names[i]), 0);
		/* The two clocks are not read at the same time. */
		now = xp_procfs_start_time(getpid());
		XT_EXPECT(now >= started - XT_SOON && now <= started + XT_SOON);
	}
	XT_EQ(prctl(PR_SET_NAME, before), 0);
}
