/* Puppets, the side of the test: orders and answers. */
#include "puppet.h"
#include "puppet_letter.h"

#include <spawn.h>
#include <sys/uio.h>
#include <sys/wait.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

extern char **environ;

static bool tell(struct puppet puppet, const struct letter *letter, int passed)
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
	return XT_EXPECT_EQ(sendmsg(puppet.fd, &message, 0), sizeof *letter);
}

static int hear(struct puppet puppet)
{
	int value = -1;

	(void)xt_poll_until(puppet.fd, POLLIN, POLLIN);
	XT_EXPECT_EQ(recv(puppet.fd, &value, sizeof value, 0), sizeof value);
	return value;
}

static int order(struct puppet puppet, int what, int argument)
{
	struct letter letter = {.order = what, .argument = argument};

	return tell(puppet, &letter, -1) ? hear(puppet) : -1;
}

/* Blocking, and with ends that the puppet may keep. */
static void strings(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 ||
	    fcntl(ends[0], F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(ends[1], F_SETFD, FD_CLOEXEC) < 0)
		xt_fail(__FILE__, __LINE__, "socketpair: %s", strerror(errno));
	(void)xt_keep(ends[0]);
}

struct puppet puppet_start(void)
{
	struct puppet puppet = {-1, -1};
	posix_spawnattr_t attributes;
	sigset_t none;
	char number[16];
	char *arguments[] = {puppet_program, puppet_option, number, NULL};
	int ends[2];

	strings(ends);
	puppet.fd = ends[0];
	(void)sigemptyset(&none);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	/* It stays open: nobody else starts programs here. */
	(void)fcntl(ends[1], F_SETFD, 0);
	(void)snprintf(number, sizeof number, "%d", ends[1]);
	XT_EXPECT_EQ(posix_spawn(&puppet.pid, puppet_program, NULL, &attributes,
	                         arguments, environ), 0);
	(void)posix_spawnattr_destroy(&attributes);
	(void)close(ends[1]);
	XT_EXPECT_EQ(hear(puppet), puppet.pid);
	return puppet;
}

/* The kernel gives the number after the one in this file. */
struct puppet puppet_start_as(pid_t wanted)
{
	struct puppet puppet = {-1, -1};

	for (int i = 0; i < 100 && puppet.pid != wanted; i++) {
		FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "we");

		if (!last)
			return puppet;
		(void)fprintf(last, "%d", wanted - 1);
		if (fclose(last) != 0)
			return puppet;
		if (puppet.pid > 0) {
			puppet_exit(puppet, 0);
			(void)puppet_wait(puppet);
		}
		puppet = puppet_start();
	}
	return puppet;
}

static struct puppet fork_with(struct puppet parent, int what)
{
	struct letter letter = {.order = what};
	struct puppet child = {-1, -1};
	int ends[2];

	strings(ends);
	child.fd = ends[0];
	if (tell(parent, &letter, ends[1]))
		child.pid = hear(parent);
	(void)close(ends[1]);
	XT_EXPECT(child.pid > 0);
	return child;
}

struct puppet puppet_fork(struct puppet parent)
{
	return fork_with(parent, FORK);
}

struct puppet puppet_fork_by_thread(struct puppet parent)
{
	return fork_with(parent, FORK_BY_THREAD);
}

pid_t puppet_vfork(struct puppet parent)
{
	return order(parent, VFORK, 0);
}

/* They live until this end of the socket is closed. */
static void make_many(struct puppet puppet, const struct letter *letter,
                      int wanted)
{
	int ends[2];

	strings(ends);
	if (tell(puppet, letter, ends[1]))
		XT_EXPECT_EQ(hear(puppet), wanted);
	(void)close(ends[1]);
}

void puppet_grow(struct puppet puppet, int width, int depth)
{
	struct letter letter = {.order = GROW, .argument = width,
	                        .other = depth};
	int wanted = 0;
	int level = 1;

	for (int i = 0; i < depth; i++) {
		level *= width;
		wanted += level;
	}
	make_many(puppet, &letter, wanted);
}

void puppet_storm(struct puppet puppet, int count)
{
	struct letter letter = {.order = STORM, .argument = count};

	make_many(puppet, &letter, 3 * count);
}

void puppet_burst(struct puppet puppet, int count, int code)
{
	struct letter letter = {.order = BURST, .argument = count,
	                        .other = code};

	if (tell(puppet, &letter, -1))
		XT_EXPECT_EQ(hear(puppet), count);
}

int puppet_reap(struct puppet puppet, pid_t child)
{
	return order(puppet, REAP, child);
}

void puppet_thread(struct puppet puppet)
{
	(void)order(puppet, THREAD, 0);
}

void puppet_thread_obeys(struct puppet puppet)
{
	XT_EXPECT_EQ(order(puppet, THREAD_OBEYS, 0), 0);
}

void puppet_leader_ends(struct puppet puppet)
{
	XT_EXPECT_EQ(order(puppet, LEADER_ENDS, 0), 0);
}

void puppet_exec(struct puppet puppet)
{
	XT_EXPECT_EQ(order(puppet, EXEC, 0), puppet.pid);
}

void puppet_exec_by_thread(struct puppet puppet)
{
	XT_EXPECT_EQ(order(puppet, EXEC_BY_THREAD, 0), puppet.pid);
}

void puppet_exec_fails(struct puppet puppet)
{
	XT_EXPECT_EQ(order(puppet, EXEC_FAILS, 0), -1);
}

void puppet_exec_copy(struct puppet puppet, const char *path)
{
	struct letter letter = {.order = EXEC_COPY};

	(void)snprintf(letter.path, sizeof letter.path, "%s", path);
	if (tell(puppet, &letter, -1))
		XT_EXPECT_EQ(hear(puppet), puppet.pid);
}

void puppet_exec_other(struct puppet puppet, const char *path)
{
	struct letter letter = {.order = EXEC_OTHER};

	(void)snprintf(letter.path, sizeof letter.path, "%s", path);
	(void)tell(puppet, &letter, -1);
}

void puppet_ignores_children(struct puppet puppet)
{
	XT_EXPECT_EQ(order(puppet, IGNORE_CHILDREN, 0), 0);
}

void puppet_exit(struct puppet puppet, int code)
{
	struct letter letter = {.order = EXIT, .argument = code};

	(void)tell(puppet, &letter, -1);
}

void puppet_kill(struct puppet puppet, int signal)
{
	struct letter letter = {.order = KILL, .argument = signal};

	(void)tell(puppet, &letter, -1);
}

/* A call of the test's own is the oracle. */
void puppet_await_end(struct puppet puppet)
{
#ifdef __linux__
	int fd = (int)syscall(SYS_pidfd_open, puppet.pid, 0);

	if (fd < 0) {
		XT_EXPECT_EQ(errno, ESRCH);
		return;
	}
	(void)xt_poll_until(fd, POLLIN, POLLIN);
	(void)close(fd);
#else
	siginfo_t info;

	/* Of children alone. */
	while (waitid(P_PID, (id_t)puppet.pid, &info, WEXITED | WNOWAIT) < 0)
		if (!XT_EXPECT_EQ(errno, EINTR))
			return;
#endif
}

int puppet_wait(struct puppet puppet)
{
	int status = -1;

	XT_EXPECT_EQ(waitpid(puppet.pid, &status, 0), puppet.pid);
	return status;
}

void puppet_all_gone(void)
{
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		continue;
}
