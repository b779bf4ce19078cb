/*
 * xt_fds: the descriptors of a test.  Functions here make them nonblocking and close-on-exec, and
 * close those that are still open when the test ends.
 */
#include "xt_internal.h"

#include <dirent.h>
#include <sys/resource.h>
#include <termios.h>

#ifdef __linux__
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#endif

static unsigned char *fds_kept; /* flags, indexed by descriptor */
static int fds_kept_cap;

int xt_keep(int fd)
{
	if (fd < 0)
		xt_broken("a descriptor");
	if (fd >= fds_kept_cap) {
		int cap = fd + 1024;
		unsigned char *kept = realloc(fds_kept, (size_t)cap);

		if (!kept)
			xt_broken("realloc");
		memset(kept + fds_kept_cap, 0, (size_t)(cap - fds_kept_cap));
		fds_kept = kept;
		fds_kept_cap = cap;
	}
	fds_kept[fd] = 1;
	return fd;
}

int xt_own(int fd)
{
	(void)xt_keep(fd);
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		xt_broken("fcntl");
	return fd;
}

void xt_fds_release(void)
{
	for (int fd = 0; fd < fds_kept_cap; fd++)
		if (fds_kept[fd]) {
			/* The test may have closed the descriptor: an error is harmless. */
			(void)close(fd);
			fds_kept[fd] = 0;
		}
	free(fds_kept);
	fds_kept = NULL;
	fds_kept_cap = 0;
}

void xt_close(int fd)
{
	if (fd >= 0 && fd < fds_kept_cap)
		fds_kept[fd] = 0;
	if (close(fd) < 0)
		xt_fail(__FILE__, __LINE__, "close(%d): %s", fd,
		        xt_error_name(errno));
}

struct xt_pair xt_pipe(void)
{
	int ends[2];

	if (pipe(ends) < 0)
		xt_broken("pipe");
	return (struct xt_pair){.r = xt_own(ends[0]), .w = xt_own(ends[1])};
}

struct xt_pair xt_socketpair(int type)
{
	int ends[2];

	if (socketpair(AF_UNIX, type, 0, ends) < 0)
		xt_broken("socketpair");
	return (struct xt_pair){.r = xt_own(ends[0]), .w = xt_own(ends[1])};
}

static void fds_size(int fd, int which, int size)
{
	if (setsockopt(fd, SOL_SOCKET, which, &size, sizeof size) < 0)
		xt_broken("a socket's buffer");
}

struct xt_pair xt_tcp_bounded(void)
{
	struct xt_pair pair = xt_tcp();
	int room = 0;
	socklen_t size = sizeof room;

	if (getsockopt(pair.r, SOL_SOCKET, SO_RCVBUF, &room, &size) < 0)
		xt_broken("SO_RCVBUF");
	/* Setting the size of a buffer stops the kernel from enlarging it. */
	fds_size(pair.r, SO_RCVBUF, room);
	fds_size(pair.w, SO_SNDBUF, 4 * room);
	return pair;
}

struct xt_pair xt_pty(void)
{
	struct xt_pair pair = {-1, -1};
	struct termios mode;

	pair.w = xt_own(posix_openpt(O_RDWR | O_NOCTTY));
	if (grantpt(pair.w) < 0 || unlockpt(pair.w) < 0)
		xt_broken("grantpt");
	pair.r = xt_own(open(ptsname(pair.w), O_RDWR | O_NOCTTY));
	if (tcgetattr(pair.r, &mode) < 0)
		xt_broken("tcgetattr");
	mode.c_iflag = 0;
	mode.c_oflag = 0;
	mode.c_lflag = 0;
	mode.c_cc[VMIN] = 1;
	mode.c_cc[VTIME] = 0;
	if (tcsetattr(pair.r, TCSANOW, &mode) < 0)
		xt_broken("tcsetattr");
	return pair;
}

int xt_file(const char *text)
{
	char path[] = "/tmp/xt-XXXXXX";
	size_t length = strlen(text);
	int fd = xt_own(mkstemp(path));

	(void)unlink(path);
	if (write(fd, text, length) != (ssize_t)length ||
	    lseek(fd, 0, SEEK_SET) != 0)
		xt_broken("a temporary file");
	return fd;
}

bool xt_put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 &&
		write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return done;
}

int xt_open_path(const char *path, int flags)
{
	return xt_keep(open(path, flags | O_CLOEXEC));
}

int xt_eventfd(void)
{
#ifdef __linux__
	return xt_own(eventfd(0, 0));
#else
	return -1;
#endif
}

int xt_timerfd(int64_t first_ns)
{
#ifdef __linux__
	struct itimerspec when = {
	    .it_value = {.tv_sec = first_ns / 1000000000,
	                 .tv_nsec = first_ns % 1000000000}};
	int fd = xt_own(timerfd_create(CLOCK_MONOTONIC, 0));

	if (timerfd_settime(fd, 0, &when, NULL) < 0)
		xt_broken("timerfd_settime");
	return fd;
#else
	(void)first_ns;
	return -1;
#endif
}

int xt_dup(int fd)
{
	return xt_keep(fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

void xt_number(int fd, int number)
{
	if (fd == number)
		return;
	if (dup2(fd, number) < 0 || fcntl(number, F_SETFD, FD_CLOEXEC) < 0)
		xt_broken("dup2");
	xt_close(fd);
	(void)xt_keep(number);
}

int xt_raise_files(int wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		xt_broken("getrlimit");
	if (limit.rlim_cur < (rlim_t)wanted) {
		rlim_t old = limit.rlim_cur;

		limit.rlim_cur = (rlim_t)wanted < limit.rlim_max
		                     ? (rlim_t)wanted
		                     : limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			limit.rlim_cur = old;
	}
	return limit.rlim_cur > (rlim_t)wanted ? wanted : (int)limit.rlim_cur;
}

bool xt_inherited(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags >= 0 && !(flags & FD_CLOEXEC);
}

/*
 * Set bits[fd] for the open descriptors below count, by reading the system's list of them: four
 * system calls instead of one for each descriptor.  Returns false if the system has no such list.
 */
static bool fds_listed(unsigned char *bits, int count)
{
#ifdef __linux__
	DIR *list = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (!list)
		return false;
	memset(bits, 0, (size_t)count);
	while ((entry = readdir(list))) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && fd < count && fd != dirfd(list))
			bits[fd] = 1;
	}
	return closedir(list) == 0;
#else
	(void)bits, (void)count;
	return false;
#endif
}

void xt_set_open(unsigned char *bits, int count)
{
	if (fds_listed(bits, count))
		return;
	for (int fd = 0; fd < count; fd++)
		bits[fd] = fcntl(fd, F_GETFD) >= 0;
}

int xt_count_open(void)
{
	int count = 0;

	for (int fd = 0; fd < XT_FD_SCAN; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}
