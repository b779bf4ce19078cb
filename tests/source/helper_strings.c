/* Helpers, the test's side: sends orders and reads answers. */
#include "helper.h"
#include "helper_letter.h"

#include <sched.h>
#include <spawn.h>
#include <sys/uio.h>
#include <sys/wait.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

extern char **environ;

static bool tell(struct helper helper, const struct letter *letter, int passed)
{
	union letter_cover cover;
	struct iovec vector = {(void *)(uintptr_t)letter, sizeof *letter};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

	if (passed >= 0) {
		struct cmsghdr *header;

		memset(&cover, 0, sizeof cover);
		message.msg_control = &cover;
		message.msg_controllen = CMSG_SPACE(sizeof passed);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof passed);
		memcpy(CMSG_DATA(header), &passed, sizeof passed);
	}
	return XT_EXPECT_EQ(sendmsg(helper.fd, &message, 0), sizeof *letter);
}

static int hear(struct helper helper)
{
	int value = -1;

	(void)xt_poll_until(helper.fd, POLLIN, POLLIN);
	XT_EXPECT_EQ(recv(helper.fd, &value, sizeof value, 0), sizeof value);
	return value;
}

static int order(struct helper helper, int what, int argument)
{
	struct letter letter = {.order = what, .argument = argument};

	return tell(helper, &letter, -1) ? hear(helper) : -1;
}

/* Make the socket pair: blocking, and not closed in the helper. */
static void strings(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 ||
	    fcntl(ends[0], F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(ends[1], F_SETFD, FD_CLOEXEC) < 0)
		xt_fail(__FILE__, __LINE__, "socketpair: %s", strerror(errno));
	(void)xt_keep(ends[0]);
}

struct helper helper_start(void)
{
	struct helper helper = {-1, -1};
	posix_spawnattr_t attributes;
	sigset_t none;
	char number[16];
	char *arguments[] = {helper_program, helper_option, number, NULL};
	int ends[2];

	strings(ends);
	helper.fd = ends[0];
	(void)sigemptyset(&none);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	/* Let the program inherit the descriptor: no other thread starts programs here. */
	(void)fcntl(ends[1], F_SETFD, 0);
	(void)snprintf(number, sizeof number, "%d", ends[1]);
	XT_EXPECT_EQ(posix_spawn(&helper.pid, helper_program, NULL, &attributes,
	                         arguments, environ), 0);
	(void)posix_spawnattr_destroy(&attributes);
	(void)close(ends[1]);
	XT_EXPECT_EQ(hear(helper), helper.pid);
	return helper;
}

/* The kernel gives the next process the ID after the one in this file. */
struct helper helper_start_as(pid_t wanted)
{
	struct helper helper = {-1, -1};
	int64_t end = xt_now() + XT_SOON;

	while (helper.pid != wanted && xt_now() < end) {
		/* Another process that forks meanwhile may get the ID, until it ends: try again. */
		if (kill(wanted, 0) == 0 || errno != ESRCH) {
			(void)sched_yield();
			continue;
		}
		FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "we");
		if (!last)
			return helper;
		(void)fprintf(last, "%d", wanted - 1);
		if (fclose(last) != 0)
			return helper;
		if (helper.pid > 0) {
			helper_exit(helper, 0);
			(void)helper_wait(helper);
		}
		helper = helper_start();
	}
	return helper;
}

static struct helper fork_with(struct helper parent, int what)
{
	struct letter letter = {.order = what};
	struct helper child = {-1, -1};
	int ends[2];

	strings(ends);
	child.fd = ends[0];
	if (tell(parent, &letter, ends[1]))
		child.pid = hear(parent);
	(void)close(ends[1]);
	XT_EXPECT(child.pid > 0);
	return child;
}

struct helper helper_fork(struct helper parent)
{
	return fork_with(parent, FORK);
}

struct helper helper_fork_by_thread(struct helper parent)
{
	return fork_with(parent, FORK_BY_THREAD);
}

pid_t helper_vfork(struct helper parent)
{
	return order(parent, VFORK, 0);
}

/* Start children that live until this end of the socket is closed. */
static void make_many(struct helper helper, const struct letter *letter,
                      int wanted)
{
	int ends[2];

	strings(ends);
	if (tell(helper, letter, ends[1]))
		XT_EXPECT_EQ(hear(helper), wanted);
	(void)close(ends[1]);
}

