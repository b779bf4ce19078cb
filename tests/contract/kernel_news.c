/* The kinds of files whose poll function clears what it reports: see kernel_files.h. */
#define _GNU_SOURCE
#include "kernel_files.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool in_namespaces;

/* Enter new namespaces; an ordinary user does that by a user namespace, in which he is root. */
static bool enter(void)
{
	char map[64];
	int user = (int)getuid(), group = (int)getgid();

	if (unshare(CLONE_NEWNS) == 0)
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	(void)xt_put_text("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof map, "0 %d 1", user);
	if (!xt_put_text("/proc/self/uid_map", map))
		return false;
	(void)snprintf(map, sizeof map, "0 %d 1", group);
	return xt_put_text("/proc/self/gid_map", map);
}

bool kernel_files_begin(void)
{
	static bool tried;

	if (!tried) {
		tried = true;
		in_namespaces = enter() &&
			mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	}
	return in_namespaces;
}

/* Open the file separately for each purpose. */
static bool open_each(struct kernel_file *file, const char *path)
{
	for (int i = 0; i < FILE_FDS; i++) {
		file->fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (file->fds[i] < 0)
			return false;
		(void)xt_keep(file->fds[i]);
	}
	return true;
}

/* --- Files of /proc whose poll function reports what is new since the last call --------- */

static bool mounts_make(struct kernel_file *file)
{
	return in_namespaces && open_each(file, "/proc/self/mounts");
}

static void mounts_stir(struct kernel_file *file)
{
	(void)file;
	XT_EXPECT_EQ(mount("none", xt_scratch(), "tmpfs", 0, NULL), 0);
	XT_EXPECT_EQ(umount2(xt_scratch(), MNT_DETACH), 0);
}

/*
 * The kernel counts the changes of the name for all namespaces together, so CTest runs one
 * of these tests at a time.
 */
static bool hostname_make(struct kernel_file *file)
{
	return in_namespaces && unshare(CLONE_NEWUTS) == 0 &&
		open_each(file, "/proc/sys/kernel/hostname");
}

static void hostname_stir(struct kernel_file *file)
{
	(void)file;
	XT_EXPECT_EQ(sethostname("xpoll", strlen("xpoll")), 0);
}

/* --- A child that does something when told ----------------------------------------------- */

/* Runs in the child: do the work for each byte that arrives, and send the byte back. */
static void serve(int in, int out, void (*work)(void))
{
	char byte;

	while (read(in, &byte, 1) == 1) {
		work();
		if (write(out, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

int kernel_child_begin(struct kernel_file *file, void (*work)(void))
{
	int to[2], from[2];
	pid_t child;

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		(void)close(to[1]);
		(void)close(from[0]);
		serve(to[0], from[1], work);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	file->other = xt_keep(to[1]);
	file->helper = xt_keep(from[0]);
	return (int)child;
}

void kernel_child_work(struct kernel_file *file)
{
	char byte = 'x';

	XT_EXPECT_EQ(write(file->other, &byte, 1), 1);
	XT_EXPECT_EQ(read(file->helper, &byte, 1), 1);
}

/* --- A performance counter: page faults of a child --------------------------------------- */

enum { WARM_UP = 4 };

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void fault(void)
{
	size_t size = page_size();
	volatile char *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*page = 1;
	(void)munmap((void *)(uintptr_t)page, size);
}

/* Consume the records of the counter. */
static void perf_calm(struct kernel_file *file)
{
	for (int i = 0; i < FILE_FDS; i++) {
		struct perf_event_mmap_page *ring = file->memory[i];

		ring->data_tail = ring->data_head;
	}
}

/*
 * Cause page faults.  The kernel wakes waiters by one interrupt of the child's processor for all
 * counters, so when the child answers, all of them are readable.
 */
static void perf_stir(struct kernel_file *file)
{
	kernel_child_work(file);
	XT_EXPECT(xt_poll_until(file->fds[FILE_SEEN], POLLIN, POLLIN));
	perf_calm(file);
}

static bool perf_make(struct kernel_file *file)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof attr,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.wakeup_events = 1,
		.exclude_kernel = 1,
	};
	int child = kernel_child_begin(file, fault);

	for (int i = 0; i < FILE_FDS && child > 0; i++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, child, -1, -1, 8L);

		if (fd < 0)
			return false;
		file->fds[i] = xt_keep(fd);
		file->memory[i] = mmap(NULL, KERNEL_RING_PAGES * page_size(),
		                       PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (file->memory[i] == MAP_FAILED)
			return false;
	}
	/* In its first rounds the child has additional page faults of its own. */
	for (int i = 0; i < WARM_UP && child > 0; i++)
		perf_stir(file);
	for (int i = 0; i < FILE_FDS && child > 0; i++)
		(void)xt_poll(file->fds[i], POLLIN);
	return child > 0;
}

static bool swaps_make(struct kernel_file *file)
{
	return open_each(file, "/proc/swaps");
}

static bool input_make(struct kernel_file *file)
{
	return open_each(file, "/proc/bus/input/devices");
}

/*
 * Request a report of a stall of 1.9 in 2 seconds, which does not happen, so the file never becomes
 * ready.
 */
static bool pressure_make(struct kernel_file *file)
{
	static const char trigger[] = "full 1900000 2000000";

	for (int i = 0; i < FILE_FDS; i++) {
		int fd = open("/proc/pressure/memory", O_RDWR | O_NONBLOCK | O_CLOEXEC);

		if (fd < 0 || write(xt_keep(fd), trigger, sizeof trigger) < 0)
			return false;
		file->fds[i] = fd;
	}
	return true;
}

const struct kernel_kind kernel_news[] = {
	{"mounts", true, R | X, mounts_make, mounts_stir, NULL},
	{"hostname", true, R | X, hostname_make, hostname_stir, NULL},
	{"perf", true, R, perf_make, perf_stir, NULL},
	{"swaps", true, R | X, swaps_make, NULL, NULL},
	{"input devices", true, R, input_make, NULL, NULL},
	{"pressure", true, R | W | X, pressure_make, NULL, NULL},
};
const int kernel_news_count = (int)(sizeof kernel_news / sizeof *kernel_news);