void helper_grow(struct helper helper, int width, int depth)
{
	struct letter letter = {.order = GROW, .argument = width,
	                        .other = depth};
	int wanted = 0;
	int level = 1;

	for (int i = 0; i < depth; i++) {
		level *= width;
		wanted += level;
	}
	make_many(helper, &letter, wanted);
}

void helper_storm(struct helper helper, int count)
{
	struct letter letter = {.order = STORM, .argument = count};

	make_many(helper, &letter, 3 * count);
}

void helper_burst(struct helper helper, int count, int code)
{
	struct letter letter = {.order = BURST, .argument = count,
	                        .other = code};

	if (tell(helper, &letter, -1))
		XT_EXPECT_EQ(hear(helper), count);
}

int helper_reap(struct helper helper, pid_t child)
{
	return order(helper, REAP, child);
}

void helper_thread(struct helper helper)
{
	(void)order(helper, THREAD, 0);
}

void helper_thread_obeys(struct helper helper)
{
	XT_EXPECT_EQ(order(helper, THREAD_OBEYS, 0), 0);
}

void helper_leader_ends(struct helper helper)
{
	XT_EXPECT_EQ(order(helper, LEADER_ENDS, 0), 0);
}

void helper_exec(struct helper helper)
{
	XT_EXPECT_EQ(order(helper, EXEC, 0), helper.pid);
}

void helper_exec_by_thread(struct helper helper)
{
	XT_EXPECT_EQ(order(helper, EXEC_BY_THREAD, 0), helper.pid);
}

void helper_exec_fails(struct helper helper)
{
	XT_EXPECT_EQ(order(helper, EXEC_FAILS, 0), -1);
}

void helper_exec_copy(struct helper helper, const char *path)
{
	struct letter letter = {.order = EXEC_COPY};

	(void)snprintf(letter.path, sizeof letter.path, "%s", path);
	if (tell(helper, &letter, -1))
		XT_EXPECT_EQ(hear(helper), helper.pid);
}

void helper_exec_other(struct helper helper, const char *path)
{
	struct letter letter = {.order = EXEC_OTHER};

	(void)snprintf(letter.path, sizeof letter.path, "%s", path);
	(void)tell(helper, &letter, -1);
}

void helper_ignores_children(struct helper helper)
{
	XT_EXPECT_EQ(order(helper, IGNORE_CHILDREN, 0), 0);
}

void helper_exit(struct helper helper, int code)
{
	struct letter letter = {.order = EXIT, .argument = code};

	(void)tell(helper, &letter, -1);
}

void helper_kill(struct helper helper, int signal)
{
	struct letter letter = {.order = KILL, .argument = signal};

	(void)tell(helper, &letter, -1);
}

#ifdef __linux__
/* Returns true if the process is a zombie or gone, by what /proc shows. */
static bool has_ended(pid_t pid)
{
	char text[512] = "";
	const char *state;
	int fd;

	(void)snprintf(text, sizeof text, "/proc/%d/stat", (int)pid);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
		text[0] = '\0';
	if (fd >= 0)
		(void)close(fd);
	state = strrchr(text, ')');
	return !state || state[2] == 'Z' || state[2] == 'X';
}
#endif

/* Call a function of the system as the oracle; where a sandbox refuses it, read /proc. */
void helper_await_end(struct helper helper)
{
#ifdef __linux__
	int fd = (int)syscall(SYS_pidfd_open, helper.pid, 0);

	if (fd < 0) {
		while (errno != ESRCH && !has_ended(helper.pid))
			(void)poll(NULL, 0, 1);
		return;
	}
	(void)xt_poll_until(fd, POLLIN, POLLIN);
	(void)close(fd);
#else
	siginfo_t info;

	/* waitid(2) works for children only. */
	while (waitid(P_PID, (id_t)helper.pid, &info, WEXITED | WNOWAIT) < 0)
		if (!XT_EXPECT_EQ(errno, EINTR))
			return;
#endif
}

int helper_wait(struct helper helper)
{
	int status = -1;

	XT_EXPECT_EQ(waitpid(helper.pid, &status, 0), helper.pid);
	return status;
}

void helper_all_gone(void)
{
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		continue;
}
